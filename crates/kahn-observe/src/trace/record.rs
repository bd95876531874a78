//! What a thread does with what it is told.
//!
//! A thread keeps at hand the ring that it writes to, and the trace it belongs to. One that runs
//! another network meanwhile, with a trace of its own, has another ring there and finds its own again
//! in the list of the trace.

use super::event::{Event, What};
use super::names::{Cache, Names, OTHERS};
use super::ring::Ring;
use super::timeline::Timeline;
use super::weave::weave;
use kahn_engine::sync::system::clock;
use kahn_report::observe::{Observer, Rest, Slice, Subject, Tick};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::thread::{self, ThreadId};

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
    /// Tells it from others of the program.
    number: u64,
    level: Level,
    places: usize,
    began: u64,
    names: Arc<Names>,
    /// By which the report tells times, when the run is over.
    tick: Mutex<Option<Tick>>,
    rings: Mutex<Vec<(ThreadId, Arc<Ring>)>>,
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
        static NEXT: AtomicU64 = AtomicU64::new(1);
        clock::start();
        Self {
            // Relaxed: only that no two are equal counts.
            number: NEXT.fetch_add(1, Relaxed),
            level,
            places: OF_A_WORKER,
            began: clock::ticks(),
            names: Arc::new(Names::new()),
            tick: Mutex::new(None),
            rings: Mutex::new(Vec::new()),
        }
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
    pub fn events(mut self, most: usize) -> Self {
        self.places = most;
        self
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
        let rings: Vec<_> = self.rings.lock().iter().map(|(_, ring)| Arc::clone(ring)).collect();
        let until = clock::ticks();
        let kept: Vec<_> = rings.iter().map(|ring| ring.read().at(until)).collect();
        let tick = (*self.tick.lock()).unwrap_or_else(clock::tick);
        weave(&kept, &self.names.list(), self.began..until, tick)
    }

    /// Calls `f` with what the calling thread writes to. A thread that is being torn down writes nothing.
    #[inline]
    fn here(&self, worker: Option<usize>, f: impl FnOnce(&mut Here)) {
        let _ = HERE.try_with(|here| {
            let mut here = here.borrow_mut();
            let here = match &mut *here {
                Some(here) if here.trace == self.number => here,
                other => other.insert(self.ring_of_this_thread(worker)),
            };
            f(here);
        });
    }

    #[cold]
    fn ring_of_this_thread(&self, worker: Option<usize>) -> Here {
        let thread = thread::current().id();
        let mut rings = self.rings.lock();
        // The last one: the thread may have been another worker in a run before.
        let known = rings.iter().rev().find(|(other, _)| *other == thread);
        let known = known.filter(|(_, ring)| worker.is_none() || ring.worker == worker);
        let known = known.map(|(_, ring)| Arc::clone(ring));
        let new = || {
            let most = (self.places / (OF_A_WORKER / OF_A_THREAD)).max(1);
            Arc::new(Ring::new(worker, if worker.is_some() { self.places } else { most }))
        };
        let ring = known.unwrap_or_else(|| {
            let ring = new();
            rings.push((thread, Arc::clone(&ring)));
            ring
        });
        Here {
            trace: self.number,
            ring,
            cache: Cache::new(Arc::clone(&self.names)),
            latest: (0, 0, OTHERS),
            last: (OTHERS, 0),
        }
    }

    fn messages(&self, what: What, channel: Subject<'_>, messages: &Range<u64>) {
        self.here(None, |here| {
            let (process, at) = here.now();
            let channel = here.cache.channel(channel);
            let second = messages.end - messages.start;
            let number = messages.start;
            here.ring.push(Event { what, process, channel, at, second, ran: 0, number });
        });
    }
}

/// What a thread writes to.
#[derive(Debug)]
struct Here {
    trace: u64,
    ring: Arc<Ring>,
    cache: Cache,
    /// The process that began to run last: its number, its part, and its place.
    latest: (u64, u64, u32),
    /// The process that ran last, and until when.
    last: (u32, u64),
}

