//! What communicating processes add to the scheduler's: they wait at gates, and may be killed there.

use super::core::{Core, Verdict};
use super::{body, explain, outside};
use kahn_engine::sync::{AtomicPtr, AtomicU64, Cell, Ordering::*};
use kahn_engine::task::Task;
use kahn_engine::{EndCause, Hooks, Kept, Language, Park, Probe, Tag, TaskRef};
use kahn_report::{Ending, Failure};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::{self, NonNull};

/// A worker of a network of communicating processes.
pub(super) type Worker = kahn_engine::Worker<Csp>;

/// Bits of [`Task::marks`].
pub(super) mod mark {
    pub(in super::super) use kahn_engine::task::mark::*;

    /// Another process ended it.
    pub(in super::super) const KILL: u8 = 16;
}

/// Bits of [`Task::own`].
pub(super) mod own {
    pub(in super::super) use kahn_engine::task::own::*;

    /// Another process may end it wherever it waits.
    pub(in super::super) const KILLABLE: u8 = LANGUAGE[0];
    /// It has met poison.
    pub(in super::super) const POISONED: u8 = LANGUAGE[1];
}

/// The language of communicating processes: the way to the network.
pub(super) struct Csp(NonNull<Core>);

static CSP: Tag = Tag::of::<Csp>();

// SAFETY: the core is shared by all workers, and outlives them.
unsafe impl Send for Csp {}
// SAFETY: as above.
unsafe impl Sync for Csp {}

impl Csp {
    pub(super) fn new(core: &Core) -> Self {
        Self(NonNull::from(core))
    }

    /// The tag of the schedulers of such networks.
    pub(super) fn tag() -> &'static Tag {
        Self::TAG
    }

    /// The network; not after its run.
    pub(super) fn core(&self) -> &Core {
        // SAFETY: asked during the run alone, which the core outlives.
        unsafe { self.0.as_ref() }
    }
}

/// What is touched when a process runs.
#[repr(C)]
pub(super) struct Hot {
    /// Where it waits or waited last, for explanations; see [`super::wait::Place`].
    waits_at: AtomicPtr<()>,
    /// What it offers while it waits for one of several things; see [`super::offer`].
    offer: AtomicU64,
}

// SAFETY: all of it is atomic.
unsafe impl Kept for Hot {
    fn new() -> Self {
        Self { waits_at: AtomicPtr::new(ptr::null_mut()), offer: AtomicU64::new(0) }
    }

    fn restart(&self) {
        self.waits_at.store(ptr::null_mut(), Relaxed);
        // Tickets count on: what was left behind for the old process is not for this one.
        let tickets = self.offer.load(Relaxed) & (u64::from(u32::MAX) << 32);
        self.offer.store(tickets, Relaxed);
    }
}

/// What a communicating process got when it was spawned.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Spawned {
    /// The line that created the process.
    pub(super) site: &'static Location<'static>,
    /// Where the process's choices are drawn from.
    pub(super) draw: Cell<u64>,
}

/// What only the holder touches.
pub(super) struct Cold(UnsafeCell<MaybeUninit<Spawned>>);

// SAFETY: others read it only of a process whose block is nobody else's meanwhile.
unsafe impl Kept for Cold {
    fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    fn restart(&self) {}
}

/// What is asked of communicating processes. All tasks that come here are such.
pub(super) trait Communicates {
    fn waits_at(&self) -> &AtomicPtr<()>;
    fn offer(&self) -> &AtomicU64;

    /// Says what the process got when it was spawned.
    ///
    /// # Safety
    /// No thread holds the process yet.
    unsafe fn set_spawned(&self, spawned: Spawned);

    /// What the process got when it was spawned.
    ///
    /// # Safety
    /// It was told by [`set_spawned`](Self::set_spawned).
    unsafe fn spawned(&self) -> &Spawned;
}

impl Communicates for Task {
    #[inline]
    fn waits_at(&self) -> &AtomicPtr<()> {
        // SAFETY: it is a communicating process.
        unsafe { &self.hot::<Csp>().waits_at }
    }

