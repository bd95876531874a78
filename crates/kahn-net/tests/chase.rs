//! Rings through several ranks are found while other parts of the network run.
//!
//! The other part runs until the ring is through, or until it has sent more than it ever would: a run that waits for it
//! is told from one that does not by what has come of the ring then.

use kahn::{Channel, Network, Options, ProcessEnd, Report, Summary};
use kahn_net::{NetError, Sim};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Messages that the other part sends at most: many times what it sends while a ring is found.
const MOST: u64 = 30_000_000;

fn wired(name: impl Into<String>) -> Channel<u64> {
    Channel::named(name.into()).wire()
}

fn options() -> Options {
    Options::new().workers(2).capacity(1)
}

/// A part that runs until `is_through`: a stream on a rank, and one from there to rank 0.
fn runs_until(network: &mut Network<'static>, is_through: &Arc<AtomicBool>) {
    let (out, ticks) = network.channel_with(wired("ticks"));
    let (to_rank_0, of_some) = network.channel_with(wired("some ticks"));
    let stop = Arc::clone(is_through);
    network.process("run on", out, async move |mut out| {
        for n in 0..MOST {
            if stop.load(SeqCst) {
                break;
            }
            out.send(n).await;
        }
    });
    network.process("pass some", (ticks, to_rank_0), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            if n % 64 == 0 {
                to.send(n).await;
            }
        }
    });
    network.for_each("count ticks", of_some, |_| {});
}

/// `a` sends twice what it receives, so the ring over `b` and `c` holds more and more, whatever the capacities of its
/// channels are; `through` is set when all has come out of it.
fn growing_ring(
    network: &mut Network<'static>,
    through: &Arc<AtomicBool>,
) -> kahn::process::Output<u64> {
    let (to_b, from_a) = network.channel_with(wired("a to b"));
    let (to_c, from_b) = network.channel_with(wired("b to c"));
    let (to_a, from_c) = network.channel_with(wired("c to a").initial([1]));
    let (out, all) = network.channel_with(wired("out"));
    network.process("a", (from_c, to_b, out), async |(mut from, mut to, mut out)| {
        for _ in 0..24_u32 {
            let Some(n) = from.recv().await else { return };
            to.send(n + 1).await;
            to.send(n + 2).await;
            out.send(n).await;
        }
    });
    for (name, from, to) in [("b", from_a, to_c), ("c", from_b, to_a)] {
        network.process(name, (from, to), async |(mut from, mut to)| {
            while let Some(n) = from.recv().await {
                to.send(n * 3 % 1009).await;
            }
        });
    }
    let (through, mut count) = (Arc::clone(through), 0);
    network.fold("all", all, 0, move |sum, n: u64| {
        count += 1;
        if count == 24 {
            through.store(true, SeqCst);
        }
        sum * 31 % 1_000_003 + n
    })
}

#[test]
fn a_ring_that_must_grow_does_not_wait_for_a_part_that_runs_on() {
    let expected = {
        let mut network = Network::new();
        let result = growing_ring(&mut network, &Arc::default());
        network.run_with(options()).expect("it runs");
        result.take()
    };
    for seed in 0..4_usize {
        let through = Arc::<AtomicBool>::default();
        let sim = Sim::new(4).seed(seed as u64).place("a", 1).place("b", 2).place("c", 3);
        // It runs beside one of them, or on a rank of its own.
        let sim = sim.place("run on", 3 * (seed % 2)).place("pass some", 3 * (seed % 2));
        let ran = sim.run(&options(), |network| {
            runs_until(network, &through);
            growing_ring(network, &through)
        });
        let ran = ran.expect("it runs");
        assert_eq!(ran.result.take(), expected, "seed {seed}");
        let ticks = |channel: &&kahn::ChannelReport| channel.name.as_str() == "ticks";
        let sent = ran.report.channels.iter().find(ticks).map(|channel| channel.sent);
        assert!(sent < Some(MOST), "seed {seed}: the ring grew when nothing else ran any more");
        assert!(!ran.report.grown.is_empty(), "it had to grow");
    }
}

/// `a` and `b` wait for each other; `feed` sends to `a`, and then to `through`.
fn dead_ring(network: &mut Network<'static>, through: &Arc<AtomicBool>) {
    runs_until(network, through);
    let (to_b, from_a) = network.channel_with(wired("a to b"));
    let (to_a, from_b) = network.channel_with(wired("b to a"));
    let (feed, fed) = network.channel_with(wired("feed"));
    let (out, last) = network.channel_with(wired("last"));
    network.process("a", (from_b, fed, to_b), async |(mut from, mut fed, mut to)| {
        while let (Some(n), Some(more)) = (from.recv().await, fed.recv().await) {
            to.send(n + more).await;
        }
    });
    network.process("b", (from_a, to_a), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    network.process("feed", (feed, out), async |(mut feed, mut out)| {
        feed.send_all(0..50).await;
        out.send(1).await;
    });
    let through = Arc::clone(through);
    network.for_each("through", last, move |_| through.store(true, SeqCst));
}

fn endings(report: &Report) -> Vec<(String, ProcessEnd)> {
    report.processes.iter().map(|one| (one.name.to_string(), one.ending.clone())).collect()
}

#[test]
fn what_sends_to_processes_that_wait_for_each_other_does_not_wait_for_a_part_that_runs_on() {
    let mut network = Network::new();
    // On one rank `feed` waits until nothing else runs.
    dead_ring(&mut network, &Arc::new(AtomicBool::new(true)));
    let alone = network.run_with(options()).expect_err("two of them wait for ever");
    let expected = endings(alone.report().expect("it has run"));
    for seed in 0..6_usize {
        let place = |name: &str| (seed + name.len()) % 3;
        let sim = Sim::new(3).seed(seed as u64).place("a", 1).place("b", 2);
        let sim = ["feed", "run on", "pass some"]
            .iter()
            .fold(sim, |sim, name| sim.place(*name, place(name)));
        let through = Arc::<AtomicBool>::default();
        let error = sim.run(&options(), |network| dead_ring(network, &through));
        let Err(NetError::Run(error)) = error else {
            panic!("two of them wait for ever: {error:?}")
        };
        let report = error.report().expect("it has run");
        assert_eq!(
            (report.outcome, endings(report)),
            (Summary::Deadlock, expected.clone()),
            "seed {seed}"
        );
        let ticks = report.channels.iter().find(|channel| channel.name.as_str() == "ticks");
        assert!(
            ticks.map(|channel| channel.sent) < Some(MOST),
            "seed {seed}: it waited for the other part"
        );
    }
}
