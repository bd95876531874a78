//! A worker for each process and no stealing, of `static` and `partition`: they differ in which worker,
//! and in nothing else.

use crate::queues::Queues;
use kahn_engine::policy::{Notify, Origin, Placing, Policy, Ready, Reason, Setup, Turn};

/// Decides to which worker a process belongs.
pub(crate) trait Homes: Placing + 'static {
    /// The name of the policy.
    const NAME: &'static str;

    /// Where a process goes that was created while the network runs.
    fn place_new(&self, queues: &Queues, origin: Origin, ready: &Ready) -> usize;
}

#[derive(Debug)]
pub(crate) struct Placed<H> {
    queues: Queues,
    homes: H,
}

impl<H: Homes> Placed<H> {
    pub(crate) fn of(setup: Setup, homes: H) -> Box<dyn Policy> {
        Box::new(Self { queues: Queues::new(setup.workers, 0), homes })
    }
}

impl<H: Homes> Policy for Placed<H> {
    fn name(&self) -> &'static str {
        H::NAME
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let place_new = |ready: &Ready| self.homes.place_new(&self.queues, origin, ready);
        self.queues.push_home(origin, ready, reason, place_new)
    }

    fn pop(&self, worker: usize, _turn: Turn) -> Option<Ready> {
        self.queues.pop(worker)
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.queues.is_empty(worker)
    }

    fn placing(&self) -> Option<&dyn Placing> {
        Some(&self.homes)
    }
}
