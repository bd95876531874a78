//! The language of communicating processes: what all workers of a network share of it, and what each
//! has for itself.

use crate::language::common::Common;
use kahn_engine::sync::{Access, Arc, AtomicU64, Cell, Ordering::*};
use kahn_engine::{Park, TaskRef};
use kahn_report::observe::Observer;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

/// A worker of a network of communicating processes.
pub(crate) type Worker = kahn_engine::Worker<Csp>;

/// How what a worker does is seen by other threads; a thread without a worker is one of the others.
#[inline]
pub(crate) fn access_of(worker: Option<&Worker>) -> Access {
    worker.map_or(Access::SHARED, |worker| worker.access())
}

/// The language of communicating processes: what channels and the like know of their network.
pub(crate) struct Csp {
    /// What stands above all that processes wait for, and knows its own type: see `network::core`.
    network: NonNull<()>,
    common: Arc<Common>,
    /// Channels ever made.
    channels: AtomicU64,
    /// Is told when processes run and rest.
    observer: OnceLock<Arc<dyn Observer>>,
}

// SAFETY: the network is shared by all workers, and outlives them.
unsafe impl Send for Csp {}
// SAFETY: as above.
unsafe impl Sync for Csp {}

impl Csp {
    /// The language of a network, which stays where it is until its run is over.
    pub(crate) fn new(network: NonNull<()>, common: Arc<Common>) -> Self {
        Self { network, common, channels: AtomicU64::new(0), observer: OnceLock::new() }
    }

    /// What the parts of the network have in common.
    #[inline]
    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    /// The network; not after its run.
    #[inline]
    pub(crate) fn network(&self) -> NonNull<()> {
        self.network
    }

    /// Has this told when processes run and rest. Said once, before there are workers.
    pub(crate) fn observe_by(&self, observer: Arc<dyn Observer>) {
        let _ = self.observer.set(observer);
    }

    /// What is told when processes run and rest, if anything is.
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.observer.get().map(|observer| &**observer)
    }

    /// Counts a channel that is made.
    pub(super) fn count_channel(&self) {
        // Relaxed: it is read when the run is over.
        self.channels.fetch_add(1, Relaxed);
    }

    /// How many channels were ever made.
    pub(crate) fn channels(&self) -> u64 {
        // Relaxed: no channels are made any more.
        self.channels.load(Relaxed)
    }
}

/// Enters a process where it waits, by something in its own memory, unless it has something to do by now.
/// From the moment that it can be found there, another worker may run it.
pub(crate) type Enter = unsafe fn(*const (), TaskRef, &Worker) -> Park;

/// What a worker of such a network keeps.
pub(crate) struct OfWorker {
    /// How the running process wants to come to rest, unless it leaves a channel to its partner, which
    /// stands in its header.
    enter: Cell<Enter>,
    /// What that is called with.
    what: Cell<*const ()>,
}

impl OfWorker {
    pub(crate) fn new() -> Self {
        Self { enter: Cell::new(|_, _, _| Park::Moved), what: Cell::new(ptr::null()) }
    }
}

/// How the process that has left its poll has asked to be entered. What it named is there yet: what is
/// dropped in the same poll takes its request back.
pub(crate) fn asked_to_enter(worker: &Worker) -> (Enter, *const ()) {
    (worker.of.enter.get(), worker.of.what.get())
}

/// Asks to be entered by something when the poll has returned; `false` if the process has asked for
/// anything in this poll already.
#[must_use = "a process that waits for two things at once waits for none"]
#[inline]
pub(crate) fn ask_to_enter(worker: &Worker, what: *const (), enter: Enter) -> bool {
    worker.of.what.set(what);
    worker.of.enter.set(enter);
    worker.ask_to_park_otherwise()
}
