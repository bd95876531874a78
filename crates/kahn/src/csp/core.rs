//! What the processes of one network share, and what the scheduler asks of them.

use super::blocking::Helpers;
use super::body::{self, End, Join, Type};
use super::error::Failed;
use super::handle::Handle;
use super::placement::{self, Priority};
use super::process::{Forked, Process};
use super::timer::Timers;
use super::{explain, outside};
use crate::scheduler::local::Birth;
use crate::scheduler::task::{BodyType, Info, Plan, Task, own};
use crate::scheduler::{Hooks, Kind, Scheduler, Table, TaskRef, Urgency, Worker};
use crate::sync::{Arc, AtomicU64, Cell, Mutex, Ordering::*};
use kahn_report::{Ending, Explanation, Failure, Misuse, Name};
use std::panic::Location;
use std::ptr::NonNull;

/// Why a run ended before all its processes had.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Deadlock(Explanation),
    Quiescent,
    Stopped,
    /// The system refused a thread that the run needs.
    OutOfThreads(String),
}

/// What the processes of one network share. Lives as long as its run.
pub(super) struct Core {
    pub(super) handle: Handle,
    pub(super) scheduler: Arc<Scheduler>,
    pub(super) verdict: Mutex<Option<Verdict>>,
    pub(super) quiescence: bool,
    /// Whether explanations name lines of code.
    pub(super) places: bool,
    pub(super) timers: Arc<Timers>,
    pub(super) helpers: Arc<Helpers>,
    /// What drawn choices begin with.
    pub(super) seed: u64,
    /// Channels ever made.
    pub(super) channels: AtomicU64,
    /// Failures of processes whose handles were dropped.
    pub(super) unheard: Mutex<Vec<Failed>>,
}

#[cold]
fn elsewhere(what: &str) -> ! {
    panic!("{what} of `kahn::csp` works in a process of `csp::run`")
}

/// The network that makes something now.
///
/// # Panics
/// Panics outside of a process of this module.
pub(super) fn network_here(what: &str) -> u32 {
    Core::with_here(what, |core, _, _| core.scheduler.number)
}

/// The network that makes a channel now, or what is like one; it is counted.
///
/// # Panics
/// As [`network_here`].
pub(super) fn network_of_new(what: &str) -> u32 {
    Core::with_here(what, |core, _, _| {
        // Relaxed: it is read when the run is over.
        core.channels.fetch_add(1, Relaxed);
        core.scheduler.number
    })
}

impl Core {
    /// Calls `f` with the network, the worker and the process that run on this thread.
    ///
    /// # Panics
    /// Panics outside of a process of this module.
    #[inline]
    pub(super) fn with_here<R>(what: &str, f: impl FnOnce(&Core, &Worker, TaskRef) -> R) -> R {
        Worker::with_current(|worker| {
            let here = worker.and_then(|worker| {
                let task = worker.current()?;
                // SAFETY: set by `run`, whose core outlives every process.
                let core =
                    unsafe { worker.scheduler().extension.load(Acquire).cast::<Core>().as_ref() }?;
                Some((core, worker, task))
            });
            match here {
                Some((core, worker, task)) => f(core, worker, task),
                None => panic!("{what} of `kahn::csp` is made in a process of `csp::run`"),
            }
        })
    }

