//! What watches a network while it runs.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | recordings: what came from outside, from which all else follows, in a file; and running the same network from one |
//! | [`trace`] | what each process and each worker did, and when: a file for Perfetto's viewer, figures, a comparison of two runs |
//!
//! A run knows nothing of this: all of it is told by [`kahn_report::observe::Observer`], which `kahn` shows as
//! `kahn::observe::Observer`.

#![forbid(unsafe_code)]

pub mod record;
pub mod trace;
