//! Models of what runs concurrently, checked by loom: every interleaving within a bound.
//!
//! | file | what is checked | threads |
//! |---|---|---|
//! | `word` | publish, park and close on the words of one channel | 2 |
//! | `channel` | the same with real channels and processes on two workers; growth; the end of ends | 2 |
//! | `lifo_slot` | the process a worker keeps for itself, against one that relieves it | 2 |
//! | `prune` | a resolver against the peer of a process that is parked and to be pruned | 2 |
//! | `sleep` | a worker that goes to sleep beside another, against one that wakes both | 2 |
//! | `run` | whole runs: workers look for work, sleep, are woken; growth; verdicts | 2 to 3 |
//! | `verdict` | the thread that gives the verdict against wakers and parties that may still act | 3 |
//! | `detector` | walkers against processes that park and go on, and parties that leave | 2 to 3 |
//! | `foreign` | wakers of other libraries against a process that waits for them | 2 to 3 |
//! | `farm` | the parts of an ordered farm and its helpers: jobs, results, the end | 2 |
//!
//! The models run the code of the crate, not copies of it: `sync` gives it loom's threads, locks,
//! atomics and cells. So loom also sees every access to a cell of a channel or of a process, and
//! to a slot, that is not ordered after the one before.
//!
//! Each model says how many preemptions it allows; `LOOM_MAX_PREEMPTIONS` lowers that. A thread
//! that has to wait is no preemption: those switches are free. `ci/loom.sh` runs the models, and
//! `ci/mutations.sh` shows that each protects what it is for, by breaking that.

mod channel;
mod detector;
mod farm;
mod foreign;
mod lifo_slot;
mod prune;
mod run;
mod sleep;
mod verdict;
mod word;

use crate::channel::capacities::Capacities;
use crate::channel::language::Kahn;
use crate::channel::raw::ChannelRef;
use crate::deadlock::{Detection, Resolver};
use crate::network::core::{ChannelPlan, Core, ProcessPlan, Role};
use crate::{ProcessResult, Receiver, Sender};
pub(crate) use kahn_engine::model::{Own, check, settings};
use kahn_engine::sync::{Arc, Ordering::*, thread};
use kahn_engine::{Config, Scheduler, Settings, TaskRef, ThreadSet, model};
use kahn_report::Ending;

/// Workers in most models that drive them by hand.
const WORKERS: usize = 2;
/// A network whose workers a model drives by hand.
struct Driven {
    core: Arc<Core>,
}

/// A process whose observers count, for it may be pruned, unless it has `effects`.
fn plan(name: &'static str, effects: bool) -> ProcessPlan {
    ProcessPlan {
        name: name.into(),
        effects,
        is_joined: effects,
        pinned: None,
        rank: None,
        role: Role::Process,
        attributes: 0,
    }
}

/// Runs, as worker `index`, what was made ready by a thread that is no worker.
fn work_for_others(scheduler: &Scheduler, index: usize) {
    model::work_for_others::<Kahn>(scheduler, index);
}

impl Driven {
    fn new() -> Self {
        Self { core: Core::new() }
    }

    /// The same, whose report lists no channel: which process closes the first end of one is forgotten.
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
        let plan = ChannelPlan {
            name: name.into(),
            capacity,
            initial,
            digest: None,
            weighing: None,
            wire: None,
            is_inner: false,
        };
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
            policy.queues(),
            ThreadSet::driven(WORKERS),
            Settings { looks: false, ..settings() },
        ));
        let resolver = Resolver::new(Detection::Deferred);
        self.core.resolver.set(resolver).expect("a model is made ready once");
    }

    /// What a thread does that is worker `index` and begins with these processes.
    fn work(core: &Arc<Core>, index: usize, begin: impl IntoIterator<Item = TaskRef>) {
        model::work::<Kahn>(&core.scheduler, index, begin);
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

    /// Runs, as worker `index`, what was made ready by a thread that is no worker.
    fn work_for_others(core: &Arc<Core>, index: usize) {
        work_for_others(&core.scheduler, index);
    }

    /// All processes have ended, and none failed: a process that is left was not woken, and what
    /// loom finds inside a process is a panic there.
    fn assert_finished(&self) {
        for record in self.core.scheduler.take_records() {
            let name = record.name;
            match record.ending {
                Some(Ending::Finished) => {}
                ending => panic!("process `{name}` did not finish, but: {ending:?}"),
            }
        }
        assert_eq!(self.core.scheduler.live.load(Relaxed), 0);
    }
}
