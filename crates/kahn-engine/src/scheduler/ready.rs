//! How a process becomes ready: where it is queued, and what is told of it.

use crate::policy::{Notify, Origin, Ready, Reason};
use crate::queue::places::Urgency;
use crate::scheduler::Scheduler;
use crate::sync::Ordering::*;
use crate::task::extension::Unparker;
use crate::task::{Kind, TaskRef, own};

impl Scheduler {
    /// Makes a process ready.
    pub fn make_ready(&self, origin: Origin, ready: Ready, reason: Reason) {
        if ready.kind() != Kind::Pooled {
            self.unpark(ready.into_task());
            return;
        }
        match self.push(origin, ready, reason) {
            Notify::NoWorker | Notify::Thief if origin == Origin::Outside => self.notify_anyone(),
            told => self.notify(told),
        }
    }

    /// Notifies the worker that is to be notified.
    #[inline]
    pub(crate) fn notify(&self, told: Notify) {
        match told {
            Notify::NoWorker => {}
            Notify::Thief => self.notify_thief(),
            Notify::Anyone => self.notify_anyone(),
            Notify::Worker(worker) => self.notify_worker(worker),
        }
    }

    /// Tells a thread or a party that its wait is over; it counts as busy from now on.
    #[inline]
    pub(crate) fn unpark(&self, task: TaskRef) {
        self.activity.wake();
        Self::tell(task);
    }

    /// Tells a party that its run is over, whether it waits or not.
    ///
    /// # Safety
    /// The process is a party outside, whose operations do nothing from now on.
    pub unsafe fn unpark_ended(&self, party: TaskRef) {
        self.unpark(party);
    }

    pub(crate) fn tell(task: TaskRef) {
        // Not under the lock: a waker may run code of its executor.
        match task.unparker() {
            Some(Unparker::Thread(parker)) => parker.unpark(),
            Some(Unparker::Waker(waker)) => waker.wake(),
            None => {}
        }
    }
}

impl Scheduler {
    /// Queues a process that the caller owns.
    pub(crate) fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let notes = ready.notes();
        if notes & own::APART == 0 {
            return self.run_queues().push(origin, ready, reason);
        }
        if Urgency::of(notes) == Urgency::Urgent {
            // Relaxed: a hint; what tells a worker that sleeps is the fence of the waker.
            self.first.fetch_add(1, Relaxed);
        }
        self.config().places.push(ready, reason)
    }

    /// Takes an urgent process for a worker.
    pub(crate) fn pop_urgent(&self, worker: usize) -> Option<Ready> {
        let ready = self.config().places.pop(Urgency::Urgent, worker)?;
        self.first.fetch_sub(1, Relaxed);
        Some(ready)
    }

    /// Takes a process that is as urgent as most, and of this worker alone.
    pub(crate) fn pop_pinned(&self, worker: usize) -> Option<Ready> {
        self.config().places.pop(Urgency::Usual, worker)
    }

    /// Takes a process for a worker that has nothing else.
    pub(crate) fn pop_background(&self, worker: usize) -> Option<Ready> {
        self.config().places.pop(Urgency::Background, worker)
    }

    /// Whether a process is ready that this worker alone may run.
    pub(crate) fn has_pinned(&self, worker: usize) -> bool {
        self.config().places.has_pinned(worker)
    }

    /// Whether a worker would find something to run.
    pub(crate) fn has_work(&self, worker: usize) -> bool {
        self.config().places.has_work(worker) || self.run_queues().has_work(worker)
    }
}
