//! How does a network run, and what is told of it?
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `options` | how it is to run | |
//! | `execute` | the run, from its first process to its report | |
//! | `hooks` | what the engine asks of communicating processes | |
//! | `handle` | stopping it and looking into it from outside | |
//! | `channels` | what is told of its channels | |
//! | `look` | what processes do at one moment | what is read is atomic |
//! | `inspect`, `explain` | which processes wait for what, and which of them for ever | looked at twice |
//!
//! `execute` and `handle` know each other: a run is begun by a handle.

pub(crate) mod channels;
pub(crate) mod execute;
pub(crate) mod explain;
pub(crate) mod handle;
mod hooks;
pub(crate) mod inspect;
mod look;
pub(crate) mod options;
