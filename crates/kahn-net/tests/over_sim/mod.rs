//! What runs the random networks of `kahn-laws` on several ranks: those of this program. `bench` uses it, too.

use kahn::{Network, Options, Report, RunError};
use kahn_laws::network::OverRanks;
use kahn_net::{NetError, Sim};

/// Over the simulated transport.
pub(crate) struct OverSim;

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
