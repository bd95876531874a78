//! How are processes created, and waited for?
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `body` | code and result of a process, and how others learn its end | the states of a result |
//! | `placement` | how urgent a process is, and where it runs | |
//! | `scope` | what a process is to be, and what creates it | |
//! | `create` | creating it | |
//! | `forked` | the handle of a process: waiting for its result, ending it | |
//! | `parallel` | several processes at once, and waiting for all of them | |
//! | `yielding` | giving way to others | |
//!
//! `scope` and `create` know each other: the one says what the other creates.

pub(crate) mod body;
pub(crate) mod create;
pub(crate) mod forked;
pub(crate) mod parallel;
pub(crate) mod placement;
pub(crate) mod scope;
pub(crate) mod yielding;
