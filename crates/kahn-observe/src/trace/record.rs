//! What is kept of a run: a ring for each thread that writes, and the names of what it writes of.

use super::names::{Kind, Known, Names};
use super::ring::Kept;
use super::timeline::Timeline;
use super::weave::{Drawn, weave};
use kahn_engine::WorkerCore;
use kahn_engine::sync::system::clock;
use kahn_report::log::{Log, Record, Ring, What};
use kahn_report::observe::{Link, Observer, Subject, Tick, Wants};
use parking_lot::Mutex;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

/// How much a trace keeps.
///
/// # Examples
///
/// ```
/// use kahn_observe::trace::Level;
///
/// assert_eq!("messages".parse(), Ok(Level::Messages));
/// assert!("all".parse::<Level>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// When each process ran, and what it waited for.
    #[default]
    Schedule,
    /// And when messages were sent and received, and how full channels were.
    Messages,
}

impl Level {
    /// The levels by name, least first.
    pub const NAMES: [(&'static str, Self); 2] =
        [("schedule", Self::Schedule), ("messages", Self::Messages)];
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, level)| level == self).map(|(name, _)| name);
        f.write_str(name.expect("each level has a name"))
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, level)| *level);
        level.ok_or_else(|| {
            format!("`{text}` is no level of a trace: `schedule` and `messages` are")
        })
    }
}

/// Watches a run and keeps what happened last.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::trace::{Level, Trace};
/// use std::sync::Arc;
///
/// let trace = Arc::new(Trace::new(Level::Schedule));
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..1000_u32);
/// network.for_each("ignore", numbers, |_| {});
/// network.run_with(Options::new().observer(Arc::clone(&trace)))?;
///
/// let mut file = Vec::new(); // or a file: open it in https://ui.perfetto.dev
/// trace.timeline().write(&mut file)?;
/// assert!(!file.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    kept: Arc<Records>,
    began: u64,
    /// By which the report tells times, when the run is over.
    tick: Mutex<Option<Tick>>,
    links: Mutex<Vec<LinkOf>>,
}

/// A link, by its number.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct LinkOf {
    pub(super) process: u64,
    pub(super) channel: u64,
    /// The rank of the channel's other end.
    pub(super) rank: usize,
    /// Whether it sends here what comes from there.
    pub(super) sends: bool,
}

/// What threads write to.
#[derive(Debug)]
struct Records {
    level: Level,
    /// Each message has an arrow.
    draws_all: bool,
    places: usize,
    names: Names,
    rings: Mutex<Vec<Arc<Ring>>>,
}

/// Events that the ring of a worker keeps, unless told: 2.5 MiB.
const OF_A_WORKER: usize = 1 << 16;
/// Of a thread that is no worker: there may be thousands.
const OF_A_THREAD: usize = 1 << 12;

impl Trace {
    /// Makes one that keeps the last 65 536 events of each worker, and 4 096 of each other thread.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::{Level, Trace};
    ///
    /// assert_eq!(Trace::new(Level::Schedule).timeline().lost(), 0);
    /// ```
    pub fn new(level: Level) -> Self {
        Self::of(level, false, OF_A_WORKER)
    }

    fn of(level: Level, draws_all: bool, places: usize) -> Self {
        clock::start();
        let (names, rings) = (Names::new(), Mutex::new(Vec::new()));
        let kept = Arc::new(Records { level, draws_all, places, names, rings });
        Self { kept, began: clock::ticks(), tick: Mutex::default(), links: Mutex::default() }
    }

