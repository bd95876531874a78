//! The ordered farm is a map: nothing but time tells how many messages it works on at once.

use super::schedules::{Heard, Schedule, count, everywhere, listen};
use kahn::testing::{Schedules, VerifyError};
use kahn::{BoxError, Channel, Network, Options, Process, ProcessEnd, Report, Summary};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::yield_now;

/// Helpers and windows: one of each, fewer and more helpers than the window has room for.
const SHAPES: [(usize, usize); 5] = [(1, 1), (2, 1), (1, 5), (3, 4), (8, 64)];

fn endings(report: &Report) -> Vec<String> {
    report.processes.iter().map(|process| format!("{}: {}", process.name, process.ending)).collect()
}

/// What a report tells that must not depend on the schedule.
fn told(report: &Report) -> (Vec<String>, Vec<String>, (u64, u64)) {
    let channels = report.channels.iter();
    let channels =
        channels.map(|channel| format!("{}: {}, {}", channel.name, channel.sent, channel.received));
    (endings(report), channels.collect(), report.created)
}

#[test]
fn it_does_what_a_map_does_and_tells_the_same() {
    everywhere(|schedule| {
        let run = |shape: Option<(usize, usize)>| {
            let mut network = Network::new();
            let numbers = count(&mut network, "numbers", 70);
            let squares = match shape {
                None => network.map("square", numbers, |n| n * n),
                Some((n, window)) => network.ordered_map("square", numbers, n, window, |n| n * n),
            };
            let heard = listen(&mut network, "listen", squares);
            assert_eq!(network.size(), (3, 2));
            assert_eq!(network.dot().matches(" -> ").count(), 2);
            assert_eq!(network.dot().matches("square").count(), 2, "a box and an arrow");
            let report = schedule.finish(network);
            assert!(heard.is_complete());
            (heard.all(), told(&report))
        };
        let map = run(None);
        assert_eq!(map.0, (0..70).map(|n| n * n).collect::<Vec<_>>());
        for shape in SHAPES {
            assert_eq!(run(Some(shape)), map, "{shape:?}");
        }
    });
}

#[test]
fn no_more_than_n_at_once_and_no_more_than_a_window_in_flight() {
    everywhere(|schedule| {
        for (n, window) in SHAPES {
            let (begun, inside) = (AtomicU64::new(0), AtomicUsize::new(0));
            let taken = AtomicU64::new(0);
            let mut network = Network::new();
            let numbers = count(&mut network, "numbers", 100);
            let (room, window_) = (u64::from(schedule.capacity), window as u64);
            let mapped = network.ordered_map("map", numbers, n, window, |item| {
                assert!(inside.fetch_add(1, SeqCst) < n, "more than {n} at once");
                // What was taken is out of the farm; what stands in the channel behind it as well, and one
                // that the reader has taken and not counted yet.
                let ahead = begun.fetch_add(1, SeqCst) + 1 - taken.load(SeqCst);
                assert!(ahead <= window_ + room + 1, "{ahead} in flight");
                if item.is_multiple_of(7) {
                    yield_now();
                }
                inside.fetch_sub(1, SeqCst);
                item
            });
            let (taken, all) = (&taken, Heard::default());
            let tell = all.clone();
            network.for_each("take", mapped, move |item| {
                taken.fetch_add(1, SeqCst);
                tell.push(item);
            });
            schedule.finish(network);
            assert_eq!(all.all(), (0..100).collect::<Vec<_>>(), "{n} of {window}");
        }
    });
}

#[test]
fn a_slow_item_holds_up_no_other_of_its_window() {
    everywhere(|schedule| {
        // Somebody else must be able to do the others.
        let shares = matches!(schedule.policy, "stealing" | "shared" | "threads");
        if !shares || (schedule.workers < 2 && schedule.policy != "threads") {
            return;
        }
        let window = 6;
        let done = AtomicU64::new(0);
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 20);
        let mapped = network.ordered_map("map", numbers, 2, window, |item| {
            if item == 0 {
                while done.load(SeqCst) < window as u64 - 1 {
                    yield_now();
                }
            }
            done.fetch_add(1, SeqCst);
            item
        });
        let heard = listen(&mut network, "listen", mapped);
        schedule.finish(network);
        assert_eq!(heard.all(), (0..20).collect::<Vec<_>>());
    });
}

