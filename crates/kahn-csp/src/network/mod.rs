//! What do the processes of one network share?
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `core` | all of it, and why the run ended | |
//! | `attachment` | the state of the run, for those outside | the states of a run |
//! | `clock`, `heap` | deadlines | counted while they may still come |
//! | `sleeping` | waiting for a moment | |
//! | `helpers`, `blocking` | threads for calls that block, and the calls | |
//! | `error` | why a process, or a run, gave no result | |
//!
//! `core` and `attachment` know each other: the state of a run names the network that runs.

pub(crate) mod attachment;
pub(crate) mod blocking;
pub(crate) mod clock;
pub(crate) mod core;
pub(crate) mod error;
mod heap;
pub(crate) mod helpers;
pub(crate) mod sleeping;
