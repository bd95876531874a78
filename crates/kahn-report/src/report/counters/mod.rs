//! The table of all that is counted, by process, channel and worker: name, type, unit, and the column
//! of the text that shows it. The structs of a report, their rows in the text and their JSON are
//! made from it, and so is what a runtime keeps of a process.
//!
//! A new counter of a process is a line here and one where it counts:
//!
//! | kept | where the count stands |
//! |---|---|
//! | `header` | in a field of the process's header: what is counted at every switch |
//! | `language` | where the language of the process keeps it |
//! | `apart` | in what few processes have: what is counted seldom, or only if a user asks for it |
//!
//! A counter that is kept apart needs nothing else: the runtime has room for each.

use crate::{Name, ProcessEnd, human};
#[cfg(feature = "json")]
use serde::Serialize;

/// What a counter is of.
///
/// # Examples
///
/// ```
/// use kahn_report::{COUNTERS, Owner};
///
/// let of_workers = COUNTERS.iter().filter(|counter| counter.owner == Owner::Worker);
/// assert!(of_workers.map(|counter| counter.name).any(|name| name == "steals_won"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A process.
    Process,
    /// A channel of a network.
    Channel,
    /// A worker.
    Worker,
}

/// What a counter counts.
///
/// # Examples
///
/// ```
/// use kahn_report::{COUNTERS, Unit};
///
/// let times = COUNTERS.iter().filter(|counter| counter.unit == Unit::Seconds);
/// assert!(times.map(|counter| counter.name).all(|name| name.ends_with("_seconds")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// How often something happened.
    Times,
    /// Messages.
    Messages,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// Where a runtime keeps a counter of a process.
///
/// # Examples
///
/// ```
/// use kahn_report::{Kept, ProcessCounter};
///
/// assert_eq!(ProcessCounter::polls.kept(), Kept::Header);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In a field of the header.
    Header,
    /// Where the language has it.
    Language,
    /// Apart from the header.
    Apart,
}

/// A row of [`COUNTERS`].
///
/// # Examples
///
/// ```
/// use kahn_report::{COUNTERS, Owner, Unit};
///
/// let moves = COUNTERS.iter().find(|counter| counter.name == "migrations").unwrap();
/// assert_eq!((moves.owner, moves.unit), (Owner::Process, Unit::Times));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The name: that of the field, and of the key in JSON.
    pub name: &'static str,
    /// What it is of.
    pub owner: Owner,
    /// What it counts.
    pub unit: Unit,
    /// The heading of its column in the text; empty if it has none.
    pub column: &'static str,
}

/// A number of the report.
trait Figure: Sized {
    /// As the text shows it.
    fn shown(&self, unit: Unit) -> String;
}

impl Figure for u64 {
    fn shown(&self, unit: Unit) -> String {
        if unit == Unit::Bytes { human::bytes(*self) } else { self.to_string() }
    }
}

impl Figure for u32 {
    fn shown(&self, unit: Unit) -> String {
        u64::from(*self).shown(unit)
    }
}

impl Figure for usize {
    fn shown(&self, unit: Unit) -> String {
        (*self as u64).shown(unit)
    }
}

impl Figure for f64 {
    fn shown(&self, _seconds: Unit) -> String {
        human::time(Some(*self))
    }
}

impl Figure for Option<f64> {
    fn shown(&self, _seconds: Unit) -> String {
        human::time(*self)
    }
}

impl Figure for Option<u64> {
    fn shown(&self, unit: Unit) -> String {
        self.map_or("?".to_owned(), |figure| figure.shown(unit))
    }
}

/// A number that a runtime counts for a process.
trait Count: Copy + Default {
    /// From what was counted; seconds in nanoseconds.
    fn from_count(count: Option<u64>) -> Self;
    /// The other way.
    fn to_count(self) -> Option<u64>;
    /// Both together.
    fn plus(self, other: Self) -> Self;
}

impl Count for u64 {
    fn from_count(count: Option<u64>) -> Self {
        count.unwrap_or(0)
    }

