//! What models of loom have in common, here and in the crates of languages.

use crate::policy::{Notify, Origin, Policy, Reach, Ready, Reason, Turn};
use crate::scheduler::RUNNING;
use crate::sleep::activity::ActivityCount;
use crate::sync::{Arc, Mutex, Ordering::*};
use crate::task::table::Table;
use crate::{Accounting, Language, RunQueues, Scheduler, Settings, TaskRef, Worker};
use std::collections::VecDeque;

/// Checks `model` with all interleavings that have at most so many preemptions.
pub fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let allowed = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(preemptions.min(allowed));
    builder.max_branches = 20_000;
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    println!("{} interleavings", runs.load(Relaxed));
}

/// The number of the queue for those outside: behind those of all workers that a model may have.
pub const OUTSIDE: usize = 3;

/// Ready processes stay with the worker that made them ready, so that queues, which are not the subject of
/// these models, cost no steps: each worker's is its thread's alone, and loom does not see its lock.
#[derive(Debug, Default)]
pub struct Own {
    workers: [std::sync::Mutex<VecDeque<Ready>>; OUTSIDE],
    outside: Mutex<VecDeque<Ready>>,
    has_lifo_slots: bool,
    shares: bool,
    passes_on: bool,
}

impl Own {
    /// What a worker wakes goes to its LIFO slot.
    pub fn using_lifo_slot() -> Self {
        Self { has_lifo_slots: true, ..Self::default() }
    }

    /// Workers beyond the cores sleep, as under policies that share their work.
    pub fn sharing() -> Self {
        Self { shares: true, ..Self::default() }
    }

    /// What is made ready may be run by another worker at once.
    pub fn passing_on() -> Self {
        Self { passes_on: true, ..Self::default() }
    }

    /// The run queues of a model.
    pub fn queues(self) -> RunQueues {
        let has_lifo_slots = self.has_lifo_slots;
        let mut queues = RunQueues::of(Box::new(self));
        queues.have_lifo_slots = has_lifo_slots;
        queues
    }

    fn with<R>(&self, queue: usize, f: impl FnOnce(&mut VecDeque<Ready>) -> R) -> R {
        match self.workers.get(queue) {
            Some(own) => f(&mut own.lock().expect("never held while a model switches")),
            None => f(&mut self.outside.lock()),
        }
    }
}

impl Policy for Own {
    fn name(&self) -> &'static str {
        "own"
    }

    fn push(&self, origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        let queue = match origin {
            Origin::Worker(worker) if !self.passes_on => worker,
            Origin::Worker(_) | Origin::Outside => OUTSIDE,
        };
        self.with(queue, |queue| queue.push_back(ready));
        Notify::NoWorker
    }

    fn pop(&self, worker: usize, _turn: Turn) -> Option<Ready> {
        self.with(worker, VecDeque::pop_front)
    }

    fn has_work(&self, worker: usize) -> bool {
        self.with(worker, |queue| !queue.is_empty())
    }

    fn reach(&self) -> Reach {
        if self.shares { Reach::EveryWorker } else { Reach::OneWorker }
    }
}

/// How a model's network is run.
pub fn settings() -> Settings {
    Settings {
        accounting: Accounting::Off,
        samples: false,
        wait_once: false,
        threads: false,
        observed: false,
        logged: false,
        looks: true,
        pin: false,
        cores: crate::sync::system::cores(),
        solo: false,
        listed_processes: usize::MAX,
    }
}

/// What a thread does that is worker `index` and begins with these processes.
pub fn work<L: Language>(
    scheduler: &Scheduler,
    index: usize,
    begin: impl IntoIterator<Item = TaskRef>,
) {
    let worker = Worker::<L>::new(scheduler, index);
    let _installed = worker.install();
    for task in begin {
        worker.run(task);
    }
    while let Some(ready) = scheduler.run_queues().pop(index, Turn::Front) {
        worker.run(ready.into_task());
    }
}

/// Takes what was made ready by a thread that is no worker.
pub fn pop_outside(scheduler: &Scheduler) -> Option<TaskRef> {
    scheduler.run_queues().pop(OUTSIDE, Turn::Front).map(Ready::into_task)
}

/// Runs, as worker `index`, what was made ready by a thread that is no worker.
pub fn work_for_others<L: Language>(scheduler: &Scheduler, index: usize) {
    while let Some(task) = pop_outside(scheduler) {
        work::<L>(scheduler, index, [task]);
    }
}

/// Says that the network runs, with so many that are busy.
pub fn begin(scheduler: &Scheduler, busy: usize) {
    scheduler.phase.store(RUNNING, SeqCst);
    scheduler.activity.start(busy);
}

/// How many may be woken from outside.
pub fn pending(activity: &ActivityCount) -> u64 {
    activity.pending()
}

/// Whether nothing names a process that was here.
pub fn is_empty(table: &Table) -> bool {
    table.is_empty()
}

/// Has a worker go to sleep; `false` if there is work after all.
pub fn go_to_sleep<L: Language>(worker: &Worker<L>) -> bool {
    worker.go_to_sleep(false)
}

/// Wakes a worker, if it sleeps.
pub fn notify_worker(scheduler: &Scheduler, worker: usize) {
    scheduler.notify_worker(worker);
}

/// The workers that sleep, and how many are counted.
pub fn sleepers(scheduler: &Scheduler) -> (Vec<usize>, usize) {
    let sleepers = scheduler.sleepers.lock();
    (sleepers.clone(), scheduler.sleepers.count(SeqCst))
}

/// Runs processes as a worker of this thread, and then those of its LIFO slot.
pub fn run_kept<L: Language>(worker: &Worker<L>, begin: impl IntoIterator<Item = TaskRef>) {
    let _installed = worker.install();
    begin.into_iter().for_each(|task| worker.run(task));
    while let Some(task) = worker.section(|access| worker.take_lifo(access)) {
        worker.run(task);
    }
}

/// Runs what a worker takes from others that have not got on since their `steps` were read.
pub fn take_over_from_others<L: Language>(worker: &Worker<L>, steps: &[u64]) {
    let _installed = worker.install();
    if let Some(ready) = worker.take_over_from_others(steps, true) {
        worker.run(ready.into_task());
    }
}
