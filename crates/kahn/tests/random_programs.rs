//! Random programs, held against interpreters that know the model alone: see `kahn-laws`.
//!
//! `kahn-bench soak` runs more of the same, and names the seed of a case that fails.

use kahn::{Network, RunOptions};
use kahn_laws::{Campaign, Communicating, Extent, Networks, Summary, soak};
use kahn_laws::{csp, network};
use std::time::Duration;

fn campaign<C: Campaign>(campaign: &C, cases: u64, shrinking: u64) -> Summary {
    let shrinking = Duration::from_secs(shrinking);
    soak(campaign, Extent { seed: 1, cases, time: None, shrinking })
}

#[test]
fn random_networks_do_what_the_model_says_under_every_schedule() {
    let summary = campaign(&Networks::default(), 500, 20);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.cases > 300, "{summary}");
}

#[test]
fn random_communicating_processes_run_one_of_their_traces() {
    let summary = campaign(&Communicating::default(), 500, 20);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.cases > 300, "{summary}");
}

/// In how many of some cases a promise is broken.
fn broken<C: Campaign>(campaign: &C) -> u64 {
    let extent = Extent { seed: 1, cases: 400, time: None, shrinking: Duration::ZERO };
    soak(campaign, extent).failures.iter().map(|failure| failure.cases).sum()
}

#[test]
fn each_rule_of_the_model_is_noticed_if_it_is_broken() {
    assert_eq!(broken(&Networks { schedules: 2, mistake: None }), 0);
    for mistake in network::Mistake::ALL {
        let wrong = broken(&Networks { schedules: 2, mistake: Some(mistake) });
        assert!(wrong > 0, "400 networks agree with an interpreter that is wrong: {mistake:?}");
    }
}

#[test]
fn each_rule_of_communicating_processes_is_noticed_if_it_is_broken() {
    for mistake in csp::Mistake::ALL {
        let wrong = broken(&Communicating { schedules: 2, mistake: Some(mistake) });
        assert!(wrong > 0, "400 programs agree with an enumeration that is wrong: {mistake:?}");
    }
}

#[test]
fn a_party_that_waits_in_a_deadlock_is_told_to_wait_in_every_report() {
    let mut endings = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u32>("numbers");
        let (back, answers) = network.channel::<u32>("answers");
        network.process("process", (numbers, back), async |(mut numbers, mut back)| {
            while let Some(n) = numbers.recv().await {
                back.send(n).await;
            }
        });
        let (out, mut answers) = network.outside("party", (out, answers));
        let party = std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = answers.recv_blocking();
                drop((answers, out));
            });
            network.run_with(RunOptions::new().workers(1))
        });
        let error = party.expect_err("a deadlock");
        let report = error.report().expect("it ran");
        assert_eq!(report.outcome, kahn::Summary::Deadlock);
        endings.extend(report.processes.iter().map(|process| format!("{:?}", process.ending)));
    }
    assert_eq!(endings.len(), 1, "{endings:?}");
}

#[test]
fn a_party_that_is_over_before_the_start_leaves_no_hole_in_graph_and_report() {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("source", out, async |mut out| out.send(1).await);
    let party = network.outside("party", numbers);
    drop(party);
    let report = network.run_with(RunOptions::new().workers(1)).expect("nothing is wrong with it");
    let names: Vec<_> = report.processes.iter().map(|process| process.name.to_string()).collect();
    assert_eq!(names, ["source", "party"]);
}