/// A farm whose function fails for one item, by an error or a panic.
fn failing(
    schedule: &Schedule,
    shape: (usize, usize),
    at: u64,
    panics: bool,
) -> (Report, Vec<u64>) {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 30);
    let mapped = network.try_ordered_map("map", numbers, shape.0, shape.1, move |item| {
        match item == at {
            // Silent: no hook prints what a test does on purpose.
            true if panics => resume_unwind(Box::new("on purpose")),
            true => Err("on purpose".into()),
            false => Ok(item),
        }
    });
    let heard = listen(&mut network, "listen", mapped);
    let report = schedule.run(network);
    assert!(!heard.is_complete(), "a failure looked like an end");
    (report, heard.all())
}

#[test]
fn a_failure_is_told_after_the_results_before_it_and_instead_of_all_behind_it() {
    everywhere(|schedule| {
        for shape in [(1, 1), (3, 4), (8, 64)] {
            for (at, panics) in [(0, false), (5, true), (17, false), (29, true)] {
                let (report, heard) = failing(schedule, shape, at, panics);
                assert_eq!(report.outcome, Summary::Failed);
                assert_eq!(heard, (0..at).collect::<Vec<_>>());
                assert_eq!(report.failures.len(), 1);
                let failure = &report.failures[0];
                assert_eq!((failure.process.as_str(), &*failure.message), ("map", "on purpose"));
                assert_eq!(
                    (failure.panicked, &*failure.ended_with_it),
                    (panics, &["listen".into()][..])
                );
                let input = failure.input.as_ref().map(|at| (at.channel.as_str(), at.number));
                assert_eq!(input, (!panics).then_some(("numbers", at + 1)));
                let how = if panics { "panicked" } else { "failed" };
                assert_eq!(
                    endings(&report)[1..],
                    [format!("map: {how}"), "listen: failed with `map`, at `map`".to_owned(),]
                );
            }
        }
    });
}

#[test]
fn a_panic_is_told_with_its_place() {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 3);
    let mapped = network.ordered_map("map", numbers, 2, 2, |item| {
        assert!(item != 1, "no ones");
        item
    });
    network.for_each("ignore", mapped, |_| {});
    let error = network.run().expect_err("one panics");
    let failure = &error.report().expect("it ran").failures[0];
    assert_eq!(failure.message, "no ones");
    assert!(failure.at.as_ref().is_some_and(|at| at.contains("farm.rs")), "{:?}", failure.at);
}

#[test]
fn if_its_input_fails_all_results_before_are_sent() {
    everywhere(|schedule| {
        for (n, window) in SHAPES {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            network.process("fail", out, async |mut out| {
                out.send_all(0..23).await;
                Err::<(), _>("on purpose")
            });
            let mapped = network.ordered_map("map", numbers, n, window, |item| item + 1);
            let heard = listen(&mut network, "listen", mapped);
            let report = schedule.run(network);
            assert_eq!(heard.all(), (1..24).collect::<Vec<_>>());
            assert!(!heard.is_complete());
            assert_eq!(
                endings(&report),
                [
                    "fail: failed",
                    "map: failed with `fail`, at `numbers`",
                    "listen: failed with `map`, at `map`",
                ]
            );
            assert_eq!(report.failures.len(), 1);
            assert_eq!(report.failures[0].ended_with_it, ["map", "listen"]);
        }
    });
}

#[test]
fn a_reader_that_leaves_ends_it_and_what_it_reads() {
    everywhere(|schedule| {
        for (n, window) in SHAPES {
            let begun = AtomicU64::new(0);
            let mut network = Network::new();
            let numbers = network.source("numbers", 0_u64..);
            let mapped = network.ordered_map("map", numbers, n, window, |item| {
                begun.fetch_add(1, SeqCst);
                item
            });
            network.process("leave", mapped, async |mut mapped| {
                for n in 0..10 {
                    assert_eq!(mapped.recv().await, Some(n));
                }
            });
            let report = schedule.finish(network);
            assert_eq!(endings(&report), ["numbers: pruned", "map: pruned", "leave: finished"]);
            // The ten, what has room behind it, and a window.
            let most = 10 + u64::from(schedule.capacity) + 1 + window as u64;
            assert!(begun.into_inner() <= most, "it went on");
        }
    });
}

