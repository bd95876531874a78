//! More workers than cores: no more of them are awake than there are cores, unless some do not get
//! on; and nobody may wait for ever for one that is kept asleep. Cores that are shared with other runs.

use super::schedules::run;
use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Setup, Turn};
use kahn::{Network, Options, Process, Receiver, Sender, Summary};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Every worker has a queue that no other looks into; processes from outside go round.
#[derive(Debug)]
struct Private {
    queues: Vec<Mutex<VecDeque<Ready>>>,
    next: Mutex<usize>,
}

impl Private {
    fn new(workers: usize) -> Self {
        Self { queues: (0..workers).map(|_| Mutex::default()).collect(), next: Mutex::new(0) }
    }
}

impl Policy for Private {
    fn name(&self) -> &'static str {
        "private"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        let worker = {
            let mut next = self.next.lock();
            *next = (*next + 1) % self.queues.len();
            *next
        };
        self.queues[worker].lock().push_back(ready);
        Notify::Worker(worker)
    }

    fn pop(&self, worker: usize, _turn: Turn) -> Option<Ready> {
        self.queues[worker].lock().pop_front()
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.queues[worker].lock().is_empty()
    }
}

/// Every message goes through all stages, and every stage is woken on another worker than before.
#[test]
fn private_queues_of_many_workers_are_all_served() {
    for workers in [1, 2, 5, 32] {
        let mut network = Network::new();
        let mut numbers = network.source("numbers", 0..200_u32);
        for stage in 0..8 {
            numbers = network.map(format!("stage {stage}"), numbers, |n| n + 1);
        }
        let all = network.collect("all", numbers);
        let options = Options::new().workers(workers).capacity(2);
        let report = run(network, options.policy(|setup: Setup| Private::new(setup.workers)));
        assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
        assert_eq!(all.take(), Some((8..208).collect()), "{workers} workers");
    }
}

/// How many workers a run under these options has, and how often they looked for work in vain.
fn workers_and_searches(options: Options) -> (usize, u64) {
    let mut network = Network::new();
    let numbers = network.source("numbers", 0..2_000_u32);
    let next = network.map("next", numbers, |n| n + 1);
    let all = network.collect("all", next);
    let report = run(network, options.capacity(1));
    assert_eq!(all.take(), Some((1..2_001).collect()));
    let searches = report.worker_reports.iter().map(|worker| worker.spins).sum();
    (report.workers, searches)
}

#[test]
fn a_run_that_shares_the_cores_leaves_them_to_others_when_it_has_nothing_to_do() {
    let cores = available_parallelism().map_or(1, usize::from);
    assert_eq!(workers_and_searches(Options::new().cores_shared_by(1)).0, cores);
    let half = workers_and_searches(Options::new().cores_shared_by(2)).0;
    assert_eq!(half, (cores / 2).max(1));
    assert_eq!(workers_and_searches(Options::new().cores_shared_by(cores + 1)).0, 1);
    let two = Options::new().workers(2);
    let (workers, searches) = workers_and_searches(two.clone().cores_shared_by(cores));
    assert_eq!((workers, searches), (2, 0));
    // A run may be over before the second thread has a core.
    let has_searched = |_| {
        let (workers, searches) = workers_and_searches(two.clone());
        assert_eq!(workers, 2);
        searches > 0
    };
    assert_eq!((0..100).any(has_searched), cores > 1);
}

/// Opens when so many threads have come.
struct Meeting {
    expected: usize,
    arrived: Mutex<usize>,
    all: Condvar,
}

impl Meeting {
    fn of(expected: usize) -> Arc<Self> {
        Arc::new(Self { expected, arrived: Mutex::new(0), all: Condvar::new() })
    }

    fn wait(&self) {
        let mut arrived = self.arrived.lock();
        *arrived += 1;
        self.all.notify_all();
        while *arrived < self.expected {
            self.all.wait(&mut arrived);
        }
    }
}

/// Processes that hold their threads until all of them run at once: more than there are cores on
/// most machines. Nobody should do so, but the network must not wait for ever.
#[test]
fn processes_that_hold_their_workers_get_as_many_as_there_are() {
    const HOLDERS: usize = 12;
    for policy in kahn_policies::POLICIES.iter().filter(|policy| {
        matches!(policy.threads(), kahn::policy::Threads::AsAsked)
            // Where a process is bound to its worker, two may be bound to one.
            && !["static", "partition"].contains(&policy.name())
    }) {
        let meeting = Meeting::of(HOLDERS);
        let mut network = Network::new();
        for holder in 0..HOLDERS {
            let (sender, receiver) = network.channel::<usize>(format!("met {holder}"));
            let meeting = Arc::clone(&meeting);
            let hold = async move |mut sender: Sender<usize>| {
                meeting.wait();
                sender.send(holder).await;
            };
            network.process_with(Process::named(format!("holder {holder}")), sender, hold);
            let hear = async move |mut receiver: Receiver<usize>| {
                assert_eq!(receiver.recv().await, Some(holder));
            };
            let hears = Process::named(format!("hears {holder}")).effects();
            network.process_with(hears, receiver, hear);
        }
        let options = Options::new().policy(policy.clone()).workers(HOLDERS);
        let report = run(network, options);
        assert_eq!(report.outcome, Summary::Finished, "{}", policy.name());
    }
}
