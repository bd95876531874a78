//! `static`: every process belongs to one worker for good, and nothing is stolen (Vrba, Halvorsen
//! and Griwodz, *Evaluating the run-time performance of Kahn process network implementation
//! techniques*, section 3).
//!
//! Which worker, [`Placement`] says. A worker runs what belongs to it in turn. Processes that are
//! created while the network runs: as listed, as pinned, else by the placement; near their creator
//! under `good`, away from it under `bad`.

use super::queues::Queues;
use super::{Load, Notify, Origin, Placement, Policy, Ready, Reason, Turn};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Static {
    queues: Queues,
    placement: Placement,
    listed: BTreeMap<String, usize>,
}

impl Static {
    pub(super) fn new(workers: usize, placement: Placement) -> Self {
        Self { queues: Queues::new(workers, 0), listed: placement.listed(), placement }
    }

    /// Where a process goes that was created while the network runs.
    fn place_new(&self, origin: Origin, ready: &Ready) -> usize {
        let workers = self.queues.workers();
        let listed = self.listed.get(ready.name().as_str()).copied();
        let given = listed.or_else(|| ready.pinned_worker().map(|worker| worker % workers));
        given.unwrap_or_else(|| match (&self.placement, origin) {
            (Placement::Good, Origin::Worker(creator)) => creator,
            (Placement::Bad, Origin::Worker(creator)) if workers > 1 => {
                (creator + 1 + self.queues.next_worker() % (workers - 1)) % workers
            }
            _ => self.queues.next_worker(),
        })
    }
}

impl Policy for Static {
    fn name(&self) -> &'static str {
        "static"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        self.queues.push_home(origin, ready, reason, |ready| self.place_new(origin, ready))
    }

    fn pop(&self, worker: usize, _turn: Turn) -> Option<Ready> {
        self.queues.pop(worker)
    }

    fn has_work(&self, worker: usize) -> bool {
        !self.queues.is_empty(worker)
    }

    fn places(&self) -> bool {
        true
    }

    fn place(&self, load: &Load) -> Option<Vec<usize>> {
        Some(self.placement.place(load))
    }
}
