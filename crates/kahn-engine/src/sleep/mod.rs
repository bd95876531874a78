//! How workers sleep and are woken, and how it is known that nothing can run any more.
//!
//! | module | what |
//! |---|---|
//! | `sleepers` | the workers that sleep, with the protocol and its proof |
//! | `activity` | the activity count: what may still make a process ready |

pub mod activity;
pub mod sleepers;
