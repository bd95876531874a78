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
//! A process that is created while the network runs belongs to the part of its creator, with which
//! it shares channels, unless more than its share is waiting there: then where least waits. The
//! next cut knows it.

use crate::parts;
use crate::placed::{Homes, Placed};
use crate::queues::Queues;
use kahn_engine::policy::{
    Load, Misplaced, Origin, Placing, PolicyChoice, Promises, Ready, Waiting,
};
use std::time::Duration;

/// How long workers may be idle, all together, before [`PARTITION`] shares the processes out anew: in
/// the middle of what made no difference (`docs/policies.md`).
pub const DEFAULT_TAU: Duration = Duration::from_millis(16);

/// No stealing; equal parts of the graph with little traffic between, cut anew when workers idle.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
///
/// let report = Network::new().run_with(Options::new().policy(kahn_policies::PARTITION))?;
/// assert_eq!(report.policy, "partition");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub const PARTITION: PolicyChoice = PolicyChoice::new(
    "partition",
    "no stealing; equal parts of the graph with little traffic between, cut anew when workers idle",
    |setup| Placed::of(setup, Partition { tau: DEFAULT_TAU }),
)
.promising(Promises::waiting(Waiting::Dispatches(64)));

/// Makes the policy [`PARTITION`] that shares out anew when workers have been idle for so long, all
/// together.
///
/// # Panics
/// Panics if that is 0: sharing out takes time itself.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use std::time::Duration;
///
/// let policy = kahn_policies::partition_after(Duration::from_millis(4));
/// let report = Network::new().run_with(Options::new().policy(policy))?;
/// assert_eq!(report.policy, "partition");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn partition_after(tau: Duration) -> PolicyChoice {
    assert!(!tau.is_zero(), "sharing out takes time itself");
    PARTITION.built_by(move |setup| Placed::of(setup, Partition { tau }))
}

/// A worker with so many waiting processes more than twice the fewest gets no new ones.
const SLACK: usize = 4;

#[derive(Debug)]
struct Partition {
    tau: Duration,
}

impl Homes for Partition {
    const NAME: &'static str = "partition";

    fn place_new(&self, queues: &Queues, origin: Origin, ready: &Ready) -> usize {
        let workers = queues.workers();
        if let Some(pinned) = ready.pinned_worker() {
            return pinned % workers;
        }
        let shortest = (0..workers).min_by_key(|&worker| queues.len(worker)).unwrap_or(0);
        let most = 2 * queues.len(shortest) + SLACK;
        match origin {
            Origin::Worker(creator) if queues.len(creator) <= most => creator,
            Origin::Worker(_) | Origin::Outside => shortest,
        }
    }
}

impl Placing for Partition {
    fn place(&self, load: &Load) -> Result<Option<Vec<usize>>, Misplaced> {
        Ok(parts::better_parts(load))
    }

    fn again_after(&self) -> Option<Duration> {
        Some(self.tau)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn_engine::policy::Setup;

    #[test]
    fn it_shares_out_anew_after_the_time_it_was_made_with() {
        let after = |policy: PolicyChoice| {
            policy.build(Setup::new(2)).unwrap().placing().unwrap().again_after()
        };
        let tau = Duration::from_millis(3);
        assert_eq!((after(partition_after(tau)), after(PARTITION)), (Some(tau), Some(DEFAULT_TAU)));
    }
}
