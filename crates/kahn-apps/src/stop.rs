//! What ends a run from outside, whatever runs: Ctrl-C comes through here.
//!
//! A Kahn network has a handle of its own. Processes that communicate are asked: one of them looks
//! at the [`Stop`] as it goes on, at the end of each round, or waits for it beside other things.
//! That it is looked at, and not waited for by every program, has a reason: who waits for something
//! from outside can always still be woken, and there would be no verdict that nothing can go on.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use kahn::StopHandle;
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
        // Before the list is taken: who enters it later sees the wish.
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

/// What can stop the run that is about to start.
#[derive(Debug, Clone)]
pub enum Stopper {
    /// It is a Kahn network.
    Network(StopHandle),
    /// It is a network of communicating processes.
    Communicating(Stop),
}

impl Stopper {
    /// Stops the run.
    pub fn stop(&self) {
        match self {
            Self::Network(handle) => handle.stop(),
            Self::Communicating(stop) => stop.ask(),
        }
    }

    /// Says who has not stopped, as far as that is known.
    pub fn explain(&self) -> String {
        match self {
            Self::Network(handle) => handle.explain().to_string(),
            Self::Communicating(_) => "  a process has not come to the end of its round".to_owned(),
        }
    }
}
