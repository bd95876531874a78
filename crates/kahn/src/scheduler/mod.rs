//! WHEN code runs: processes, workers, run queues, parking.
//!
//! ```text
//!            policy (run queues)                  where the language says
//!   ready ───────────────► running ─────────────► parked ──┐
//!     ▲                      │  │                          │ what it waits
//!     │      yields          │  │ waits for a foreign waker│ for comes
//!     └──────────────────────┘  └──► Foreign ──────────────┤
//!     └────────────────────────────────────────────────────┘
//! ```
//!
//! A [`Worker`] takes a ready process from the policy, polls it, publishes what it did, and then
//! does what it asked for: parks it, queues it again, or ends it. Parking happens *after* the poll
//! has returned, so the thread that wakes the process finds it complete. How a process is parked, and
//! what else is particular to a kind of processes, is a [`language`].
//!
//! # When nothing can run
//!
//! The [`census`] counts everyone who may make a process ready as *busy*: workers that are awake,
//! threads of blocking processes that are not inside a waiting operation, outside parties likewise.
//! Whoever wakes somebody counts them *before* it stops being counted itself, so nobody is busy only
//! if nobody can act but those it counts as *pending*: foreign wakers, and parties that may cancel.
//! The last to be busy asks the language to free what can go on ([`Language::quiet`]); if in addition
//! nothing is pending, what is left can never go on and the run gets its verdict.

mod balance;
pub(crate) mod census;
mod crew;
pub(crate) mod deque;
mod dispatch;
pub(crate) mod fifo;
pub(crate) mod foreign;
mod grace;
mod hot;
mod idle;
pub(crate) mod language;
#[cfg(all(test, loom))]
pub(crate) mod models;
mod operation;
mod pick;
mod places;
pub mod policy;
mod rare;
mod request;
mod stopwatch;
mod table;
pub(crate) mod task;
mod threads;
mod waiters;
mod worker;

pub(crate) use balance::Balance;
pub(crate) use dispatch::Worker;
pub(crate) use language::{Hooks, Kept, Language, Probe, Tag};
pub(crate) use places::Urgency;
pub(crate) use rare::Bell;
pub(crate) use request::{EndCause, Park, Request};
pub(crate) use table::{ProcessCounts, ProcessRecord, Table};
pub(crate) use task::{Kind, TaskRef};
pub(crate) use threads::Unwound;
pub(crate) use waiters::Waiters;
pub(crate) use worker::WorkerCore;

use crate::accounting::Accounting;
use crate::sync::system::ThreadDoor;
use crate::sync::{
    Arc, AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Mutex, Ordering::*, Padded,
    Parker, PlainAtomicU64,
};
use census::Census;
pub(crate) use crew::Crew;
use policy::{Notify, Policy, Ready};
use std::fmt;
use std::sync::{OnceLock, Weak};
use task::Task;

/// Who makes a process ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A worker of the network, by its index.
    Worker(usize),
    /// Anyone else: the thread that starts the run, a blocking process, a foreign waker.
    Outside,
}

/// Why a process is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was just created.
    New,
    /// What it waited for has come.
    Woken,
    /// It gave way to others: it belongs at the cold end.
    Yielded,
    /// It gave way to a more urgent one, before its turn was over: it goes on where it stood, at
    /// the hot end.
    Preempted,
}

/// How the network is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) accounting: Accounting,
    /// CPU times are measured by samples, unless `accounting` measures all.
    pub(crate) samples: bool,
    /// Every operation waits once.
    pub(crate) wait_once: bool,
    /// Each process has a thread of its own.
    pub(crate) threads: bool,
    pub(crate) pin: bool,
    /// One worker and nobody else: no atomics on the message path.
    pub(crate) solo: bool,
    /// Ended processes that the report lists one by one.
    pub(crate) listed_processes: usize,
}

const BUILDING: u8 = 0;
const RUNNING: u8 = 1;
const ENDING: u8 = 2;