#[test]
fn a_reader_that_leaves_ends_it_within_an_item_a_worker() {
    everywhere(|schedule| {
        let shapes = SHAPES.into_iter().flat_map(|(n, window)| [(n, window), (n, 50 * window)]);
        for (n, window) in shapes {
            let (left, after) = (AtomicU64::new(0), AtomicU64::new(0));
            let (left, after) = (&left, &after);
            let mut network = Network::new();
            let numbers = network.source("numbers", 0_u64..);
            let mapped = network.ordered_map("map", numbers, n, window, move |item| {
                after.fetch_add(left.load(SeqCst), SeqCst);
                item
            });
            let leave = Process::named("leave").effects();
            network.process_with(leave, mapped, async move |mut mapped| {
                for n in 0..10 {
                    assert_eq!(mapped.recv().await, Some(n));
                }
                drop(mapped);
                // Here the end takes effect.
                kahn::yield_now().await;
                left.store(1, SeqCst);
            });
            schedule.finish(network);
            let workers = if schedule.policy == "threads" { n } else { schedule.workers };
            let after = after.load(SeqCst);
            assert!(after <= n.min(workers) as u64, "{n} of {window}: {after} begun after that");
        }
    });
}

#[test]
fn a_stop_ends_it_within_an_item_a_helper() {
    everywhere(|schedule| {
        for (n, window) in SHAPES {
            let (stopped, after) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut network = Network::new();
            let stop = network.stop_handle();
            let (stopped, after) = (&stopped, &after);
            let numbers = network.source("numbers", 0_u64..);
            let mapped = network.ordered_map("map", numbers, n, window, move |item| {
                after.fetch_add(stopped.load(SeqCst), SeqCst);
                if item == 20 {
                    stop.stop();
                    stopped.store(1, SeqCst);
                }
                item
            });
            let heard = listen(&mut network, "listen", mapped);
            assert_eq!(schedule.run(network).outcome, Summary::Stopped);
            assert!(!heard.is_complete());
            assert!(after.load(SeqCst) < n as u64, "helpers went on");
        }
    });
}

