//! How a running process gives way to a more urgent one.

use crate::policy::{Ready, Reason};
use crate::queue::places::Urgency;
use crate::sync::Ordering::*;
use crate::task::TaskRef;
use crate::worker::{PATIENCE, WorkerCore};

impl WorkerCore {
    /// A process was made ready: if it is more urgent than the running one, and may run here, that
    /// gives way to it before its next operation is complete.
    #[inline]
    pub(crate) fn gives_way_to(&self, urgency: Urgency, pinned: Option<u32>) {
        let Some(running) = self.current() else { return };
        if urgency < Urgency::of(running.notes()) {
            self.gives_way_to_more_urgent(pinned);
        }
    }

    #[cold]
    fn gives_way_to_more_urgent(&self, pinned: Option<u32>) {
        if self.is_dedicated() || self.is_preempted() {
            return;
        }
        if pinned.is_some_and(|worker| !self.is_home_of(worker)) {
            return;
        }
        let left = self.patience.replace(0);
        self.spent.set(self.spent.get() + (PATIENCE - left));
        self.preempted_at.set(self.slot().steps.load(Relaxed));
    }

    /// Whether the running process is to give way to a more urgent one.
    pub fn is_preempted(&self) -> bool {
        !self.is_dedicated() && self.preempted_at.get() == self.slot().steps.load(Relaxed)
    }

    /// Queues a process that gives way to a more urgent one: it goes on after that, unless it has
    /// done by now what a dispatch may do.
    pub(crate) fn give_way_to_urgent(&self, task: TaskRef) {
        if self.spent.get() >= PATIENCE {
            self.spent.set(0);
            self.give_way(task);
        } else {
            self.make_ready(Ready::new(task), Reason::Preempted);
        }
    }

    /// Whether this is the worker with that number, counted round.
    pub(crate) fn is_home_of(&self, worker: u32) -> bool {
        worker as usize % self.scheduler().slots().len() == self.index()
    }
}
