//! The run queues of what is as urgent as most and of any worker: the engine's own, or a policy's.
//!
//! The engine's own scheduler, [`stealing`](crate::queue::stealing), is no policy: a worker keeps a
//! LIFO slot and takes from its own *lane* by itself, batches are pushed to the worker where they ran
//! last, and thieves back off. A policy has what its trait has, and nothing of that.

use crate::policy::{Notify, Origin, Placing, Policy, PolicyChoice, Reach, Ready, Reason};
use crate::policy::{SEQUENTIAL, STEALING, Setup, Steals, Turn};
use crate::queue::lane::Lane;
use crate::queue::stealing::Stealing;

/// The run queues of a network.
#[derive(Debug)]
pub struct RunQueues {
    of: Of,
    reach: Reach,
    /// Whether a worker keeps what it has woken last, to run it next.
    pub(crate) have_lifo_slots: bool,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a run, and workers ask it without a detour"
)]
enum Of {
    Engine(Stealing),
    Policy(Box<dyn Policy>),
}

impl RunQueues {
    /// Makes the run queues of a run.
    pub fn new(choice: &PolicyChoice, setup: Setup) -> Self {
        match choice.build(setup) {
            Some(policy) => Self::of(policy),
            None => Self {
                of: Of::Engine(Stealing::new(setup.workers)),
                reach: Reach::EveryWorker,
                have_lifo_slots: true,
            },
        }
    }

    /// Those of a policy.
    pub fn of(policy: Box<dyn Policy>) -> Self {
        let reach = policy.reach();
        Self { of: Of::Policy(policy), reach, have_lifo_slots: false }
    }

    /// For clearing away.
    pub(crate) fn oracle() -> Self {
        Self::new(&SEQUENTIAL, Setup::new(1))
    }

    /// The name that reports show.
    pub fn name(&self) -> &str {
        match &self.of {
            Of::Engine(_) => STEALING.name(),
            Of::Policy(policy) => policy.name(),
        }
    }

    /// Which workers find what is queued.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// What decides to which worker each process belongs, if anything does.
    pub fn placing(&self) -> Option<&dyn Placing> {
        match &self.of {
            Of::Engine(_) => None,
            Of::Policy(policy) => policy.placing(),
        }
    }

    /// What a worker stole.
    pub fn steals(&self, worker: usize) -> Steals {
        match &self.of {
            Of::Engine(stealing) => stealing.steals(worker),
            Of::Policy(policy) => policy.steals(worker),
        }
    }

    /// Takes a process that has become ready.
    pub(crate) fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        match &self.of {
            Of::Engine(stealing) => stealing.push(origin, ready, reason),
            Of::Policy(policy) => policy.push(origin, ready, reason),
        }
    }

    /// Gives a worker a process to run.
    pub(crate) fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        match &self.of {
            Of::Engine(stealing) => match turn {
                Turn::Front | Turn::Stalled(_) => stealing.pop(worker),
                Turn::Back => stealing.pop_oldest(worker),
            },
            Of::Policy(policy) => policy.pop(worker, turn),
        }
    }

    /// Whether `pop` of this worker would find something.
    pub(crate) fn has_work(&self, worker: usize) -> bool {
        match &self.of {
            Of::Engine(stealing) => stealing.has_work(worker),
            Of::Policy(policy) => policy.has_work(worker),
        }
    }

    /// Takes the processes that exist when the run starts.
    pub(crate) fn start(&self, ready: Vec<Ready>) {
        match &self.of {
            Of::Engine(stealing) => stealing.start(ready),
            Of::Policy(policy) => policy.start(ready),
        }
    }

    /// Whether a sleeping worker would find some of what this one has: asked when it made a process
    /// ready and others sleep.
    pub(crate) fn has_to_spare(&self, worker: usize) -> bool {
        match &self.of {
            Of::Engine(stealing) => stealing.has_to_spare(worker),
            Of::Policy(_) => self.reach == Reach::EveryWorker,
        }
    }

    /// Takes processes that ran on worker `home` last and that worker `by` has made ready together.
    /// `false`, and none of them taken, if they are to be pushed one by one.
    pub(crate) fn push_batch(
        &self,
        by: usize,
        home: usize,
        batch: impl ExactSizeIterator<Item = Ready>,
    ) -> bool {
        match &self.of {
            Of::Engine(stealing) => stealing.push_batch(by, home, batch),
            Of::Policy(_) => false,
        }
    }

    /// Worker `stalled` has been inside one poll for long: gives some of what waits there to this
    /// one, or has others find it.
    pub(crate) fn pop_of_stalled(&self, worker: usize, stalled: usize) -> Option<Ready> {
        match &self.of {
            Of::Engine(stealing) => {
                stealing.stands_still(stalled);
                None
            }
            Of::Policy(policy) => policy.pop(worker, Turn::Stalled(stalled)),
        }
    }

    /// What only this worker fills, of the engine's own.
    pub(crate) fn lane(&self, worker: usize) -> Option<&Lane> {
        match &self.of {
            Of::Engine(stealing) => stealing.lane(worker),
            Of::Policy(_) => None,
        }
    }
}