/// Counts the values that live.
struct Counted<'a>(u64, &'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(number: u64, alive: &'a AtomicUsize) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(number, alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

#[test]
fn every_item_and_every_result_is_dropped_once_however_it_ends() {
    everywhere(|schedule| {
        for at in [3, 40] {
            for leaves in [false, true] {
                let alive = AtomicUsize::new(0);
                let mut network = Network::new();
                let (out, items) = network.channel("items");
                network.process("make", out, async |mut out| {
                    for n in 0..50 {
                        out.send(Counted::new(n, &alive)).await;
                    }
                });
                let made = network.ordered_map_with(
                    "map",
                    items,
                    3,
                    8,
                    || Counted::new(0, &alive),
                    |_memory, item| {
                        if item.0 == at && !leaves {
                            resume_unwind(Box::new("on purpose"));
                        }
                        Counted::new(item.0, &alive)
                    },
                );
                network.process("take", made, async move |mut made| {
                    while let Some(made) = made.recv().await {
                        if made.0 == at && leaves {
                            return;
                        }
                    }
                });
                let report = schedule.run(network);
                assert_eq!(report.outcome == Summary::Failed, !leaves);
                assert_eq!(alive.into_inner(), 0);
            }
        }
    });
}

#[test]
fn rings_through_it_grow_and_its_window_does_not() {
    everywhere(|schedule| {
        for (n, window) in [(1, 1), (3, 4)] {
            let (begun, at_first) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut network = Network::new();
            let (held_out, held) = network.channel("held");
            let (first_out, first) = network.channel("first");
            network.process("split", (held_out, first_out), async |(mut held, mut first)| {
                held.send_all(0..200_u64).await;
                first.send(200).await;
            });
            let held = network.ordered_map("map", held, n, window, |item| {
                begun.fetch_add(1, SeqCst);
                item
            });
            let heard = Heard::default();
            let (tell, begun, at_first) = (heard.clone(), &begun, &at_first);
            network.process("join", (held, first), async move |(mut held, mut first)| {
                while let Some(n) = first.recv().await {
                    at_first.store(begun.load(SeqCst), SeqCst);
                    tell.push(n);
                }
                while let Some(n) = held.recv().await {
                    tell.push(n);
                }
            });
            let report = schedule.finish(network);
            assert_eq!(heard.all(), std::iter::once(200).chain(0..200).collect::<Vec<_>>());
            // Nothing was taken before that: what had begun was in its window, or in the channel behind it.
            let behind = report.channels.iter().find(|channel| channel.name == "map");
            let room = behind.map_or(0, |channel| u64::from(channel.capacity));
            assert!(at_first.load(SeqCst) <= window as u64 + room);
        }
    });
}

#[test]
fn a_deadlock_through_it_is_told_as_that_of_a_map() {
    everywhere(|schedule| {
        let run = |farm: bool| {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("back");
            let mapped = if farm {
                network.ordered_map("map", numbers, 3, 4, |item| item)
            } else {
                network.map("map", numbers, |item| item)
            };
            network.process("wait", (mapped, out), async |(mut mapped, mut out)| {
                while let Some(n) = mapped.recv().await {
                    out.send(n).await;
                }
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Deadlock);
            (endings(&report), report.explanation())
        };
        assert_eq!(run(true), run(false));
    });
}

#[test]
fn what_is_in_flight_counts_in_the_budget() {
    everywhere(|schedule| {
        // Nothing is taken before all is sent: the window holds thirty texts, and channels that grow
        // the others.
        let run = |budget| {
            let mut network = Network::new();
            let (held_out, held) = network.channel("held");
            let (first_out, first) = network.channel("first");
            network.process("split", (held_out, first_out), async |(mut held, mut first)| {
                held.send_all((0..40).map(|_| "x".repeat(1000))).await;
                first.send(()).await;
            });
            let held = network.ordered_map("map", held, 2, 30, |text| text);
            network.process("join", (held, first), async |(mut held, mut first)| {
                first.recv().await;
                while held.recv().await.is_some() {}
            });
            crate::schedules::run(network, schedule.options().capacity(1).budget(budget))
        };
        let report = run(1 << 20);
        assert_eq!(report.outcome, Summary::Finished);
        assert!(report.most_bytes >= 30_000, "{} bytes", report.most_bytes);
        assert_eq!(run(30_000).outcome, Summary::OverBudget);
    });
}

#[test]
fn memory_is_made_for_each_of_n_at_most_and_used_again() {
    everywhere(|schedule| {
        for (n, window) in SHAPES {
            let made = AtomicUsize::new(0);
            let mut network = Network::new();
            let numbers = count(&mut network, "numbers", 100);
            let make = || {
                made.fetch_add(1, SeqCst);
                Vec::new()
            };
            let lengths =
                network.ordered_map_with("map", numbers, n, window, make, |buffer, item| {
                    buffer.clear();
                    buffer.extend(0..item);
                    buffer.len() as u64
                });
            let heard = listen(&mut network, "listen", lengths);
            schedule.finish(network);
            assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
            assert!((1..=n).contains(&made.into_inner()));
        }
    });
}

#[test]
fn verify_finds_memory_that_influences_results() {
    let verified = Schedules::new().workers([1, 2, 3]).verify(|network| {
        let numbers = network.source("numbers", 0..200_u64);
        // Planted: the result tells how many items this memory has seen.
        let counts = network.ordered_map_with(
            "planted",
            numbers,
            3,
            8,
            || 0_u64,
            |seen, item| {
                *seen += 1;
                item + *seen
            },
        );
        network.for_each("take", counts, |_| {});
    });
    let Err(VerifyError::Differs(difference)) = verified else { panic!("not found: {verified:?}") };
    assert!(difference.to_string().contains("planted"), "{difference}");
}

#[test]
fn verify_finds_memory_that_influences_results_by_how_many_there_are() {
    for is_planted in [false, true] {
        let verified = Schedules::new().workers([1, 3]).seeds([1]).verify_parts(
            [2, 3, 8],
            |network, parts| {
                let numbers = network.source("numbers", 0..40_u64);
                let make = || 0_u64;
                let counts =
                    network.parallel_map_with("map", numbers, parts, make, move |seen, item| {
                        // Planted: each memory counts for itself.
                        *seen += u64::from(is_planted);
                        item + *seen
                    });
                network.collect("all", counts)
            },
            |all| all.take(),
            |_| {},
        );
        match verified {
            Ok(verified) => {
                assert!(!is_planted, "not found");
                assert_eq!(verified.result, Some((0..40).collect()));
            }
            Err(error) => {
                assert!(is_planted, "{error}");
                assert!(matches!(error, VerifyError::Parts { .. }), "{error}");
                // Of two memories, the first meets the third message as its second one; of three, the third as its first.
                let named = "message 3 on channel `map gather`, written by process `map gather`";
                assert!(error.to_string().contains(named), "{error}");
            }
        }
    }
}

#[test]
fn the_options_do_not_change_its_window() {
    let (begun, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut network = Network::new();
    let (out, numbers) = network.channel_with(Channel::named("numbers").capacity(1));
    network.process("numbers", out, async |mut out| out.send_all(0..500_u64).await);
    let mapped = network.ordered_map("map", numbers, 2, 3, |item| {
        let ahead = begun.fetch_add(1, SeqCst) + 1 - taken.load(SeqCst);
        assert!(ahead <= 3 + 64 + 1, "{ahead} in flight");
        item
    });
    network.for_each("take", mapped, |_| {
        taken.fetch_add(1, SeqCst);
    });
    let report = network.run_with(Options::new().capacity(64)).expect("it finishes");
    assert!(report.processes.iter().all(|process| process.ending == ProcessEnd::Finished));
}

#[test]
fn forms_that_may_fail_tell_the_message_under_every_schedule() {
    for is_ordered in [false, true] {
        let verified = Schedules::new().workers([1, 3]).seeds([1]).verify(|network| {
            let numbers = network.source("numbers", 0..40_u64);
            let f = |cleared: &mut Vec<u64>, item: u64| {
                cleared.clear();
                cleared.push(item);
                if item == 25 { Err(BoxError::from("no 25")) } else { Ok(cleared[0]) }
            };
            let mapped = if is_ordered {
                network.try_ordered_map_with("map", numbers, 3, 8, Vec::new, f)
            } else {
                network.try_parallel_map_with("map", numbers, 3, Vec::new, f)
            };
            network.for_each("take", mapped, |_| {});
        });
        let report = verified.expect("all runs fail alike").report;
        let [failure] = &report.failures[..] else { panic!("{:?}", report.failures) };
        // Of three, the one with index 1 has the items 1, 4, 7, …
        let at = if is_ordered {
            "`map` failed at message 26 of `numbers`"
        } else {
            "`map 1` failed at message 9 of `map scatter 1`"
        };
        assert!(failure.to_string().contains(at), "{failure}");
        let taken = report.channels.iter().find(|channel| channel.to == Some("take".into()));
        assert_eq!(taken.expect("it reads").received, 25);
    }
}

#[test]
fn what_no_process_reads_ends_at_once() {
    everywhere(|schedule| {
        for is_first in [false, true] {
            let mut network = Network::new();
            let numbers = network.source("numbers", 0_u64..);
            let ports = (numbers, network.spawner());
            network.process("author", ports, async move |(numbers, mut create)| {
                let mapped = create.ordered_map("map", numbers, 3, 8, |item| item);
                if is_first {
                    // It runs before its reader leaves.
                    kahn::yield_now().await;
                }
                drop(mapped);
            });
            let report = schedule.finish(network);
            let expected = ["numbers: pruned", "author: finished", "map: pruned"];
            assert_eq!(endings(&report), expected);
        }
    });
}
