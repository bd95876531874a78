//! What is told of failures: the same in every run, all that counts, and each panic where it began.

use super::schedules::{Schedule, count, everywhere, listen};
use kahn::{FailureReport, Network, Options, ProcessEnd, Report, Summary};
use std::fmt::Write;

/// All that a report tells of failures.
fn told(report: &Report) -> String {
    let mut text = report.explanation();
    for process in &report.processes {
        let _ = writeln!(text, "{}: {}", process.name, process.ending);
    }
    for failure in &report.failures {
        let _ = writeln!(text, "{failure:?}");
    }
    text
}

fn failed(report: &Report) -> Vec<&str> {
    report.failures.iter().map(|failure| failure.process.as_str()).collect()
}

/// A source that fails, four branches of it, and one process that reads them all.
fn branches() -> Network<'static> {
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("source", out, async |mut out| {
        out.send_all(0..200).await;
        Err::<(), _>("the file is cut short")
    });
    let copies = network.tee("tee", numbers, 4);
    let sums: Vec<_> = copies
        .into_iter()
        .enumerate()
        .map(|(n, copy)| {
            let mut sum = 0;
            network.map(format!("sum {n}"), copy, move |number| {
                sum += number;
                sum + n as u64
            })
        })
        .collect();
    let merged = network.merge_sorted("merge", sums);
    let _total = network.fold("total", merged, 0_u64, u64::max);
    network
}

#[test]
fn branches_of_a_source_that_fails_are_told_the_same_in_every_run() {
    let expected = told(&Schedule::sequential(64).run(branches()));
    assert!(expected.starts_with("failed\n  process `source` failed: the file is cut short"));
    everywhere(|schedule| {
        for _ in 0..4 {
            assert_eq!(told(&schedule.run(branches())), expected);
        }
    });
    // The branch whose mark `merge` reaches is the same in every run; the others had no reader then.
    insta::assert_snapshot!(expected, @r#"
    failed
      process `source` failed: the file is cut short (and with it `tee`, `sum 0`, `merge`, `total`)
    source: failed
    tee: failed with `source`, at `numbers`
    sum 0: failed with `tee`, at `tee 0`
    sum 1: pruned
    sum 2: pruned
    sum 3: pruned
    merge: failed with `sum 0`, at `sum 0`
    total: failed with `merge`, at `merge`
    FailureReport { process: "source", message: "the file is cut short", panicked: false, at: None, input: None, ended_with_it: ["tee", "sum 0", "merge", "total"], .. }
    "#);
}

#[test]
fn verify_finds_branches_of_a_source_that_fails_equal() {
    let verified = kahn::testing::Schedules::new().verify(|network| *network = branches());
    let verified = verified.expect("the same failures in every run");
    assert!(verified.to_string().contains("schedules"), "{verified}");
}

#[test]
fn a_failure_of_a_process_without_senders_counts() {
    everywhere(|schedule| {
        // (a) A sink that makes a channel and a process before it fails.
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 3);
        let spawner = network.spawner();
        network.process("sink", (numbers, spawner), async |(mut numbers, mut create)| {
            let (mut out, on) = create.channel::<u64>("on");
            create.process("child", on, async |mut on| while on.recv().await.is_some() {});
            while let Some(n) = numbers.recv().await {
                out.send(n).await;
            }
            Err::<(), _>("on purpose")
        });
        let report = schedule.run(network);
        assert_eq!((report.outcome, failed(&report)), (Summary::Failed, vec!["sink"]), "{report}");

        // (b) A process that has dropped its only sender.
        let mut network = Network::new();
        let ticks = count(&mut network, "ticks", 1);
        let (out, on) = network.channel::<u64>("on");
        network.process("drop", (ticks, out), async |(mut ticks, mut out)| {
            out.send(1).await;
            drop(out);
            ticks.recv().await;
            Err::<(), _>("on purpose")
        });
        let heard = listen(&mut network, "listen", on);
        let report = schedule.run(network);
        assert_eq!((report.outcome, failed(&report)), (Summary::Failed, vec!["drop"]), "{report}");
        assert!(heard.is_complete() && heard.all() == [1]);

        // (c) A mark that is reached by a process that has dropped its only sender.
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("fail", out, async |mut out| {
            out.send(1).await;
            Err::<(), _>("on purpose")
        });
        let (out, on) = network.channel::<u64>("on");
        network.process("reach", (numbers, out), async |(mut numbers, out)| {
            drop(out);
            while numbers.recv().await.is_some() {}
        });
        listen(&mut network, "listen", on);
        let report = schedule.run(network);
        assert_eq!((report.outcome, failed(&report)), (Summary::Failed, vec!["fail"]), "{report}");
        assert_eq!(report.failures[0].ended_with_it, [kahn::Name::from("reach")]);

        // (d) A process that has given its only sender to a child.
        let mut network = Network::new();
        let (out, on) = network.channel::<u64>("on");
        let spawner = network.spawner();
        network.process("give", (out, spawner), async |(out, mut create)| {
            create.process("child", out, async |mut out| out.send(1).await);
            Err::<(), _>("on purpose")
        });
        let heard = listen(&mut network, "listen", on);
        let report = schedule.run(network);
        assert_eq!((report.outcome, failed(&report)), (Summary::Failed, vec!["give"]), "{report}");
        assert!(heard.is_complete() && heard.all() == [1]);
    });
}

