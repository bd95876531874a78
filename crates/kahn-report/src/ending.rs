//! How a process ended.

use crate::{Failure, Name};
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;

/// How a process ended.
///
/// # Examples
///
/// ```
/// use kahn_report::{Ending, ProcessEnd};
///
/// let ending = Ending::FailedBy { channel: "numbers".into(), process: "count".into() };
/// assert_eq!(ProcessEnd::of(Some(&ending)).to_string(), "failed with `count`, at `numbers`");
/// ```
#[derive(Clone, Debug)]
pub enum Ending {
    /// It returned.
    Finished,
    /// It returned an error or panicked.
    Failed(Failure),
    /// It reached the failure mark of a channel.
    FailedBy {
        /// The channel whose mark it reached.
        channel: Name,
        /// The process that left the mark.
        process: Name,
    },
    /// No process could observe it any more.
    Pruned,
    /// The run ended before it did.
    Stopped,
}

/// How a process ended, as reports tell it: in every run of a network on the same input the same,
/// unless the run was cut short.
///
/// Prints as a few words; as JSON it is an object whose `how` is the variant, such as
/// `{"how": "failed-with", "process": "parse", "channel": "numbers"}`.
///
/// # Examples
///
/// ```
/// use kahn::{Network, ProcessEnd};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0_u32..);
/// network.process("take two", numbers, async |mut numbers| {
///     numbers.recv().await;
///     numbers.recv().await;
/// });
/// let report = network.run()?;
/// assert_eq!(report.processes[0].ending, ProcessEnd::Pruned);
/// assert_eq!(report.processes[1].ending.to_string(), "finished");
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(tag = "how", rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ProcessEnd {
    /// It returned.
    Finished,
    /// It returned an error.
    Failed,
    /// It panicked.
    Panicked,
    /// It reached the failure mark of a channel.
    FailedWith {
        /// The process that failed before it.
        process: Name,
        /// The channel between the two.
        channel: Name,
    },
    /// All its readers left before its end, or could be pruned themselves, or nothing was left to see the loop that
    /// it is in: it was dropped then, or came to an end of its own first, or to a wait for ever. Which of these is a matter of the
    /// schedule, or of what only those readers saw, so it is not told.
    Pruned,
    /// It had not ended when nothing could go on any more.
    Never,
    /// The run was cut short before it ended.
    Stopped,
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("finished"),
            Self::Failed => f.write_str("failed"),
            Self::Panicked => f.write_str("panicked"),
            Self::FailedWith { process, channel } => {
                write!(f, "failed with `{process}`, at `{channel}`")
            }
            Self::Pruned => f.write_str("pruned"),
            Self::Never => f.write_str("never"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl ProcessEnd {
    /// Says what is told of a process; `None`: it has not ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Ending, ProcessEnd};
    ///
    /// assert_eq!(ProcessEnd::of(Some(&Ending::Pruned)), ProcessEnd::Pruned);
    /// assert_eq!(ProcessEnd::of(None), ProcessEnd::Never);
    /// ```
    pub fn of(ending: Option<&Ending>) -> Self {
        match ending {
            None => Self::Never,
            Some(Ending::Finished) => Self::Finished,
            Some(Ending::Failed(failure)) if failure.panicked => Self::Panicked,
            Some(Ending::Failed(_)) => Self::Failed,
            Some(Ending::FailedBy { channel, process }) => {
                Self::FailedWith { process: process.clone(), channel: channel.clone() }
            }
            Some(Ending::Pruned) => Self::Pruned,
            Some(Ending::Stopped) => Self::Stopped,
        }
    }
}
