//! What a schedule comes to: what runs the processes, or why nothing does.

use super::schedule::Schedule;
use crate::counters::Accounting;
use crate::policy::{Placing, Reach, Setup, Threads};
use crate::queue::run_queues::RunQueues;
use crate::scheduler::{Config, Scheduler, Settings};
use crate::sync::system::{ThreadDoor, cores};
use crate::sync::{Arc, panics};
use crate::thread::ThreadSet;
use crate::worker::WorkerCore;
use kahn_report::log::Log;
use kahn_report::ranks::Driver;
use std::fmt;

/// The cores that one of so many runs has, all at the same time.
fn part_of_cores(runs: usize) -> usize {
    (cores() / runs).max(1)
}

/// Why nothing runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Called inside an async process, whose worker the run would hold.
    Nested,
    /// The system refused threads for the workers, and the policy, which is the caller's own, was
    /// made for all of them: what it said.
    OutOfThreads(String),
}

/// The policy and the threads of a run.
pub struct RunPlan {
    schedule: Schedule,
    run_queues: RunQueues,
    threads: ThreadSet,
    observed: bool,
    log: Option<Arc<dyn Log>>,
    looks: bool,
    driver: Option<Arc<dyn Driver>>,
}

impl fmt::Debug for RunPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunPlan").field("schedule", &self.schedule).finish_non_exhaustive()
    }
}

impl RunPlan {
    /// Decides what runs the processes, and makes it.
    ///
    /// # Errors
    /// Why nothing can run.
    pub fn new(schedule: Schedule) -> Result<Self, Refused> {
        let in_async = WorkerCore::running_here()
            .is_some_and(|task| task.body().is_some_and(|body| !body.blocking));
        if in_async {
            return Err(Refused::Nested);
        }
        if schedule.places {
            panics::note_places();
        }
        let policy = &schedule.policy;
        let workers = match policy.threads() {
            Threads::AsAsked => schedule.workers.unwrap_or_else(|| part_of_cores(schedule.runs)),
            Threads::One | Threads::OnePerProcess => 1,
        };
        let threads = ThreadSet::start(workers, Arc::new(ThreadDoor::with(schedule.threads)));
        let mut setup = Setup::new(threads.workers());
        setup.seed = schedule.seed;
        let run_queues = RunQueues::new(policy, setup);
        let keeps_for_each = policy.is_own() && run_queues.reach() == Reach::OneWorker;
        if let (true, Some(refusal)) = (keeps_for_each, &threads.refusal) {
            // It may have been made for more workers than there are, and keep processes for each.
            return Err(Refused::OutOfThreads(refusal.clone()));
        }
        let (observed, looks, log, driver) = (false, true, None, None);
        Ok(Self { schedule, run_queues, threads, observed, log, looks, driver })
    }

    /// Has the language told what processes do, see [`Language::runs`](crate::Language::runs).
    pub fn observe(&mut self) {
        self.observed = true;
    }

    /// Has threads write down there what processes do, if anywhere.
    pub fn log(&mut self, log: Option<Arc<dyn Log>>) {
        self.log = log;
    }

    /// Says whether the language may find something when all workers sleep and others run.
    pub fn look(&mut self, looks: bool) {
        self.looks = looks;
    }

    /// Has this turned by the worker, if there is one and one core for it: while it has nothing to run, and in passing.
    pub fn drive(&mut self, driver: Option<Arc<dyn Driver>>) {
        let is_alone = self.threads.workers() == 1 && part_of_cores(self.schedule.runs) == 1;
        self.driver = driver.filter(|_| is_alone);
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.threads.workers()
    }

    /// Whether each process has a thread of its own.
    pub fn own_threads(&self) -> bool {
        self.schedule.policy.threads() == Threads::OnePerProcess
    }

    /// What decides to which worker each process belongs, if the policy asks for that.
    pub fn placing(&self) -> Option<&dyn Placing> {
        self.run_queues.placing()
    }

    /// Has a scheduler run under this plan. `only_pooled` says that no process has a thread of its
    /// own: one worker is then alone until such a process is made.
    ///
    /// # Panics
    /// Panics the second time.
    pub fn configure(self, scheduler: &Scheduler, only_pooled: bool) {
        let own_threads = self.own_threads();
        let Self { schedule, run_queues, threads, observed, log, looks, driver } = self;
        let samples = run_queues.placing().is_some_and(|placing| placing.again_after().is_some());
        let accounting = schedule.accounting;
        let settings = Settings {
            accounting: if samples { accounting.max(Accounting::Counters) } else { accounting },
            samples,
            wait_once: schedule.policy.waits_once() || schedule.wait_once,
            threads: own_threads,
            observed,
            logged: log.is_some(),
            looks,
            pin: schedule.pin,
            cores: part_of_cores(schedule.runs),
            solo: threads.workers() == 1 && !own_threads && only_pooled,
            listed_processes: schedule.listed,
        };
        let config = Config { log, ..Config::new(run_queues, threads, settings) };
        if let Some(driver) = driver {
            config.slots[0].parker.drive(driver);
        }
        scheduler.configure(config);
    }
}