/// A process that sends and fails when it has no sender any more, and a reader that takes what it sends
/// and leaves.
fn fails_when_its_reader_has_left(way: Way) -> Network<'static> {
    let mut network = Network::new();
    let late = count(&mut network, "late", 1);
    let (out, on) = network.channel::<u64>("on");
    if way.blocks {
        network.blocking("fail", (late, out), move |(mut late, mut out)| {
            out.send_blocking(1);
            if way.operates {
                late.recv_blocking();
            }
            drop(out);
            late.recv_blocking();
            Err::<(), _>("on purpose")
        });
    } else {
        network.process("fail", (late, out), async move |(mut late, mut out)| {
            match way.form {
                0 => out.send(1).await,
                1 => out.send_all([1]).await,
                2 => out.send_batch(&mut vec![1]).await,
                _ => out.reserve().await.send(1),
            }
            if way.operates {
                late.recv().await;
            }
            drop(out);
            late.recv().await;
            Err::<(), _>("on purpose")
        });
    }
    network.process("leave", on, async |mut on| {
        on.recv().await;
    });
    network
}

#[derive(Clone, Copy)]
struct Way {
    form: u32,
    blocks: bool,
    /// It begins an operation, where it may be pruned, while it still has its sender.
    operates: bool,
}

#[test]
fn a_failure_counts_of_a_process_whose_reader_left_with_the_last_message() {
    everywhere(|schedule| {
        for (form, blocks) in [(0, false), (1, false), (2, false), (3, false), (0, true)] {
            let way = Way { form, blocks, operates: false };
            let report = schedule.run(fails_when_its_reader_has_left(way));
            let told = (report.outcome, failed(&report));
            assert_eq!(told, (Summary::Failed, vec!["fail"]), "form {form}, {blocks}: {report}");
        }
    });
}

#[test]
fn a_failure_of_a_process_that_may_be_pruned_before_it_drops_its_sender_is_told_in_no_run() {
    everywhere(|schedule| {
        for blocks in [false, true] {
            let way = Way { form: 0, blocks, operates: true };
            let report = schedule.run(fails_when_its_reader_has_left(way));
            assert_eq!((report.outcome, failed(&report)), (Summary::Finished, vec![]), "{report}");
            let ending = report.processes.iter().find(|process| process.name == "fail");
            assert_eq!(ending.map(|process| &process.ending), Some(&ProcessEnd::Pruned));
        }
    });
}

/// What a process does with both ends of a channel before it fails.
#[derive(Clone, Copy, Debug)]
enum Own {
    DropsSender,
    DropsReceiverFirst,
    Holds,
}

#[test]
fn a_failure_counts_of_a_process_that_is_its_own_reader() {
    everywhere(|schedule| {
        for own in [Own::DropsSender, Own::DropsReceiverFirst, Own::Holds] {
            let mut network = Network::new();
            let (out, on) = network.channel_with(kahn::Channel::named("own").initial([1_u64]));
            network.process("fail", (out, on), async move |(out, mut on)| {
                on.recv().await;
                match own {
                    Own::DropsSender => drop(out),
                    Own::DropsReceiverFirst => drop((on, out)),
                    Own::Holds => return Err("on purpose"),
                }
                kahn::yield_now().await;
                Err("on purpose")
            });
            let report = schedule.run(network);
            let told = (report.outcome, failed(&report));
            assert_eq!(told, (Summary::Failed, vec!["fail"]), "{own:?}: {report}");
            assert_eq!(report.processes[0].ending, ProcessEnd::Failed, "{own:?}");
        }
    });
}

#[test]
fn a_failure_counts_whose_mark_a_process_reaches_that_is_its_own_reader() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("fail", out, async |mut out| {
            out.send(1).await;
            Err::<(), _>("on purpose")
        });
        let (state_out, state) = network.channel_with(kahn::Channel::named("state").initial([0]));
        let ports = (numbers, state, state_out);
        network.process("sum", ports, async |(mut numbers, mut state, mut out)| {
            while let Some(n) = numbers.recv().await {
                out.send(n + state.recv().await.unwrap_or(0)).await;
            }
        });
        let report = schedule.run(network);
        assert_eq!((report.outcome, failed(&report)), (Summary::Failed, vec!["fail"]), "{report}");
        assert_eq!(report.failures[0].ended_with_it, [kahn::Name::from("sum")]);
    });
}

