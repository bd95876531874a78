//! Random networks on 1 to 4 ranks, held against the interpreter of `kahn-laws`, which knows nothing of ranks.
//!
//! `kahn-bench soak --kind ranks` runs more of the same, and names the seed of a case that fails.

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
        ran.map(|ran| ran.report).map_err(|error| match error {
            NetError::Run(error) => error,
            other => RunError::Refused(other.to_string()),
        })
    }
}

#[test]
fn random_networks_do_on_ranks_what_the_model_says() {
    let extent = Extent { seed: 1, cases: 700, time: None, shrinking: Duration::from_secs(20) };
    let summary = soak(&Ranked { runs: 8, over: OverSim }, extent);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.tally.messages > 10 * summary.cases, "{summary}");
}
