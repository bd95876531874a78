//! Artificial deadlocks are freed, true ones explained; nothing grows without need.

use super::schedules::{Heard, Schedule, count, everywhere, listen, run, watch};
use kahn::{Channel, Detail, Detection, Network, Options, ProcessEnd, Report, Summary};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn growths(report: &Report) -> u32 {
    report.channels.iter().map(|channel| channel.growths).sum()
}

/// A split whose reader wants all of the second channel before the first: `held` must grow.
fn split_join(network: &mut Network<'_>, messages: u64) -> Heard<u64> {
    let (held_out, held) = network.channel("held");
    let (first_out, first) = network.channel("first");
    network.process("split", (held_out, first_out), async move |(mut held, mut first)| {
        for n in 0..messages {
            held.send(n).await;
        }
        first.send(messages).await;
    });
    let heard = Heard::default();
    let tell = heard.clone();
    network.process("join", (held, first), async move |(mut held, mut first)| {
        while let Some(n) = first.recv().await {
            tell.push(n);
        }
        while let Some(n) = held.recv().await {
            tell.push(n);
        }
        tell.complete();
    });
    heard
}

#[test]
fn a_full_channel_in_a_ring_of_waits_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let heard = split_join(&mut network, 100);
        let report = schedule.finish(network);
        let expected: Vec<_> = std::iter::once(100).chain(0..100).collect();
        assert_eq!(heard.all(), expected);
        assert!(report.channels[0].growths > 0);
        assert!(report.channels[0].capacity >= 100);
        assert_eq!(report.channels[1].growths, 0);
    });
}

#[test]
fn a_pipeline_never_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let mut numbers = count(&mut network, "source", 300);
        for stage in 0..10 {
            let (out, next) = network.channel(format!("stage {stage}"));
            let from = std::mem::replace(&mut numbers, next);
            network.process(format!("stage {stage}"), (from, out), async |(mut from, mut out)| {
                while let Some(n) = from.recv().await {
                    out.send(n).await;
                }
            });
        }
        let heard = listen(&mut network, "listen", numbers);
        let report = schedule.finish(network);
        assert_eq!(heard.all().len(), 300);
        assert_eq!(growths(&report), 0);
    });
}

#[test]
fn a_tree_under_back_pressure_never_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let mut leaves = Vec::new();
        for leaf in 0..8_u64 {
            let (out, numbers) = network.channel(format!("leaf {leaf}"));
            network.process(format!("leaf {leaf}"), out, async move |mut out| {
                for n in 0..50 {
                    out.send(n * 8 + leaf).await;
                }
            });
            leaves.push(numbers);
        }
        let mut level = 0;
        while leaves.len() > 1 {
            let mut next = Vec::new();
            let mut pairs = leaves.into_iter();
            while let (Some(left), Some(right)) = (pairs.next(), pairs.next()) {
                let name = format!("merge {level}.{}", next.len());
                let (out, merged) = network.channel(name.clone());
                network.process(
                    name,
                    (left, right, out),
                    async |(mut left, mut right, mut out)| {
                        // One after the other: the other side is under pressure meanwhile.
                        while let Some(n) = left.recv().await {
                            out.send(n).await;
                        }
                        while let Some(n) = right.recv().await {
                            out.send(n).await;
                        }
                    },
                );
                next.push(merged);
            }
            leaves = next;
            level += 1;
        }
        let heard = listen(&mut network, "listen", leaves.remove(0));
        let report = schedule.finish(network);
        let expected: Vec<_> = (0..8).flat_map(|leaf| (0..50).map(move |n| n * 8 + leaf)).collect();
        assert_eq!(heard.all(), expected);
        assert_eq!(growths(&report), 0);
    });
}

/// Nor is it dead: what one has sent is published before it waits for the answer.
#[test]
fn a_loop_with_room_enough_never_grows() {
    everywhere(|schedule| {
        for detection in [Detection::Deferred, Detection::Central] {
            let mut network = Network::new();
            let (there_out, there) = network.channel::<u64>("there");
            let (back_out, back) = network.channel::<u64>("back");
            network.process("ping", (there_out, back), async |(mut there, mut back)| {
                for n in 0..100 {
                    there.send(n).await;
                    assert_eq!(back.recv().await, Some(n));
                }
            });
            network.process("pong", (there, back_out), async |(mut there, mut back)| {
                while let Some(n) = there.recv().await {
                    back.send(n).await;
                }
            });
            let report = run(network, schedule.options().detection(detection));
            assert_eq!(report.outcome, Summary::Finished, "{report}");
            assert_eq!(growths(&report), 0);
        }
    });
}

