//! What a worker keeps to itself, whatever runs on it.
//!
//! A [`Worker`] is this and what a language keeps beside it. Each thread that runs
//! processes points to its own, so that operations find the worker and the process that run them.
//!
//! | file | what |
//! |---|---|
//! | `language` | what a language adds, and when it is asked |
//! | `dispatch` | the loop: take, poll, publish, park |
//! | `pick` | which process is next; `lifo_slot`: the one that was woken last |
//! | `idle` | what a worker does that has nothing to run |
//! | `blocking` | processes on threads of their own |
//! | `operation`, `request` | what operations ask of the worker that runs them |
//! | `from_tasks` | what tasks ask of the scheduler where they have no worker |
//! | `urgency` | how a process gives way to a more urgent one |
//! | `waiters` | processes that are woken together |
//! | `stopwatch` | how long processes run |
//! | `logging` | what it writes down of what they do |

mod blocking;
pub mod dispatch;
mod from_tasks;
mod idle;
pub mod language;
mod lifo_slot;
mod logging;
mod operation;
mod pick;
pub mod request;
mod stopwatch;
mod urgency;
pub mod waiters;

pub use blocking::Unwound;

use self::blocking::Unwinding;
use crate::counters::Accounting;
use crate::policy::{Ready, Turn};
use crate::queue::lane::Lane;
use crate::queue::run_queues::RunQueues;
use crate::scheduler::{DRIVE, Scheduler, Tag, WorkerSlot};
use crate::sync::{Access, Arc, AtomicUsize, Ordering::Relaxed, Parker};
use crate::task::{Task, TaskRef};
use crate::worker::dispatch::Worker;
use crate::worker::language::Language;
use crate::worker::request::Request;
use crate::worker::stopwatch::Stopwatch;
use kahn_report::Ending;
use kahn_report::log::Ring;
use std::cell::{Cell, OnceCell};
use std::fmt;
use std::ptr::{self, NonNull};

/// Looks at a peer that a process may have in one dispatch: then it yields.
pub const PATIENCE: u32 = 128;

/// What a worker has under every language. Everything here is its own; others see its `WorkerSlot`.
pub struct WorkerCore {
    scheduler: Arc<Scheduler>,
    index: usize,
    /// Where a thread with a process of its own sleeps.
    own_parker: Option<Arc<Parker>>,
    /// What the running process asks for.
    pub(crate) request: Cell<Request>,
    pub(crate) ending: Cell<Ending>,
    pub(crate) unwinding: Cell<Option<Unwinding>>,
    /// Looks at peers left to the running process.
    pub patience: Cell<u32>,
    /// Looks at peers of processes that gave way to more urgent ones and have not gone behind others
    /// since; and the step at which one was last told to.
    pub(crate) spent: Cell<u32>,
    pub(crate) preempted_at: Cell<u64>,
    /// When it last found something after it had had nothing to do, in ticks.
    pub(crate) found_at: Cell<u64>,
    /// Its slot and the run queues, without the way through the scheduler; null and none for a thread
    /// that is no worker of the network.
    slot: *const WorkerSlot,
    run_queues: Option<NonNull<RunQueues>>,
    /// The scheduler's, without the way there.
    first: NonNull<AtomicUsize>,
    /// How many workers sleep while each core has one that does not; of the configuration.
    surplus: usize,
    /// What the engine's own queues leave to this worker alone.
    lane: Option<NonNull<Lane>>,
    /// Whether no other thread takes anything from that, or from the LIFO slot.
    pub(crate) takes_alone: bool,
    /// Copies of settings, on the worker's own line.
    access: Cell<Access>,
    /// Whether anything is counted.
    pub counts: bool,
    /// Whether what it wakes may run next without being queued.
    pub(crate) lifo: Cell<Lifo>,
    pub(crate) timing: bool,
    /// Whether what processes do is told the language or written down; and whether it is told.
    pub(crate) observed: bool,
    pub(crate) tells: bool,
    logged: bool,
    /// Whether any of these: one test on the way of a poll.
    pub(crate) watched: bool,
    pub(crate) stopwatch: Stopwatch,
    /// Whether it turns a driver while it sleeps, and in passing.
    pub(crate) drives: bool,
    /// Where it writes down what processes do, from the first time on.
    ring: OnceCell<Arc<Ring>>,
    /// The network's number in this program.
    pub network: u32,
    /// The language of that network.
    language: &'static Tag,
}

