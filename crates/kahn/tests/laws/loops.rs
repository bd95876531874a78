//! Loops that nothing reads are ended, when nothing is left that could see them.

use super::pruning::{ending, endless, pass};
use super::schedules::{everywhere, schedules};
use kahn::{Channel, Network, Receiver, Report, Sender, Summary};

/// A loop of two: `left` counts what comes round and sends it on, and out of the loop as well.
fn around(network: &mut Network<'_>, spins: bool) -> Receiver<u64> {
    let (to_right, from_left) = network.channel_with(Channel::named("to right").initial([1_u64]));
    let (to_left, from_right) = network.channel::<u64>("to left");
    let (out, read) = network.channel::<u64>("out");
    network.process("left", (from_right, to_right, out), async |(mut from, mut to, mut out)| {
        while let Some(n) = from.recv().await {
            out.send(n).await;
            to.send(n + 1).await;
        }
    });
    network.process("right", (from_left, to_left), async move |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            if spins {
                kahn::yield_now().await;
            }
            to.send(n).await;
        }
    });
    read
}

#[test]
fn a_loop_that_runs_for_ever_ends_when_nothing_reads_it_any_more() {
    everywhere(|schedule| {
        for spins in [false, true] {
            let mut network = Network::new();
            let numbers = around(&mut network, spins);
            let few = network.take("few", numbers, 5);
            let all = network.collect("all", few);
            let report = schedule.finish(network);
            assert_eq!(all.take(), Some(vec![1, 2, 3, 4, 5]));
            for name in ["left", "right"] {
                assert_eq!(ending(&report, name), "pruned");
            }
        }
    });
}

#[test]
fn a_loop_goes_on_while_a_reader_elsewhere_may_see_it_through_others() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = around(&mut network, false);
        let passed = pass(&mut network, "pass", numbers);
        let copies = network.tee("copy", passed, 2);
        let [few, many] = <[Receiver<u64>; 2]>::try_from(copies).expect("two");
        let few = network.take("few", few, 2);
        let few = network.collect("all few", few);
        let many = network.take("many", many, 200);
        let many = network.collect("all many", many);
        let report = schedule.finish(network);
        assert_eq!(few.take(), Some(vec![1, 2]));
        assert_eq!(many.take(), Some((1..=200).collect::<Vec<_>>()));
        assert_eq!(ending(&report, "left"), "pruned");
    });
}

/// It sends to the loop only: that reads it, and none else does.
#[test]
fn what_feeds_a_loop_ends_with_it() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let source = endless(&mut network, "source");
        let (back, around) = network.channel_with(Channel::named("around").initial([0_u64]));
        let (out, sums) = network.channel::<u64>("sums");
        let ports = (source, around, back, out);
        network.process("add", ports, async |(mut source, mut around, mut back, mut out)| {
            while let (Some(a), Some(b)) = (source.recv().await, around.recv().await) {
                back.send(a + b).await;
                out.send(a + b).await;
            }
        });
        network.process("first", sums, async |mut sums| {
            assert_eq!(sums.recv().await, Some(0));
        });
        let report = schedule.finish(network);
        assert_eq!(ending(&report, "source"), "pruned");
        assert_eq!(ending(&report, "add"), "pruned");
    });
}

/// Sends on so many, each larger by one than what came.
async fn pass_on((mut from, mut to): (Receiver<u64>, Sender<u64>), count: usize) {
    for _ in 0..count {
        let n = from.recv().await.unwrap_or(0);
        to.send(n + 1).await;
    }
    to.flush().await;
}

fn received(report: &Report, name: &str) -> u64 {
    let channel = report.channels.iter().find(|channel| channel.name.as_str() == name);
    channel.expect("listed").received
}

/// Nothing ever read it but itself.
#[test]
fn a_ring_that_leads_nowhere_runs_to_its_end_beside_others() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (to_b, from_a) = network.channel_with(Channel::named("to b").initial([0_u64]));
        let (to_a, from_b) = network.channel::<u64>("to a");
        for (name, ports) in [("a", (from_b, to_b)), ("b", (from_a, to_a))] {
            network.process(name, ports, |ends| pass_on(ends, 100));
        }
        let numbers = network.source("numbers", 0..3_u64);
        network.for_each("ignore", numbers, |_| {});
        let report = schedule.finish(network);
        // The one that is left has lost its reader.
        assert_eq!(received(&report, "to b"), 100);
        assert!(received(&report, "to a") >= 99, "{report}");
    });
}