/// `relay` sees the end of `fail`, sends a last message, and ends; its reader takes that and leaves.
#[test]
fn a_failure_counts_whose_end_was_seen_before_a_message_that_was_received() {
    everywhere(|schedule| {
        for fails in [false, true] {
            let mut network = Network::new();
            let late = count(&mut network, "late", 1);
            let (out, numbers) = network.channel::<u64>("numbers");
            network.process("fail", (late, out), async |(mut late, mut out)| {
                out.send(1).await;
                drop(out);
                late.recv().await;
                Err::<(), _>("on purpose")
            });
            let (out, sums) = network.channel::<u64>("sums");
            network.process("relay", (numbers, out), async move |(mut numbers, mut out)| {
                let mut sum = 0;
                while let Some(n) = numbers.recv().await {
                    sum += n;
                }
                out.send(sum).await;
                if fails { Err("on purpose, too") } else { Ok(()) }
            });
            network.process("leave", sums, async |mut sums| {
                assert_eq!(sums.recv().await, Some(1));
            });
            let report = schedule.run(network);
            let told = (report.outcome, failed(&report));
            assert_eq!(told, (Summary::Failed, vec!["fail"]), "{report}");
            let relay = report.processes.iter().find(|process| process.name == "relay");
            // It still had a sender, whose mark nobody reached.
            let ending = if fails { ProcessEnd::Pruned } else { ProcessEnd::Finished };
            assert_eq!(relay.map(|relay| &relay.ending), Some(&ending));
        }
    });
}

#[test]
fn a_failure_deep_in_networks_within_networks_is_told_in_one_line() {
    fn nest(depth: usize) -> Network<'static> {
        let mut network = Network::new();
        network.blocking(format!("depth {depth}"), (), move |()| {
            if depth == 5 {
                return Err("no number".to_owned());
            }
            let inner = nest(depth + 1).run_with(Options::new().workers(1));
            inner.map(|_| ()).map_err(|error| error.to_string())
        });
        network
    }
    let error = nest(1).run_with(Options::new().workers(1)).expect_err("it fails");
    insta::assert_snapshot!(error, @"process `depth 1` failed: process `depth 2` failed: process `depth 3` failed: process `depth 4` failed: process `depth 5` failed: no number");
}

#[test]
fn a_panic_is_told_with_its_place_and_its_message_as_data() {
    everywhere(|schedule| {
        for blocks in [true, false] {
            let mut network = Network::new();
            // What is caught is no failure, and not the place of one.
            let body = || {
                let _ = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(())));
                let zero = std::hint::black_box(0_u64);
                assert_eq!(zero, 1, "on purpose");
            };
            let line = line!() - 2;
            if blocks {
                network.blocking("panic", (), move |()| body());
            } else {
                network.process("panic", (), async move |()| body());
            }
            let report = schedule.run(network);
            let FailureReport { message, panicked, at, .. } = &report.failures[0];
            assert!(*panicked && message.contains("on purpose"));
            let at = at.as_ref().expect("the hook was told");
            let place = format!("telling.rs:{line}:17");
            assert!(at.ends_with(&place), "{at} is not at {place}");
            let told = report.failures[0].to_string();
            assert_eq!(
                told,
                format!("process `panic` panicked at {at}"),
                "the hook has printed it"
            );
        }
    });
}

/// The payload of a panic, and an error, whose destructor panics.
struct Sore;

impl Drop for Sore {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("in the destructor of a payload"));
    }
}

impl std::fmt::Display for Sore {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::panic::resume_unwind(Box::new("in the text of an error"))
    }
}

#[test]
fn a_payload_whose_destructor_panics_is_the_failure_of_its_process_alone() {
    everywhere(|schedule| {
        for blocks in [true, false] {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            if blocks {
                network.blocking("sore", out, |mut out| -> () {
                    out.send_blocking(1);
                    std::panic::resume_unwind(Box::new(Silent(Sore)))
                });
            } else {
                network.process("sore", out, async |mut out| -> () {
                    out.send(1).await;
                    std::panic::resume_unwind(Box::new(Silent(Sore)))
                });
            }
            let heard = listen(&mut network, "listen", numbers);
            let other = count(&mut network, "other", 100);
            let others = listen(&mut network, "others", other);
            let report = schedule.run(network);
            assert_eq!(failed(&report), ["sore"], "{report}");
            assert_eq!(report.failures[0].message, "a panic without a text");
            assert_eq!(report.processes[0].ending, ProcessEnd::Panicked);
            assert!(heard.all() == [1] && !heard.is_complete());
            assert_eq!(others.all().len(), 100);
        }
    });
}

/// Neither a text nor a string.
struct Silent(Sore);

#[test]
fn an_error_whose_text_panics_is_the_failure_of_its_process_alone() {
    everywhere(|schedule| {
        for blocks in [true, false] {
            let mut network = Network::new();
            // The text panics first; a destructor that panics then as well would end the program.
            let sore = || Err::<(), _>(Text(std::mem::ManuallyDrop::new(Sore)));
            if blocks {
                network.blocking("sore", (), move |()| sore());
            } else {
                network.process("sore", (), async move |()| sore());
            }
            let report = schedule.run(network);
            assert_eq!(failed(&report), ["sore"], "{report}");
            assert_eq!(report.failures[0].message, "in the text of an error");
        }
    });
}

struct Text(std::mem::ManuallyDrop<Sore>);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Text")
    }
}

impl std::error::Error for Text {}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