/// What runs on a thread: so what an operation asks first is found by one access.
#[derive(Clone, Copy)]
struct Running {
    /// Null without one.
    worker: *const WorkerCore,
    /// [`NO_TASK`] without one; a worker is installed while there is one.
    task: *const Task,
}

/// No process has this address, and nothing that names none: so it equals nothing that is asked for.
const NO_TASK: *const Task = ptr::without_provenance(1);

/// On a thread that runs nothing.
const NOTHING: Running = Running { worker: ptr::null(), task: NO_TASK };

#[cfg(not(loom))]
thread_local! {
    static WORKER: Cell<*const WorkerCore> = const { Cell::new(NOTHING.worker) };
    static TASK: Cell<*const Task> = const { Cell::new(NOTHING.task) };
}
// The threads of a model share one thread of the system.
#[cfg(loom)]
loom::thread_local! {
    static WORKER: Cell<*const WorkerCore> = Cell::new(NOTHING.worker);
    static TASK: Cell<*const Task> = Cell::new(NOTHING.task);
}

impl Running {
    /// What runs on this thread from now on; returns what did.
    fn replace(self) -> Self {
        let worker = WORKER.with(|worker| worker.replace(self.worker));
        Self { worker, task: TASK.with(|task| task.replace(self.task)) }
    }
}

/// Keeps the worker of this thread known to [`WorkerCore::with_current`] while it lives.
pub(crate) struct Installed {
    before: Running,
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.before.replace();
    }
}

impl fmt::Debug for WorkerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerCore").field("index", &self.index).finish_non_exhaustive()
    }
}

/// Whether a worker keeps what it wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifo {
    /// All is queued.
    Unused,
    /// It is kept.
    Used,
    /// It is kept, and the wake is written down: so one test finds the usual way.
    UsedAndLogged,
}

impl Lifo {
    pub(crate) fn of(is_used: bool, is_logged: bool) -> Self {
        match (is_used, is_logged) {
            (false, _) => Self::Unused,
            (true, false) => Self::Used,
            (true, true) => Self::UsedAndLogged,
        }
    }
}

impl WorkerCore {
    pub(crate) fn new(scheduler: &Scheduler, index: usize) -> Self {
        // A party may give up its ends before the run.
        let config = scheduler.config_if_any();
        let settings = config.map(|config| config.settings).unwrap_or_default();
        let run_queues = config.map(|config| &config.run_queues);
        let timing = settings.accounting == Accounting::Timing || settings.samples;
        let observed = settings.observed || settings.logged;
        let slot = config.and_then(|config| config.slots.get(index)).map(|slot| &slot.0);
        Self {
            scheduler: scheduler.strong(),
            index,
            own_parker: None,
            request: Cell::new(Request::None),
            ending: Cell::new(Ending::Stopped),
            unwinding: Cell::new(None),
            patience: Cell::new(PATIENCE),
            spent: Cell::new(0),
            preempted_at: Cell::new(u64::MAX),
            found_at: Cell::new(0),
            slot: slot.map_or(ptr::null(), ptr::from_ref),
            run_queues: run_queues.map(NonNull::from),
            first: NonNull::from(&scheduler.first),
            surplus: config.map_or(usize::MAX, |config| config.surplus),
            lane: run_queues.and_then(|queues| queues.lane(index)).map(NonNull::from),
            takes_alone: run_queues
                .and_then(|queues| queues.lane(index))
                .is_some_and(Lane::is_alone),
            access: Cell::new(if settings.solo { Access::ALONE } else { Access::of_worker(index) }),
            counts: settings.accounting != Accounting::Off,
            lifo: Cell::new(Lifo::of(
                run_queues.is_some_and(|queues| queues.have_lifo_slots) && !settings.threads,
                settings.logged,
            )),
            timing,
            observed,
            tells: settings.observed,
            logged: settings.logged,
            watched: timing || observed,
            stopwatch: Stopwatch::new(index, settings.accounting == Accounting::Timing || observed),
            drives: slot.is_some_and(|slot| slot.parker.driver().is_some()),
            ring: OnceCell::new(),
            network: scheduler.number,
            language: scheduler.language_tag(),
        }
    }

    /// A worker for the thread of one process.
    pub(crate) fn dedicated(scheduler: &Scheduler, index: usize, parker: Arc<Parker>) -> Self {
        Self {
            own_parker: Some(parker),
            lifo: Cell::new(Lifo::Unused),
            lane: None,
            takes_alone: false,
            drives: false,
            access: Cell::new(Access::SHARED),
            ..Self::new(scheduler, index)
        }
    }

