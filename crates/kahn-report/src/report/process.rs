//! What a report tells of processes and workers.

use crate::{Name, ProcessEnd};
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;

/// What one process did.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct ProcessReport {
    /// Its name.
    pub name: Name,
    /// How it ended. Sums are over processes that finished or were pruned.
    pub ending: ProcessEnd,
    /// Seconds of a processor that it took; `None` if they were not measured, which they are with
    /// `Accounting::Timing`. Under `partition` and less accounting an
    /// estimate from samples.
    pub cpu_seconds: Option<f64>,
    /// Times it was run.
    pub polls: u64,
    /// Times it waited for a message.
    pub waits_empty: u64,
    /// Times it waited for room.
    pub waits_full: u64,
    /// Times it went on on another worker than before.
    pub migrations: u64,
}

/// A process that failed.
///
/// Prints as a line. That a process panicked is printed by the hook for panics, when it happens; the
/// line says where, and gives the message only if no hook was told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct FailureReport {
    /// The process.
    pub process: Name,
    /// The error's text, or the panic's message.
    pub message: String,
    /// Whether it panicked.
    pub panicked: bool,
    /// Where it panicked: file, line and column. `None` if no hook was told, as by
    /// [`resume_unwind`](std::panic::resume_unwind), or if the hook was replaced during the run.
    pub at: Option<String>,
    /// Processes that ended because of it, in a fixed order.
    pub ended_with_it: Vec<Name>,
}

impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process `{}` ", self.process)?;
        match &self.at {
            Some(at) => write!(f, "panicked at {at}")?,
            None if self.panicked => write!(f, "panicked: {}", self.message)?,
            None => write!(f, "failed: {}", self.message)?,
        }
        if !self.ended_with_it.is_empty() {
            let names: Vec<_> = self.ended_with_it.iter().map(|name| format!("`{name}`")).collect();
            write!(f, " (and with it {})", names.join(", "))?;
        }
        Ok(())
    }
}

/// What one worker did.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct WorkerReport {
    /// Its number.
    pub worker: usize,
    /// Seconds in which it ran processes.
    pub busy_seconds: f64,
    /// Seconds in which it had none.
    pub idle_seconds: f64,
    /// Searches without result while idle.
    pub spins: u64,
    /// Times it slept.
    pub sleeps: u64,
    /// Attempts to take work from others.
    pub steals_tried: u64,
    /// Attempts that succeeded.
    pub steals_won: u64,
}

/// What it came to that processes were shared out among the workers while the network ran.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct Rebalances {
    /// Times the workers had been idle for long enough to look for a better share.
    pub asked: u64,
    /// Times a better one was found: the repartitions.
    pub changed: u64,
    /// Processes that had to move, all together.
    pub moved: u64,
    /// Seconds that this took.
    pub seconds: f64,
}
