//! The LIFO slot: the process that a worker has woken last, which it runs next.
//!
//! | step | by | does |
//! |---|---|---|
//! | keep | the worker | stores into an empty slot: others only take what is there |
//! | displace | the worker | swaps; the one that stood there goes to the queue |
//! | take | the worker, or one with nothing to do | swaps null in |
//!
//! While the worker has its queues for itself (`queue::bias`), it loads and stores where it would swap.

use crate::policy::Ready;
use crate::scheduler::WorkerSlot;
use crate::sync::{Access, Ordering::*};
use crate::task::{TaskRef, own};
use crate::worker::{Lifo, WorkerCore};
use crate::{Kind, Reason};
use std::ptr;

impl WorkerCore {
    /// Calls `take`, which may take from this worker's LIFO slot and queues as it is told.
    #[inline(always)]
    pub(crate) fn section<R>(&self, take: impl FnOnce(Access) -> R) -> R {
        match self.lane() {
            Some(lane) => lane.section(take),
            None => take(self.access()),
        }
    }

    /// Takes what stands there, in a section of the worker's lane.
    #[inline]
    pub(crate) fn take_lifo(&self, access: Access) -> Option<TaskRef> {
        Self::take_lifo_at(self.slot(), access)
    }

    /// The same for a caller that knows the worker's slot.
    #[inline(always)]
    pub(crate) fn take_lifo_at(slot: &WorkerSlot, access: Access) -> Option<TaskRef> {
        let lifo = &slot.lifo;
        let seen = lifo.load(Relaxed);
        // No other thread puts anything there.
        if seen.is_null() {
            return None;
        }
        let taken = if access.is_alone() {
            lifo.store(ptr::null_mut(), Relaxed);
            seen
        } else {
            // A swap: a worker with nothing to do may take it at the same moment.
            lifo.swap(ptr::null_mut(), AcqRel)
        };
        // SAFETY: what stands in `lifo` is a ready process of this scheduler; we took it out.
        unsafe { TaskRef::from_ptr(taken) }
    }

    /// Makes a process ready whose wait this worker has ended: it is the next to run here, if the
    /// policy lets it.
    #[inline]
    pub fn wake(&self, ready: Ready) {
        let task = ready.into_task();
        if self.lifo.get() == Lifo::Used && Self::may_be_kept(task) {
            self.keep_task(task);
        } else {
            self.wake_otherwise(task);
        }
    }

    /// The same for one that is known to have no thread of its own.
    #[inline(always)]
    pub fn wake_pooled(&self, ready: Ready) {
        let task = ready.into_task();
        debug_assert_eq!(task.kind(), Kind::Pooled, "the caller knows it");
        if self.lifo.get() == Lifo::Used && task.notes() & own::APART == 0 {
            self.keep_task(task);
        } else {
            self.wake_otherwise(task);
        }
    }

    /// Whether a process may run next on any worker that has woken it.
    #[inline]
    fn may_be_kept(task: TaskRef) -> bool {
        task.kind() == Kind::Pooled && task.notes() & own::APART == 0
    }

    #[inline(never)]
    fn wake_otherwise(&self, task: TaskRef) {
        self.log_wake(task);
        if self.lifo.get() != Lifo::Unused && Self::may_be_kept(task) {
            self.keep_task(task);
        } else {
            self.queue(task);
        }
    }

    #[inline(never)]
    pub(crate) fn queue(&self, task: TaskRef) {
        if self.belongs_here(task) {
            self.keep_task(task);
        } else {
            self.make_ready(Ready::new(task), Reason::Woken);
        }
    }

    /// Whether a process has no place of its own but this worker.
    fn belongs_here(&self, task: TaskRef) -> bool {
        self.lifo.get() != Lifo::Unused
            && task.kind() == Kind::Pooled
            && task.notes() & own::APART == own::PINNED
            && task.pinned().is_some_and(|worker| self.is_home_of(worker))
    }

    /// Puts a process where it runs next.
    #[inline]
    fn keep_task(&self, task: TaskRef) {
        let lifo = &self.slot().lifo;
        if lifo.load(Relaxed).is_null() {
            // Release hands the process to the thread that swaps it out. Others only take what is there,
            // so no other thread writes to an empty slot.
            lifo.store(task.as_ptr().cast_mut(), Release);
        } else {
            self.displace_lifo(task);
        }
    }

    /// Puts a process where it runs next; the one that stood there goes to the queue.
    #[inline(never)]
    fn displace_lifo(&self, task: TaskRef) {
        // As for `take_lifo`.
        let (lifo, task) = (&self.slot().lifo, task.as_ptr().cast_mut());
        let swap = |access: Access| {
            if !access.is_alone() {
                return lifo.swap(task, AcqRel);
            }
            let before = lifo.load(Relaxed);
            // Release: a thief that revokes the bias may see it before that.
            lifo.store(task, Release);
            before
        };
        let before = self.section(swap);
        // SAFETY: what stood in `lifo` is a ready process; taken out by us, it is ours.
        if let Some(before) = unsafe { TaskRef::from_ptr(before) } {
            self.make_ready(Ready::new(before), Reason::Woken);
        }
    }
}
