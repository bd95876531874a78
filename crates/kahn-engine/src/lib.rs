//! Decides when code runs: processes, workers, run queues, parking.
//!
//! ```text
//!                run queues                       where the language says
//!   ready ───────────────► running ─────────────► parked ──┐
//!     ▲                      │  │                          │ what it waits
//!     │      yields          │  │ waits for a foreign waker│ for comes
//!     └──────────────────────┘  └──► Foreign ──────────────┤
//!     └────────────────────────────────────────────────────┘
//! ```
//!
//! A [`Worker`] takes a ready process from the run queues, polls it, publishes what it did, and then
//! does what it asked for: parks it, queues it again, or ends it. Parking happens *after* the poll
//! has returned, so the thread that wakes the process finds it complete. How a process is parked, and
//! what else is particular to a kind of processes, is a [language](worker::language).
//!
//! # When nothing can run
//!
//! The [`activity`](sleep::activity) counts all that may make a process ready as *busy*: workers that are awake,
//! threads of blocking processes that are not inside a waiting operation, outside parties likewise.
//! What wakes another counts it *before* it stops being counted itself, so nothing is busy only
//! if nothing can act but what it counts as *pending*: foreign wakers, and parties that may cancel.
//! The last to be busy asks the language to free what can go on ([`Language::quiet`]); if in addition
//! nothing is pending, what is left can never go on and the run gets its verdict.

pub mod counters;
pub mod memory;
#[cfg(loom)]
#[doc(hidden)]
pub mod model;
#[cfg(all(test, loom))]
mod models;
pub mod policy;
pub mod queue;
pub mod run;
pub mod scheduler;
pub mod sleep;
pub mod sync;
pub mod task;
pub mod thread;
pub mod worker;

pub use counters::Accounting;
pub use policy::{Origin, Reason};
pub use queue::places::Urgency;
pub use queue::run_queues::RunQueues;
pub use run::Schedule;
pub use scheduler::{Balance, Config, Hooks, Scheduler, Settings, Tag};
pub use task::extension::Unparker;
pub use task::table::{ProcessRecord, Table};
pub use task::{Header, Kept, Kind, TaskRef};
pub use thread::ThreadSet;
pub use worker::dispatch::Worker;
pub use worker::language::{Language, Left, Probe};
pub use worker::request::{Park, Pause, Request};
pub use worker::waiters::Waiters;
pub use worker::{Unwound, WorkerCore};
