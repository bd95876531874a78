//! Processes that are to be pruned, and how workers learn of them.
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
//! time, behind the fence that pairs with that of the thread that wakes it. A process that is marked and
//! not parked yet stays noted until it is parked or has ended: the worker that parks it asks afterwards
//! whether any is noted, and the one that looks whether it is parked does so after the note; a fence stands
//! between the two on either side.

use super::language::{Kahn, Worker, mark};
use super::process::InNetwork;
use kahn_engine::sync::{Access, AtomicBool, Mutex, Ordering::*, fence};
use kahn_engine::{Scheduler, TaskRef, WorkerCore};

/// The processes of a network that are to be pruned and may have to be woken for it.
#[derive(Debug, Default)]
pub(crate) struct ToPrune {
    /// Blocks of processes are type-stable: the thread that takes one looks what is there now.
    noted: Mutex<Vec<TaskRef>>,
    /// Whether any was noted since they were last taken.
    is_new: AtomicBool,
    /// Whether any is left.
    is_any: AtomicBool,
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

    /// Whether any was noted since they were last taken.
    pub(super) fn has_new(&self) -> bool {
        self.is_new.load(Relaxed)
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

/// Has processes woken that are to be pruned, if there may be any. The worker is in no operation.
pub(super) fn wake_to_prune(worker: &Worker) {
    let kahn = worker.language();
    if kahn.to_prune.has_any() || worker.is_waited_for() {
        // The period that begins in the first turn may end in the second.
        for _ in 0..2 {
            worker.pass_grace();
            kahn.network.wake_to_prune();
        }
    }
}

/// A receiver of a channel of the process has departed or died.
pub(crate) fn lose_observer(task: TaskRef, access: Access) {
    if task.loses_last_observer(access) {
        prune(task);
    }
}

/// Marks a process that is to be pruned, and has it woken for it.
pub(crate) fn prune(task: TaskRef) {
    task.marks.fetch_or(mark::PRUNE, Release);
    if let Some(foreign) = task.foreign_if_any() {
        // It may wait for something foreign for a long time: let it look.
        foreign.wake();
    }
    let scheduler = Scheduler::of(task);
    scheduler.language::<Kahn>().to_prune.note(task);
    // Also one that runs no process now, but looks at waits: it comes to one of the points above.
    let is_by_worker = WorkerCore::with_current(|worker| {
        worker.is_some_and(|by| !by.is_dedicated() && by.network == scheduler.number)
    });
    if !is_by_worker {
        scheduler.look_again();
    }
}