    /// Sets how many events of each worker it keeps: the next power of two. Others keep a sixteenth. An
    /// event takes 40 bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_observe::trace::{Level, Trace};
    /// use std::sync::Arc;
    ///
    /// let trace = Arc::new(Trace::new(Level::Messages).events(16));
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..1000_u32);
    /// network.for_each("ignore", numbers, |_| {});
    /// network.run_with(Options::new().workers(1).capacity(1).observer(Arc::clone(&trace)))?;
    /// assert!(trace.timeline().lost() > 900);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[must_use]
    pub fn events(self, most: usize) -> Self {
        Self::of(self.kept.level, self.kept.draws_all, most)
    }

    /// Makes a timeline of what is kept now; the run may go on.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_observe::trace::{Level, Trace};
    /// use std::sync::Arc;
    ///
    /// let trace = Arc::new(Trace::new(Level::Schedule));
    /// let mut network = Network::new();
    /// network.process("one", (), async |()| {});
    /// network.run_with(Options::new().observer(Arc::clone(&trace)))?;
    /// assert!(trace.timeline().summary().to_string().contains("one"));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn timeline(&self) -> Timeline {
        let (kept, until) = self.kept();
        let known = self.kept.names.known();
        let tick = (*self.tick.lock()).unwrap_or_else(clock::tick);
        let draws = Drawn::of(self.draws_all());
        weave(&kept, known.list(), self.began..until, tick, &draws, Vec::new())
    }

    /// What is kept up to now, and when that is.
    pub(super) fn kept(&self) -> (Vec<Kept>, u64) {
        let rings = self.kept.rings.lock().clone();
        let until = clock::ticks();
        let read: Vec<_> = rings.iter().map(|ring| ring.read()).collect();
        // Behind them: what stands where is told before a record has it.
        let known = self.kept.names.known();
        (read.into_iter().map(|kept| Kept::of(kept, &known).at(until)).collect(), until)
    }

    /// The links of this rank: the number of each, the channel's, the other rank, and whether it sends here.
    pub(super) fn links(&self) -> Vec<LinkOf> {
        self.links.lock().clone()
    }

    pub(super) fn keeps_messages(&self) -> bool {
        self.kept.level == Level::Messages
    }

    /// Has an arrow drawn for each message, from where it is sent to where it is received, and not only for those that end a
    /// wait. It has messages kept as [`Level::Messages`] does, and is to be asked for before the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::trace::{Level, Trace};
    ///
    /// let trace = Trace::new(Level::Messages).all_flows();
    /// assert_eq!(trace.timeline().lost(), 0);
    /// ```
    #[must_use]
    pub fn all_flows(self) -> Self {
        Self::of(Level::Messages, true, self.kept.places)
    }

    pub(super) fn began(&self) -> u64 {
        self.began
    }

    /// The length of a tick by which the report tells times, if the run is over.
    pub(super) fn tick(&self) -> Option<Tick> {
        *self.tick.lock()
    }

    pub(super) fn draws_all(&self) -> bool {
        self.kept.draws_all
    }

    pub(super) fn rings(&self) -> Vec<Arc<Ring>> {
        self.kept.rings.lock().clone()
    }

    /// What names stand for now.
    pub(super) fn known(&self) -> impl Deref<Target = Known> {
        self.kept.names.known()
    }
}

impl Observer for Trace {
    fn log(&self) -> Option<Arc<dyn Log>> {
        Some(Arc::clone(&self.kept) as _)
    }

    fn ends(&self, tick: Tick) {
        *self.tick.lock() = Some(tick);
    }

    fn links(&self, link: Link<'_>) {
        let Link { process, channel, rank, sends } = link;
        self.links.lock().push(LinkOf { process: process.id, channel: channel.id, rank, sends });
    }

    fn wants(&self) -> Wants {
        Wants::NOTHING
    }
}

impl Log for Records {
    fn ring(&self, worker: Option<usize>) -> Arc<Ring> {
        let mut rings = self.rings.lock();
        if worker.is_none() {
            // Of a thread that is gone: there may be thousands, one after the other.
            let free = |ring: &&mut Arc<Ring>| ring.worker().is_none();
            for ring in rings.iter_mut().filter(free) {
                if let Some(own) = Arc::get_mut(ring) {
                    own.hand_on();
                    return Arc::clone(ring);
                }
            }
        }
        let most = (self.places / (OF_A_WORKER / OF_A_THREAD)).max(1);
        let places = if worker.is_some() { self.places } else { most };
        rings.push(Arc::new(Ring::new(worker, places, self.keeps_messages())));
        Arc::clone(&rings[rings.len() - 1])
    }

    fn process(&self, address: usize, since: u64, process: Subject<'_>) {
        self.names.stands_at(Kind::Process, address, since, process);
    }

    fn channel(&self, address: usize, since: u64, channel: Subject<'_>) {
        self.names.stands_at(Kind::Channel, address, since, channel);
    }

    fn mark(&self, ring: &Ring, at: u64, label: &'static str, number: u64) {
        if let Some(process) = ring.runs() {
            let second = self.names.label(label).into();
            ring.push(Record { what: What::Mark, process, channel: 0, at, second, number });
        }
    }

    fn keeps_messages(&self) -> bool {
        self.level == Level::Messages
    }
}

/// Marks a moment in the trace of the process that calls this: with a text, and a number such as that of
/// a frame. It does nothing in a run that is not traced.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_observe::trace::{self, Level, Trace};
/// use std::sync::Arc;
///
/// let traced = Arc::new(Trace::new(Level::Schedule));
/// let mut network = Network::new();
/// network.process("film", (), async |()| {
///     for frame in 0..3 {
///         trace::mark("frame", frame);
///     }
/// });
/// network.run_with(Options::new().observer(Arc::clone(&traced)))?;
/// assert_eq!(traced.timeline().marks().count(), 3);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn mark(label: &'static str, number: u64) {
    WorkerCore::with_current(|worker| {
        if let Some(worker) = worker {
            worker.log_mark(label, number);
        }
    });
}
