//! What is told of failures if ends were handed on: what took the last message counts, not only what has
//! the receiver in the end.

use super::schedules::everywhere;
use kahn::{Network, ProcessEnd, Receiver, Report, Sender, Spawner, Summary};
use std::pin::Pin;

type Running<R = ()> = Pin<Box<dyn Future<Output = R> + Send>>;

/// How the ends of a channel go from process to process.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Messages that each process sends which has the sender; the last then drops it and fails.
    sends: &'static [u64],
    /// Messages that each process receives which hands the receiver on. The last that has it sends to
    /// another and receives what is left, unless it is pruned.
    takes: &'static [u64],
    /// Whether the process to which the last one sends is there when that one is made.
    is_read: bool,
    /// It begins an operation, where it may be pruned, while it still has its sender.
    operates: bool,
}

const PLAIN: Case = Case { sends: &[1], takes: &[1], is_read: false, operates: false };

/// Sends as many messages as the first of `sends` says; the last that is to send fails.
fn send(
    mut out: Sender<u64>,
    mut create: Option<Spawner<'static>>,
    case: Case,
) -> Running<Result<(), String>> {
    Box::pin(async move {
        let (count, rest) = case.sends.split_first().expect("a number of messages");
        for n in 0..*count {
            out.send(n).await;
        }
        let rest = Case { sends: rest, ..case };
        if let (false, Some(create)) = (rest.sends.is_empty(), &mut create) {
            if rest.sends.len() > 1 {
                let next = create.clone();
                create.process("give", (out, next), move |(out, create)| {
                    send(out, Some(create), rest)
                });
            } else {
                create.process("fail", out, move |out| send(out, None, rest));
            }
            return Ok(());
        }
        if case.operates {
            kahn::yield_now().await;
        }
        drop(out);
        kahn::yield_now().await;
        Err("on purpose".to_owned())
    })
}

/// Receives as many messages as the first of `takes` says, and hands the receiver on.
fn take(mut on: Receiver<u64>, mut create: Spawner<'static>, case: Case) -> Running {
    Box::pin(async move {
        let (count, rest) = case.takes.split_first().expect("a number of messages");
        for _ in 0..*count {
            on.recv().await;
        }
        let rest = Case { takes: rest, ..case };
        if rest.takes.is_empty() {
            let (out, copies) = create.channel("copies");
            if case.is_read {
                create.process("leave", copies, async |_copies| {});
            } else {
                drop(copies);
            }
            create.process("last", (on, out), async |(mut on, mut out)| {
                while let Some(n) = on.recv().await {
                    out.send(n).await;
                }
            });
        } else {
            let next = create.clone();
            create.process("take", (on, next), move |(on, create)| take(on, create, rest));
        }
    })
}

fn network(case: Case) -> Network<'static> {
    let mut network = Network::new();
    let (out, on) = network.channel::<u64>("on");
    if case.sends.len() > 1 {
        let create = network.spawner();
        network.process("give", (out, create), move |(out, create)| send(out, Some(create), case));
    } else {
        network.process("fail", out, move |out| send(out, None, case));
    }
    let create = network.spawner();
    network.process("take", (on, create), move |(on, create)| take(on, create, case));
    network
}

fn ending(report: &Report) -> Option<&ProcessEnd> {
    let fails = report.processes.iter().find(|process| process.name == "fail");
    fails.map(|process| &process.ending)
}

#[test]
fn a_failure_counts_if_the_last_message_was_received_before_the_receiver_was_handed_on() {
    everywhere(|schedule| {
        for is_read in [false, true] {
            for (sends, takes) in [
                (&[1][..], &[1][..]),
                (&[3], &[3]),
                // Received by the first that had it, by the last that handed it on, and in turn.
                (&[1], &[1, 0, 0]),
                (&[1], &[0, 0, 1]),
                (&[3], &[1, 2, 0]),
                // The sender was handed on, and the one that had it last has sent.
                (&[1, 1], &[2]),
                (&[2, 0, 1], &[1, 2, 0]),
            ] {
                let case = Case { sends, takes, is_read, ..PLAIN };
                let report = schedule.run(network(case));
                let failed: Vec<_> = report.failures.iter().map(|f| f.process.as_str()).collect();
                let told = (report.outcome, failed);
                assert_eq!(told, (Summary::Failed, vec!["fail"]), "{case:?}: {report}");
                assert_eq!(ending(&report), Some(&ProcessEnd::Failed), "{case:?}");
            }
        }
    });
}

#[test]
fn a_failure_is_told_in_no_run_if_the_last_message_was_left_to_a_process_that_may_be_pruned() {
    everywhere(|schedule| {
        for is_read in [false, true] {
            for case in [
                Case { takes: &[0], ..PLAIN },
                Case { sends: &[3], takes: &[1, 1], ..PLAIN },
                // None was sent, but by another that had the sender before.
                Case { sends: &[0], takes: &[0], ..PLAIN },
                Case { sends: &[1, 0], ..PLAIN },
                Case { sends: &[1, 1], takes: &[1, 0], ..PLAIN },
                // It may have been pruned after the last message.
                Case { operates: true, ..PLAIN },
                Case { sends: &[1, 1], takes: &[0, 2], operates: true, ..PLAIN },
            ] {
                let case = Case { is_read, ..case };
                let report = schedule.run(network(case));
                assert_eq!(report.outcome, Summary::Finished, "{case:?}: {report}");
                assert_eq!(ending(&report), Some(&ProcessEnd::Pruned), "{case:?}");
            }
        }
    });
}
