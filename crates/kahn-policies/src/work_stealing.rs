//! Work stealing over locked queues, of `ws-cur` and `ws-last`: they differ in where a ready process is
//! queued, and in nothing else.

use crate::queues::Queues;
use kahn_engine::policy::{
    Notify, Origin, Policy, Promises, Reach, Ready, Reason, Setup, Steals, Turn, Waiting,
};

/// Queues a process that has become ready.
type Push = fn(&Queues, Origin, Ready, Reason) -> Notify;

#[derive(Debug)]
pub(crate) struct WorkStealing {
    name: &'static str,
    queues: Queues,
    push: Push,
}

impl WorkStealing {
    pub(crate) const PROMISES: Promises =
        Promises { work_is_found: true, ..Promises::waiting(Waiting::Dispatches(64)) };

    pub(crate) fn of(name: &'static str, setup: Setup, push: Push) -> Box<dyn Policy> {
        Box::new(Self { name, queues: Queues::new(setup.workers, setup.seed), push })
    }
}

impl Policy for WorkStealing {
    fn name(&self) -> &str {
        self.name
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        (self.push)(&self.queues, origin, ready, reason)
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        match turn {
            Turn::Back => self.queues.pop_oldest(worker),
            Turn::Front | Turn::Stalled(_) => {
                self.queues.pop(worker).or_else(|| self.queues.steal(worker))
            }
        }
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.queues.are_empty()
    }

    fn reach(&self) -> Reach {
        Reach::EveryWorker
    }

    fn steals(&self, worker: usize) -> Steals {
        self.queues.steals(worker)
    }
}