thread_local! {
    static HERE: RefCell<Option<Here>> = const { RefCell::new(None) };
}

impl Here {
    /// The place of a process, which is most often the one that began to run last.
    #[inline]
    fn process(&mut self, process: Subject<'_>) -> u32 {
        match self.latest {
            (id, part, place) if (id, part) == (process.id, process.part) => place,
            _ => self.cache.process(process),
        }
    }

    /// The process that runs here, and the time. What it did last becomes visible right behind its slice:
    /// then the time is the end of that.
    fn now(&self) -> (u32, u64) {
        match (self.ring.own(), self.last) {
            ((_, 0), (process, until)) if until > 0 => (process, until),
            ((_, 0), _) => (OTHERS, clock::ticks()),
            ((process, _), _) => (process, clock::ticks()),
        }
    }
}

impl Observer for Trace {
    fn runs(&self, process: Subject<'_>, worker: Option<usize>, at: u64) {
        self.here(worker, |here| {
            let place = here.cache.process(process);
            here.latest = (process.id, process.part, place);
            here.ring.begin(place, at);
        });
    }

    fn rests(&self, process: Subject<'_>, worker: Option<usize>, slice: Slice, rest: Rest<'_>) {
        self.here(worker, |here| {
            let (what, channel, number) = match rest {
                Rest::ForMessage { channel, number } => {
                    (What::UntilMessage, here.cache.channel(channel), number)
                }
                Rest::ForRoom { channel, number } => {
                    (What::UntilRoom, here.cache.channel(channel), number)
                }
                Rest::GivesWay => (What::UntilGivesWay, OTHERS, 0),
                Rest::ForGood => (What::UntilGood, OTHERS, 0),
                _ => (What::UntilOtherwise, OTHERS, 0),
            };
            let process = here.process(process);
            let Slice { from, until, ran } = slice;
            here.last = (process, until);
            here.ring.push(Event { what, process, channel, at: from, second: until, ran, number });
            here.ring.end();
        });
    }

    fn wakes(&self, process: Subject<'_>, rest: Rest<'_>, by: Option<Subject<'_>>) {
        let (what, channel, number) = match rest {
            Rest::ForMessage { channel, number } => (What::WokenForMessage, channel, number),
            Rest::ForRoom { channel, number } => (What::WokenForRoom, channel, number),
            _ => return,
        };
        self.here(None, |here| {
            let channel = here.cache.channel(channel);
            let process = here.cache.process(process);
            let by = by.map_or(OTHERS, |by| here.process(by));
            // A worker may do so for a process that it ran last, or for one that it never ran, or itself.
            let at = match here.now() {
                (runs, at) if runs == by => at,
                _ => clock::ticks(),
            };
            here.ring.push(Event { what, process, channel, at, second: by.into(), ran: 0, number });
        });
    }

    fn dropped(&self, process: Subject<'_>) {
        self.here(None, |here| {
            let process = here.cache.process(process);
            let at = clock::ticks();
            here.last = (process, at);
            let what = What::Dropped;
            let channel = OTHERS;
            here.ring.push(Event { what, process, channel, at, second: 0, ran: 0, number: 0 });
        });
    }

    fn ends(&self, tick: Tick) {
        *self.tick.lock() = Some(tick);
    }

    fn wants_messages(&self) -> bool {
        self.level == Level::Messages
    }

    fn sent(&self, channel: Subject<'_>, messages: Range<u64>) {
        self.messages(What::Sent, channel, &messages);
    }

    fn received(&self, channel: Subject<'_>, messages: Range<u64>) {
        self.messages(What::Received, channel, &messages);
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
    let _ = HERE.try_with(|here| {
        let mut here = here.borrow_mut();
        let Some(here) = &mut *here else { return };
        let (process, since) = here.ring.own();
        if since > 0 {
            let channel = here.cache.label(label);
            let (what, at) = (What::Mark, clock::ticks());
            here.ring.push(Event { what, process, channel, at, second: 0, ran: 0, number });
        }
    });
}
