//! What the processes of one network share, and what the scheduler asks of them.

use super::blocking::Helpers;
use super::body::{self, End, Join, Type};
use super::error::Failed;
use super::handle::Handle;
use super::language::Csp;
use super::language::Spawned;
use super::language::{Worker, own};
use super::placement::{self, Priority};
use super::process::{Forked, Process};
use super::timer::Timers;
use kahn_engine::sync::{Arc, AtomicU64, Cell, Mutex, Ordering::*};
use kahn_engine::task::{BodyType, Info, Plan, Task};
use kahn_engine::{Kind, Scheduler, Table, TaskRef, Urgency};
use kahn_report::Explanation;
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
        match Worker::running() {
            Some((worker, task)) => f(worker.language().core(), worker, task),
            None => panic!("{what} of `kahn::csp` is made in a process of `csp::run`"),
        }
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
        Worker::running()
    }

    /// Calls `f` with the network of a worker that runs a process of this module.
    #[inline]
    pub(super) fn with_worker<R>(worker: &Worker, f: impl FnOnce(&Core) -> R) -> R {
        f(worker.language().core())
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
            let spawned = self.spawned(site, task);
            let place = body::place::<Join, F, End<F::Output>>;
            // SAFETY: the block was made for this type of body, a moment ago.
            unsafe { place(task.non_null(), spawned, Join::new(), code) };
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
            let spawned = self.spawned(site, task);
            // SAFETY: the block was made for this type of body, a moment ago.
            unsafe { body::place::<(), F, ()>(task.non_null(), spawned, (), code) };
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
        let task = table.make::<Csp>(Plan {
            info: Info { name: process.name, identity },
            kind: Kind::Pooled,
            attributes: 0,
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

    fn spawned(&self, site: &'static Location<'static>, task: TaskRef) -> Spawned {
        Spawned { site, draw: Cell::new(task.info().identity.draw_from(self.seed)) }
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
        task.scheduler().language::<Csp>().core()
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
