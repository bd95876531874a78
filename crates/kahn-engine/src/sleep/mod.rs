//! How workers sleep and are woken, and how it is known that nothing can run any more.
//!
//! | module | what |
//! |---|---|
//! | `idle` | the states of a worker that has nothing to run, with the protocol of sleep and its proof |
//! | `activity` | the activity count: what may still make a process ready |
//! | `grace` | grace periods: when every worker has left its operation |

pub mod activity;
mod grace;
mod idle;
