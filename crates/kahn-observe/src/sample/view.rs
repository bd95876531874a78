//! What looks at a run come to, as data and as a line of JSON.

use kahn_report::Name;
use kahn_report::observe::Doing;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

/// How a process spent the time that looks stand for. They add up to 1.
///
/// # Examples
///
/// ```
/// use kahn::observe::Doing;
/// use kahn_observe::sample::Shares;
///
/// let shares = Shares { busy: 0.75, full: 0.25, ..Shares::default() };
/// assert_eq!(shares.of(Doing::WaitsForRoom), 0.25);
/// assert_eq!(shares.most(), Doing::Busy);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// A thread ran it.
    pub busy: f64,
    /// It could run, and waited for a worker.
    pub ready: f64,
    /// It waited for a message of another process.
    pub empty: f64,
    /// It waited for another process to receive.
    pub full: f64,
    /// It waited for what is outside of the network.
    pub outside: f64,
}

impl Shares {
    /// The shares of these times.
    pub(super) fn new(times: [Duration; Doing::ALL.len()]) -> Option<Self> {
        let all: Duration = times.iter().sum();
        (!all.is_zero()).then(|| {
            let share = |doing: Doing| times[doing as usize].div_duration_f64(all);
            Self {
                busy: share(Doing::Busy),
                ready: share(Doing::Ready),
                empty: share(Doing::WaitsForMessage),
                full: share(Doing::WaitsForRoom),
                outside: share(Doing::WaitsOutside),
            }
        })
    }

    /// Returns the share of the time in which it did this.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::observe::Doing;
    /// use kahn_observe::sample::Shares;
    ///
    /// assert_eq!(Shares { ready: 1.0, ..Shares::default() }.of(Doing::Ready), 1.0);
    /// ```
    pub fn of(&self, doing: Doing) -> f64 {
        match doing {
            Doing::Busy => self.busy,
            Doing::Ready => self.ready,
            Doing::WaitsForMessage => self.empty,
            Doing::WaitsForRoom => self.full,
            Doing::WaitsOutside => self.outside,
        }
    }

    /// Returns what it did most of the time.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::observe::Doing;
    /// use kahn_observe::sample::Shares;
    ///
    /// let shares = Shares { empty: 0.6, busy: 0.4, ..Shares::default() };
    /// assert_eq!(shares.most(), Doing::WaitsForMessage);
    /// ```
    pub fn most(&self) -> Doing {
        let all = Doing::ALL.into_iter().rev();
        all.max_by(|a, b| self.of(*a).total_cmp(&self.of(*b))).unwrap_or(Doing::Ready)
    }
}

/// What a run did since the last view.
///
/// Serialized it is a JSON object, the line of `kahn run --live=json`.
///
/// # Examples
///
/// ```
/// use kahn_observe::sample::View;
///
/// /// The processes that compute more than half of the time.
/// fn hot(view: &View) -> Vec<&str> {
///     let hot = view.processes.iter().filter(|process| process.shares.busy > 0.5);
///     hot.map(|process| process.name.as_str()).collect()
/// }
/// assert!(hot(&View::default()).is_empty());
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct View {
    /// Seconds from when it was watched first to this view.
    pub seconds: f64,
    /// Seconds that this view tells of.
    pub of_seconds: f64,
    /// How often it was looked at in that time.
    pub looks: u32,
    /// Which processes these are of all.
    pub of_processes: Part,
    /// Which channels these are of all.
    pub of_channels: Part,
    /// The processes, in the order of the run's table.
    pub processes: Vec<ProcessView>,
    /// The channels, in the order of the run's table.
    pub channels: Vec<ChannelView>,
    /// The workers.
    pub workers: Vec<WorkerView>,
    /// Rings of processes that wait for each other, also of such as are not in this view.
    pub rings: Vec<Vec<RingView>>,
}

impl View {
    /// Returns the process of a number.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::View;
    ///
    /// assert!(View::default().process(7).is_none());
    /// ```
    pub fn process(&self, id: u64) -> Option<&ProcessView> {
        self.processes.iter().find(|process| process.id == id)
    }

    /// Returns whether all processes and channels are in it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::{Part, View};
    ///
    /// let mut view = View::default();
    /// assert!(view.is_whole());
    /// view.of_processes = Part { first: 2000, count: 2000, all: 10_000 };
    /// assert!(!view.is_whole());
    /// ```
    pub fn is_whole(&self) -> bool {
        self.of_processes.is_whole() && self.of_channels.is_whole()
    }
}

/// A part of a table, by places: the next view is of the next part.
///
/// # Examples
///
/// ```
/// use kahn_observe::sample::Part;
///
/// let part = Part { first: 2000, count: 2000, all: 10_000 };
/// assert_eq!(part.to_string(), "2001 to 4000 of 10000");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The first place.
    pub first: usize,
    /// How many places.
    pub count: usize,
    /// How many there are in all.
    pub all: usize,
}