#[test]
fn the_smallest_full_channel_of_the_ring_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (large_out, large) = network.channel_with(Channel::<u64>::named("large").capacity(4));
        let (small_out, small) = network.channel_with(Channel::<u64>::named("small").capacity(2));
        for (name, out, from) in [("left", large_out, small), ("right", small_out, large)] {
            network.process(name, (out, from), async |(mut out, mut from)| {
                for n in 0..5 {
                    out.send(n).await;
                }
                for n in 0..5 {
                    assert_eq!(from.recv().await, Some(n));
                }
            });
        }
        // Without the run's capacity: 4 and 2 are full, `small` grows by half to 3 and again to 4;
        // then the older grows.
        let options = Options::new()
            .policy(kahn_laws::policy(schedule.policy))
            .workers(schedule.workers)
            .seed(schedule.seed);
        let report = run(network, options);
        assert_eq!(report.outcome, Summary::Finished);
        let grown: Vec<_> = report.channels.iter().map(|c| (c.growths, c.capacity)).collect();
        assert_eq!(grown, [(1, 6), (2, 4)]);
    });
}

#[test]
fn the_centralised_form_gives_the_same_and_grows_by_one() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let heard = split_join(&mut network, 70);
        let report = run(network, schedule.options().detection(Detection::Central));
        assert_eq!(report.outcome, Summary::Finished);
        assert_eq!(heard.all().len(), 71);
        let (capacity, growths) = (report.channels[0].capacity, report.channels[0].growths);
        assert_eq!(
            (capacity, growths),
            (70.max(schedule.capacity), 70 - schedule.capacity.min(70))
        );
    });
}

#[test]
fn without_detection_a_network_that_needs_growth_ends_in_a_deadlock() {
    everywhere(|schedule| {
        let mut network = Network::new();
        split_join(&mut network, 100);
        let report = run(network, schedule.options().detection(Detection::Off));
        assert_eq!(report.outcome, Summary::Deadlock);
    });
}

#[test]
fn a_stuck_part_is_freed_while_processes_of_another_run_for_ever() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (ping_out, ping) = network.channel::<u64>("ping");
        let (pong_out, pong) = network.channel::<u64>("pong");
        network.process("ping", (ping_out, pong), async |(mut ping, mut pong)| {
            ping.send(0).await;
            while let Some(n) = pong.recv().await {
                ping.send(n + 1).await;
            }
        });
        network.process("pong", (ping, pong_out), async |(mut ping, mut pong)| {
            while let Some(n) = ping.recv().await {
                pong.send(n + 1).await;
            }
        });
        let (out, done) = network.channel::<u64>("done");
        let (held_out, held) = network.channel("held");
        let (first_out, first) = network.channel("first");
        network.process("split", (held_out, first_out), async |(mut held, mut first)| {
            held.send_all(0..100_u64).await;
            first.send(0).await;
        });
        network.process("join", (held, first, out), async |(mut held, mut first, mut out)| {
            first.recv().await;
            while let Some(n) = held.recv().await {
                out.send(n).await;
            }
        });
        let stop = network.stop_handle();
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("done", done, async move |mut done| {
            while let Some(n) = done.recv().await {
                tell.push(n);
            }
            stop.stop();
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Stopped);
        assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
    });
}

#[test]
fn a_stuck_part_is_freed_while_a_blocking_process_computes_until_it_is() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let freed = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&freed);
        network.blocking("compute", (), move |()| {
            while !seen.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        });
        let (out, tokens) = network.channel::<u64>("tokens");
        let (held_out, held) = network.channel("held");
        network.process("split", (held_out, out), async |(mut held, mut out)| {
            held.send_all(0..100_u64).await;
            out.send(0).await;
        });
        network.process("join", (held, tokens), async move |(mut held, mut tokens)| {
            tokens.recv().await;
            assert_eq!(held.for_each(|_| ()).await, 100);
            freed.store(true, Ordering::Release);
        });
        schedule.finish(network);
    });
}