    fn to_count(self) -> Option<u64> {
        Some(self)
    }

    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Count for Option<f64> {
    fn from_count(count: Option<u64>) -> Self {
        count.map(|nanoseconds| std::time::Duration::from_nanos(nanoseconds).as_secs_f64())
    }

    fn to_count(self) -> Option<u64> {
        let time = std::time::Duration::try_from_secs_f64(self?).unwrap_or_default();
        u64::try_from(time.as_nanos()).ok()
    }

    fn plus(self, other: Self) -> Self {
        self.map_or(other, |sum| Some(sum + other.unwrap_or(0.0)))
    }
}

/// Makes the struct of a report: what tells its owner from others, and the counters.
macro_rules! report {
    (
        $(#[$of:meta])* $report:ident of $owner:ident {
            $($(#[$plain_doc:meta])* $plain:ident: $plain_type:ty;)*
        }
        $($(#[$doc:meta])* $name:ident: $type:ty, $unit:ident, $column:literal;)*
    ) => {
        $(#[$of])*
        #[derive(Clone, Debug)]
        #[cfg_attr(feature = "json", derive(Serialize))]
        pub struct $report {
            $($(#[$plain_doc])* pub $plain: $plain_type,)*
            $($(#[$doc])* pub $name: $type,)*
        }

        impl $report {
            /// The rows of the table.
            pub(crate) const COUNTERS: &'static [Counter] = &[$(Counter {
                name: stringify!($name),
                owner: Owner::$owner,
                unit: Unit::$unit,
                column: $column,
            },)*];

            /// The headings of the columns.
            pub(super) fn columns() -> impl Iterator<Item = &'static str> {
                let columns = Self::COUNTERS.iter().map(|counter| counter.column);
                columns.filter(|column| !column.is_empty())
            }

            /// What stands in these columns.
            pub(super) fn figures(&self) -> Vec<String> {
                let mut figures = Vec::new();
                $(if !$column.is_empty() {
                    figures.push(self.$name.shown(Unit::$unit));
                })*
                figures
            }
        }
    };
}

/// Makes what a runtime needs of the counters of a process.
macro_rules! counts_of_processes {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $kept:ident;)*) => {
        /// What a process did; also the sum over several.
        ///
        /// # Examples
        ///
        /// ```
        /// use kahn_report::ProcessCounts;
        ///
        /// assert_eq!(ProcessCounts::default().polls, 0);
        /// ```
        #[derive(Clone, Copy, Debug, Default)]
        pub struct ProcessCounts {
            $($(#[$doc])* pub $name: $type,)*
        }

        /// A counter of a process.
        ///
        /// # Examples
        ///
        /// ```
        /// use kahn_report::{COUNTERS, Owner, ProcessCounter};
        ///
        /// let rows = COUNTERS.iter().filter(|counter| counter.owner == Owner::Process);
        /// assert_eq!(ProcessCounter::ALL.len(), rows.count());
        /// ```
        #[allow(non_camel_case_types, reason = "a counter has one name, here and in the report")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProcessCounter {
            $($(#[$doc])* $name,)*
        }

        impl ProcessCounter {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns where it is kept.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn_report::{Kept, ProcessCounter};
            ///
            /// assert_eq!(ProcessCounter::waits_full.kept(), Kept::Language);
            /// ```
            pub const fn kept(self) -> Kept {
                match self {
                    $(Self::$name => Kept::$kept,)*
                }
            }
        }

        impl ProcessCounts {
            /// Makes them of what was counted, each by itself: times, and seconds in nanoseconds;
            /// `None` of what was not measured.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn_report::{ProcessCounter, ProcessCounts};
            ///
            /// let counts = ProcessCounts::of(|counter| {
            ///     (counter == ProcessCounter::polls).then_some(3)
            /// });
            /// assert_eq!((counts.polls, counts.cpu_seconds), (3, None));
            /// ```
            pub fn of(mut counted: impl FnMut(ProcessCounter) -> Option<u64>) -> Self {
                Self { $($name: Count::from_count(counted(ProcessCounter::$name)),)* }
            }

            /// Returns what was counted; seconds in nanoseconds, `None` if it was not measured.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn_report::{ProcessCounter, ProcessCounts};
            ///
            /// let counts = ProcessCounts { polls: 2, ..ProcessCounts::default() };
            /// assert_eq!(counts.counted(ProcessCounter::polls), Some(2));
            /// assert_eq!(counts.counted(ProcessCounter::cpu_seconds), None);
            /// ```
            pub fn counted(&self, counter: ProcessCounter) -> Option<u64> {
                match counter {
                    $(ProcessCounter::$name => self.$name.to_count(),)*
                }
            }

            /// Adds what another did.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn_report::ProcessCounts;
            ///
            /// let mut sum = ProcessCounts { polls: 2, ..ProcessCounts::default() };
            /// sum.add(&sum.clone());
            /// assert_eq!(sum.polls, 4);
            /// ```
            pub fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.plus(other.$name);)*
            }
        }

        impl ProcessReport {
            /// Makes the report of a process.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn_report::{ProcessCounts, ProcessEnd, ProcessReport};
            ///
            /// let counts = ProcessCounts { polls: 3, ..ProcessCounts::default() };
            /// let report = ProcessReport::new("sum".into(), ProcessEnd::Finished, counts);
            /// assert_eq!((report.name.as_str(), report.polls), ("sum", 3));
            /// ```
            pub fn new(name: Name, ending: ProcessEnd, counts: ProcessCounts) -> Self {
                Self { name, ending, $($name: counts.$name,)* }
            }

            /// What it did, by itself.
            pub(in crate::report) fn counts(&self) -> ProcessCounts {
                ProcessCounts { $($name: self.$name,)* }
            }
        }
    };
}

/// The table.
macro_rules! counters {
    (
        process {$(
            $(#[$doc:meta])* $name:ident: $type:ty, $unit:ident, $column:literal, $kept:ident;
        )*}
        channel {$($channel:tt)*}
        worker {$($worker:tt)*}
    ) => {
        report! {
            /// What one process did.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn::{Network, ProcessEnd};
            ///
            /// let mut network = Network::new();
            /// let numbers = network.source("numbers", 0..10_u32);
            /// network.for_each("ignore", numbers, |_| {});
            /// let report = network.run()?;
            /// let process = &report.processes[1];
            /// assert_eq!((process.name.as_str(), &process.ending), ("ignore", &ProcessEnd::Finished));
            /// assert!(process.polls > 0 && process.cpu_seconds.is_none());
            /// # Ok::<(), kahn::RunError>(())
            /// ```
            ProcessReport of Process {
                /// Its name.
                name: Name;
                /// How it ended. Sums are over processes that finished or were pruned.
                ending: ProcessEnd;
            }
            $($(#[$doc])* $name: $type, $unit, $column;)*
        }
        counts_of_processes! { $($(#[$doc])* $name: $type, $kept;)* }
        report! {
            /// What happened on one channel.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn::Network;
            ///
            /// let mut network = Network::new();
            /// let numbers = network.source("numbers", 0..10_u32);
            /// network.for_each("ignore", numbers, |_| {});
            /// let report = network.run()?;
            /// let channel = &report.channels[0];
            /// assert_eq!((channel.sent, channel.received), (10, 10));
            /// assert_eq!((channel.message_type, channel.message_bytes), ("u32", 4));
            /// # Ok::<(), kahn::RunError>(())
            /// ```
            ChannelReport of Channel {
                /// Its name.
                name: Name;
                /// The process that sent, at the end of the run.
                from: Option<Name>;
                /// The process that received, at the end of the run.
                to: Option<Name>;
                /// The type of its messages.
                message_type: &'static str;
            }
            $($channel)*
        }
        report! {
            /// What one worker did.
            ///
            /// # Examples
            ///
            /// ```
            /// use kahn::{Network, Options};
            ///
            /// let mut network = Network::new();
            /// let numbers = network.source("numbers", 0..10_u32);
            /// network.for_each("ignore", numbers, |_| {});
            /// let report = network.run_with(Options::new().workers(2))?;
            /// let workers: Vec<_> = report.worker_reports.iter().map(|worker| worker.worker).collect();
            /// assert_eq!(workers, [0, 1]);
            /// # Ok::<(), kahn::RunError>(())
            /// ```
            WorkerReport of Worker {
                /// Its number.
                worker: usize;
            }
            $($worker)*
        }

        /// All that is counted.
        pub const COUNTERS: &[Counter] = &{
            let tables = [ProcessReport::COUNTERS, ChannelReport::COUNTERS, WorkerReport::COUNTERS];
            joined(tables)
        };
    };
}

const COUNT: usize =
    ProcessReport::COUNTERS.len() + ChannelReport::COUNTERS.len() + WorkerReport::COUNTERS.len();

const fn joined(tables: [&[Counter]; 3]) -> [Counter; COUNT] {
    let mut all = [tables[0][0]; COUNT];
    let (mut table, mut row, mut place) = (0, 0, 0);
    while place < COUNT {
        if row == tables[table].len() {
            (table, row) = (table + 1, 0);
        } else {
            all[place] = tables[table][row];
            (row, place) = (row + 1, place + 1);
        }
    }
    all
}

counters! {
    process {
        /// Seconds of a processor that it took; `None` if they were not measured, which they are with
        /// `Accounting::Timing`. Under `partition` and less accounting an estimate from samples.
        cpu_seconds: Option<f64>, Seconds, "cpu", Apart;
        /// Times it was run.
        polls: u64, Times, "polls", Header;
        /// Times it waited for a message.
        waits_empty: u64, Times, "empty", Language;
        /// Times it waited for room.
        waits_full: u64, Times, "full", Language;
        /// Times it went on on another worker than before.
        migrations: u64, Times, "migrations", Header;
    }
    channel {
        /// Messages sent.
        sent: u64, Messages, "";
        /// Messages received.
        received: u64, Messages, "received";
        /// Of those received, how many changed workers on their way.
        remote: u64, Messages, "remote";
        /// Messages that went from its sender's rank to its receiver's; of a run on one rank none.
        carried: u64, Messages, "";
        /// Bytes of those in their written form, each with the four of its length.
        carried_bytes: u64, Bytes, "";
        /// The most messages that the receiver found waiting.
        most_waiting: u32, Messages, "waiting";
        /// Its capacity at the end.
        capacity: u32, Messages, "capacity";
        /// Times it grew.
        growths: u32, Times, "growths";
        /// Bytes a message takes in its slot.
        message_bytes: usize, Bytes, "bytes";
        /// Bytes that a message owned beside those, on average; `None` if that is unknown.
        owned_bytes: Option<u64>, Bytes, "owned";
    }
    worker {
        /// Seconds in which it ran processes.
        busy_seconds: f64, Seconds, "busy";
        /// Seconds in which it had none.
        idle_seconds: f64, Seconds, "idle";
        /// Searches without result while idle.
        spins: u64, Times, "spins";
        /// Times it slept.
        sleeps: u64, Times, "sleeps";
        /// Attempts to steal work from others.
        steals_tried: u64, Times, "tried";
        /// Attempts that succeeded.
        steals_won: u64, Times, "won";
    }
}

#[cfg(test)]
pub(super) mod tests;