/// One that was created while the network runs keeps the loops that were there before, whatever it does.
#[test]
fn what_was_created_while_it_runs_is_run_to_its_end() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = around(&mut network, false);
        let few = network.take("few", numbers, 2);
        let all = network.collect("all", few);
        let spawner = network.spawner();
        network.process("create", spawner, async |mut spawner| {
            let (to_b, from_a) = spawner.channel::<u64>("to b");
            let (to_a, from_b) = spawner.channel_with(Channel::named("to a").initial([0_u64]));
            for (name, ports) in [("a", (from_b, to_b)), ("b", (from_a, to_a))] {
                spawner.process(name, ports, |ends| pass_on(ends, 50));
            }
        });
        let report = schedule.finish(network);
        assert_eq!(all.take(), Some(vec![1, 2]));
        assert!(received(&report, "to a") >= 49 && received(&report, "to b") >= 49, "{report}");
    });
}

/// The only one that is never pruned waits for ever, while the loop runs.
#[test]
fn a_loop_ends_when_all_that_could_see_it_wait_for_ever() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = around(&mut network, true);
        let (own, own_again) = network.channel::<u64>("own");
        let (out, nothing) = network.channel::<u64>("nothing");
        network.process("dead", (own_again, own, out), async |(mut own, _own, _out)| {
            own.recv().await;
        });
        network.process("waits", (numbers, nothing), async |(mut numbers, mut nothing)| {
            assert_eq!(numbers.recv().await, Some(1));
            nothing.recv().await;
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock, "{report}");
        for (name, end) in [("left", "pruned"), ("right", "pruned"), ("waits", "never")] {
            assert_eq!(ending(&report, name), end, "{report}");
        }
    });
}

/// The end of what it sent is seen, and what saw it ends: then it reads what would be pruned without it.
#[test]
fn what_a_process_without_senders_reads_is_not_pruned_with_the_loops() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = around(&mut network, false);
        let numbers = network.take("take", numbers, 70);
        let (out, on) = network.channel::<u64>("on");
        network.process("reads on", (numbers, out), async |(mut numbers, out)| {
            drop(out);
            let mut count = 0;
            while numbers.recv().await.is_some() {
                count += 1;
            }
            Err::<(), _>(format!("{count} numbers"))
        });
        network.process("sees", on, async |mut on| assert_eq!(on.recv().await, None));
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed, "{report}");
        let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
        assert!(failures[0].contains("70 numbers"), "{failures:?}");
        assert_eq!(failures.len(), 1);
    });
}

/// Whether it waits for ever first, or is pruned first, is a matter of the schedule; also where so many processes end that
/// not all are listed.
#[test]
fn a_ring_that_waits_for_ever_and_that_nothing_sees_is_no_deadlock_whatever_is_listed() {
    let many = schedules();
    let many = many.iter().filter(|schedule| schedule.policy != "threads").step_by(5);
    for (schedule, others) in many.flat_map(|schedule| [(schedule, 0), (schedule, 10_010)]) {
        let mut network = Network::new();
        let (out, read) = network.channel::<u64>("out");
        let (own, own_again) = network.channel::<u64>("own");
        network.process("waits", (own_again, own, out), async |(mut own, _own, mut out)| {
            out.send(1).await;
            own.recv().await;
        });
        for n in 0..others {
            network.process(format!("ends {n}"), (), async |()| {});
        }
        let (late, later) = network.channel::<u64>("late");
        // Time enough to find the ring, for most.
        let numbers = network.source("numbers", 0..30_000);
        network.process("late", (numbers, late), async |(mut numbers, mut late)| {
            while numbers.recv().await.is_some() {}
            late.send(2).await;
        });
        network.process("reads both", (read, later), async |(mut read, mut later)| {
            assert_eq!((read.recv().await, later.recv().await), (Some(1), Some(2)));
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Finished, "{schedule:?}, {others}");
        assert_eq!(report.more_processes.is_some(), others > 0);
    }
}
