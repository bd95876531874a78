//! What all workers of a network share, and how its run begins and ends.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Scheduler`]: the phases of a run |
//! | `config` | [`Config`]: what is decided when the run starts |
//! | `elapsed` | [`Elapsed`]: how long the run took, in ticks that are all converted alike |
//! | `hooks` | [`Hooks`]: what is asked of the language without a worker |
//! | `processes` | how processes are registered and taken off the books |
//! | `ready` | how one becomes ready |
//! | `notify` | how a sleeping worker is notified of it |
//! | `threads` | how the threads of workers and of processes are started |
//! | `grace` | how it is known that every worker has left its operation |
//! | `balance` | when a policy is asked anew where processes belong |

mod balance;
mod config;
mod elapsed;
mod grace;
mod hooks;
mod notify;
mod processes;
mod ready;
mod threads;

pub use balance::{Balance, BalanceCounts};
pub use config::{Config, Settings, WorkerSlot};
pub use elapsed::Elapsed;
pub use hooks::{Hooks, Tag};

use crate::counters::Accounting;
use crate::policy::{Origin, Ready, Reason};
use crate::queue::run_queues::RunQueues;
use crate::sleep::activity::ActivityCount;
use crate::sleep::sleepers::Sleepers;
use crate::sync::{
    Arc, AtomicBool, AtomicU8, AtomicU64, AtomicUsize, BiasedLock,
    Ordering::*,
    Padded,
    system::{clock, next_number},
};
use crate::task::extension::Extensions;
use crate::task::table::Table;
use crate::task::{self, Host, Kind, TaskRef};
use crate::thread::ProcessThreads;
use kahn_report::ranks::Driver;
use std::fmt;
use std::sync::{OnceLock, Weak};

pub(crate) const BUILDING: u8 = 0;
pub(crate) const RUNNING: u8 = 1;
pub(crate) const ENDING: u8 = 2;

/// In [`Scheduler::first`]: something is to be done that is no process; see [`Probe::Deferred`](crate::Probe::Deferred).
pub const DEFERRED: usize = 1 << (usize::BITS / 2);

/// In [`Scheduler::first`]: the worker is to turn its driver.
pub(crate) const DRIVE: usize = 1 << (usize::BITS - 2);

/// In [`Scheduler::first`]: the run has ended.
pub(crate) const OVER: usize = 1 << (usize::BITS - 1);