#[test]
fn a_stuck_part_is_freed_while_a_party_outside_is_not_in_an_operation() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let freed = Arc::new((Mutex::new(false), Condvar::new()));
        let (out, numbers) = network.channel::<u64>("from outside");
        let heard = listen(&mut network, "listen", numbers);
        let mut party = network.outside("party", out);
        let (out, tokens) = network.channel::<u64>("tokens");
        let (held_out, held) = network.channel("held");
        network.process("split", (held_out, out), async |(mut held, mut out)| {
            held.send_all(0..100_u64).await;
            out.send(0).await;
        });
        let tell = Arc::clone(&freed);
        network.process("join", (held, tokens), async move |(mut held, mut tokens)| {
            tokens.recv().await;
            assert_eq!(held.for_each(|_| ()).await, 100);
            *tell.0.lock() = true;
            tell.1.notify_all();
        });
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut is_free = freed.0.lock();
                freed.1.wait_while(&mut is_free, |free| !*free);
                party.send_blocking(7).expect("the run goes on until we leave");
            });
            schedule.finish(network);
        });
        assert_eq!(heard.all(), [7]);
    });
}

/// Two processes that wait for each other, with a sender behind them that also feeds a live one.
fn behind_a_dead_ring(schedule: &Schedule) -> (Report, Heard<u64>) {
    let mut network = Network::new();
    let (to_left, left_in) = network.channel::<u64>("to left");
    let (to_right, right_in) = network.channel::<u64>("to right");
    let (feed_out, feed) = network.channel::<u64>("feed");
    let (chain_out, chain) = network.channel::<u64>("chain");
    network.process("left", (left_in, to_right, feed, chain_out), {
        async |(mut from, mut to, mut feed, mut chain)| {
            while let Some(n) = from.recv().await {
                to.send(n).await;
                chain.send(n).await;
                feed.recv().await;
            }
        }
    });
    network.process("right", (right_in, to_left), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    let (more_out, more) = network.channel::<u64>("more");
    // Not in the ring, but it waits for it: dead too, and so the sender is not held up by it.
    network.process("wait", (chain, more), async |(mut chain, mut more)| {
        while chain.recv().await.is_some() {
            more.recv().await;
        }
    });
    let (live_out, live) = network.channel::<u64>("live");
    network.process("send", (feed_out, more_out, live_out), {
        async |(mut feed, mut more, mut live)| {
            for n in 0..100 {
                feed.send(n).await;
                more.send(n).await;
                live.send(n).await;
            }
        }
    });
    let heard = listen(&mut network, "listen", live);
    (schedule.run(network), heard)
}

#[test]
fn what_is_sent_to_the_dead_is_discarded_and_the_rest_runs_on() {
    everywhere(|schedule| {
        let (report, heard) = behind_a_dead_ring(schedule);
        assert_eq!(report.outcome, Summary::Deadlock);
        assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
        assert!(heard.is_complete());
        assert_eq!(growths(&report), 0, "a dead ring needs no room");
        let alive: Vec<_> = report
            .processes
            .iter()
            .filter(|p| p.ending == ProcessEnd::Never)
            .map(|p| p.name.as_str())
            .collect();
        assert_eq!(alive, ["left", "right", "wait"]);
    });
}

#[test]
fn a_deadlock_says_what_waits_for_what() {
    let (report, _) = behind_a_dead_ring(&Schedule::sequential(64));
    insta::assert_snapshot!(report.explanation(), @r"
    deadlock: nothing can go on
      `left` waits to receive message 1 from `to left` (empty), which `right` sends
      `right` waits to receive message 1 from `to right` (empty), which `left` sends
      `wait` waits to receive message 1 from `chain` (empty), which `left` sends
      ring: `left` –[`to left` empty]→ `right` –[`to right` empty]→ `left`
    help: one process of the ring must send before it receives, or one of `to left`, `to right` needs an initial message
    ");
    let Some(Detail::Waits(explanation)) = &report.detail else { panic!("explained") };
    assert_eq!(explanation.rings.len(), 1);
    assert!(explanation.to_json().contains("\"to left\""));
}

#[test]
fn what_only_the_dead_read_comes_from_a_process_that_is_pruned() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (back, around) = network.channel::<u64>("self");
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("dead", (back, around, numbers), async |(_back, mut around, _numbers)| {
            around.recv().await;
        });
        network.process("endless", out, async |mut out| out.send_all(0..).await);
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock);
        let endings: Vec<_> = report.processes.iter().map(|p| p.ending.to_string()).collect();
        assert_eq!(endings, ["never", "pruned"]);
        assert_eq!(report.warnings.len(), 1, "a self-loop without a message can be seen before");
    });
}

#[test]
fn a_process_before_a_dead_one_fails_or_finishes_all_the_same() {
    // The deadlock does not hide a failure in another part.
    everywhere(|schedule| {
        let mut network = Network::new();
        let (back, around) = network.channel::<u64>("self");
        network.process("dead", (back, around), async |(_back, mut around)| {
            around.recv().await;
        });
        network.process("fail", (), async |()| Err::<(), _>("on purpose"));
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock);
        assert_eq!(report.failures.len(), 1);
    });
}