    #[inline]
    fn offer(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &self.hot::<Csp>().offer }
    }

    unsafe fn set_spawned(&self, spawned: Spawned) {
        // SAFETY: as above.
        let cold = unsafe { self.cold::<Csp>() };
        // SAFETY: said by the caller; nothing in the one before is to be dropped.
        unsafe { (*cold.0.get()).write(spawned) };
    }

    unsafe fn spawned(&self) -> &Spawned {
        // SAFETY: as above.
        let cold = unsafe { self.cold::<Csp>() };
        // SAFETY: it changes only while no thread holds the process.
        let spawned = unsafe { &*cold.0.get() };
        // SAFETY: said by the caller.
        unsafe { spawned.assume_init_ref() }
    }
}

/// How a process comes to rest: what, in its own memory, enters it where it waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit {
    /// Something in the process's own memory.
    pub(super) what: *const (),
    /// Enters the process where it waits, unless it has something to do by now. From the moment
    /// that it can be found there, another worker may run it.
    pub(super) commit: unsafe fn(*const (), TaskRef, &Worker) -> Park,
}

/// What a worker of such a network keeps.
pub(super) struct OfWorker {
    /// How the running process wants to come to rest.
    commit: Cell<Commit>,
}

/// Asks for something to be done when the poll has returned; `false` if the process has asked for
/// anything in this poll already.
#[must_use = "a process that waits for two things at once waits for none"]
#[inline]
pub(super) fn ask_to_commit(worker: &Worker, commit: Commit) -> bool {
    worker.of.commit.set(commit);
    worker.ask_to_park()
}

impl Language for Csp {
    const TAG: &'static Tag = &CSP;

    type Hot = Hot;

    type Cold = Cold;

    type OfWorker = OfWorker;

    fn of_worker(&self) -> OfWorker {
        let nothing = Commit { what: ptr::null(), commit: |_, _, _| Park::Moved };
        OfWorker { commit: Cell::new(nothing) }
    }

    #[inline]
    fn park(worker: &Worker, task: TaskRef) -> Park {
        let Commit { what, commit } = worker.of.commit.get();
        // SAFETY: asked for in the poll that has just returned `Pending`, by something that the
        // process still owns: what is dropped in the same poll takes its request back.
        unsafe { commit(what, task, worker) }
    }

    /// Each operation is complete when it returns.
    #[inline]
    fn flush(_worker: &Worker) {}

    fn settled(_worker: &Worker, _task: TaskRef) {}

    fn must_end(_task: TaskRef, marks: u8) -> Option<EndCause> {
        (marks & mark::KILL != 0).then_some(EndCause::Stopped)
    }

    fn ended(worker: &Worker, task: TaskRef, ending: &Ending) -> bool {
        let has_handle = body::join_if_any(task).is_some_and(|join| join.end(worker));
        if has_handle {
            return false;
        }
        if matches!(ending, Ending::Finished) {
            // If it failed, there was a handle a moment ago.
            worker.language().core().drop_result(task);
        } else if let Some(body) = task.body() {
            // Its end is told already.
            // SAFETY: we hold the process; the future is gone.
            let _: Result<(), Failure> = unsafe { (body.drop)(task.non_null()) };
        }
        false
    }

    fn probe(worker: &Worker, _why: Probe) {
        outside::run_deferred(worker.scheduler());
    }

    fn has_news(_worker: &Worker) -> bool {
        false
    }

    fn quiet(worker: &Worker) {
        let (core, scheduler) = (worker.language().core(), worker.scheduler());
        if !scheduler.is_running() || scheduler.live.load(SeqCst) == 0 {
            return;
        }
        if outside::run_deferred(scheduler) {
            return;
        }
        if !scheduler.activity.is_over() || !scheduler.is_running() {
            return;
        }
        if core.timers.jump(scheduler) {
            return;
        }
        core.end_with(if core.quiescence {
            Verdict::Quiescent
        } else {
            Verdict::Deadlock(explain::explain(core))
        });
    }
}

impl Hooks for Csp {
    fn ending(&self, _task: TaskRef, _what: *const ()) -> Ending {
        Ending::Stopped
    }

    fn parked_outside(&self, _task: TaskRef) {}

    fn out_of_threads(&self, text: String) {
        self.core().end_with(Verdict::OutOfThreads(text));
    }
}