/// All that the workers of one network share. It begins with what its tasks know of it.
#[repr(C)]
pub struct Scheduler {
    /// First: it is found by the scheduler's address.
    host: Host,
    this: Weak<Self>,
    /// Tells the networks of a program apart.
    pub number: u32,
    pub(crate) config: OnceLock<Config>,
    pub(crate) sleepers: Sleepers,
    pub(crate) searching: AtomicUsize,
    /// What may still act.
    pub activity: ActivityCount,
    /// Processes and parties that have not ended; changes while the table is locked.
    pub live: AtomicUsize,
    pub(crate) phase: AtomicU8,
    /// All processes.
    pub table: BiasedLock<Table>,
    /// Behind the table, whose headers look at theirs when it is dropped.
    pub(crate) extensions: Extensions,
    /// Grace periods that have begun; see `sleep::grace`.
    pub(crate) grace_periods: AtomicU64,
    tag: &'static Tag,
    hooks: OnceLock<Box<dyn Hooks>>,
    /// Whether a process of this network has run another one whose processes may choose.
    pub chose: AtomicBool,
    /// Ready processes that are urgent, [deferred calls](DEFERRED), and [`OVER`]: the one thing a worker looks
    /// at before it takes what is at hand.
    pub first: AtomicUsize,
    threads: ProcessThreads,
    refused: OnceLock<String>,
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // What is left in a queue asks the host when it is dropped, and the host would go first.
        drop(self.config.take());
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Scheduler {
    /// Makes what the workers of a network of this language share.
    pub fn new<L: Hooks>() -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| Self {
            host: Host::new(Weak::<Self>::clone(this)),
            this: Weak::clone(this),
            number: next_number(),
            config: OnceLock::new(),
            sleepers: Sleepers::new(),
            searching: AtomicUsize::new(0),
            activity: ActivityCount::new(),
            live: AtomicUsize::new(0),
            phase: AtomicU8::new(BUILDING),
            table: BiasedLock::new(Table::new()),
            extensions: Extensions::default(),
            grace_periods: AtomicU64::new(0),
            tag: L::tag(),
            hooks: OnceLock::new(),
            chose: AtomicBool::new(false),
            first: AtomicUsize::new(0),
            threads: ProcessThreads::new(),
            refused: OnceLock::new(),
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

    /// How many workers there are that share the processes; none before that is decided.
    #[inline]
    pub fn slot_count(&self) -> usize {
        self.config.get().map_or(0, |config| config.slots.len())
    }

    /// The scheduler of a process.
    #[inline]
    pub fn of<'a>(task: TaskRef) -> &'a Self {
        // SAFETY: the language says that what it makes processes with begins a scheduler, which is alive.
        unsafe { &*task.host_address().cast() }
    }

    /// Where its processes find it.
    #[inline]
    pub fn host(&self) -> *const Host {
        // The whole scheduler, and not its first field.
        std::ptr::from_ref(self).cast()
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
    pub fn set_language<L: Hooks>(&self, language: L) {
        assert!(std::ptr::eq(self.tag, L::tag()), "a network has one language");
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

    /// Ends the run: all processes stop at the next scheduling point. `true` for the first call.
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

    /// A thread that was busy inside the network, and is no worker, waits from now on.
    #[inline]
    pub fn rest(&self) {
        if self.activity.go_idle() {
            self.look_again();
        }
    }

    /// Has a worker check whether anything can still run.
    #[inline]
    pub fn look_again(&self) {
        self.notify_anyone();
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
        clock::start();
        let (pooled, threaded, outside) = self.enlisted();
        self.count_workers();
        // `end_run` may have come before: then nothing starts at all.
        if self.phase.compare_exchange(BUILDING, RUNNING, SeqCst, SeqCst).is_ok() {
            self.run_queues().start(pooled.into_iter().map(Ready::new).collect());
            // Each counts as running since it was made, and may be waiting for the start. It may have
            // ended meanwhile: then nothing is told, or what has its block now is told once too often.
            outside.into_iter().for_each(Self::tell);
            for task in threaded {
                self.start(Ready::new(task), Origin::Outside);
            }
            // No process, or parties that have left since: they do not end a run that is not
            // running yet.
            if self.live.load(SeqCst) == 0 {
                self.end_run();
            }
        }
        self.start_workers();
        (self.tag.work)(self, 0);
        self.slots()[0].parker.driver().into_iter().for_each(Driver::leave);
        self.config().thread_set.lock().join();
        self.threads.join();
    }

    /// The processes that wait for the start, in the order of their creation, by kind: pooled,
    /// threaded, outside.
    fn enlisted(&self) -> (Vec<TaskRef>, Vec<TaskRef>, Vec<TaskRef>) {
        // Those outside may end meanwhile: while the table is locked they stay.
        let table = self.table.lock();
        let mut processes = table.all();
        processes.sort_by_key(|task| task.info().identity);
        let of = |kind| processes.iter().copied().filter(|task| task.kind() == kind).collect();
        (of(Kind::Pooled), of(Kind::Threaded), of(Kind::Outside))
    }

    /// Runs what was configured, to its end; returns how long it took.
    pub fn timed_run(&self) -> Elapsed {
        clock::start();
        let since = clock::ticks();
        self.run();
        Elapsed::since(since)
    }

    /// Whether any worker of the network is awake.
    #[inline]
    pub(crate) fn workers_run(&self) -> bool {
        self.sleepers.count(SeqCst) < self.slots().len()
    }

    /// The processes that workers run right now.
    #[inline]
    pub fn running(&self) -> Vec<TaskRef> {
        self.of_workers().flatten().collect()
    }

    /// The process that each worker runs right now.
    pub fn of_workers(&self) -> impl Iterator<Item = Option<TaskRef>> {
        let slots = self.config.get().into_iter().flat_map(|config| &config.slots);
        // SAFETY: the blocks of processes are type-stable; what is stale is compared only.
        slots.map(|slot| unsafe { TaskRef::from_ptr(slot.current.load(Acquire)) })
    }

    /// The number of threads that ran processes, and whether each process had one of its own.
    #[inline]
    pub fn worker_count(&self) -> usize {
        let threads = self.settings().threads;
        if threads { self.threads.count() } else { self.slots().len() }
    }
}
