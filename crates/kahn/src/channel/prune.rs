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
//!
//! Processes of a loop read each other, so none of them loses its last reader. They are pruned when no
//! *root* is left: no process that is never pruned, none that has given up its last sender, none that was
//! created while the network ran. So it is in a network that has loops, if from each process that was there
//! at the start a path of channels leads to a root (`network::roots`). One root is watched:
//!
//! | a process ends or is found dead | the resolver looks for another |
//! |---|---|
//! | sets OVER, then looks whether it is watched | watches one without OVER, then looks for OVER again |
//! | it is: the resolver is to look | it has none: takes the next |
//!
//! *That none is left is not overlooked.* Of OVER and the watch, one is later, and the thread that wrote that
//! sees the other: a fence stands between the two on either side.
//!
//! *None is left if none is found.* Only roots create processes, and the table of processes is locked while
//! the resolver looks, so none is created meanwhile. A process that gives up its last sender says so before
//! that takes effect; if any has while the resolver looked, it looks again.
//!
//! On several ranks each looks at its own, and says when none is left there; rank 0 asks each again whether that is so
//! yet (crate `kahn-net`, `roots`), and has all prune what they have.
//!
//! *None acts on an end that is none.* What is pruned so ends channels that others read, which are to be pruned, too.
//! So all are marked before the first may be pruned, and one that sees such an end is pruned before its next
//! operation. Ranks do not mark all at one moment; so from then on they tell each other of no end (`network::cut`).

use super::language::{self, Kahn, Worker, mark};
use super::process::{self, InNetwork, attribute};
use kahn_engine::sync::{Access, AtomicBool, AtomicPtr, Mutex, Ordering::*, fence};
use kahn_engine::task::Task;
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
    pub(crate) roots: Roots,
}

/// What is known of the roots of a network whose loops are pruned.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// Set before anything runs; not in a network whose loops are not pruned.
    are_looked_for: AtomicBool,
    /// One that was alive when it was looked for, if any was found.
    watched: AtomicPtr<Task>,
    /// That one is over.
    is_lost: AtomicBool,
    /// A process has become one since the resolver last began to look.
    are_more: AtomicBool,
    /// None was left when the resolver looked last.
    are_none: AtomicBool,
    /// None is left on any rank.
    are_gone: AtomicBool,
}

impl Roots {
    /// Watches this one, unless it is no root, or over.
    pub(crate) fn watch(&self, task: TaskRef) -> bool {
        let is_over = |task: TaskRef| task.marks.load(Acquire) & mark::OVER != 0;
        let has_become_one = || task.marks.load(Acquire) & mark::SENDS_NO_MORE != 0;
        let is_root = process::is_root(task.info().identity, task.attributes());
        if !(is_root || has_become_one()) || is_over(task) {
            return false;
        }
        self.watched.store(task.as_ptr().cast_mut(), Relaxed);
        // Pairs with that of `note_over`.
        fence(SeqCst);
        !is_over(task)
    }

    /// Whether another is to be looked for; the caller does.
    pub(crate) fn take_lost(&self) -> bool {
        self.is_lost.load(Relaxed) && self.is_lost.swap(false, Acquire)
    }

    /// The resolver begins to look at all processes.
    pub(crate) fn begin_look(&self) {
        self.are_looked_for.store(true, Relaxed);
        // Acquire: it sees that those that have said so are roots.
        self.are_more.swap(false, Acquire);
        self.are_none.store(false, Relaxed);
    }

    /// Whether one may have been overlooked since.
    pub(crate) fn are_more(&self) -> bool {
        // Relaxed: what came of it, the end of another root, is seen by then.
        self.are_more.load(Relaxed)
    }

    /// None was found.
    pub(crate) fn set_none(&self) {
        self.are_none.store(true, Release);
    }

    /// Whether none was left when the resolver looked last.
    pub(crate) fn are_none(&self) -> bool {
        self.are_none.load(Acquire)
    }

    /// Whether none is left.
    pub(super) fn are_gone(&self) -> bool {
        self.are_gone.load(Acquire)
    }
}

impl ToPrune {
    fn note(&self, task: TaskRef) {
        let mut noted = self.noted.lock();
        noted.push(task);
        self.ask();
    }

    /// The root that is watched is over.
    fn note_lost(&self) {
        let _noted = self.noted.lock();
        self.roots.is_lost.store(true, Release);
        self.ask();
    }

    /// Has the resolver called. The list is locked.
    fn ask(&self) {
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
        let is_left = is_any || !noted.is_empty() || self.roots.is_lost.load(Relaxed);
        self.is_any.store(is_left, Relaxed);
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

/// No root is left on any rank: has all pruned that is alive.
pub(crate) fn prune_all(scheduler: &Scheduler) {
    let to_prune = &scheduler.language::<Kahn>().to_prune;
    let mut all = scheduler.table.lock().all();
    // A link ends with its reader: that may be dead, and must not see an end.
    all.retain(|task| task.attributes() & attribute::LINK == 0);
    for task in &all {
        task.marks.fetch_or(mark::PRUNE, Release);
    }
    // Not before: what sees the end of one that is pruned ends before it acts on it.
    to_prune.roots.are_gone.store(true, Release);
    all.iter().copied().for_each(let_foreign_look);
    let mut noted = to_prune.noted.lock();
    noted.extend(all);
    to_prune.ask();
    drop(noted);
    let_a_worker_look(scheduler);
}

/// Marks a process that is to be pruned, and has it woken for it.
pub(crate) fn prune(task: TaskRef) {
    task.marks.fetch_or(mark::PRUNE, Release);
    let_foreign_look(task);
    language::of(task).to_prune.note(task);
    let_a_worker_look(Scheduler::of(task));
}

/// A process was marked: it may wait for something foreign for a long time.
fn let_foreign_look(task: TaskRef) {
    if let Some(foreign) = task.foreign_if_any() {
        foreign.wake();
    }
}

/// Whether no root is left in the network of this process, on any rank.
pub(super) fn are_roots_gone(task: TaskRef) -> bool {
    language::of(task).to_prune.roots.are_gone()
}

/// A process gives up its last sender, which takes effect after this.
pub(super) fn note_last_sender(task: TaskRef) {
    // Relaxed: as below.
    let roots = &language::of(task).to_prune.roots;
    if roots.are_looked_for.load(Relaxed) && task.attributes() & attribute::LINK == 0 {
        task.marks.fetch_or(mark::SENDS_NO_MORE, Release);
        roots.are_more.store(true, Release);
    }
}

/// A process has ended, or is dead: it observes no other any more.
pub(crate) fn note_over(task: TaskRef) {
    let to_prune = &language::of(task).to_prune;
    let watched = &to_prune.roots.watched;
    // Relaxed: set before anything runs.
    if !to_prune.roots.are_looked_for.load(Relaxed) || Scheduler::of(task).is_ending() {
        return;
    }
    task.marks.fetch_or(mark::OVER, Release);
    // Pairs with that of `Roots::watch`.
    fence(SeqCst);
    if watched.load(Relaxed).cast_const() == task.as_ptr() {
        to_prune.note_lost();
        let_a_worker_look(Scheduler::of(task));
    }
}

/// Something was noted by this thread.
fn let_a_worker_look(scheduler: &Scheduler) {
    // Also one that runs no process now, but looks at waits: it comes to one of the points above.
    let is_by_worker = WorkerCore::with_current(|worker| {
        worker.is_some_and(|by| !by.is_dedicated() && by.network == scheduler.number)
    });
    if !is_by_worker {
        scheduler.look_again();
    }
}
