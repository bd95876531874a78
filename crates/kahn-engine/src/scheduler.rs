//! What all workers of a network share, and how its run begins and ends.

use crate::counters::{Accounting, WorkerTimes};
use crate::language::{Hooks, Language, Tag};
use crate::policy::placing::{Balance, Placing};
use crate::policy::{Notify, Origin, Reach, Ready, Reason};
use crate::queue::places;
use crate::queue::run_queues::RunQueues;
use crate::sleep::activity::ActivityCount;
use crate::sync::system::ThreadDoor;
use crate::sync::{
    Arc, AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Mutex, Ordering::*, Padded,
    Parker,
};
use crate::task::extension::{self, Unparker};
use crate::task::table::Table;
use crate::task::{self, Kind, Task, TaskRef};
use crate::thread;
use crate::thread::set::ThreadSet;
use std::fmt;
use std::sync::{OnceLock, Weak};

/// How the network is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// How much is counted.
    pub accounting: Accounting,
    /// CPU times are measured by samples, unless `accounting` measures all.
    pub samples: bool,
    /// Every operation waits once.
    pub wait_once: bool,
    /// Each process has a thread of its own.
    pub threads: bool,
    /// The language is told when a worker begins and ends a poll.
    pub observed: bool,
    /// Each worker keeps to one core.
    pub pin: bool,
    /// One worker and nobody else: no atomics on the message path.
    pub solo: bool,
    /// Ended processes that the report lists one by one.
    pub listed_processes: usize,
}

pub(crate) const BUILDING: u8 = 0;
pub(crate) const RUNNING: u8 = 1;
pub(crate) const ENDING: u8 = 2;

/// In [`Scheduler::first`]: something is to be done that is no process; see [`Probe::Deferred`](crate::Probe::Deferred).
pub const DEFERRED: usize = 1 << (usize::BITS / 2);

/// In [`Scheduler::first`]: the run has ended.
pub(crate) const OVER: usize = 1 << (usize::BITS - 1);

/// The part of a worker that others see.
#[derive(Debug)]
pub struct WorkerSlot {
    /// The process that this worker runs next, if the policy keeps one for it.
    pub(crate) lifo: AtomicPtr<Task>,
    /// The process it runs now.
    pub(crate) current: AtomicPtr<Task>,
    /// Processes it has run; tells whether it gets on.
    pub(crate) steps: AtomicU64,
    /// The last grace period that it has passed; see `sleep::grace`.
    pub(crate) passed: AtomicU64,
    pub(crate) parker: Arc<Parker>,
    /// What it counts of its own time.
    pub times: WorkerTimes,
}

/// What is decided when the run starts.
#[derive(Debug)]
pub struct Config {
    /// How the network is run.
    pub settings: Settings,
    pub(crate) run_queues: RunQueues,
    pub(crate) places: places::Places,
    /// The workers' parts that others see.
    pub slots: Box<[Padded<WorkerSlot>]>,
    /// Workers that are worth having awake at once: as many as there are cores.
    pub most_awake: usize,
    /// Workers beyond those: so many sleep while all cores are in use.
    pub(crate) surplus: usize,
    /// Workers that may search at once: one for every two that may be awake.
    pub(crate) most_searching: usize,
    /// When the policy is asked again where processes belong, if it wants to be.
    pub balance: Option<Balance>,
    /// What is to be said if the system refused workers.
    pub refusal: Option<String>,
    /// Where the threads of this run come from.
    pub door: Arc<ThreadDoor>,
    pub(crate) thread_set: Mutex<ThreadSet>,
}

impl Config {
    /// Decides that these workers run a network from these queues.
    pub fn new(run_queues: RunQueues, mut thread_set: ThreadSet, settings: Settings) -> Self {
        let workers = thread_set.workers();
        let slots = thread_set.parkers.iter().map(|parker| {
            Padded(WorkerSlot {
                lifo: AtomicPtr::new(std::ptr::null_mut()),
                current: AtomicPtr::new(std::ptr::null_mut()),
                steps: AtomicU64::new(0),
                passed: AtomicU64::new(0),
                parker: Arc::clone(parker),
                times: WorkerTimes::default(),
            })
        });
        let cores = crate::sync::system::cores();
        let most_awake = match run_queues.reach() {
            Reach::EveryWorker => cores,
            Reach::OneWorker => usize::MAX,
        };
        let most_searching = workers.min(cores) / 2;
        let again_after = run_queues.placing().and_then(Placing::again_after);
        let balance = again_after.map(Balance::new);
        let places = places::Places::new(workers);
        Self {
            settings,
            run_queues,
            places,
            slots: slots.collect(),
            most_awake,
            surplus: workers.saturating_sub(most_awake),
            most_searching,
            balance,
            refusal: thread_set.refusal.take(),
            door: Arc::clone(&thread_set.door),
            thread_set: Mutex::new(thread_set),
        }
    }