/// In [`Scheduler::first`]: something is to be done that is no process; see [`Probe::Deferred`].
pub(crate) const DEFERRED: usize = 1 << (usize::BITS / 2);

/// In [`Scheduler::first`]: the run has ended.
const OVER: usize = 1 << (usize::BITS - 1);

/// The part of a worker that others see.
#[derive(Debug)]
pub(crate) struct WorkerSlot {
    /// The process that this worker runs next, if the policy keeps one hot.
    hot: AtomicPtr<Task>,
    /// The process it runs now.
    current: AtomicPtr<Task>,
    /// Processes it has run; tells whether it gets on.
    steps: AtomicU64,
    /// The last grace period that it has passed; see [`grace`].
    passed: AtomicU64,
    parker: Arc<Parker>,
    pub(crate) times: WorkerTimes,
}

/// What a worker counts, written by it alone; only reports and `balance` read it.
#[derive(Debug, Default)]
pub(crate) struct WorkerTimes {
    /// Ticks from start to end.
    pub(crate) total: PlainAtomicU64,
    /// Ticks without a process to run, until the last one was found.
    pub(crate) idle: PlainAtomicU64,
    /// Since when it has been without a process; 0 if it has one.
    pub(crate) idle_since: PlainAtomicU64,
    /// Searches while idle.
    pub(crate) spins: PlainAtomicU64,
    /// Times asleep.
    pub(crate) sleeps: PlainAtomicU64,
}

/// What is decided when the run starts.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) settings: Settings,
    pub(crate) policy: Box<dyn Policy>,
    places: places::Places,
    pub(crate) slots: Box<[Padded<WorkerSlot>]>,
    /// Workers that are worth having awake at once: as many as there are cores.
    pub(crate) most_awake: usize,
    /// Workers beyond those: so many sleep while all cores are in use.
    surplus: usize,
    /// Workers that may search at once: one for every two that may be awake.
    most_searching: usize,
    /// When the policy is asked again where processes belong, if it wants to be.
    pub(crate) balance: Option<Balance>,
    /// What is to be said if the system refused workers.
    pub(crate) refusal: Option<String>,
    /// Where the threads of this run come from.
    pub(crate) door: Arc<ThreadDoor>,
    crew: Mutex<Crew>,
}

impl Config {
    pub(crate) fn new(policy: Box<dyn Policy>, mut crew: Crew, settings: Settings) -> Self {
        let workers = crew.workers();
        let slots = crew.bells.iter().map(|bell| {
            Padded(WorkerSlot {
                hot: AtomicPtr::new(std::ptr::null_mut()),
                current: AtomicPtr::new(std::ptr::null_mut()),
                steps: AtomicU64::new(0),
                passed: AtomicU64::new(0),
                parker: Arc::clone(bell),
                times: WorkerTimes::default(),
            })
        });
        let cores = crate::sync::system::cores();
        let most_awake = if policy.shares_work() { cores } else { usize::MAX };
        let most_searching = workers.min(cores) / 2;
        let balance = policy.rebalances_after().map(Balance::new);
        let places = places::Places::new(workers);
        Self {
            settings,
            policy,
            places,
            slots: slots.collect(),
            most_awake,
            surplus: workers.saturating_sub(most_awake),
            most_searching,
            balance,
            refusal: crew.refusal.take(),
            door: Arc::clone(&crew.door),
            crew: Mutex::new(crew),
        }
    }

    /// For clearing away a network that was never run.
    pub(crate) fn never_run() -> Self {
        Self::new(policy::oracle(), Crew::driven(1), Settings::default())
    }
}