    /// The scheduler of its network.
    #[inline]
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Whether other threads have a part in the network: without, plain accesses do.
    #[inline]
    pub fn access(&self) -> Access {
        self.access.get()
    }

    /// Whether no other thread has any part in the network.
    #[inline]
    pub fn solo(&self) -> bool {
        self.access.get().is_alone()
    }

    /// The process that runs makes one with a thread of its own. Starting a thread publishes all
    /// that was written without read-modify-writes.
    #[inline]
    pub fn leave_single_threaded_mode(&self) {
        // One for the thread of one process is no other's; its index may be another's, too.
        if self.solo() {
            self.access.set(Access::of_worker(self.index));
        }
    }

    /// Its place among the workers.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The index as reports and words carry it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a network has fewer than 2^16 workers")]
    pub fn number(&self) -> u32 {
        self.index as u32
    }

    /// The process that runs now. Asked on its own thread, where it is installed.
    #[inline]
    pub fn current(&self) -> Option<TaskRef> {
        Self::running_here()
    }

    /// The process that runs from now on, on its own thread, where it is installed; returns what did.
    #[inline(always)]
    pub(crate) fn set_current(&self, task: Option<TaskRef>) {
        debug_assert!(
            task.is_none() || WORKER.with(|worker| ptr::eq(worker.get(), self)),
            "a worker that runs a process is installed"
        );
        TASK.with(|current| current.set(task.map_or(NO_TASK, TaskRef::as_ptr)));
    }

    #[inline]
    pub(crate) fn slot(&self) -> &WorkerSlot {
        debug_assert!(!self.slot.is_null(), "only workers of the network have a slot");
        // SAFETY: points into the scheduler's configuration, which never changes once it is set,
        // and which `self.scheduler` keeps alive.
        unsafe { &*self.slot }
    }

    #[inline]
    pub(crate) fn run_queues(&self) -> Option<&RunQueues> {
        // SAFETY: as for `slot`.
        self.run_queues.map(|queues| unsafe { queues.as_ref() })
    }

    #[inline]
    pub(crate) fn pop(&self, turn: Turn) -> Option<Ready> {
        self.run_queues()?.pop(self.index, turn)
    }

    /// What goes before the process in the LIFO slot, or the end of the run.
    #[inline]
    pub(crate) fn first(&self) -> &AtomicUsize {
        // SAFETY: `self.scheduler` keeps it alive.
        unsafe { self.first.as_ref() }
    }

    /// Wakes a sleeping worker, if there is a core for it, for what this one has and would run itself.
    #[inline(always)]
    pub(crate) fn invite(&self) {
        // As `Scheduler::has_free_core`, with what this worker has at hand. Relaxed: a hint, a lost chance costs time.
        if self.scheduler().sleepers.count(Relaxed) > self.surplus {
            self.scheduler().invite(self.index());
        }
    }

    /// What the engine's own queues leave to this worker.
    #[inline]
    pub(crate) fn lane(&self) -> Option<&Lane> {
        // SAFETY: as for `slot`.
        self.lane.map(|lane| unsafe { lane.as_ref() })
    }

    /// Whether it is the thread of one process, or a party outside.
    #[inline]
    pub fn is_dedicated(&self) -> bool {
        self.own_parker.is_some()
    }

    #[inline]
    pub(crate) fn own_parker(&self) -> Option<&Parker> {
        self.own_parker.as_deref()
    }

    // --- the worker of this thread ----------------------------------------------------------------

    /// Calls `f` with the worker that runs on this thread, if one does.
    #[inline]
    pub fn with_current<R>(f: impl FnOnce(Option<&Self>) -> R) -> R {
        f(Self::of_this_thread())
    }

    /// Has the driver turned before the next process, if there is one: what was done concerns it.
    #[inline]
    pub fn drive_soon(&self) {
        if self.drives {
            // Relaxed: it is read by this thread.
            self.first().fetch_or(DRIVE, Relaxed);
        }
    }

    /// Has this thread be none of a worker, until what is returned is dropped.
    pub(crate) fn step_outside() -> Installed {
        Installed { before: NOTHING.replace() }
    }

    /// Whether it runs a process of this network right now, as one of its workers.
    pub(crate) fn runs_in(&self, scheduler: &Scheduler) -> bool {
        self.current().is_some()
            && !self.is_dedicated()
            && ptr::eq(&raw const *self.scheduler, scheduler)
    }

