//! How does a process wait, for one thing or for several?
//!
//! | file | what | its protocol |
//! |---|---|---|
//! | `select` | the select state of a process that waits for several things | taken once; two offers that want each other; no partner missed |
//! | `waiter` | a process that waits, how it is entered and made ready | |
//! | `operation` | what all operations have in common when they wait | the stages of an operation |
//! | `place` | where a process waits, as it is left behind for explanations | |
//!
//! What processes wait for stands behind *gates*: short locks of the engine, whose flags say to a thread
//! that only looks whether there is anything. No thread waits behind a gate, with one exception: a thread
//! that needs a select state which another keeps `BUSY`. The order of `select` bounds that.
//!
//! `select` and `waiter` know each other: what was taken is to be woken.

mod operation;
pub(crate) mod place;
pub(crate) mod select;
pub(crate) mod waiter;

pub(crate) use operation::{
    Stage, ask_to_enter, ask_to_leave, enter_alone, enter_selected, has_given_way, has_turn,
    has_turn_at_once, has_turn_unless, may_leave,
};
