//! `ws-cur`: work stealing, and a woken process goes to the worker that woke it (Vrba and others,
//! *The Nornir run-time system*, section 4.2, WS-CUR).
//!
//! | the paper | here |
//! |---|---|
//! | a mutex for each queue | the same |
//! | a worker runs what stands at the front of its queue | the same |
//! | a woken process goes to the front of the queue of the worker that runs its waker | the same |
//! | with an empty queue: one process from the back of a random worker's queue | the same; a vain attempt goes on with the next worker, until all were looked at, and then the worker may sleep |
//! | a worker is pinned to a processor | if asked for: `RunOptions::pin` |
//! | new processes: not said | in turn |
//! | fairness: not said | now and then what has waited longest (see [`super::queues`]); a process that yields goes to the back |
//!
//! The default policy, `stealing`, puts processes where this one does, in a cheaper way.

use super::queues::Queues;
use super::{Notify, Origin, Policy, Ready, Reason, Steals, Turn};

#[derive(Debug)]
pub(super) struct WsCur(Queues);

impl WsCur {
    pub(super) fn new(workers: usize, seed: u64) -> Self {
        Self(Queues::new(workers, seed))
    }
}

impl Policy for WsCur {
    fn name(&self) -> &'static str {
        "ws-cur"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        match (origin, reason) {
            (Origin::Worker(worker), Reason::Woken | Reason::New | Reason::Preempted) => {
                self.0.push_front(worker, ready);
                Notify::Nobody
            }
            (Origin::Worker(worker), Reason::Yielded) => {
                self.0.push_back(worker, ready);
                Notify::Nobody
            }
            (Origin::Outside, _) => {
                self.0.push_back(self.0.next_worker(), ready);
                Notify::Anyone
            }
        }
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