impl Part {
    pub(super) fn new(places: Range<usize>, all: usize) -> Self {
        let end = places.end.min(all);
        Self { first: places.start, count: end.saturating_sub(places.start), all }
    }

    /// Returns whether this is all there is.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::sample::Part;
    ///
    /// assert!(Part { first: 0, count: 12, all: 12 }.is_whole());
    /// ```
    pub fn is_whole(self) -> bool {
        self.count == self.all
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {} of {}", self.first + 1, self.first + self.count, self.all)
    }
}

/// A process of a [`View`].
///
/// # Examples
///
/// ```
/// use kahn_observe::sample::{ProcessView, Shares};
///
/// fn line(process: &ProcessView) -> String {
///     let Shares { busy, empty, full, .. } = process.shares;
///     format!("{}: busy {busy:.2}, waits {:.2}", process.name, empty + full)
/// }
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ProcessView {
    /// Its number, the same in every run. A text in JSON, of 16 digits.
    #[serde(serialize_with = "digits")]
    pub id: u64,
    /// Its name; several may have the same.
    #[serde(serialize_with = "text")]
    pub name: Name,
    /// The rank on which it is, of a run on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// `process`, `blocking` or `outside`.
    pub kind: &'static str,
    /// How it spent its time.
    #[serde(flatten)]
    pub shares: Shares,
    /// What it did when it was looked at last.
    #[serde(serialize_with = "word")]
    pub doing: Doing,
    /// The number of the channel at which it waits now.
    #[serde(serialize_with = "maybe_digits", skip_serializing_if = "Option::is_none")]
    pub waits_at: Option<u64>,
    /// Whether the runtime has found that nothing can wake it.
    pub stuck: bool,
}

impl ProcessView {
    /// Returns its name, with its rank if there are several.
    ///
    /// # Examples
    ///
    /// ```
    /// fn shown(process: &kahn_observe::sample::ProcessView) -> String {
    ///     format!("{} is {}", process.called(), process.doing.name())
    /// }
    /// ```
    pub fn called(&self) -> Cow<'_, str> {
        match self.rank {
            Some(rank) => format!("{} (rank {rank})", self.name).into(),
            None => self.name.as_str().into(),
        }
    }
}

/// A channel of a [`View`].
///
/// # Examples
///
/// ```
/// use kahn_observe::sample::ChannelView;
///
/// fn line(channel: &ChannelView) -> String {
///     let rate = channel.rate.map_or("-".to_owned(), |rate| format!("{rate:.0}/s"));
///     format!("{}: {} of {}, {rate}", channel.name, channel.waiting, channel.capacity)
/// }
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct ChannelView {
    /// Its number, the same in every run. A text in JSON, of 16 digits.
    #[serde(serialize_with = "digits")]
    pub id: u64,
    /// Its name; several may have the same.
    #[serde(serialize_with = "text")]
    pub name: Name,
    /// The number of the process that sends.
    #[serde(serialize_with = "maybe_digits")]
    pub from: Option<u64>,
    /// The number of the process that receives.
    #[serde(serialize_with = "maybe_digits")]
    pub to: Option<u64>,
    /// How many messages it holds at most.
    pub capacity: u32,
    /// How many messages it holds, as far as they are published.
    pub waiting: u64,
    /// Messages received in all.
    pub received: u64,
    /// Messages received a second, since it was seen last; none if it is seen for the first time.
    pub rate: Option<f64>,
    /// How often it grew.
    pub growths: u32,
}

/// A worker of a [`View`].
///
/// # Examples
///
/// ```
/// use kahn_observe::sample::WorkerView;
///
/// let idle = WorkerView { busy: 0.0, runs: None, rank: None };
/// assert!(idle.runs.is_none());
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct WorkerView {
    /// The share of the time in which it ran a process.
    pub busy: f64,
    /// The number of the process that it ran when it was looked at last.
    #[serde(serialize_with = "maybe_digits")]
    pub runs: Option<u64>,
    /// The rank on which it is, of a run on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
}

/// A process of a ring, and the channel at which it waits.
///
/// # Examples
///
/// ```
/// use kahn_observe::sample::RingView;
///
/// let member = RingView { process: "a".into(), channel: "to a".into(), full: false };
/// assert_eq!(member.to_string(), "`a` waits at `to a` (empty)");
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct RingView {
    /// The process.
    #[serde(serialize_with = "text")]
    pub process: Name,
    /// The channel.
    #[serde(serialize_with = "text")]
    pub channel: Name,
    /// Whether the channel is full; else it is empty.
    pub full: bool,
}

impl std::fmt::Display for RingView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.full { "full" } else { "empty" };
        write!(f, "`{}` waits at `{}` ({state})", self.process, self.channel)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn digits<S: Serializer>(id: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{id:016x}"))
}

#[expect(clippy::ref_option, reason = "serde's form")]
fn maybe_digits<S: Serializer>(id: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => digits(id, serializer),
        None => serializer.serialize_none(),
    }
}

fn text<S: Serializer>(name: &Name, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.as_str())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn word<S: Serializer>(doing: &Doing, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(doing.name())
}