    /// For clearing away a network that was never run.
    #[inline]
    pub fn never_run() -> Self {
        Self::new(RunQueues::oracle(), ThreadSet::driven(1), Settings::default())
    }
}

/// All that the workers of one network share.
pub struct Scheduler {
    pub(crate) this: Weak<Self>,
    /// Tells the networks of a program apart.
    pub number: u32,
    pub(crate) config: OnceLock<Config>,
    pub(crate) sleepers: Mutex<Vec<usize>>,
    pub(crate) sleeping: AtomicUsize,
    pub(crate) searching: AtomicUsize,
    /// What may still act.
    pub activity: ActivityCount,
    /// Processes and parties that have not ended; changes while the table is locked.
    pub live: AtomicUsize,
    pub(crate) phase: AtomicU8,
    /// All processes.
    pub table: Mutex<Table>,
    pub(crate) extensions: extension::Extensions,
    /// Grace periods that have begun; see `sleep::grace`.
    pub(crate) grace_periods: AtomicU64,
    pub(crate) tag: &'static Tag,
    pub(crate) hooks: OnceLock<Box<dyn Hooks>>,
    /// Whether a process of this network has run another one whose processes may choose.
    pub chose: AtomicBool,
    /// Ready processes that are urgent, [deferred calls](DEFERRED), and [`OVER`]: the one thing a worker looks
    /// at before it takes what is at hand.
    pub first: AtomicUsize,
    pub(crate) threads: Mutex<Vec<thread::Started>>,
    pub(crate) thread_count: AtomicUsize,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Makes what the workers of a network of this language share.
    pub fn new(tag: &'static Tag) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            number: crate::sync::system::next_number(),
            config: OnceLock::new(),
            sleepers: Mutex::new(Vec::new()),
            sleeping: AtomicUsize::new(0),
            searching: AtomicUsize::new(0),
            activity: ActivityCount::new(),
            live: AtomicUsize::new(0),
            phase: AtomicU8::new(BUILDING),
            table: Mutex::new(Table::new()),
            extensions: extension::Extensions::default(),
            grace_periods: AtomicU64::new(0),
            tag,
            hooks: OnceLock::new(),
            chose: AtomicBool::new(false),
            first: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            thread_count: AtomicUsize::new(0),
        })
    }

    /// Decides how the network is run; once, before it is.
    ///
    /// # Panics
    /// Panics the second time.
    #[inline]
    pub fn configure(&self, config: Config) {
        self.table.lock().limit = config.settings.listed_processes;
        assert!(self.config.set(config).is_ok(), "a network runs once");
    }

    /// What was decided, if the run has been prepared.
    #[inline]
    pub fn config_if_any(&self) -> Option<&Config> {
        self.config.get()
    }

    /// What was decided.
    ///
    /// # Panics
    /// Panics before [`configure`](Self::configure).
    #[inline]
    pub fn config(&self) -> &Config {
        self.config.get().expect("nothing runs before it is decided how")
    }

    /// How the network is run.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.config().settings
    }

    /// Whether it is measured how long processes run, or estimated.
    #[inline]
    pub fn measures_times(&self) -> bool {
        self.config_if_any().is_some_and(|config| {
            config.settings.samples || config.settings.accounting == Accounting::Timing
        })
    }

    /// Where ready processes stand that are usual and of any worker.
    #[inline]
    pub fn run_queues(&self) -> &RunQueues {
        &self.config().run_queues
    }

    /// The workers' parts that others see.
    #[inline]
    pub fn slots(&self) -> &[Padded<WorkerSlot>] {
        &self.config().slots
    }

    /// A counted reference to it.
    ///
    /// # Panics
    /// Panics if nothing owns it any more.
    #[inline]
    pub fn strong(&self) -> Arc<Self> {
        self.this.upgrade().expect("asked by something that the scheduler owns")
    }

    /// Sets what all workers share of the language; once, before anything runs.
    ///
    /// # Panics
    /// Panics the second time, and if it is another one than its tag says.
    #[inline]
    pub fn set_language<L: Language>(&self, language: L) {
        assert!(std::ptr::eq(self.tag, L::TAG), "a network has one language");
        assert!(self.hooks.set(Box::new(language)).is_ok(), "a language is set once");
    }

    #[inline]
    pub(crate) fn hooks(&self) -> &dyn Hooks {
        self.hooks.get().expect("a language is set before anything runs").as_ref()
    }

    #[inline]
    pub(crate) fn language_tag(&self) -> &'static Tag {
        self.tag
    }

    /// Whether processes run.
    #[inline]
    pub fn is_running(&self) -> bool {
        self.phase.load(Acquire) == RUNNING
    }

    /// Whether the run has not begun.
    #[inline]
    pub fn is_building(&self) -> bool {
        self.phase.load(Acquire) == BUILDING
    }

    /// Whether the run ends or has ended.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.phase.load(Acquire) == ENDING
    }

    /// Ends the run: everyone stops at the next scheduling point. `true` for the first call.
    pub fn end_run(&self) -> bool {
        if self.phase.swap(ENDING, SeqCst) == ENDING {
            return false;
        }
        // Relaxed: a hint to look at the phase.
        self.first.fetch_or(OVER, Relaxed);
        for slot in self.config.get().into_iter().flat_map(|config| &config.slots) {
            slot.parker.unpark();
        }
        let processes = self.table.lock().all();
        // All are marked before any is told: one that runs may end at once, and its peer must not
        // take that for an end of its own accord.
        for task in &processes {
            task.marks.fetch_or(task::mark::STOP, Release);
        }
        for task in processes {
            if task.kind() != Kind::Pooled {
                self.unpark(task);
            }
        }
        true
    }

    /// Makes a process ready.
    pub fn make_ready(&self, origin: Origin, ready: Ready, reason: Reason) {
        if ready.kind() != Kind::Pooled {
            self.unpark(ready.into_task());
            return;
        }
        match self.push(origin, ready, reason) {
            Notify::Nobody | Notify::Thief if origin == Origin::Outside => self.notify_anyone(),
            told => self.notify(told),
        }
    }

    /// Notifies the worker that is to be notified.
    #[inline]
    pub(crate) fn notify(&self, told: Notify) {
        match told {
            Notify::Nobody => {}
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

    /// A thread that was busy inside the network, and is no worker, waits from now on.
    #[inline]
    pub fn rest(&self) {
        if self.activity.go_idle() {
            self.look_again();
        }
    }

    /// Has somebody check whether anything can still run.
    #[inline]
    pub fn look_again(&self) {
        self.notify_anyone();
    }

    /// Makes a process while the table is locked, and registers it.
    #[inline]
    pub fn enlist_new(&self, make: impl FnOnce(&mut Table) -> TaskRef) -> TaskRef {
        let mut table = self.table.lock();
        let task = make(&mut table);
        self.add(&mut table, task);
        task
    }

    #[inline]
    pub(crate) fn add(&self, table: &mut Table, task: TaskRef) {
        table.add(task);
        // No read-modify-write: the table is locked.
        self.live.store(self.live.load(Relaxed) + 1, Relaxed);
    }

    /// Registers a process: it is alive from now on, and runs when the network does.
    #[inline]
    pub fn enlist(&self, task: TaskRef) {
        if task.kind() == Kind::Outside {
            // Not inside an operation, it counts as running.
            self.activity.wake();
        }
        self.add(&mut self.table.lock(), task);
    }

    /// Starts a process that was enlisted, while the network runs.
    pub fn start(&self, ready: Ready, origin: Origin) {
        let task = ready.into_task();
        if self.is_ending() {
            // `end_run` marks those it finds in the table; this one may have come later.
            task.marks.fetch_or(task::mark::STOP, Release);
        }
        match task.kind() {
            // It counts as running since it was made, and may be waiting for the start.
            Kind::Outside => Self::tell(task),
            Kind::Threaded => self.start_thread(task),
            Kind::Pooled => self.make_ready(origin, Ready::new(task), Reason::New),
        }
    }

    /// Runs all that was enlisted; returns when every process has ended or the run was ended.
    ///
    /// The calling thread is worker 0.
    pub fn run(&self) {
        crate::sync::system::clock::start();
        let mut processes = self.table.lock().all();
        processes.sort_by_key(|task| task.info().identity);
        self.count_workers();
        // `end_run` may have come before: then nothing starts at all.
        if self.phase.compare_exchange(BUILDING, RUNNING, SeqCst, SeqCst).is_ok() {
            let (pooled, others): (Vec<_>, Vec<_>) =
                processes.into_iter().partition(|task| task.kind() == Kind::Pooled);
            self.run_queues().start(pooled.into_iter().map(Ready::new).collect());
            for task in others {
                self.start(Ready::new(task), Origin::Outside);
            }
            // Nobody there, or parties that have left since: they do not end a run that is not
            // running yet.
            if self.live.load(SeqCst) == 0 {
                self.end_run();
            }
        }
        self.start_workers();
        (self.tag.work)(self, 0);
        self.join_workers();
        self.join_threads();
    }

    /// Whether any worker of the network is awake.
    #[inline]
    pub(crate) fn workers_run(&self) -> bool {
        self.sleeping.load(SeqCst) < self.slots().len()
    }

    /// The processes that workers run right now.
    #[inline]
    pub fn running(&self) -> Vec<TaskRef> {
        let slots = self.config.get().into_iter().flat_map(|config| &config.slots);
        slots
            // SAFETY: the blocks of processes are type-stable; what is stale is compared only.
            .filter_map(|slot| unsafe { TaskRef::from_ptr(slot.current.load(Acquire)) })
            .collect()
    }

    /// The number of threads that ran processes, and whether each process had one of its own.
    #[inline]
    pub fn worker_count(&self) -> usize {
        let threads = self.settings().threads;
        if threads { self.thread_count.load(Relaxed) } else { self.slots().len() }
    }
}
