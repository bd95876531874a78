//! What ends a run from outside, whatever runs: Ctrl-C comes through here.
//!
//! A Kahn network has a handle of its own. Processes that communicate are asked: one of them looks
//! at the [`Stop`] as it goes on, at the end of each round, or waits for it beside other things.
//! That it is looked at, and not waited for by every program, has a reason: what waits for something
//! from outside can always still be woken, and there would be no verdict that nothing can go on.

use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use kahn::observe::{Look, Sampled, Survey};
use kahn::{Explanation, StopHandle};
#[cfg(feature = "communicating")]
use kahn_csp as csp;
use parking_lot::Mutex;

/// A wish to end, which processes look at or wait for. Clones are the same wish.
///
/// ```
/// let stop = kahn_apps::Stop::new();
/// let theirs = stop.clone();
/// assert!(!theirs.is_asked());
/// stop.ask();
/// assert!(theirs.is_asked());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    asked: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Stop {
    /// Makes a wish that nobody has yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wishes the end.
    pub fn ask(&self) {
        // Before the list is taken: what enters it later sees the wish.
        self.0.asked.store(true, SeqCst);
        let waiting = std::mem::take(&mut *self.0.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Tells whether the end is wished.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(SeqCst)
    }

    /// Ends the run of communicating processes that the caller belongs to, if that is wished.
    ///
    /// # Panics
    ///
    /// Panics if it is, outside of a process of [`csp::run`].
    #[cfg(feature = "communicating")]
    pub fn obey(&self) {
        if self.is_asked() {
            csp::handle().stop();
        }
    }

    /// Waits until the end is wished. One process at a time waits so.
    pub fn asked(&self) -> Asked<'_> {
        Asked(self)
    }
}

/// A wait for a wish; made by [`Stop::asked`].
#[derive(Debug)]
#[must_use = "nothing waits unless it is awaited"]
pub struct Asked<'a>(&'a Stop);

impl Future for Asked<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.0.0.waiting.lock();
        if self.0.is_asked() {
            return Poll::Ready(());
        }
        waiting.clear();
        waiting.push(context.waker().clone());
        Poll::Pending
    }
}

/// Looks into the run of communicating processes that began last.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Option<Arc<dyn Sampled>>>>);

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl Seen {
    /// Looks into this run from now on.
    #[cfg(feature = "communicating")]
    pub(crate) fn begins(&self, run: csp::Handle) {
        *self.0.lock() = Some(Arc::new(run));
    }

    fn run(&self) -> Option<Arc<dyn Sampled>> {
        self.0.lock().clone()
    }
}

impl Sampled for Seen {
    fn look(&self, places: Range<usize>, found: &mut Look) {
        match self.run() {
            Some(run) => run.look(places, found),
            None => *found = Look::default(),
        }
    }

    fn survey(&self, processes: Range<usize>, channels: Range<usize>) -> Survey {
        self.run().map_or_else(Survey::default, |run| run.survey(processes, channels))
    }

    fn explain(&self) -> Explanation {
        self.run().map_or_else(Explanation::default, |run| run.explain())
    }
}

/// What can stop the run that is about to start.
#[derive(Debug, Clone)]
pub enum Stopper {
    /// It is a Kahn network.
    Network(StopHandle),
    /// It is a network of communicating processes, or several, one after the other.
    Communicating(Stop, Seen),
}

impl Stopper {
    /// Stops the run.
    pub fn stop(&self) {
        match self {
            Self::Network(handle) => handle.stop(),
            Self::Communicating(stop, _) => stop.ask(),
        }
    }

    /// Returns what looks into the run: it says what has not stopped.
    pub fn seen(&self) -> Arc<dyn Sampled> {
        match self {
            Self::Network(handle) => Arc::new(handle.clone()),
            Self::Communicating(_, seen) => Arc::new(seen.clone()),
        }
    }
}
