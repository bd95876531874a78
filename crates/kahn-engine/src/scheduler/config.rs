//! How a network is run: what is decided when its run starts.

use crate::counters::{Accounting, WorkerTimes};
use crate::policy::{Placing, Reach};
use crate::queue::places::Places;
use crate::queue::run_queues::RunQueues;
use crate::scheduler::balance::Balance;
use crate::sync::system::ThreadDoor;
use crate::sync::{Arc, AtomicPtr, AtomicU64, Mutex, Padded, Parker};
use crate::task::Task;
use crate::thread::ThreadSet;
use kahn_report::log::Log;

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
    /// The language is told what processes do.
    pub observed: bool,
    /// What processes do is written down.
    pub logged: bool,
    /// The language may find something when all workers sleep and others run.
    pub looks: bool,
    /// Each worker keeps to one core.
    pub pin: bool,
    /// Cores that no other run needs at the same time.
    pub cores: usize,
    /// One worker and no other thread: no atomics on the message path.
    pub solo: bool,
    /// Ended processes that the report lists one by one.
    pub listed_processes: usize,
}

/// The part of a worker that others see.
#[derive(Debug)]
pub struct WorkerSlot {
    /// The process that this worker runs next, if the policy keeps one for it.
    pub(crate) lifo: AtomicPtr<Task>,
    /// The process it runs now.
    pub(crate) current: AtomicPtr<Task>,
    /// Processes it has run; tells whether it makes progress.
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
    pub(crate) places: Places,
    /// The workers' parts that others see.
    pub slots: Box<[Padded<WorkerSlot>]>,
    /// Workers that are worth having awake at once: as many as there are cores.
    pub most_awake: usize,
    /// Workers beyond those: so many sleep while all cores are in use.
    pub(crate) surplus: usize,
    /// Workers that may search at once: one for every two that have a core each.
    pub(crate) most_searching: usize,
    /// When the policy is asked again where processes belong, if it wants to be.
    pub balance: Option<Balance>,
    /// Where threads write down what processes do.
    pub log: Option<Arc<dyn Log>>,
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
        let most_searching = workers.min(settings.cores) / 2;
        let again_after = run_queues.placing().and_then(Placing::again_after);
        let balance = again_after.map(Balance::new);
        let places = Places::new(workers);
        Self {
            settings,
            run_queues,
            places,
            slots: slots.collect(),
            most_awake,
            surplus: workers.saturating_sub(most_awake),
            most_searching,
            balance,
            log: None,
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
