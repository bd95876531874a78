//! Errors and panics, at every point of a process; what ends with what; what counts.

use super::schedules::{Heard, Schedule, count, everywhere, listen};
use kahn::{Network, Process, Report, Summary};

/// How a process ends early.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Error,
    Panic,
}

const WAYS: [Way; 2] = [Way::Error, Way::Panic];

impl Way {
    fn go(self) -> Result<(), String> {
        match self {
            Self::Error => Err("on purpose".to_owned()),
            Self::Panic => {
                // Silent: no hook prints what a test does on purpose.
                std::panic::resume_unwind(Box::new("on purpose"))
            }
        }
    }
}

fn endings(report: &Report) -> Vec<String> {
    report.processes.iter().map(|process| format!("{}: {}", process.name, process.ending)).collect()
}

/// What the process does last before it fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Point {
    LastSend,
    Drop,
    DropAndRecv,
    DropAndYield,
    DropAndFlush,
}

fn failing(schedule: &Schedule, way: Way, point: Point) -> (Report, Heard<u64>) {
    let mut network = Network::new();
    let ticks = count(&mut network, "ticks", 3);
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("fail", (ticks, out), async move |(mut ticks, mut out)| {
        for n in 0..5 {
            out.send(n).await;
        }
        if point != Point::LastSend {
            drop(out);
        }
        if point == Point::DropAndRecv {
            ticks.recv().await;
        }
        if point == Point::DropAndFlush {
            ticks.flush().await;
        }
        if point == Point::DropAndYield {
            kahn::yield_now().await;
        }
        way.go()
    });
    let heard = listen(&mut network, "listen", numbers);
    (schedule.run(network), heard)
}

#[test]
fn a_failure_directly_after_the_last_send_is_no_clean_end() {
    everywhere(|schedule| {
        for way in WAYS {
            for point in [Point::LastSend, Point::Drop] {
                let (report, heard) = failing(schedule, way, point);
                assert_eq!(report.outcome, Summary::Failed, "{point:?}");
                assert_eq!(heard.all(), [0, 1, 2, 3, 4], "{point:?}");
                assert!(!heard.is_complete(), "a failure looked like an end: {point:?}");
                assert_eq!(report.failures.len(), 1);
                let failure = &report.failures[0];
                assert_eq!((failure.process.as_str(), &*failure.message), ("fail", "on purpose"));
                assert_eq!(failure.panicked, way == Way::Panic);
                let with: Vec<_> = failure.ended_with_it.iter().map(kahn::Name::as_str).collect();
                assert_eq!(with, ["listen"]);
            }
        }
    });
}

#[test]
fn a_drop_that_has_taken_effect_is_a_clean_end_whatever_comes_after() {
    everywhere(|schedule| {
        for way in WAYS {
            for point in [Point::DropAndRecv, Point::DropAndYield, Point::DropAndFlush] {
                let (report, heard) = failing(schedule, way, point);
                assert_eq!(heard.all(), [0, 1, 2, 3, 4], "{point:?}");
                assert!(heard.is_complete(), "{point:?}");
                // It has no sender any more, so nothing could have ended it before.
                assert_eq!(report.outcome, Summary::Failed, "{point:?}");
                let failed: Vec<_> = report.failures.iter().map(|f| f.process.as_str()).collect();
                assert_eq!(failed, ["fail"], "{point:?}");
                assert!(report.failures[0].ended_with_it.is_empty());
            }
        }
    });
}

