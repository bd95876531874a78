//! The report of a run: data first, then a table people like to read, and JSON.

use crate::graph::{Explanation, Misuse, Name, ProcessEnd};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::fmt;

/// What happened in a run, and what it cost.
///
/// Prints as a table; [`to_json`](Self::to_json) gives the same as data. Processes and channels are
/// listed in the order of their creation, in every run the same.
///
/// Outcome, failures and endings are a function of the network and its input, in runs that are not
/// cut short (stopped, over budget, misuse). Times, polls, waits, steals, where messages went, how
/// channels grew, and what passed on channels whose reader left or may be
/// [pruned](ProcessEnd::Pruned) depend on the schedule.
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
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// How the run ended.
    pub outcome: Summary,
    /// Whether its processes may choose (`kahn::csp`): then the result may depend on the schedule.
    pub chooses: bool,
    /// What is to be said about the outcome: a deadlock, a misuse, who did not stop.
    pub detail: Option<Detail>,
    /// Failures that count, in a fixed order: those of processes that could be observed to their end.
    /// A process that may be [pruned](ProcessEnd::Pruned) fails or not as the schedule has it.
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
    /// alone. See [`Weigh`](crate::Weigh).
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meetings: Vec<MeetingReport>,
    /// Ended ones beyond those listed: their number, and the messages that passed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_meetings: Option<(u64, u64)>,
    /// Messages received on the worker that sent them, as a share of all; `None` without messages
    /// and with [`Accounting::Off`](crate::Accounting::Off).
    pub local_share: Option<f64>,
    /// How often processes were shared out among the workers anew, if the policy does that.
    pub rebalances: Option<Rebalances>,
    /// Workers.
    pub worker_reports: Vec<WorkerReport>,
}

/// How a run ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Detail {
    /// Who waits for whom.
    Waits(Explanation),
    /// What a process must not do.
    Misuse(String),
    /// Which thread was refused, by which limit, and what to do.
    Threads(String),
}

/// A process that failed.
///
/// Prints as a line. That a process panicked is printed by the hook for panics, when it happens; the
/// line says where, and gives the message only if no hook was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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

/// What one process did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProcessReport {
    /// Its name.
    pub name: Name,
    /// How it ended. Sums are over processes that finished or were pruned.
    pub ending: ProcessEnd,
    /// Seconds of a processor that it took; `None` if they were not measured, which they are with
    /// [`Accounting::Timing`](crate::Accounting::Timing). Under `partition` and less accounting an
    /// estimate from samples.
    pub cpu_seconds: Option<f64>,
    /// Times it was run.
    pub polls: u64,
    /// Times it waited for a message.
    pub waits_empty: u64,
    /// Times it waited for room.
    pub waits_full: u64,
    /// Times it changed workers.
    pub steals: u64,
}

/// What happened on one channel.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its name.
    pub name: Name,
    /// The process that sent, at the end of the run.
    pub from: Option<Name>,
    /// The process that received, at the end of the run.
    pub to: Option<Name>,
    /// The type of its messages.
    pub message_type: &'static str,
    /// Bytes a message takes in its slot.
    pub message_bytes: usize,
    /// Bytes that a message owned beside those, on average; `None` if that is unknown.
    pub owned_bytes: Option<u64>,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Of those received, how many changed workers on their way.
    pub remote: u64,
    /// The most messages that the receiver found waiting.
    pub most_waiting: u32,
    /// Its capacity at the end.
    pub capacity: u32,
    /// Times it grew.
    pub growths: u32,
}

/// A channel that had to grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GrowthReport {
    /// The channel.
    pub channel: Name,
    /// The process that sent, at the end of the run.
    pub from: Option<Name>,
    /// The process that received, at the end of the run.
    pub to: Option<Name>,
    /// The capacity that it began with.
    pub began_with: u32,
    /// The capacity that it came to.
    pub capacity: u32,
    /// Bytes a message takes in its slot.
    pub message_bytes: usize,
    /// Bytes that a message owned beside those, on average; `None` if that is unknown.
    pub owned_bytes: Option<u64>,
}

impl fmt::Display for GrowthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel `{}`", self.channel)?;
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            write!(f, ", from `{from}` to `{to}`,")?;
        }
        let (began, now, bytes) = (self.began_with, self.capacity, self.message_bytes);
        write!(f, " had to grow from a capacity of {began} to {now} messages of {bytes} bytes")?;
        match self.owned_bytes {
            Some(0) => Ok(()),
            Some(owned) => write!(f, ", which own {owned} more on average"),
            None => write!(f, ", which may own more: their weight is unknown"),
        }
    }
}