    /// The worker and the process that run on this thread.
    ///
    /// # Panics
    /// Panics outside of a process of this module.
    #[inline]
    pub(super) fn here<'a>(what: &str) -> (&'a Worker, TaskRef) {
        Self::here_if_any().unwrap_or_else(|| elsewhere(what))
    }

    /// The worker and the process of this module that run on this thread, if any do.
    #[inline]
    pub(super) fn here_if_any<'a>() -> Option<(&'a Worker, TaskRef)> {
        let (worker, task) = Worker::running()?;
        worker.communicates.then_some((worker, task))
    }

    /// Calls `f` with the network of a worker that runs a process of this module.
    #[inline]
    pub(super) fn with_worker<R>(worker: &Worker, f: impl FnOnce(&Core) -> R) -> R {
        // SAFETY: set by `run`, whose core outlives every process.
        let core = unsafe { worker.scheduler().extension.load(Acquire).cast::<Core>().as_ref() };
        f(core.expect("the worker is one of a run of this module"))
    }

    /// Creates a process with a handle.
    pub(super) fn create<F>(
        &self,
        process: Process,
        site: &'static Location<'static>,
        by: Option<(TaskRef, &Worker)>,
        code: F,
    ) -> Forked<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        if body::fits::<F>() {
            self.create_forked(process, site, by, code)
        } else {
            self.create_forked(process, site, by, Box::pin(code))
        }
    }

    fn create_forked<F>(
        &self,
        process: Process,
        site: &'static Location<'static>,
        by: Option<(TaskRef, &Worker)>,
        code: F,
    ) -> Forked<F::Output>
    where
        F: Future<Output: Send> + Send,
    {
        let types = &const { Type::<F, End<F::Output>, Join>::FORKED };
        let take: unsafe fn(NonNull<Task>) -> _ = body::take_result::<F, F::Output>;
        let task = self.scheduler.enlist_new(|table| {
            let task = self.make(table, process, by, types);
            let birth = self.birth(site, task);
            let place = body::place::<Join, F, End<F::Output>>;
            // SAFETY: the block was made for this type of body, a moment ago.
            unsafe { place(task.non_null(), birth, Join::new(), code) };
            task.add_references(1, by.is_some_and(|(_, worker)| worker.solo()));
            task
        });
        self.begin(task, by.map(|(_, worker)| worker));
        Forked::new(task, self.scheduler.number, take)
    }

    /// Creates a process that runs by itself.
    pub(super) fn create_detached<F>(
        &self,
        process: Process,
        site: &'static Location<'static>,
        by: (TaskRef, &Worker),
        code: F,
    ) where
        F: Future<Output = Option<String>> + Send,
    {
        if !body::fits::<F>() {
            return self.create_detached_boxed(process, site, by, Box::pin(code));
        }
        self.create_detached_boxed(process, site, by, code);
    }

    fn create_detached_boxed<F>(
        &self,
        process: Process,
        site: &'static Location<'static>,
        by: (TaskRef, &Worker),
        code: F,
    ) where
        F: Future<Output = Option<String>> + Send,
    {
        let types = &const { Type::<F, (), ()>::DETACHED };
        let task = self.scheduler.enlist_new(|table| {
            let task = self.make(table, process, Some(by), types);
            let birth = self.birth(site, task);
            // SAFETY: the block was made for this type of body, a moment ago.
            unsafe { body::place::<(), F, ()>(task.non_null(), birth, (), code) };
            task
        });
        self.begin(task, Some(by.1));
    }

    fn make(
        &self,
        table: &mut Table,
        process: Process,
        by: Option<(TaskRef, &Worker)>,
        types: &'static BodyType,
    ) -> TaskRef {
        let parent = by.map(|(task, _)| task);
        let identity = match parent {
            None => table.next_fixed(),
            Some(parent) => parent.next_child(),
        };
        let task = table.make(Plan {
            info: Info { name: process.name, identity },
            kind: Kind::Pooled,
            effects: true,
            creates: true,
            pinned: process.worker.or_else(|| parent.and_then(|parent| parent.pinned())),
            scheduler: Arc::as_ptr(&self.scheduler),
            body: Some(types),
        });
        if process.killable {
            task.note(own::KILLABLE);
        }
        let inherited = parent.map_or(Priority::Usual, Priority::of);
        placement::place(task, process.priority.unwrap_or(inherited), task.pinned());
        let settings = self.scheduler.settings();
        if settings.wait_once {
            task.note(own::WAIT_ONCE);
        }
        if settings.threads {
            task.set_kind(Kind::Threaded);
        }
        task
    }

    fn birth(&self, site: &'static Location<'static>, task: TaskRef) -> Birth {
        Birth { site, draw: Cell::new(task.info().identity.draw_from(self.seed)) }
    }

    fn begin(&self, task: TaskRef, by: Option<&Worker>) {
        if let Some(worker) = by {
            worker.has_made_one();
            let (urgency, pinned) = (Urgency::of(task.notes()), task.pinned());
            self.scheduler.start(task, worker.origin());
            worker.gives_way_to(urgency, pinned);
        }
    }

    /// Whether gates are locked: they are unless one worker does everything.
    pub(super) fn has_gates(&self) -> bool {
        !self.scheduler.settings().solo
    }

    /// The network of a process of this module; not after its run.
    pub(super) fn of<'a>(task: TaskRef) -> &'a Core {
        let core = task.scheduler().extension.load(Acquire).cast::<Core>();
        // SAFETY: set by `run`, whose core outlives every process.
        unsafe { core.as_ref() }.expect("a process of this module")
    }

    /// Drops the result of a process that has ended and that nobody has a handle of any more. If it
    /// failed, only the handle was to tell so.
    pub(super) fn drop_result(&self, task: TaskRef) {
        let Some(body) = task.body() else { return };
        // SAFETY: it has ended, and the result is the caller's.
        if let Err(failure) = unsafe { (body.drop)(task.non_null()) } {
            self.unheard(Failed::from(&failure).of(&task.info().name));
        }
    }

    /// A process failed, and whoever had its handle did not ask.
    pub(super) fn unheard(&self, failed: Failed) {
        self.unheard.lock().push(failed);
    }

    /// Ends the run; the first reason counts.
    pub(super) fn end_with(&self, verdict: Verdict) {
        let mut slot = self.verdict.lock();
        if slot.is_none() && !self.scheduler.is_ending() {
            *slot = Some(verdict);
        }
        drop(slot);
        self.scheduler.end_run();
    }
}

