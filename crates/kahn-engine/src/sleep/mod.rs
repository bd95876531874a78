//! How workers sleep and are woken, and how it is known that nothing can run any more.
//!
//! | module | what |
//! |---|---|
//! | `sleepers` | the workers that sleep, with the protocol and its proof |
//! | `activity` | the activity count: what may still make a process ready |
//! | `shared_loop` | what a worker turns while it sleeps, and a thread of its own while the worker does not |

pub mod activity;
pub mod shared_loop;
pub mod sleepers;
