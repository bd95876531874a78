//! `ws-last`: work stealing, and a woken process goes back to the worker that ran it last (Vrba and
//! others, *The Nornir run-time system*, section 4.2, WS-LAST, which its other experiments use).
//!
//! All else is as under `ws-cur`, whose table says where this differs from the paper.

use super::queues::Queues;
use super::{Notify, Origin, Policy, Ready, Reason, Steals, Turn};

#[derive(Debug)]
pub(super) struct WsLast(Queues);

impl WsLast {
    pub(super) fn new(workers: usize, seed: u64) -> Self {
        Self(Queues::new(workers, seed))
    }
}

impl Policy for WsLast {
    fn name(&self) -> &'static str {
        "ws-last"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let home = match (origin, reason) {
            (Origin::Worker(creator), Reason::New) => creator,
            (Origin::Outside, Reason::New) => self.0.next_worker(),
            (_, Reason::Woken | Reason::Yielded | Reason::Preempted) => {
                ready.last_worker() % self.0.workers()
            }
        };
        match (origin, reason) {
            (_, Reason::Yielded) | (Origin::Outside, Reason::New) => self.0.push_back(home, ready),
            (_, Reason::Woken | Reason::New | Reason::Preempted) => self.0.push_front(home, ready),
        }
        if origin == Origin::Worker(home) { Notify::Nobody } else { Notify::Anyone }
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        match turn {
            Turn::Front => self.0.pop(worker).or_else(|| self.0.steal(worker)),
            Turn::Back => self.0.pop_oldest(worker),
        }
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.are_empty()
    }

    fn shares_work(&self) -> bool {
        true
    }

    fn steals(&self, worker: usize) -> Steals {
        self.0.steals(worker)
    }
}
