//! Random networks on 1 to 4 ranks, held against the interpreter of `kahn-laws`, which knows nothing of ranks.
//!
//! `kahn-bench soak --kind ranks` runs more of the same, and names the seed of a case that fails.

mod over_sim;

use kahn_laws::network::Ranked;
use kahn_laws::{Extent, soak};
use over_sim::OverSim;
use std::time::Duration;

#[test]
fn random_networks_do_on_ranks_what_the_model_says() {
    let extent = Extent { seed: 1, cases: 700, time: None, shrinking: Duration::from_secs(20) };
    let summary = soak(&Ranked { runs: 8, over: OverSim }, extent);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.tally.messages > 10 * summary.cases, "{summary}");
}

/// In this network a death across ranks frees a thread, which may wait for another rank again before its own is asked
/// whether anything is busy: that was taken for the end, in one of twenty runs.
#[test]
fn a_network_that_came_to_rest_again_within_a_look_goes_on() {
    let extent = Extent { seed: 21_900, cases: 1, time: None, shrinking: Duration::ZERO };
    for _ in 0..100 {
        let summary = soak(&Ranked { runs: 8, over: OverSim }, extent);
        assert!(summary.is_good(), "{summary}");
        assert_eq!(summary.cases, 1, "{summary}");
    }
}
