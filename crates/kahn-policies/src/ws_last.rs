//! `ws-last`: work stealing, and a woken process goes back to the worker that ran it last (Vrba and
//! others, *The Nornir run-time system*, section 4.2, WS-LAST, which its other experiments use).
//!
//! All else is as under `ws-cur`, whose table says where this differs from the paper.

use crate::queues::Queues;
use kahn_engine::policy::{
    Notify, Origin, Policy, PolicyChoice, Promises, Reach, Ready, Reason, Steals, Turn, Waiting,
};

/// Work stealing; a woken process goes to the worker that ran it last.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let report = Network::new().run_with(Options::new().policy(kahn_policies::WS_LAST))?;
/// assert_eq!(report.policy, "ws-last");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub const WS_LAST: PolicyChoice = PolicyChoice::new(
    "ws-last",
    "Nornir's choice: the same, but a woken process goes to the worker that ran it last",
    |setup| Box::new(WsLast(Queues::new(setup.workers, setup.seed))),
)
.promising(Promises { work_is_found: true, ..Promises::waiting(Waiting::Dispatches(64)) });

#[derive(Debug)]
struct WsLast(Queues);

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
            Turn::Back => self.0.pop_oldest(worker),
            Turn::Front | Turn::Stalled(_) => self.0.pop(worker).or_else(|| self.0.steal(worker)),
        }
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.are_empty()
    }

    fn reach(&self) -> Reach {
        Reach::EveryWorker
    }

    fn steals(&self, worker: usize) -> Steals {
        self.0.steals(worker)
    }
}
