//! What watches a network while it runs.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | the format of a file of what came from outside: all else follows from it |
//! | [`trace`] | what each process and each worker did, and when: a file for Perfetto's viewer, figures, a comparison of two runs |
//!
//! A run knows nothing of this: all of it is told by [`kahn_report::observe::Observer`], which `kahn` shows as
//! `kahn::observe::Observer`.

#![forbid(unsafe_code)]

pub mod record;
pub mod trace;
