//! `partition`: the graph of the network is cut into as many parts as there are workers, of equal
//! work and with little volume between them; nothing is stolen (Vrba and others, *The Nornir
//! run-time system*, sections 4.2 and 5.2.2; its heuristic is METIS here).
//!
//! The first parts are made from the plain graph, all processes and channels counting the same.
//! When the workers, all together, have been idle for tau, the graph is weighed by what the run has
//! measured of late, CPU time for processes and bytes for channels, and cut anew. If that is no
//! better than what there is, nothing changes; otherwise each process moves when it is queued next,
//! and parts get those workers that already have most of them.
//!
//! A process that is created while the network runs belongs to the part of its creator, with whom
//! it shares channels, unless more than its share is waiting there: then where least waits. The
//! next cut knows it.

use super::parts;
use super::queues::Queues;
use super::{Load, Notify, Origin, Policy, Ready, Reason, Turn};
use std::time::Duration;

/// A worker with so many waiting processes more than twice the fewest gets no new ones.
const SLACK: usize = 4;

#[derive(Debug)]
pub(super) struct Partition {
    queues: Queues,
    tau: Duration,
}

impl Partition {
    pub(super) fn new(workers: usize, tau: Duration) -> Self {
        Self { queues: Queues::new(workers, 0), tau }
    }

    /// Where a process goes that was created while the network runs.
    fn place_new(&self, origin: Origin, ready: &Ready) -> usize {
        let workers = self.queues.workers();
        if let Some(pinned) = ready.pinned_worker() {
            return pinned % workers;
        }
        let shortest = (0..workers).min_by_key(|&worker| self.queues.len(worker)).unwrap_or(0);
        let most = 2 * self.queues.len(shortest) + SLACK;
        match origin {
            Origin::Worker(creator) if self.queues.len(creator) <= most => creator,
            Origin::Worker(_) | Origin::Outside => shortest,
        }
    }
}

impl Policy for Partition {
    fn name(&self) -> &'static str {
        "partition"
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
        parts::better_parts(load)
    }

    fn rebalances_after(&self) -> Option<Duration> {
        Some(self.tau)
    }
}
