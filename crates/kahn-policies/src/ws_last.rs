//! `ws-last`: work stealing, and a woken process goes back to the worker that ran it last (Vrba and
//! others, *The Nornir run-time system*, section 4.2, WS-LAST, which its other experiments use).
//!
//! All else is as under `ws-cur`, whose table says where this differs from the paper.

use crate::queues::Queues;
use crate::work_stealing::WorkStealing;
use kahn_engine::policy::{Notify, Origin, PolicyChoice, Ready, Reason};

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
    |setup| WorkStealing::of("ws-last", setup, push),
)
.promising(WorkStealing::PROMISES);

/// Queues a process with the worker that ran it last.
fn push(queues: &Queues, origin: Origin, ready: Ready, reason: Reason) -> Notify {
    let home = match (origin, reason) {
        (Origin::Worker(creator), Reason::New) => creator,
        (Origin::Outside, Reason::New) => queues.next_worker(),
        (_, Reason::Woken | Reason::Yielded | Reason::Preempted) => {
            ready.last_worker() % queues.workers()
        }
    };
    match (origin, reason) {
        (_, Reason::Yielded) | (Origin::Outside, Reason::New) => queues.push_back(home, ready),
        (_, Reason::Woken | Reason::New | Reason::Preempted) => queues.push_front(home, ready),
    }
    if origin == Origin::Worker(home) { Notify::NoWorker } else { Notify::Anyone }
}
