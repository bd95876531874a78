//! Random networks on 1 to 4 ranks, held against the interpreter of `kahn-laws`, which knows nothing of ranks.

use kahn::{Network, Options, Report, RunError};
use kahn_laws::network::{OverRanks, Ranked};
use kahn_laws::{Extent, soak};
use kahn_net::{NetError, Sim};
use std::time::Duration;

/// Over the simulated transport.
struct OverSim;

impl OverRanks for OverSim {
    fn run<'env>(
        &self,
        ranks: usize,
        seed: u64,
        options: &Options,
        build: &(dyn Fn(&mut Network<'env>) + Sync),
    ) -> Result<Report, RunError> {
        let ran = Sim::new(ranks).seed(seed).run(options, |network| build(network));
        match ran {
            Ok(ran) => Ok(ran.report),
            Err(NetError::Run(error)) => Err(error),
            Err(other) => Err(RunError::Refused(other.to_string())),
        }
    }
}

/// A number from the environment, for runs that take longer.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_networks_do_on_ranks_what_the_model_says() {
    let cases = asked("KAHN_RANKS_NETWORKS").unwrap_or(300);
    let seed = asked("KAHN_RANKS_SEED").unwrap_or(1);
    let extent = Extent { seed, cases, time: None, shrinking: Duration::from_secs(20) };
    let summary = soak(&Ranked { runs: 8, over: OverSim }, extent);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.tally.messages > 10 * summary.cases, "{summary}");
}
