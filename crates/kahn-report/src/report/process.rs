//! What a report tells of failures, and of processes that move.

use crate::Name;
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;

/// A process that failed.
///
/// Prints as a line. That a process panicked is printed by the hook for panics, when it happens; the
/// line says where, and gives the message only if no hook was told.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("numbers");
/// network.process("fail", out, async |_out| Err::<(), _>("no luck"));
/// network.for_each("hear of it", numbers, |_| {});
/// let error = network.run().expect_err("it fails");
/// let failure = &error.report().expect("it has run").failures[0];
/// assert_eq!(failure.to_string(), "process `fail` failed: no luck (and with it `hear of it`)");
/// ```
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

/// What it came to that processes were shared out among the workers while the network ran.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// network.process("idle", (), async |()| {});
/// let report = network.run()?;
/// // The default policy steals and does not share out anew.
/// assert!(report.rebalances.is_none());
/// # Ok::<(), kahn::RunError>(())
/// ```
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