/// What happened on one channel of communicating processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct MeetingReport {
    /// Its name.
    pub name: Name,
    /// What it does with messages.
    pub kind: MeetingKind,
    /// Messages that its buffer holds; none without one.
    pub capacity: usize,
    /// The process that dropped the sending end, or had it when the run was over. `None` if that was
    /// none: the end came to another thread, or outlives the run.
    pub from: Option<Name>,
    /// The same of the receiving end.
    pub to: Option<Name>,
    /// Messages received; of an exchange, times that both gave and took.
    pub messages: u64,
    /// What had become of it when the run was over.
    pub state: MeetingState,
}

/// What a channel of communicating processes does with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MeetingKind {
    /// Sender and receiver meet: [`csp::channel`](crate::csp::channel()).
    Rendezvous,
    /// It holds messages: [`csp::buffered`](crate::csp::buffered).
    Buffered,
    /// Both give and both take: [`csp::exchange`](crate::csp::exchange()).
    Exchange,
}

/// What became of a channel of communicating processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MeetingState {
    /// It had both ends.
    Open,
    /// An end was dropped.
    Closed,
    /// An end was dropped with poison.
    Poisoned,
}

/// What it came to that processes were shared out among the workers while the network ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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

/// What one worker did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
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

/// Channels that a text names one by one.
const LISTED: usize = 5;

impl Report {
    /// Returns the report as JSON.
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
    pub(crate) fn reason(&self) -> String {
        if self.outcome != Summary::Failed {
            return self.explanation().trim_end().to_owned();
        }
        let failures: Vec<_> = self.failures.iter().map(ToString::to_string).collect();
        failures.join("\n")
    }

    fn write_outcome(&self, f: &mut impl fmt::Write) -> fmt::Result {
        match (&self.outcome, &self.detail) {
            (Summary::Finished, _) => writeln!(f, "finished")?,
            (Summary::Quiescent, _) => writeln!(f, "quiescent: nothing more can happen")?,
            (Summary::Failed, _) => writeln!(f, "failed")?,
            (Summary::Stopped, _) => writeln!(f, "stopped from outside")?,
            (Summary::OverBudget, _) => writeln!(f, "over budget: a channel may not grow further")?,
            (Summary::Deadlock, _) => writeln!(f, "deadlock: nothing can go on")?,
            (Summary::OutOfThreads, _) => writeln!(f, "out of threads")?,
            (Summary::Misuse, _) => writeln!(f, "misuse: the result could depend on the schedule")?,
        }
        match &self.detail {
            Some(Detail::Waits(explanation)) => write!(f, "{explanation}")?,
            Some(Detail::Misuse(text) | Detail::Threads(text)) => writeln!(f, "  {text}")?,
            None => {}
        }
        for failure in &self.failures {
            writeln!(f, "  {}", indented(&failure.to_string()))?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}

/// The text with all lines but the first indented: part of a list.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_outcome(f)?;
        let workers = if self.workers == 1 { "worker" } else { "workers" };
        write!(
            f,
            "{:.3} s, policy {}, {} {workers}, {} processes, {} channels, {} messages",
            self.seconds,
            self.policy,
            self.workers,
            self.created.0,
            self.created.1,
            self.messages()
        )?;
        if let (Some(local), true) = (self.local_share, self.workers > 1) {
            write!(f, ", {:.0} % local", local * 100.0)?;
        }
        writeln!(f)?;
        if let Some(again) = &self.rebalances {
            writeln!(
                f,
                "looked for a better partition {} times in {:.3} s, took it {} times: {} moves",
                again.asked, again.seconds, again.changed, again.moved
            )?;
        }
        let (most, budget) = (self.most_bytes, self.slot_bytes.1);
        if budget > 0 {
            writeln!(f, "the channels took {most} bytes at most, of a budget of {budget}")?;
        }
        for grown in self.grown.iter().take(LISTED) {
            writeln!(f, "{grown}")?;
        }
        if self.grown.len() > LISTED {
            writeln!(f, "and {} more channels had to grow", self.grown.len() - LISTED)?;
        }
        if !self.weight_unknown.is_empty() {
            let first = self.weight_unknown.iter().take(LISTED);
            let names: Vec<_> = first.map(|name| format!("`{name}`")).collect();
            let more = match self.weight_unknown.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            writeln!(
                f,
                "weight unknown: the budget counts no more than the slots of {}{more}; give them \
                 one with `Channel::weighed`",
                names.join(", ")
            )?;
        }
        if self.chooses {
            writeln!(f, "processes that choose took part: the result may depend on the schedule")?;
        }
        let mut table =
            new_table(&["process", "ended", "cpu s", "polls", "empty", "full", "steals"], 2);
        for process in &self.processes {
            let ending = process.ending.to_string();
            table.add_row(process.row(process.name.to_string(), ending));
        }
        if let Some((count, sums)) = &self.more_processes {
            table.add_row(sums.row(format!("{count} more"), String::new()));
        }
        writeln!(f, "\n{table}")?;
        let meets = !self.meetings.is_empty() || self.more_meetings.is_some();
        let table = if meets { self.meeting_table() } else { self.channel_table() };
        writeln!(f, "\n{table}")?;
        let mut table =
            new_table(&["worker", "busy s", "idle s", "spins", "sleeps", "steals", "won"], 0);
        for worker in &self.worker_reports {
            table.add_row(vec![
                worker.worker.to_string(),
                format!("{:.3}", worker.busy_seconds),
                format!("{:.3}", worker.idle_seconds),
                worker.spins.to_string(),
                worker.sleeps.to_string(),
                worker.steals_tried.to_string(),
                worker.steals_won.to_string(),
            ]);
        }
        write!(f, "\n{table}")
    }
}

