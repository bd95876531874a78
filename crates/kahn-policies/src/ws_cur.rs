//! `ws-cur`: work stealing, and a woken process goes to the worker that woke it (Vrba and others,
//! *The Nornir run-time system*, section 4.2, WS-CUR).
//!
//! | the paper | here |
//! |---|---|
//! | a mutex for each queue | the same |
//! | a worker runs what stands at the front of its queue | the same |
//! | a woken process goes to the front of the queue of the worker that runs its waker | the same |
//! | with an empty queue: one process from the back of a random worker's queue | the same; a vain attempt goes on with the next worker, until all were looked at, and then the worker may sleep |
//! | a worker is pinned to a processor | if asked for: `Options::pin` |
//! | new processes: not said | in turn |
//! | fairness: not said | now and then what has waited longest (see [`crate::queues`]); a process that yields goes to the back |
//!
//! The default policy, `stealing`, puts processes where this one does, in a cheaper way.

use crate::queues::Queues;
use crate::work_stealing::WorkStealing;
use kahn_engine::policy::{Notify, Origin, PolicyChoice, Ready, Reason};

/// Work stealing; a woken process goes to the worker that woke it.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let report = Network::new().run_with(Options::new().policy(kahn_policies::WS_CUR))?;
/// assert_eq!(report.policy, "ws-cur");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub const WS_CUR: PolicyChoice = PolicyChoice::new(
    "ws-cur",
    "Nornir's work stealing: locked queues; a woken process goes to the worker that woke it",
    |setup| WorkStealing::of("ws-cur", setup, push),
)
.promising(WorkStealing::PROMISES);

/// Queues a process where the worker stands that has made it ready.
fn push(queues: &Queues, origin: Origin, ready: Ready, reason: Reason) -> Notify {
    match (origin, reason) {
        (Origin::Worker(worker), Reason::Woken | Reason::New | Reason::Preempted) => {
            queues.push_front(worker, ready);
            Notify::NoWorker
        }
        (Origin::Worker(worker), Reason::Yielded) => {
            queues.push_back(worker, ready);
            Notify::NoWorker
        }
        (Origin::Outside, _) => {
            queues.push_back(queues.next_worker(), ready);
            Notify::Anyone
        }
    }
}