#[test]
fn the_budget_ends_the_run_and_what_was_received_is_a_prefix() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (held_out, held) = network.channel("held");
        let (first_out, first) = network.channel::<u64>("first");
        let (copy_out, copy) = network.channel("copy");
        let ports = (held_out, first_out, copy_out);
        network.process("split", ports, async |(mut held, mut first, mut copy)| {
            for n in 0..10_000_u64 {
                held.send(n).await;
                copy.send(n).await;
            }
            first.send(0).await;
        });
        network.process("join", (held, first), async |(mut held, mut first)| {
            first.recv().await;
            held.for_each(|_| ()).await;
        });
        let heard = listen(&mut network, "listen", copy);
        let budget = 3 * 8 * u64::from(schedule.capacity) + 8 * 1000;
        let report = run(network, schedule.options().budget(budget));
        assert_eq!(report.outcome, Summary::OverBudget);
        assert!(report.explanation().contains("`held` has to grow"), "{}", report.explanation());
        let heard_all = heard.all();
        assert_eq!(heard_all, (0..heard_all.len() as u64).collect::<Vec<_>>());
        // All of the budget is of use.
        assert!((990..1100).contains(&heard_all.len()), "{}", heard_all.len());
        assert!(!heard.is_complete());
        assert!(report.slot_bytes.0 <= budget);
    });
}

#[test]
fn over_budget_is_no_verdict_while_others_may_give_bytes_back() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let messages = u64::from(schedule.capacity) + 1;
        let heard = split_join(&mut network, messages);
        let numbers = count(&mut network, "numbers", 500);
        let (out, on) = network.channel("on");
        network.process("pass", (numbers, out), async |(mut numbers, mut out)| {
            while let Some(n) = numbers.recv().await {
                out.send(n).await;
            }
        });
        let others = listen(&mut network, "others", on);
        // Nothing to spare until the other part has ended.
        let budget = 4 * 8 * u64::from(schedule.capacity);
        let report = run(network, schedule.options().budget(budget));
        assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
        assert_eq!(heard.all().len() as u64, messages + 1);
        assert_eq!(others.all().len(), 500);
    });
}

#[test]
fn channels_beyond_the_budget_are_refused_before_the_run() {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 10);
    listen(&mut network, "listen", numbers);
    let error = network.run_with(Options::new().budget(100)).expect_err("64 * 8 > 100");
    insta::assert_snapshot!(error, @r"
    the network cannot run:
      the channels' slots take 512 bytes, and the budget is 100: lower capacities or raise the budget
    ");
}

#[test]
fn where_nothing_more_can_happen_is_a_normal_end_if_the_caller_says_so() {
    everywhere(|schedule| {
        for fails in [false, true] {
            let mut network = Network::new();
            let (there_out, there) = network.channel_with(Channel::named("there").initial([3_u64]));
            let (back_out, back) = network.channel::<u64>("back");
            network.process("down", (there, back_out), async |(mut there, mut back)| {
                while let Some(n) = there.recv().await {
                    if n > 0 {
                        back.send(n - 1).await;
                    }
                }
            });
            network.process("up", (back, there_out), async move |(mut back, mut there)| {
                while let Some(n) = back.recv().await {
                    there.send(n).await;
                }
            });
            if fails {
                network.process("fail", (), async |()| Err::<(), _>("on purpose"));
            }
            let report = run(network, schedule.options().quiescence_is_normal(true));
            let expected = if fails { Summary::Failed } else { Summary::Quiescent };
            assert_eq!(report.outcome, expected, "a quiescent end must not hide a failure");
        }
    });
}

#[test]
fn a_process_that_computes_does_not_hold_up_the_one_it_has_woken() {
    for workers in [2, 3, 8] {
        for policy in ["stealing", "ws-last", "static", "shared", "threads"] {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            let heard = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&heard);
            network.process("compute", out, async move |mut out| {
                out.send(1).await;
                out.flush().await;
                while !seen.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            });
            network.process("hear", numbers, async move |mut numbers| {
                assert_eq!(numbers.recv().await, Some(1));
                heard.store(true, Ordering::Release);
            });
            let _watched = watch(network.stop_handle());
            let report =
                network.run_with(Options::new().policy(kahn_laws::policy(policy)).workers(workers));
            assert_eq!(report.expect("finishes").outcome, Summary::Finished);
        }
    }
}