#[test]
fn a_failure_goes_downstream_and_everything_else_runs_to_its_end() {
    everywhere(|schedule| {
        for way in WAYS {
            let mut network = Network::new();
            let good = count(&mut network, "good", 50);
            let bad = count(&mut network, "bad", 50);
            let (out, numbers) = network.channel("numbers");
            network.process("fail", (bad, out), async move |(mut bad, mut out)| {
                while let Some(n) = bad.recv().await {
                    if n == 7 {
                        return way.go();
                    }
                    out.send(n).await;
                }
                Ok(())
            });
            let (pairs_out, pairs) = network.channel("pairs");
            let ports = (numbers, good, pairs_out);
            network.process("pair", ports, async |(mut numbers, mut good, mut pairs)| {
                while let (Some(a), Some(b)) = (numbers.recv().await, good.recv().await) {
                    pairs.send((a, b)).await;
                }
            });
            let heard = listen(&mut network, "listen", pairs);
            let other = count(&mut network, "other", 100);
            let others = listen(&mut network, "others", other);
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Failed);
            assert_eq!(heard.all(), (0..7).map(|n| (n, n)).collect::<Vec<_>>());
            assert!(!heard.is_complete());
            assert_eq!(others.all().len(), 100);
            assert!(others.is_complete());
            let failed = if way == Way::Panic { "panicked" } else { "failed" };
            let endings = endings(&report);
            assert!(endings.contains(&format!("fail: {failed}")), "{endings:?}");
            let pair = "pair: failed with `fail`, at `numbers`".to_owned();
            assert!(endings.contains(&pair), "{endings:?}");
            let listen = "listen: failed with `pair`, at `pairs`".to_owned();
            assert!(endings.contains(&listen), "{endings:?}");
        }
    });
}

#[test]
fn a_failure_that_no_recv_reaches_is_not_told_and_changes_nothing() {
    everywhere(|schedule| {
        for way in WAYS {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            let ticks = count(&mut network, "ticks", 10);
            network.process("fail", (ticks, out), async move |(mut ticks, mut out)| {
                out.send(1).await;
                // Fails before its next operation: whether the reader is gone is not its affair.
                let _ = &mut ticks;
                way.go()
            });
            network.process("read one", numbers, async |mut numbers| {
                assert_eq!(numbers.recv().await, Some(1));
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
            assert!(report.failures.is_empty());
            assert!(!report.to_json().contains("on purpose"), "{report}");
            assert!(endings(&report).contains(&"fail: pruned".to_owned()), "{report}");
        }
    });
}

#[test]
fn a_failure_with_effects_or_without_senders_always_counts() {
    everywhere(|schedule| {
        for way in WAYS {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            network
                .process_with(Process::named("effects").effects(), out, async move |_out| way.go());
            network.process("read nothing", numbers, async |_numbers| {});
            network.process("no senders", (), async move |()| way.go());
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Failed);
            let failed: Vec<_> = report.failures.iter().map(|f| f.process.as_str()).collect();
            assert_eq!(failed, ["effects", "no senders"]);
        }
    });
}

#[test]
fn a_failure_that_only_a_prunable_process_could_reach_does_not_depend_on_the_schedule() {
    // `middle` is ended by the mark of `fail` or, because nobody reads it, pruned: which of the two
    // comes first is a matter of the schedule, so the outcome must not tell.
    everywhere(|schedule| {
        for way in WAYS {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            network.process("fail", out, async move |mut out| {
                for n in 0..10 {
                    out.send(n).await;
                }
                way.go()
            });
            let (on, rest) = network.channel::<u64>("rest");
            network.process("middle", (numbers, on), async |(mut numbers, mut on)| {
                while let Some(n) = numbers.recv().await {
                    on.send(n).await;
                }
            });
            network.process("read one", rest, async |mut rest| {
                assert_eq!(rest.recv().await, Some(0));
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Finished, "{report}");
        }
    });
}

#[test]
fn a_panic_in_a_destructor_of_a_process_is_its_failure() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                std::panic::resume_unwind(Box::new("in a destructor"));
            }
        }
    }
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("bomb", out, async |mut out| {
            let _bomb = Bomb;
            out.send(1).await;
        });
        let heard = listen(&mut network, "listen", numbers);
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed);
        assert_eq!(heard.all(), [1]);
        assert!(!heard.is_complete());
        assert_eq!(report.failures[0].message, "in a destructor");
    });
}

