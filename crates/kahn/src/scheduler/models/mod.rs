//! Models of what runs concurrently, checked by loom: every interleaving within a bound.
//!
//! | file | what is checked | threads |
//! |---|---|---|
//! | `word` | publish, park and close on the words of one channel | 2 |
//! | `channel` | the same with real channels and processes on two workers; growth; the end of ends | 2 |
//! | `deque` | the owner against thieves, round and round | 2 to 3 |
//! | `fifo` | the same of the queue of those who wait, and what becomes of what is stolen | 2 to 3 |
//! | `hot` | the process a worker keeps for itself, against one that relieves it | 2 |
//! | `window` | the owner of a migration window against thieves | 2 to 3 |
//! | `parker` | a thread that sleeps against those who wake it | 2 to 3 |
//! | `prune` | a resolver against the peer of a process that is parked and to be pruned | 2 |
//! | `sleep` | a worker that goes to sleep beside another, against one that wakes both | 2 |
//! | `run` | whole runs: workers look for work, sleep, are woken; growth; verdicts | 2 to 3 |
//! | `verdict` | whoever gives the verdict against wakers and parties that may still act | 3 |
//! | `detector` | walkers against processes that park and go on | 2 to 3 |
//! | `foreign` | wakers of other libraries against a process that waits for them | 2 to 3 |
//!
//! `taking` is what the models of queues share.
//!
//! The models run the code of the crate, not copies of it: `sync` gives it loom's threads, locks,
//! atomics and cells. So loom also sees every access to a cell of a channel or of a process, and
//! to a slot, that is not ordered after the one before.
//!
//! Each model says how many preemptions it allows; `LOOM_MAX_PREEMPTIONS` lowers that. A thread
//! that has to wait is no preemption: those switches are free. `ci/loom.sh` runs the models, and
//! `ci/mutations.sh` shows that each protects what it is for, by breaking that.

mod channel;
mod deque;
mod detector;
mod fifo;
mod foreign;
mod hot;
mod parker;
mod prune;
mod run;
mod sleep;
mod taking;
mod verdict;
mod window;
mod word;

use crate::channel::language::Worker;
use crate::channel::raw::ChannelRef;
use crate::channel::table::Capacities;
use crate::deadlock::{Detection, Resolver};
use crate::network::core::{ChannelPlan, Core, ProcessPlan};
use crate::scheduler::policy::{Notify, Origin, Policy, Ready, Reason, Turn};
use crate::scheduler::{Config, Crew, Scheduler, Settings, TaskRef};
use crate::sync::{Arc, Mutex, Ordering::*, thread};
use crate::{Accounting, ProcessResult, Receiver, Sender};
use kahn_report::Ending;
use std::collections::VecDeque;

/// Checks `model` with all interleavings that have at most so many preemptions.
pub(crate) fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
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

/// Workers in most models that drive them by hand.
const WORKERS: usize = 2;
/// The number of the queue for those outside: behind those of all workers that a model may have.
const OUTSIDE: usize = 3;

/// Ready processes stay with who made them ready, so that queues, which are not the subject of
/// these models, cost no steps: each worker's is its thread's alone, and loom does not see its lock.
#[derive(Debug, Default)]
pub(crate) struct Own {
    workers: [std::sync::Mutex<VecDeque<Ready>>; OUTSIDE],
    outside: Mutex<VecDeque<Ready>>,
    keeps_hot: bool,
    passes_on: bool,
}

impl Own {
    /// Whoever is made ready may be run by another worker at once.
    pub(crate) fn passing_on() -> Self {
        Self { passes_on: true, ..Self::default() }
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
        Notify::Nobody
    }

    fn pop(&self, worker: usize, _turn: Turn) -> Option<Ready> {
        self.with(worker, VecDeque::pop_front)
    }

    fn has_work(&self, worker: usize) -> bool {
        self.with(worker, |queue| !queue.is_empty())
    }

    fn keeps_hot(&self) -> bool {
        self.keeps_hot
    }
}

/// How a model's network is run.
pub(crate) fn settings() -> Settings {
    Settings {
        accounting: Accounting::Off,
        samples: false,
        wait_once: false,
        threads: false,
        pin: false,
        solo: false,
        listed_processes: usize::MAX,
    }
}

