//! Processes that are to be pruned, and how it is known that every worker has left its operation.
//!
//! A process that can no longer be observed is marked, and ends when it next runs. One that is
//! parked may wait for ever at a channel whose other end is never used again. So each that is marked
//! is noted here too, and workers have the resolver wake those that are parked (`deadlock::prune`):
//!
//! | when | why |
//! |---|---|
//! | every 1024 dispatches | other processes may run for ever |
//! | before a worker sleeps, and between the naps of the watcher | no other worker may be awake |
//! | when nothing is busy, before the verdict and after each look everywhere | the last chance |
//! | when a thread or a party parks | no worker may be awake |
//!
//! *None is overlooked.* The thread that marks a process is either a worker, which comes to one of these
//! points, or it wakes a worker. A worker that goes to sleep looks whether any was noted since the last
//! time, behind the fence that pairs with that of the thread that wakes it (see [`super::idle`]). A process
//! that is marked and not parked yet stays noted until it is parked or has ended: the worker that parks it
//! asks afterwards whether any is noted, and the one that looks whether it is parked does so after the note;
//! a fence stands between the two on either side.
//!
//! # Grace periods
//!
//! A *grace period* ends when each worker has been outside of all operations since it began. What is
//! stored before it begins is seen by every operation that goes on after its end. Workers pass it
//! when they come to one of the points above; one that sleeps is in no operation, and wakes under the
//! lock of the list of sleepers. A worker that has entered that list looks whether a thread that had not
//! found it there waits for it. (The quiescent states of user-space RCU: Desnoyers et al. 2012.)

use super::task::{TaskRef, mark};
use super::{Scheduler, Worker};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering::*, fence};

/// The processes of a network that are to be pruned and may have to be woken for it.
#[derive(Debug, Default)]
pub(crate) struct ToPrune {
    /// Blocks of processes are type-stable: the thread that takes one looks what is there now.
    noted: Mutex<Vec<TaskRef>>,
    /// Whether any was noted since they were last taken.
    is_new: AtomicBool,
    /// Whether any is left.
    is_any: AtomicBool,
    /// Grace periods that have begun.
    periods: AtomicU64,
}

impl ToPrune {
    fn note(&self, task: TaskRef) {
        let mut noted = self.noted.lock();
        noted.push(task);
        // Relaxed: those that must see it look behind a fence.
        self.is_any.store(true, Relaxed);
        self.is_new.store(true, Relaxed);
    }

    /// Whether any is to be looked at. What the caller has parked is seen by the thread that has taken
    /// them, or the caller learns of them here.
    pub(crate) fn has_any(&self) -> bool {
        fence(SeqCst);
        self.is_any.load(Relaxed)
    }

    /// Those that were noted since the last time.
    pub(crate) fn take_new(&self) -> Vec<TaskRef> {
        let mut noted = self.noted.lock();
        self.is_new.store(false, Relaxed);
        let new = std::mem::take(&mut *noted);
        drop(noted);
        // Pairs with the fence in `has_any`.
        fence(SeqCst);
        new
    }

    /// Says whether the thread that has taken them is to be asked again.
    pub(crate) fn keep_asking(&self, is_any: bool) {
        let noted = self.noted.lock();
        self.is_any.store(is_any || !noted.is_empty(), Relaxed);
    }
}

impl Scheduler {
    /// Begins a grace period; its number.
    pub(crate) fn begin_grace(&self) -> u64 {
        // Release pairs with the Acquire of `Worker::pass_grace`.
        self.to_prune.periods.fetch_add(1, AcqRel) + 1
    }

    /// The last grace period that has ended.
    pub(crate) fn last_grace(&self) -> u64 {
        let sleepers = self.sleepers.lock();
        let awake = self.slots().iter().enumerate().filter(|(index, _)| !sleepers.contains(index));
        // Acquire pairs with the Release of `Worker::pass_grace`.
        awake.map(|(_, slot)| slot.passed.load(Acquire)).min().unwrap_or(u64::MAX)
    }
}

impl Worker {
    /// Has processes woken that are to be pruned, if there may be any. It is in no operation.
    pub(super) fn wake_to_prune(&self) {
        if self.scheduler().to_prune.has_any() || self.is_waited_for() {
            // The period that begins in the first turn may end in the second.
            for _ in 0..2 {
                self.pass_grace();
                self.scheduler().hooks().wake_to_prune();
            }
        }
    }

    /// Whether a process was noted or a grace period has begun since it last did that.
    pub(super) fn must_wake_to_prune(&self) -> bool {
        self.scheduler().to_prune.is_new.load(Relaxed) || self.is_waited_for()
    }

    /// Whether a grace period has begun that it has not passed.
    fn is_waited_for(&self) -> bool {
        // Relaxed: it is looked at again behind the lock of the sleepers, see above.
        self.scheduler().to_prune.periods.load(Relaxed) > self.slot().passed.load(Relaxed)
    }

    /// Passes all grace periods that have begun.
    fn pass_grace(&self) {
        // Acquire pairs with the Release of `Scheduler::begin_grace`, and Release with the Acquire of
        // `Scheduler::last_grace`.
        let begun = self.scheduler().to_prune.periods.load(Acquire);
        self.slot().passed.store(begun, Release);
    }
}

impl TaskRef {
    /// A receiver of one of its channels has departed or died.
    pub(crate) fn lose_observer(self, solo: bool) {
        if !self.loses_last_observer(solo) {
            return;
        }
        self.marks.fetch_or(mark::PRUNE, Release);
        if let Some(foreign) = self.foreign_if_any() {
            // It may wait for something foreign for a long time: let it look.
            foreign.wake();
        }
        let scheduler = self.scheduler();
        scheduler.to_prune.note(self);
        let is_by_worker = Worker::with_current(|worker| {
            worker.is_some_and(|by| !by.is_dedicated() && by.network == scheduler.number)
        });
        if !is_by_worker {
            scheduler.notify_anyone();
        }
    }
}
