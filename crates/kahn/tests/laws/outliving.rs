//! What is told of a process that has no sender any more and then fails, while it still holds the receiver of
//! a process that reads it: that one can be pruned only when the first has ended, so it tells nothing
//! against it.

use super::schedules::everywhere;
use kahn::{Network, ProcessEnd, Receiver, Report, Sender, Summary};

/// What the process that fails does around its last sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    /// Drops it and fails.
    Fails,
    /// Drops it and reaches the failure mark of another.
    FailsByAnother,
    /// Leaves the receiver before, and begins an operation: whatever reads it may be pruned by then.
    LeftBefore,
}

/// Reads to the end, and sends what it reads.
async fn relay((mut from, mut to): (Receiver<u64>, Sender<u64>)) {
    while let Some(n) = from.recv().await {
        to.send(n).await;
    }
}

/// `outlives` sends to a chain of so many relays, of which it reads the last.
fn network(case: Case, relays: usize, others: usize) -> Network<'static> {
    let mut network = Network::new();
    let (out, mut on) = network.channel::<u64>("out");
    for relays in 0..relays {
        let (out, next) = network.channel(format!("on {relays}"));
        network.process(format!("relay {relays}"), (on, out), relay);
        on = next;
    }
    // Those that leave at once: none of them sees an end.
    let leavers: Vec<_> = (0..others)
        .map(|other| {
            let (out, on) = network.channel::<u64>(format!("other {other}"));
            network.process(format!("leaves {other}"), on, async |_on| {});
            out
        })
        .collect();
    let (mark, marked) = network.channel::<u64>("mark");
    if case == Case::FailsByAnother {
        network.process("another", mark, async |_mark| Err::<(), _>("another fails"));
    } else {
        network.process("another", mark, async |_mark| {});
    }
    let ports = (out, leavers, on, marked);
    network.process("outlives", ports, async move |(out, leavers, back, mut marked)| {
        let mut back = Some(back);
        if case == Case::LeftBefore {
            back = None;
            kahn::yield_now().await;
            marked.recv().await;
        }
        drop((out, leavers));
        marked.flush().await;
        if case == Case::FailsByAnother {
            marked.recv().await;
        }
        drop(back);
        Err::<(), _>("on purpose")
    });
    network
}

fn ending<'a>(report: &'a Report, name: &str) -> &'a ProcessEnd {
    let found = report.processes.iter().find(|process| process.name == name);
    &found.expect("it is listed").ending
}

#[test]
fn a_failure_counts_if_only_the_end_of_its_process_has_what_reads_it_pruned() {
    everywhere(|schedule| {
        for relays in [1, 2, 3] {
            for others in [0, 2] {
                let report = schedule.run(network(Case::Fails, relays, others));
                let failed: Vec<_> = report.failures.iter().map(|f| f.process.as_str()).collect();
                let told = (report.outcome, failed);
                assert_eq!(told, (Summary::Failed, vec!["outlives"]), "{relays}: {report}");
                assert_eq!(ending(&report, "outlives"), &ProcessEnd::Failed, "{relays}");
            }
        }
    });
}

#[test]
fn a_failure_counts_if_its_mark_is_reached_by_a_process_that_has_outlived_its_senders() {
    everywhere(|schedule| {
        for relays in [1, 2, 3] {
            let report = schedule.run(network(Case::FailsByAnother, relays, 1));
            let failed: Vec<_> = report.failures.iter().map(|f| f.process.as_str()).collect();
            assert_eq!((report.outcome, failed), (Summary::Failed, vec!["another"]), "{report}");
            assert_eq!(report.failures[0].ended_with_it, ["outlives"], "{relays}");
        }
    });
}

#[test]
fn a_failure_is_told_in_no_run_if_what_reads_its_process_may_be_pruned_before() {
    everywhere(|schedule| {
        for relays in [1, 2, 3] {
            let report = schedule.run(network(Case::LeftBefore, relays, 1));
            assert_eq!(report.outcome, Summary::Finished, "{relays}: {report}");
            assert_eq!(ending(&report, "outlives"), &ProcessEnd::Pruned, "{relays}");
        }
    });
}
