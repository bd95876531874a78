//! More workers than cores: no more of them are awake than there are cores, unless some do not get
//! on; and nobody may wait for ever for one that is kept asleep.

use super::schedules::run;
use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Turn};
use kahn::{Network, RunOptions, Summary};
use parking_lot::Mutex;
use std::collections::VecDeque;

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
        let options = RunOptions::new().workers(workers).capacity(2);
        let report = run(network, options.own_policy(Private::new(workers)));
        assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
        assert_eq!(all.take(), Some((8..208).collect()), "{workers} workers");
    }
}