    /// The worker of this thread; the reference must not outlive the poll that asks.
    #[inline]
    fn of_this_thread<'a>() -> Option<&'a Self> {
        // SAFETY: set by `install`, whose guard resets it before the worker goes; the caller does not
        // keep it beyond a poll or a function that it calls, which the worker outlives.
        unsafe { WORKER.with(Cell::get).as_ref() }
    }

    /// The same where a process runs on this thread, which spares the look whether there is a worker.
    ///
    /// # Safety
    /// A process runs on this thread: only a worker that is installed has one run.
    #[inline]
    unsafe fn of_running<'a>() -> &'a Self {
        // SAFETY: as for `of_this_thread`; not null, as the caller says.
        unsafe { &*WORKER.with(Cell::get) }
    }

    /// The process that runs on this thread, of whatever language.
    #[inline]
    pub fn running_here() -> Option<TaskRef> {
        let task = TASK.with(Cell::get);
        // SAFETY: it runs on this thread, so it has not ended.
        (task != NO_TASK).then(|| unsafe { TaskRef::from_ptr_unchecked(task.cast_mut()) })
    }
}

impl<L: Language> Worker<L> {
    #[inline]
    pub(crate) fn install(&self) -> Installed {
        Installed { before: Running { worker: &raw const **self, ..NOTHING }.replace() }
    }

    /// The worker of this thread, if it holds the process at `task` right now, which is of this
    /// language.
    ///
    /// The reference must not outlive the poll that asks.
    #[inline]
    pub fn holding<'a>(task: *const Task) -> Option<&'a Self> {
        if TASK.with(Cell::get) != task {
            return None;
        }
        WorkerCore::of_this_thread().map(Self::of_core)
    }

    /// [`holding`](Self::holding) without the look whether this thread has a worker.
    ///
    /// # Safety
    /// `task` is null, or the address of a process.
    #[inline(always)]
    pub unsafe fn holding_unchecked<'a>(task: *const Task) -> Option<&'a Self> {
        debug_assert_ne!(task, NO_TASK, "said by the caller");
        // SAFETY: the process at this address runs on this thread.
        (TASK.with(Cell::get) == task).then(|| Self::of_core(unsafe { WorkerCore::of_running() }))
    }

    /// Whether the process at this address runs on this thread.
    #[inline(always)]
    pub fn runs_here(task: *const Task) -> bool {
        TASK.with(Cell::get) == task
    }

    /// The worker of this thread and the process it runs.
    ///
    /// The reference must not outlive the poll that asks.
    ///
    /// # Safety
    /// A process of this language runs on this thread.
    #[inline(always)]
    pub unsafe fn running_unchecked<'a>() -> (&'a Self, TaskRef) {
        // SAFETY: said by the caller.
        let task = unsafe { TaskRef::from_ptr_unchecked(TASK.with(Cell::get).cast_mut()) };
        // SAFETY: as above.
        (Self::of_core(unsafe { WorkerCore::of_running() }), task)
    }

    /// The worker of this thread and the process it runs, if they belong to the network of this
    /// number, which is of this language.
    ///
    /// The reference must not outlive the poll that asks.
    #[inline]
    pub fn running_in<'a>(network: u32) -> Option<(&'a Self, TaskRef)> {
        let task = WorkerCore::running_here()?;
        // SAFETY: a process runs on this thread.
        let core = unsafe { WorkerCore::of_running() };
        (core.network == network).then(|| (Self::of_core(core), task))
    }

    /// The worker of this thread and the process it runs, if they are of this language.
    ///
    /// The reference must not outlive the poll that asks.
    #[inline]
    pub fn running<'a>() -> Option<(&'a Self, TaskRef)> {
        let task = WorkerCore::running_here()?;
        // SAFETY: a process runs on this thread.
        let core = unsafe { WorkerCore::of_running() };
        ptr::eq(core.language, L::tag()).then(|| (Self::of_core(core), task))
    }

    #[inline]
    fn of_core(core: &WorkerCore) -> &Self {
        debug_assert!(ptr::eq(core.language, L::tag()), "the caller knows the language");
        // SAFETY: only cores of workers are installed, and a worker begins with its core; the network of
        // this one is of the language `L`, by its tag or by what the callers above were told.
        unsafe { &*ptr::from_ref(core).cast::<Self>() }
    }
}