impl Report {
    fn channel_table(&self) -> Table {
        let header = &[
            "channel", "from", "to", "received", "remote", "waiting", "capacity", "growths",
            "bytes", "owned",
        ];
        let mut table = new_table(header, 3);
        for channel in &self.channels {
            table.add_row(channel.row(channel.name.to_string()));
        }
        if let Some((count, sums)) = &self.more_channels {
            table.add_row(sums.row(format!("{count} more")));
        }
        table
    }

    fn meeting_table(&self) -> Table {
        let header = &["channel", "kind", "from", "to", "state", "received"];
        let mut table = new_table(header, 5);
        for meeting in &self.meetings {
            table.add_row(meeting.row());
        }
        if let Some((count, messages)) = self.more_meetings {
            let none = String::new;
            let more = format!("{count} more");
            table.add_row(vec![more, none(), none(), none(), none(), messages.to_string()]);
        }
        table
    }
}

/// A table whose first `left` columns are text and whose other columns are numbers.
fn new_table(header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.iter().copied());
    for (index, column) in table.column_iter_mut().enumerate() {
        if index >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

impl ProcessReport {
    fn row(&self, name: String, ending: String) -> Vec<String> {
        vec![
            name,
            ending,
            self.cpu_seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.3}")),
            self.polls.to_string(),
            self.waits_empty.to_string(),
            self.waits_full.to_string(),
            self.steals.to_string(),
        ]
    }
}

impl ChannelReport {
    fn row(&self, name: String) -> Vec<String> {
        vec![
            name,
            text_of(self.from.as_ref()),
            text_of(self.to.as_ref()),
            self.received.to_string(),
            self.remote.to_string(),
            self.most_waiting.to_string(),
            self.capacity.to_string(),
            self.growths.to_string(),
            self.message_bytes.to_string(),
            self.owned_bytes.map_or_else(|| "?".to_owned(), |owned| owned.to_string()),
        ]
    }
}

impl MeetingReport {
    fn row(&self) -> Vec<String> {
        let kind = match self.kind {
            MeetingKind::Rendezvous => "rendezvous".to_owned(),
            MeetingKind::Buffered => format!("buffered, {}", self.capacity),
            MeetingKind::Exchange => "exchange".to_owned(),
        };
        let state = match self.state {
            MeetingState::Open => "open",
            MeetingState::Closed => "closed",
            MeetingState::Poisoned => "poisoned",
        };
        vec![
            self.name.to_string(),
            kind,
            text_of(self.from.as_ref()),
            text_of(self.to.as_ref()),
            state.to_owned(),
            self.messages.to_string(),
        ]
    }
}

fn text_of(name: Option<&Name>) -> String {
    name.map_or(String::new(), Name::to_string)
}

impl From<&Misuse> for Detail {
    fn from(misuse: &Misuse) -> Self {
        Self::Misuse(misuse.to_string())
    }
}