/// All that the workers of one network share.
pub(crate) struct Scheduler {
    this: Weak<Self>,
    /// Tells the networks of a program apart.
    pub(crate) number: u32,
    config: OnceLock<Config>,
    sleepers: Mutex<Vec<usize>>,
    sleeping: AtomicUsize,
    searching: AtomicUsize,
    /// Who may still act.
    pub(crate) census: Census,
    /// Processes and parties that have not ended; changes while the table is locked.
    pub(crate) live: AtomicUsize,
    phase: AtomicU8,
    pub(crate) table: Mutex<Table>,
    rares: rare::Rares,
    /// Grace periods that have begun; see [`grace`].
    grace_periods: AtomicU64,
    tag: &'static Tag,
    hooks: OnceLock<Box<dyn Hooks>>,
    /// Whether a process of this network has run another one whose processes may choose.
    pub(crate) chose: AtomicBool,
    /// Ready processes that are urgent, [deferred calls](DEFERRED), and [`OVER`]: the one thing a worker looks
    /// at before it takes what is at hand.
    pub(crate) first: AtomicUsize,
    threads: Mutex<Vec<threads::Started>>,
    thread_count: AtomicUsize,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Makes what the workers of a network of this language share.
    pub(crate) fn new(tag: &'static Tag) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            number: crate::sync::system::next_number(),
            config: OnceLock::new(),
            sleepers: Mutex::new(Vec::new()),
            sleeping: AtomicUsize::new(0),
            searching: AtomicUsize::new(0),
            census: Census::new(),
            live: AtomicUsize::new(0),
            phase: AtomicU8::new(BUILDING),
            table: Mutex::new(Table::new()),
            rares: rare::Rares::default(),
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
    pub(crate) fn configure(&self, config: Config) {
        self.table.lock().limit = config.settings.listed_processes;
        assert!(self.config.set(config).is_ok(), "a network runs once");
    }

    /// What was decided, if the run has been prepared.
    pub(crate) fn config_if_any(&self) -> Option<&Config> {
        self.config.get()
    }

    pub(crate) fn config(&self) -> &Config {
        self.config.get().expect("nothing runs before it is decided how")
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.config().settings
    }

    /// Whether it is measured how long processes run, or estimated.
    pub(crate) fn measures_times(&self) -> bool {
        self.config_if_any().is_some_and(|config| {
            config.settings.samples || config.settings.accounting == Accounting::Timing
        })
    }

    pub(crate) fn policy(&self) -> &dyn Policy {
        self.config().policy.as_ref()
    }

    pub(crate) fn slots(&self) -> &[Padded<WorkerSlot>] {
        &self.config().slots
    }

    pub(crate) fn strong(&self) -> Arc<Self> {
        self.this.upgrade().expect("asked by something that the scheduler owns")
    }

    /// Sets what all workers share of the language; once, before anything runs.
    pub(crate) fn set_language<L: Language>(&self, language: L) {
        assert!(std::ptr::eq(self.tag, L::TAG), "a network has one language");
        assert!(self.hooks.set(Box::new(language)).is_ok(), "a language is set once");
    }

    pub(super) fn hooks(&self) -> &dyn Hooks {
        self.hooks.get().expect("a language is set before anything runs").as_ref()
    }

    pub(super) fn language_tag(&self) -> &'static Tag {
        self.tag
    }

    #[inline]
    pub(crate) fn is_running(&self) -> bool {
        self.phase.load(Acquire) == RUNNING
    }

    pub(crate) fn is_building(&self) -> bool {
        self.phase.load(Acquire) == BUILDING
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.phase.load(Acquire) == ENDING
    }