#[test]
fn a_reader_of_two_failed_sources_ends_with_the_mark_it_reaches_first() {
    // Two failed sources: the reader ends with the one whose mark it reaches first, in every run.
    everywhere(|schedule| {
        let mut network = Network::new();
        let mut sources = Vec::new();
        for (name, count) in [("three", 3_u64), ("two", 2)] {
            let (out, numbers) = network.channel::<u64>(name);
            network.process(name, out, async move |mut out| {
                for n in 0..count {
                    out.send(n).await;
                }
                Err::<(), _>("on purpose")
            });
            sources.push(numbers);
        }
        network.process("read", sources, async |mut sources| {
            for _ in 0..10 {
                for source in &mut sources {
                    source.recv().await;
                }
            }
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed);
        assert_eq!(report.failures.len(), 1);
        assert_eq!(report.failures[0].process.as_str(), "two");
        assert_eq!(endings(&report)[0], "three: pruned", "its reader left before its end");
    });
}

/// Says that it was dropped.
struct Dropped(Heard<u64>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.push(u64::MAX);
    }
}

#[test]
fn a_blocking_process_ends_at_the_mark_of_a_failure_and_passes_it_on() {
    everywhere(|schedule| {
        for way in WAYS {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            network.process("fail", out, async move |mut out| {
                for n in 0..3 {
                    out.send(n).await;
                }
                way.go()
            });
            let (copies_out, copies) = network.channel::<u64>("copies");
            let unwound = Heard::default();
            let dropped = Dropped(unwound.clone());
            network.blocking("block", (numbers, copies_out), move |(mut numbers, mut copies)| {
                let dropped = dropped;
                while let Some(n) = numbers.recv_blocking() {
                    copies.send_blocking(n);
                }
                // The mark is no end of the stream: nobody comes here.
                dropped.0.push(0);
            });
            let heard = listen(&mut network, "listen", copies);
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Failed);
            assert_eq!(heard.all(), [0, 1, 2]);
            assert!(!heard.is_complete(), "a failure looked like an end");
            assert_eq!(unwound.all(), [u64::MAX], "unwound, its values dropped once");
            assert_eq!(report.failures.len(), 1);
            let failure = &report.failures[0];
            assert_eq!(failure.process.as_str(), "fail");
            assert_eq!(failure.panicked, way == Way::Panic);
            let with: Vec<_> = failure.ended_with_it.iter().map(kahn::Name::as_str).collect();
            assert_eq!(with, ["block", "listen"]);
        }
    });
}

#[test]
fn a_failure_whose_mark_nobody_reaches_does_not_count_though_a_reader_holds_on() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("fail", out, async |_out| Err::<(), _>("on purpose"));
        network.process("hold on", numbers, async |_numbers| std::future::pending::<()>().await);
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock);
        assert!(report.failures.is_empty(), "{report}");
    });
}

#[test]
fn a_failure_counts_whose_clean_end_was_seen_by_a_process_that_handed_the_receiver_on() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let ticks = count(&mut network, "ticks", 3);
        let (out, numbers) = network.channel::<u64>("numbers");
        let (seen_out, seen) = network.channel::<u64>("seen");
        network.process("fail", (ticks, out, seen), async |(mut ticks, out, mut seen)| {
            drop(out);
            ticks.recv().await;
            seen.recv().await;
            Err::<(), _>("on purpose")
        });
        let ports = (numbers, seen_out, network.spawner());
        network.process("see", ports, async |(mut numbers, mut seen, mut spawner)| {
            assert_eq!(numbers.recv().await, None);
            seen.send(1).await;
            let (on, nobody) = spawner.channel::<u64>("on");
            spawner.process("take over", (numbers, on), async |_ends| {});
            drop(nobody);
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed, "{report}");
        assert_eq!(report.failures[0].process.as_str(), "fail");
    });
}
