//! The report of a run: data first, then tables that people like to read, and JSON.

mod channel;
mod process;
mod text;

pub use channel::{ChannelReport, GrowthReport, MeetingKind, MeetingReport, MeetingState};
pub use process::{FailureReport, ProcessReport, Rebalances, WorkerReport};

use crate::{Explanation, Misuse, Name};
#[cfg(feature = "json")]
use serde::Serialize;

/// What happened in a run, and what it cost.
///
/// Prints as a table; [`to_json`](Self::to_json) gives the same as data. Processes and channels are
/// listed in the order of their creation, in every run the same.
///
/// Outcome, failures and endings are a function of the network and its input, in runs that are not
/// cut short (stopped, over budget, misuse). Times, polls, waits, steals, where messages went, how
/// channels grew, and what passed on channels whose reader left or may be
/// [pruned](crate::ProcessEnd::Pruned) depend on the schedule.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..10_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let report = network.run()?;
/// assert!(report.to_string().starts_with("finished"));
/// assert!(report.to_json().contains("\"outcome\""));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct Report {
    /// How the run ended.
    pub outcome: Summary,
    /// Whether its processes may choose (`kahn::csp`): then the result may depend on the schedule.
    pub chooses: bool,
    /// What is to be said about the outcome: a deadlock, a misuse, who did not stop.
    pub detail: Option<Detail>,
    /// Failures that count, in a fixed order: those of processes that could be observed to their end.
    /// A process that may be [pruned](crate::ProcessEnd::Pruned) fails or not as the schedule has it.
    pub failures: Vec<FailureReport>,
    /// The policy.
    pub policy: String,
    /// Threads that ran processes.
    pub workers: usize,
    /// Seconds from start to end.
    pub seconds: f64,
    /// Processes that ever existed, and channels.
    pub created: (u64, u64),
    /// Bytes of slots in use at the end, as the budget counts them, and the budget.
    pub slot_bytes: (u64, u64),
    /// The most bytes that the budget counted at a time: slots, and what messages owned when their
    /// channels grew.
    pub most_bytes: u64,
    /// Channels that had to grow, in the order of their creation.
    pub grown: Vec<GrowthReport>,
    /// Channels whose messages may own memory that nobody weighed: the budget counted their slots
    /// alone. See `kahn::Weigh`.
    pub weight_unknown: Vec<Name>,
    /// Walks along processes that wait for each other, in search of a deadlock.
    pub walks: u64,
    /// What could be seen to be wrong before the run, and was no error.
    pub warnings: Vec<String>,
    /// Processes, those created before the run first.
    pub processes: Vec<ProcessReport>,
    /// Ended processes beyond those listed: their number, and their sums.
    pub more_processes: Option<(u64, Box<ProcessReport>)>,
    /// Channels, likewise.
    pub channels: Vec<ChannelReport>,
    /// Ended channels beyond those listed.
    pub more_channels: Option<(u64, Box<ChannelReport>)>,
    /// Channels of communicating processes (`kahn::csp`), by their names.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Vec::is_empty"))]
    pub meetings: Vec<MeetingReport>,
    /// Ended ones beyond those listed: their number, and the messages that passed there.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub more_meetings: Option<(u64, u64)>,
    /// Messages received on the worker that sent them, as a share of all; `None` without messages
    /// and with `Accounting::Off`.
    pub local_share: Option<f64>,
    /// How often processes were shared out among the workers anew, if the policy does that.
    pub rebalances: Option<Rebalances>,
    /// Workers.
    pub worker_reports: Vec<WorkerReport>,
}

/// How a run ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Summary {
    /// Every process ended.
    Finished,
    /// A process failed that could be observed to its end; everything else ran to its end.
    Failed,
    /// Live processes are left and none can ever go on.
    Deadlock,
    /// The same, and the caller said that this is a normal end.
    Quiescent,
    /// A channel had to grow, and the byte budget did not allow it.
    OverBudget,
    /// A process used an end in a way that would let the schedule leak into a result.
    Misuse,
    /// The run was stopped from outside.
    Stopped,
    /// The system refused a thread that a process, a blocking call or the clock needs.
    OutOfThreads,
}

/// What is to be said about an outcome.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Detail {
    /// Who waits for whom.
    Waits(Explanation),
    /// What a process must not do.
    Misuse(String),
    /// Which thread was refused, by which limit, and what to do.
    Threads(String),
}

impl From<&Misuse> for Detail {
    fn from(misuse: &Misuse) -> Self {
        Self::Misuse(misuse.to_string())
    }
}

impl Report {
    /// Returns the report as JSON.
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| {
            // Nothing in a report can fail to be written; if it does, say so in the same format.
            serde_json::json!({ "error": error.to_string() }).to_string()
        })
    }

    /// Whether the run ended as it should: finished, or quiescent where that is normal.
    pub fn is_success(&self) -> bool {
        matches!(self.outcome, Summary::Finished | Summary::Quiescent)
    }

    /// Messages received on all channels.
    pub fn messages(&self) -> u64 {
        let more = self.more_channels.as_ref().map_or(0, |(_, channel)| channel.received);
        let met = self.meetings.iter().map(|meeting| meeting.messages).sum::<u64>();
        let more_met = self.more_meetings.map_or(0, |(_, messages)| messages);
        self.channels.iter().map(|channel| channel.received).sum::<u64>() + more + met + more_met
    }

    /// The outcome and what is to be said about it, without the tables.
    pub fn explanation(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_outcome(&mut text);
        text
    }

    /// Why a run was no success, as its error tells it: what failed is said without ado, for it may
    /// become the failure of a process around it.
    pub fn reason(&self) -> String {
        if self.outcome != Summary::Failed {
            return self.explanation().trim_end().to_owned();
        }
        let failures: Vec<_> = self.failures.iter().map(ToString::to_string).collect();
        failures.join("\n")
    }
}