/// The scheduler's way to the network it belongs to.
pub(super) struct Way(pub(super) NonNull<Core>);

// SAFETY: the core is shared by all workers, and outlives them.
unsafe impl Send for Way {}
// SAFETY: as above.
unsafe impl Sync for Way {}

impl Way {
    fn core(&self) -> &Core {
        // SAFETY: the scheduler asks only during the run, which the core outlives.
        unsafe { self.0.as_ref() }
    }
}

impl Hooks for Way {
    fn settled(&self, _task: TaskRef, _worker: &Worker) {}

    fn ended(&self, task: TaskRef, ending: &Ending, worker: &Worker) {
        let has_handle = body::join_if_any(task).is_some_and(|join| join.end(worker));
        if has_handle {
            return;
        }
        if matches!(ending, Ending::Finished) {
            // If it failed, there was a handle a moment ago.
            self.core().drop_result(task);
        } else if let Some(body) = task.body() {
            // Its end is told already.
            // SAFETY: we hold the process; the future is gone.
            let _: Result<(), Failure> = unsafe { (body.drop)(task.non_null()) };
        }
    }

    fn failed_by(&self, _task: TaskRef, _channel: *const ()) -> Ending {
        Ending::Stopped
    }

    fn glance(&self, _worker: &Worker, _budget: usize, _in_passing: bool) -> usize {
        outside::run_deferred(&self.core().scheduler);
        0
    }

    fn share_out(&self) -> Option<u64> {
        None
    }

    fn look_everywhere(&self) {}

    fn look_from(&self, _task: TaskRef) {}

    fn wake_to_prune(&self) {}

    fn stuck(&self, _worker: &Worker) {
        let core = self.core();
        let scheduler = &core.scheduler;
        if !scheduler.is_running() || scheduler.live.load(SeqCst) == 0 {
            return;
        }
        if outside::run_deferred(scheduler) {
            return;
        }
        if !scheduler.census.is_over() || !scheduler.is_running() {
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

    fn end_left_behind(&self, _task: TaskRef) -> Option<Name> {
        None
    }

    fn parked(&self, _task: TaskRef) {}

    fn woken(&self, _task: TaskRef) {}

    fn misuse(&self, _task: TaskRef, _what: Misuse) {}

    fn out_of_threads(&self, text: String) {
        self.core().end_with(Verdict::OutOfThreads(text));
    }
}
