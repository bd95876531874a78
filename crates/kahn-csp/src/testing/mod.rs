//! Tests of policies: whether one keeps the scheduling laws that it promises.
//!
//! The networks that show it are of communicating processes, for these communicate, fork, have priorities
//! and are pinned; what a policy keeps here it keeps for every other kind of processes.

mod check;

pub use check::{BrokenLaw, Check, Kept, check};
