//! `static`: every process belongs to one worker for good, and nothing is stolen (Vrba, Halvorsen
//! and Griwodz, *Evaluating the run-time performance of Kahn process network implementation
//! techniques*, section 3).
//!
//! Which worker, [`Placement`] says. A worker runs what belongs to it in turn. Processes that are
//! created while the network runs: as listed, as pinned, else by the placement; near their creator
//! under `good`, away from it under `bad`.

use crate::Placement;
use crate::queues::Queues;
use kahn_engine::policy::{
    Load, Misplaced, Notify, Origin, Placing, Policy, PolicyChoice, Promises, Ready, Reason, Turn,
    Waiting,
};
use std::collections::BTreeMap;

/// No stealing; each process belongs to a worker: as pinned, else in turn.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let report = Network::new().run_with(Options::new().policy(kahn_policies::STATIC))?;
/// assert_eq!(report.policy, "static");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub const STATIC: PolicyChoice = PolicyChoice::new(
    "static",
    "no stealing; each process belongs to a worker, as pinned or by --placement",
    |setup| Box::new(Static::new(setup.workers, Placement::RoundRobin)),
)
.promising(Promises { yields: true, ..Promises::waiting(Waiting::Dispatches(64)) });

/// Makes the policy [`STATIC`] with another placement.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_policies::{Placement, static_by};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let policy = static_by(Placement::list([("numbers", 0), ("sum", 1)]));
/// let report = network.run_with(Options::new().workers(2).policy(policy))?;
/// assert_eq!(report.channels[0].remote, 100);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn static_by(placement: Placement) -> PolicyChoice {
    STATIC.built_by(move |setup| Box::new(Static::new(setup.workers, placement.clone())))
}

/// Chooses `static` with a placement, whose workers begin again at 0 after the last that the run has.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_policies::{Placement, static_folded};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// network.for_each("ignore", numbers, |_| {});
/// let policy = static_folded(Placement::list([("numbers", 7)]));
/// assert!(network.run_with(Options::new().workers(2).policy(policy)).is_ok());
/// ```
pub fn static_folded(placement: Placement) -> PolicyChoice {
    STATIC.built_by(move |setup| {
        Box::new(Static::new(setup.workers, placement.clone().folded(setup.workers)))
    })
}

#[derive(Debug)]
struct Static {
    queues: Queues,
    placement: Placement,
    listed: BTreeMap<String, usize>,
}

impl Static {
    fn new(workers: usize, placement: Placement) -> Self {
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

    fn placing(&self) -> Option<&dyn Placing> {
        Some(self)
    }
}

impl Placing for Static {
    fn place(&self, load: &Load) -> Result<Option<Vec<usize>>, Misplaced> {
        self.placement.check(load)?;
        Ok(Some(self.placement.place(load)))
    }
}