    /// Ends the run: everyone stops at the next scheduling point. `true` for the first who does.
    pub(crate) fn end_run(&self) -> bool {
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
                self.ring(task);
            }
        }
        true
    }

    /// Makes a process ready that the caller owns.
    pub(crate) fn make_ready(&self, origin: Origin, task: TaskRef, reason: Reason) {
        if task.kind() != Kind::Pooled {
            self.ring(task);
            return;
        }
        match self.push(origin, Ready::new(task), reason) {
            Notify::Nobody if origin == Origin::Outside => self.notify_anyone(),
            told => self.notify(told),
        }
    }

    /// Tells whoever a policy wants to be told.
    #[inline]
    fn notify(&self, told: Notify) {
        match told {
            Notify::Nobody => {}
            Notify::Anyone => self.notify_anyone(),
            Notify::Worker(worker) => self.notify_worker(worker),
        }
    }

    /// Tells a thread or a party that its wait is over; it counts as busy from now on.
    pub(crate) fn ring(&self, task: TaskRef) {
        self.census.wake();
        Self::tell(task);
    }

    fn tell(task: TaskRef) {
        // Not under the lock: a waker may run code of its executor.
        match task.bell() {
            Some(Bell::Thread(parker)) => parker.unpark(),
            Some(Bell::Waker(waker)) => waker.wake(),
            None => {}
        }
    }

    /// Whoever was busy inside the network, and is no worker, waits from now on.
    pub(crate) fn rest(&self) {
        if self.census.rest() {
            self.look_again();
        }
    }

    /// Has somebody check whether anything can still run.
    pub(crate) fn look_again(&self) {
        self.notify_anyone();
    }

    /// Makes a process while the table is locked, and registers it.
    pub(crate) fn enlist_new(&self, make: impl FnOnce(&mut Table) -> TaskRef) -> TaskRef {
        let mut table = self.table.lock();
        let task = make(&mut table);
        self.add(&mut table, task);
        task
    }

    fn add(&self, table: &mut Table, task: TaskRef) {
        table.add(task);
        // No read-modify-write: the table is locked.
        self.live.store(self.live.load(Relaxed) + 1, Relaxed);
    }

    /// Registers a process: it is alive from now on, and runs when the network does.
    pub(crate) fn enlist(&self, task: TaskRef) {
        if task.kind() == Kind::Outside {
            // Not inside an operation, it counts as running.
            self.census.wake();
        }
        self.add(&mut self.table.lock(), task);
    }

    /// Starts a process that was enlisted, while the network runs.
    pub(crate) fn start(&self, task: TaskRef, origin: Origin) {
        if self.is_ending() {
            // `end_run` marks those it finds in the table; this one may have come later.
            task.marks.fetch_or(task::mark::STOP, Release);
        }
        match task.kind() {
            // It counts as running since it was made, and may be waiting for the start.
            Kind::Outside => Self::tell(task),
            Kind::Threaded => self.start_thread(task),
            Kind::Pooled => self.make_ready(origin, task, Reason::New),
        }
    }

    /// Runs all that was enlisted; returns when every process has ended or the run was ended.
    ///
    /// The calling thread is worker 0.
    pub(crate) fn run(&self) {
        crate::sync::system::clock::start();
        let mut processes = self.table.lock().all();
        processes.sort_by_key(|task| task.info().identity);
        self.count_workers();
        // `end_run` may have come before: then nothing starts at all.
        if self.phase.compare_exchange(BUILDING, RUNNING, SeqCst, SeqCst).is_ok() {
            let (pooled, others): (Vec<_>, Vec<_>) =
                processes.into_iter().partition(|task| task.kind() == Kind::Pooled);
            self.policy().start(pooled.into_iter().map(Ready::new).collect());
            for task in others {
                self.start(task, Origin::Outside);
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
    pub(super) fn workers_run(&self) -> bool {
        self.sleeping.load(SeqCst) < self.slots().len()
    }

    /// The processes that workers run right now.
    pub(crate) fn running(&self) -> Vec<TaskRef> {
        let slots = self.config.get().into_iter().flat_map(|config| &config.slots);
        slots
            // SAFETY: the blocks of processes are type-stable; what is stale is compared only.
            .filter_map(|slot| unsafe { TaskRef::from_ptr(slot.current.load(Acquire)) })
            .collect()
    }

    /// The number of threads that ran processes, and whether each process had one of its own.
    pub(crate) fn worker_count(&self) -> usize {
        let threads = self.settings().threads;
        if threads { self.thread_count.load(Relaxed) } else { self.slots().len() }
    }
}
