//! The report of a run: data first, then tables that people like to read, and JSON.

mod channel;
mod counters;
mod limit;
mod picture;
mod process;
mod short;
#[cfg(test)]
mod tests;
mod text;

pub use channel::{GrowthReport, MeetingKind, MeetingReport, MeetingState};
pub use counters::{
    COUNTERS, ChannelReport, Counter, Kept, Owner, ProcessCounter, ProcessCounts, ProcessReport,
    Unit, WorkerReport,
};
pub use process::Rebalances;

use crate::{Explanation, FailureReport, Misuse, Name};
#[cfg(feature = "json")]
use serde::Serialize;

/// What happened in a run, and what it cost.
///
/// Prints in short what a person asks first: how long it took, how busy the workers were, what limited
/// it, what grew; then processes by their share of time, and channels by their traffic, with names that
/// differ in numbers alone as one row. The alternate form `{:#}` prints all of it, and
/// `to_json` (feature `json`) gives the same as data: processes and channels in the order of their
/// creation, in every run the same.
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
    /// Whether its processes may choose (`kahn-csp`): then the result may depend on the schedule.
    pub chooses: bool,
    /// What is to be said about the outcome: a deadlock, a misuse, what did not stop.
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
    /// Channels whose messages may own memory that was not weighed: the budget counted their slots
    /// alone. See `kahn::Weigh`.
    pub weight_unknown: Vec<Name>,
    /// Walks along processes that wait for each other, in search of a deadlock.
    pub walks: u64,
    /// What could be seen to be wrong before the run, and was no error.
    pub warnings: Vec<String>,
    /// Processes that bring messages in an order from outside the network.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Vec::is_empty"))]
    pub from_outside: Vec<Name>,
    /// Processes, those created before the run first.
    pub processes: Vec<ProcessReport>,
    /// Ended processes beyond those listed: their number, and their sums.
    pub more_processes: Option<(u64, Box<ProcessReport>)>,
    /// Channels, likewise.
    pub channels: Vec<ChannelReport>,
    /// Ended channels beyond those listed.
    pub more_channels: Option<(u64, Box<ChannelReport>)>,
    /// Channels of communicating processes (`kahn-csp`), by their names.
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
///
/// # Examples
///
/// ```
/// use kahn::{Network, Summary};
///
/// let mut network = Network::new();
/// network.process("idle", (), async |()| {});
/// let report = network.run()?;
/// assert_eq!(report.outcome, Summary::Finished);
/// # Ok::<(), kahn::RunError>(())
/// ```
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
///
/// # Examples
///
/// ```
/// use kahn::{Detail, Network};
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("to itself");
/// network.process("wait", (out, numbers), async |(_out, mut numbers)| {
///     numbers.recv().await;
/// });
/// let error = network.run().expect_err("it waits for itself");
/// let detail = &error.report().expect("it has run").detail;
/// let Some(Detail::Waits(explanation)) = detail else { panic!("it waits") };
/// assert_eq!(explanation.waiting[0].process, "wait");
/// ```
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Detail {
    /// Which process waits for which.
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
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// network.process("idle", (), async |()| {});
    /// let json = network.run()?.to_json();
    /// assert!(json.contains("\"outcome\": \"finished\""));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| {
            // Nothing in a report can fail to be written; if it does, say so in the same format.
            serde_json::json!({ "error": error.to_string() }).to_string()
        })
    }

    /// Returns whether the run ended as it should: finished, or quiescent where that is normal.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// network.process("fail", (), async |()| Err::<(), _>("no luck"));
    /// let error = network.run().expect_err("it fails");
    /// assert!(!error.report().expect("it has run").is_success());
    /// ```
    pub fn is_success(&self) -> bool {
        matches!(self.outcome, Summary::Finished | Summary::Quiescent)
    }

    /// Returns the messages received on all channels.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..10_u32);
    /// let doubled = network.map("double", numbers, |n| 2 * n);
    /// network.for_each("ignore", doubled, |_| {});
    /// assert_eq!(network.run()?.messages(), 20);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn messages(&self) -> u64 {
        let more = self.more_channels.as_ref().map_or(0, |(_, channel)| channel.received);
        let met = self.meetings.iter().map(|meeting| meeting.messages).sum::<u64>();
        let more_met = self.more_meetings.map_or(0, |(_, messages)| messages);
        self.channels.iter().map(|channel| channel.received).sum::<u64>() + more + met + more_met
    }

    /// Returns the outcome and what is to be said about it, without the tables.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, numbers) = network.channel::<u32>("to itself");
    /// network.process("wait", (out, numbers), async |(_out, mut numbers)| {
    ///     numbers.recv().await;
    /// });
    /// let error = network.run().expect_err("it waits for itself");
    /// let text = error.report().expect("it has run").explanation();
    /// assert!(text.contains("`wait` waits to receive message 1 from `to itself` (empty)"));
    /// ```
    pub fn explanation(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_outcome(&mut text);
        text
    }

    /// Returns why a run was no success, as its error tells it: failures alone if there are any, for they
    /// may become the failure of a process around it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// network.process("fail", (), async |()| Err::<(), _>("no luck"));
    /// let error = network.run().expect_err("it fails");
    /// let reason = error.report().expect("it has run").reason();
    /// assert_eq!(reason, "process `fail` failed: no luck");
    /// ```
    pub fn reason(&self) -> String {
        if self.outcome != Summary::Failed {
            return self.explanation().trim_end().to_owned();
        }
        let failures: Vec<_> = self.failures.iter().map(ToString::to_string).collect();
        failures.join("\n")
    }
}
