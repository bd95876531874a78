//! What is told of a process that fails when it has no sender any more, and still holds the receiver of one
//! that reads it.
//!
//! If it is first, that one is pruned, because the first has ended; if that one is first and leaves, the
//! first is pruned. What a pruned process would have done is not known. So the failure counts only if a
//! process that no schedule prunes has seen the end; otherwise the process that failed is told as pruned.

use super::schedules::everywhere;
use kahn::{Network, ProcessEnd, Receiver, Report, Sender, Summary};
use std::collections::BTreeSet;

/// What the process that fails does around its last sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    /// Drops it and fails.
    Fails,
    /// Drops it and reaches the failure mark of another.
    FailsByAnother,
    /// Leaves the receiver before, and begins an operation.
    LeftBefore,
    /// Drops it, reads to the end and fails.
    ReadsAll,
}

/// What comes round to it.
#[derive(Clone, Copy, Debug)]
struct Ring {
    relays: usize,
    /// Each relay reads to the end, or leaves at once.
    reads: bool,
    /// Readers of other senders, which leave at once.
    others: usize,
    /// Whether the process that fails is made first.
    is_first: bool,
}

fn rings() -> impl Iterator<Item = Ring> {
    [(1, 0), (2, 0), (3, 2)].into_iter().flat_map(|(relays, others)| {
        [(true, true), (true, false), (false, true), (false, false)].map(|(reads, is_first)| Ring {
            relays,
            reads,
            others,
            is_first,
        })
    })
}

/// The process that fails; the last relay sends to it.
fn outlives(
    network: &mut Network<'static>,
    case: Case,
    senders: Vec<Sender<u64>>,
    back: Receiver<u64>,
) {
    let (mark, marked) = network.channel::<u64>("mark");
    network.process("another", mark, async move |_mark| {
        if case == Case::FailsByAnother { Err("another fails") } else { Ok(()) }
    });
    let ports = (senders, back, marked);
    network.process("outlives", ports, async move |(senders, back, mut marked)| {
        let mut back = Some(back);
        if case == Case::LeftBefore {
            back = None;
            kahn::yield_now().await;
            marked.recv().await;
        }
        drop(senders);
        marked.flush().await;
        if case == Case::FailsByAnother {
            marked.recv().await;
        }
        if let (Case::ReadsAll, Some(back)) = (case, &mut back) {
            while back.recv().await.is_some() {}
        }
        drop(back);
        Err::<(), _>("on purpose")
    });
}

fn network(case: Case, ring: Ring) -> Network<'static> {
    let mut network = Network::new();
    let (out, on) = network.channel::<u64>("out");
    let (mut senders, mut receivers) = (vec![out], vec![on]);
    let mut relays = Vec::new();
    for relay in 0..ring.relays {
        let (out, next) = network.channel(format!("on {relay}"));
        relays.push((receivers.remove(0), out));
        receivers.push(next);
    }
    let mut others = Vec::new();
    for other in 0..ring.others {
        let (out, on) = network.channel(format!("other {other}"));
        senders.push(out);
        others.push(on);
    }
    let mut ends = Some((senders, receivers.remove(0)));
    let mut make = |network: &mut Network<'static>, is_now: bool| {
        if let Some((senders, back)) = ends.take_if(|_| is_now) {
            outlives(network, case, senders, back);
        }
    };
    make(&mut network, ring.is_first);
    for (relay, ports) in relays.into_iter().enumerate() {
        network.process(format!("relay {relay}"), ports, async move |(mut from, mut to)| {
            while ring.reads
                && let Some(n) = from.recv().await
            {
                to.send(n).await;
            }
        });
    }
    for (other, on) in others.into_iter().enumerate() {
        network.process(format!("leaves {other}"), on, async |_on| {});
    }
    make(&mut network, true);
    network
}

/// The outcome, the failures, and the end of the process that outlives its senders.
fn told(report: &Report) -> (Summary, Vec<&str>, Option<&ProcessEnd>) {
    let failed = report.failures.iter().map(|failure| failure.process.as_str()).collect();
    let found = report.processes.iter().find(|process| process.name == "outlives");
    (report.outcome, failed, found.map(|process| &process.ending))
}

const AS_PRUNED: (Summary, Vec<&str>, Option<&ProcessEnd>) =
    (Summary::Finished, Vec::new(), Some(&ProcessEnd::Pruned));

#[test]
fn all_runs_tell_the_same_if_the_first_to_end_has_the_other_pruned() {
    let mut all = BTreeSet::new();
    everywhere(|schedule| {
        for ring in rings().filter(|ring| !ring.reads) {
            all.insert(format!("{:?}", told(&schedule.run(network(Case::Fails, ring)))));
        }
    });
    assert_eq!(all, BTreeSet::from([format!("{AS_PRUNED:?}")]));
}

#[test]
fn no_run_tells_a_failure_of_which_only_a_pruned_process_would_see_that_it_counts() {
    everywhere(|schedule| {
        for ring in rings() {
            for case in [Case::Fails, Case::FailsByAnother] {
                let report = schedule.run(network(case, ring));
                assert_eq!(told(&report), AS_PRUNED, "{case:?}, {ring:?}: {report}");
            }
        }
    });
}

#[test]
fn a_failure_is_told_in_no_run_if_what_reads_its_process_may_be_pruned_before() {
    everywhere(|schedule| {
        for ring in rings() {
            let report = schedule.run(network(Case::LeftBefore, ring));
            assert_eq!(told(&report), AS_PRUNED, "{ring:?}: {report}");
        }
    });
}

/// With others that leave at once, which need no reader, nothing is left to run for when they have left: all of the ring is
/// pruned, wherever it has come. Without them it runs for its own sake.
#[test]
fn a_failure_counts_if_its_process_and_what_reads_it_see_each_others_end_in_a_ring_that_runs_for_itself()
 {
    everywhere(|schedule| {
        for ring in rings() {
            let report = schedule.run(network(Case::ReadsAll, ring));
            let expected = if ring.reads && ring.others == 0 {
                (Summary::Failed, vec!["outlives"], Some(&ProcessEnd::Failed))
            } else {
                AS_PRUNED
            };
            assert_eq!(told(&report), expected, "{ring:?}: {report}");
        }
    });
}