/// What a thread does that is worker `index` and begins with these processes.
pub(crate) fn work(
    scheduler: &Arc<Scheduler>,
    index: usize,
    begin: impl IntoIterator<Item = TaskRef>,
) {
    let worker = Worker::new(scheduler, index);
    let _installed = worker.install();
    for task in begin {
        worker.run(task);
    }
    while let Some(ready) = scheduler.policy().pop(index, Turn::Front) {
        worker.run(ready.into_task());
    }
}

/// Runs, as worker `index`, what was made ready by somebody who is no worker.
pub(crate) fn work_for_others(scheduler: &Arc<Scheduler>, index: usize) {
    while let Some(ready) = scheduler.policy().pop(OUTSIDE, Turn::Front) {
        work(scheduler, index, [ready.into_task()]);
    }
}

/// A network whose workers a model drives by hand.
struct Driven {
    core: Arc<Core>,
}

/// A process whose observers count, for it may be pruned, unless it has `effects`.
fn plan(name: &'static str, effects: bool) -> ProcessPlan {
    ProcessPlan { name: name.into(), effects, pinned: None }
}

impl Driven {
    fn new() -> Self {
        Self { core: Core::new() }
    }

    /// The same, whose report lists no channel: who closes the first end of one is forgotten.
    fn listing_none() -> Self {
        let model = Self::new();
        model.core.channels.configure(u64::MAX, Capacities::default(), 0, false);
        model
    }

    fn channel<T: Send>(
        &self,
        name: &'static str,
        capacity: u32,
        initial: Vec<T>,
    ) -> (Sender<T>, Receiver<T>, ChannelRef) {
        let plan =
            ChannelPlan { name: name.into(), capacity, initial, digest: None, weighing: None };
        let (sender, receiver) = self.core.channel(plan, None);
        let channel = sender.channel();
        (sender, receiver, channel)
    }

    fn process<P, F, R, O>(&self, name: &'static str, ports: P, code: F) -> TaskRef
    where
        P: crate::Ports + 'static,
        F: FnOnce(P) -> R + Send + 'static,
        R: Future<Output = O> + Send + 'static,
        O: ProcessResult + 'static,
    {
        self.process_as(plan(name, true), ports, code)
    }

    /// A process as it is planned.
    fn process_as<P, F, R, O>(&self, plan: ProcessPlan, ports: P, code: F) -> TaskRef
    where
        P: crate::Ports + 'static,
        F: FnOnce(P) -> R + Send + 'static,
        R: Future<Output = O> + Send + 'static,
        O: ProcessResult + 'static,
    {
        self.core.process(plan, ports, code, None);
        let all = self.core.scheduler.table.lock().all();
        all.into_iter().max_by_key(|task| task.info().identity).expect("made just now")
    }

    /// Decides how the network is run; from now on workers may be made.
    fn ready(&self) {
        self.ready_under(Own::default());
    }

    fn ready_under(&self, policy: Own) {
        self.core.scheduler.configure(Config::new(
            Box::new(policy),
            Crew::driven(WORKERS),
            settings(),
        ));
        let resolver = Resolver::new(Detection::Deferred);
        self.core.resolver.set(resolver).expect("a model is made ready once");
    }

    /// What a thread does that is worker `index` and begins with these processes.
    fn work(core: &Arc<Core>, index: usize, begin: impl IntoIterator<Item = TaskRef>) {
        work(&core.scheduler, index, begin);
    }

    /// Runs two processes, each on a worker of its own at first, until all have ended.
    fn run_both(&self, here: TaskRef, there: TaskRef) {
        self.ready();
        let other = {
            let core = Arc::clone(&self.core);
            thread::spawn(move || Self::work(&core, 1, [there]))
        };
        Self::work(&self.core, 0, [here]);
        other.join().expect("the other worker does not panic");
        self.assert_finished();
    }

    /// Runs, as worker `index`, what was made ready by somebody who is no worker.
    fn work_for_others(core: &Arc<Core>, index: usize) {
        work_for_others(&core.scheduler, index);
    }

    /// All processes have ended, and none failed: a process that is left was not woken, and what
    /// loom finds inside a process is a panic there.
    fn assert_finished(&self) {
        for record in self.core.scheduler.table.lock().records() {
            let name = record.name;
            match record.ending {
                Some(Ending::Finished) => {}
                ending => panic!("process `{name}` did not finish, but: {ending:?}"),
            }
        }
        assert_eq!(self.core.scheduler.live.load(Relaxed), 0);
    }
}
