//! The threads of processes that have one of their own.

use crate::sync::system::ThreadPlace;
use crate::sync::{AtomicUsize, Mutex, Ordering::*, thread};

/// Every so many starts of threads, those that have ended are cleared away: until then the system
/// keeps their stacks.
const SWEEP: usize = 64;

/// The threads of processes that were started and are not joined, each with its place among those that
/// the system has room for.
#[derive(Debug)]
pub(crate) struct ProcessThreads {
    started: Mutex<Vec<(thread::JoinHandle<()>, ThreadPlace)>>,
    count: AtomicUsize,
}

impl ProcessThreads {
    pub(crate) fn new() -> Self {
        Self { started: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    /// How many were started.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Counts one that is to be started; returns how many were before it.
    pub(crate) fn count_one(&self) -> usize {
        self.count.fetch_add(1, Relaxed)
    }

    /// One that was counted was not started.
    pub(crate) fn uncount_one(&self) {
        self.count.fetch_sub(1, Relaxed);
    }

    /// Keeps one that was started, and was the `number`th to be counted.
    pub(crate) fn add(&self, number: usize, handle: thread::JoinHandle<()>, place: ThreadPlace) {
        let mut started = self.started.lock();
        started.push((handle, place));
        // In a model all are joined at the end.
        if cfg!(not(loom)) && number.is_multiple_of(SWEEP) {
            #[cfg(not(loom))]
            for (thread, _place) in started.extract_if(.., |(thread, _)| thread.is_finished()) {
                Self::join_one(thread);
            }
        }
    }

    /// Waits for all of them, those included that are started meanwhile.
    pub(crate) fn join(&self) {
        loop {
            let started = self.started.lock().pop();
            let Some((thread, _place)) = started else { return };
            Self::join_one(thread);
        }
    }

    fn join_one(thread: thread::JoinHandle<()>) {
        // The thread catches what its process panics with.
        thread.join().expect("no thread of a process panics");
    }
}
