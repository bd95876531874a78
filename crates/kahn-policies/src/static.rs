//! `static`: every process belongs to one worker for good, and nothing is stolen (Vrba, Halvorsen
//! and Griwodz, *Evaluating the run-time performance of Kahn process network implementation
//! techniques*, section 3).
//!
//! Which worker, [`Placement`] says. A worker runs what belongs to it in turn. Processes that are
//! created while the network runs: as listed, as pinned, else by the placement; near their creator
//! under `good`, away from it under `bad`.

use crate::Placement;
use crate::placed::{Homes, Placed};
use crate::queues::Queues;
use kahn_engine::policy::{
    Load, Misplaced, Origin, Placing, Policy, PolicyChoice, Promises, Ready, Setup, Waiting,
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
    |setup| Static::of(setup, Placement::RoundRobin),
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
    STATIC.built_by(move |setup| Static::of(setup, placement.clone()))
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
    STATIC.built_by(move |setup| Static::of(setup, placement.clone().folded(setup.workers)))
}

#[derive(Debug)]
struct Static {
    placement: Placement,
    listed: BTreeMap<String, usize>,
}

impl Static {
    fn of(setup: Setup, placement: Placement) -> Box<dyn Policy> {
        Placed::of(setup, Self { listed: placement.listed(), placement })
    }
}

impl Homes for Static {
    const NAME: &'static str = "static";

    fn place_new(&self, queues: &Queues, origin: Origin, ready: &Ready) -> usize {
        let workers = queues.workers();
        let listed = self.listed.get(ready.name().as_str()).copied();
        let given = listed.or_else(|| ready.pinned_worker().map(|worker| worker % workers));
        given.unwrap_or_else(|| match (&self.placement, origin) {
            (Placement::Good, Origin::Worker(creator)) => creator,
            (Placement::Bad, Origin::Worker(creator)) if workers > 1 => {
                (creator + 1 + queues.next_worker() % (workers - 1)) % workers
            }
            _ => queues.next_worker(),
        })
    }
}

impl Placing for Static {
    fn place(&self, load: &Load) -> Result<Option<Vec<usize>>, Misplaced> {
        self.placement.check(load)?;
        Ok(Some(self.placement.place(load)))
    }
}
