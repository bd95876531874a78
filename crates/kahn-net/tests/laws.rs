//! Whatever runs where, and however long what is under way takes: the histories are those of one rank.

use kahn::process::Output;
use kahn::{Channel, Detail, Name, Network, Options, ProcessEnd, Receiver, Summary, testing};
use kahn_net::{NetError, Sim};
use std::fmt::Debug;
use std::time::Duration;

type Build<R> = fn(&mut Network<'static>) -> R;

fn wired(name: impl Into<String>) -> Channel<u64> {
    Channel::named(name.into()).wire()
}

fn options() -> Options {
    Options::new().workers(2).capacity(1)
}

/// What a report tells of processes, of what was received, and of how many were created.
fn told(report: &kahn::Report) -> impl Debug + PartialEq + use<> {
    let ends: Vec<_> =
        report.processes.iter().map(|one| (one.name.clone(), one.ending.clone())).collect();
    // Of what is pruned, how far it came is a matter of the schedule.
    let is_pruned = |name: Option<&Name>| {
        let one = report.processes.iter().find(|one| Some(&one.name) == name);
        one.is_none_or(|one| one.ending == ProcessEnd::Pruned)
    };
    let whole = report.channels.iter().filter(|one| !is_pruned(one.to.as_ref()));
    let received: Vec<_> = whole.map(|one| (one.name.clone(), one.received)).collect();
    (ends, received, report.created)
}

/// Runs it on one rank by itself and on 1 to 5 under several seeds, and compares the results and what is told of
/// messages and processes.
fn is_the_same<R, T: Debug + PartialEq>(build: Build<R>, take: fn(R) -> T, seeds: u64) {
    let mut network = Network::new();
    let result = build(&mut network);
    let report = network.run_with(options()).expect("it runs on one rank");
    let expected = take(result);
    for ranks in 1..=5 {
        for seed in 0..seeds {
            let ran = Sim::new(ranks).seed(seed).run(&options(), build);
            let ran = ran.unwrap_or_else(|error| panic!("{ranks} ranks, seed {seed}: {error}"));
            assert_eq!(take(ran.result), expected, "{ranks} ranks, seed {seed}");
            assert_eq!(told(&ran.report), told(&report), "{ranks} ranks, seed {seed}");
        }
    }
}

#[test]
fn ranks_of_one_program_share_its_cores() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for ranks in 1..=3 {
        let ran = Sim::new(ranks).run(&Options::new(), pipeline).expect("it runs");
        assert_eq!(ran.report.workers, ranks * (cores / ranks).max(1), "{ranks} ranks");
    }
    let ran = Sim::new(3).run(&Options::new().workers(2), pipeline).expect("it runs");
    assert_eq!(ran.report.workers, 6);
}

fn pipeline(network: &mut Network<'static>) -> Output<Vec<u64>> {
    let (out, mut numbers) = network.channel_with(wired("stage 0"));
    network.process("count", out, async |mut out| out.send_all(0..60).await);
    for stage in 1..6 {
        let (out, next) = network.channel_with(wired(format!("stage {stage}")));
        network.process(format!("add {stage}"), (numbers, out), async move |(mut from, mut to)| {
            while let Some(n) = from.recv().await {
                to.send(n + stage).await;
            }
        });
        numbers = next;
    }
    network.collect("all", numbers)
}

#[test]
fn a_pipeline() {
    is_the_same(pipeline, |all| all.take(), 20);
}

/// Three processes in a ring, one of which sends two for each that it receives: the ring must grow, wherever its
/// channels are.
fn growing_ring(network: &mut Network<'static>) -> Output<Vec<u64>> {
    let (to_b, from_a) = network.channel_with(wired("a to b"));
    let (to_c, from_b) = network.channel_with(wired("b to c"));
    let (to_a, from_c) = network.channel_with(wired("c to a").initial([1]));
    let (out, all) = network.channel_with(wired("out"));
    network.process("a", (from_c, to_b, out), async |(mut from, mut to, mut out)| {
        for _ in 0..40_u32 {
            let Some(n) = from.recv().await else { return };
            to.send(n + 1).await;
            to.send(n + 2).await;
            out.send(n).await;
        }
    });
    network.process("b", (from_a, to_c), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n * 3 % 1009).await;
        }
    });
    network.process("c", (from_b, to_a), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    network.collect("all", all)
}

#[test]
fn a_ring_that_must_grow_through_several_ranks() {
    is_the_same(growing_ring, |all| all.take(), 20);
    // Each of its processes on a rank of its own.
    let sim = Sim::new(4).place("a", 1).place("b", 2).place("c", 3);
    let ran = sim.run(&options(), growing_ring).expect("it runs");
    assert_eq!(ran.result.take().map(|all| all.len()), Some(40));
    assert!(!ran.report.grown.is_empty(), "it had to grow");
}

fn fork_and_join(network: &mut Network<'static>) -> Output<Vec<u64>> {
    let mut to_workers = Vec::new();
    let mut from_workers = Vec::new();
    for worker in 0..3_u64 {
        let (to, work) = network.channel_with(wired(format!("work {worker}")));
        let (done, from) = network.channel_with(wired(format!("done {worker}")));
        to_workers.push(to);
        from_workers.push(from);
        network.process(format!("worker {worker}"), (work, done), async |(mut work, mut done)| {
            while let Some(n) = work.recv().await {
                done.send(n * n).await;
            }
        });
    }
    network.process("deal", to_workers, async |mut to| {
        for n in 0..50_u64 {
            to[(n % 3) as usize].send(n).await;
        }
    });
    let (out, all) = network.channel_with(wired("joined"));
    network.process("join", (from_workers, out), async |(mut from, mut out)| {
        for turn in 0.. {
            let Some(n) = from[turn % 3].recv().await else { return };
            out.send(n).await;
        }
    });
    network.collect("all", all)
}

#[test]
fn forks_that_are_joined() {
    is_the_same(fork_and_join, |all| all.take(), 20);
}

/// Sources without end, of which some are taken.
fn endless(network: &mut Network<'static>) -> Output<Vec<u64>> {
    let (out, left) = network.channel_with(wired("left"));
    network.process("left source", out, async |mut out| out.send_all(0..).await);
    let (out, right) = network.channel_with(wired("right"));
    network.process("right source", out, async |mut out| out.send_all(1000..).await);
    let (out, doubled) = network.channel_with(wired("doubled"));
    network.process("double", (right, out), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(2 * n).await;
        }
    });
    let (out, few) = network.channel_with(wired("few"));
    network.process("take", (left, doubled, out), async |(mut left, mut right, mut out)| {
        for _ in 0..20 {
            let (Some(left), Some(right)) = (left.recv().await, right.recv().await) else { return };
            out.send(left + right).await;
        }
    });
    network.collect("all", few)
}

#[test]
fn sources_without_end() {
    is_the_same(endless, |all| all.take(), 20);
}

/// Waits that nothing ends, for `a` and `b` each wait for the other.
fn deadlock(network: &mut Network<'static>) {
    let (to_b, from_a) = network.channel_with(wired("a to b"));
    let (to_a, from_b) = network.channel_with(wired("b to a"));
    let (out, result) = network.channel_with(wired("result"));
    network.process("a", (from_b, to_b), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    network.process("b", (from_a, to_a, out), async |(mut from, mut to, mut out)| {
        out.send(1).await;
        while let Some(n) = from.recv().await {
            to.send(n).await;
        }
    });
    network.for_each("sink", result, |_| {});
}

#[test]
fn a_deadlock_across_ranks_is_told_with_the_ranks() {
    for seed in 0..20 {
        let sim = Sim::new(3).seed(seed).place("a", 1).place("b", 2);
        let error = sim.run(&options(), deadlock).expect_err("it cannot go on");
        let report = error.report().expect("it has run");
        assert_eq!(report.outcome, Summary::Deadlock);
        let Some(Detail::Waits(explanation)) = &report.detail else { panic!("it waits") };
        let ring: Vec<_> =
            explanation.rings[0].iter().map(|member| member.process.as_str()).collect();
        assert_eq!(ring, ["a (rank 1)", "b (rank 2)"], "seed {seed}");
        let waiting: Vec<_> =
            explanation.waiting.iter().map(|waiting| waiting.process.as_str()).collect();
        assert_eq!(waiting, ["a (rank 1)", "b (rank 2)", "sink (rank 0)"], "seed {seed}");
        let text = error.to_string();
        assert!(text.contains("`b (rank 2)`") && text.contains("`a (rank 1)`"), "{text}");
    }
}

/// `a` sends numbers to `b`, which adds one to each.
fn added(
    network: &mut Network<'static>,
    all: impl Iterator<Item = u64> + Send + 'static,
) -> Receiver<u64> {
    let (out, numbers) = network.channel_with(wired("numbers"));
    network.process("a", out, async move |mut out| out.send_all(all).await);
    let (out, more) = network.channel_with(wired("more"));
    network.process("b", (numbers, out), async |(mut from, mut to)| {
        while let Some(n) = from.recv().await {
            to.send(n + 1).await;
        }
    });
    more
}

#[test]
fn a_rank_that_is_killed_is_lost_and_the_run_with_it() {
    for rank in [1, 2] {
        for after in [0, 1, 5, 30, 100] {
            let sim = Sim::new(3).seed(after).place("a", 1).place("b", 2).kill(rank, after);
            let error = sim.run(&options(), |network| {
                let more = added(network, 0..);
                network.for_each("ignore", more, |_| {});
            });
            let Err(NetError::Lost { rank: lost, report }) = error else {
                panic!("rank {rank} is killed after {after} looks: {error:?}")
            };
            assert_eq!((lost, report.outcome), (rank, Summary::Stopped));
        }
    }
}

/// Wherever it is: from the first frame to what is told when the run is over.
#[test]
fn a_byte_that_is_another_ends_the_run_with_the_rank_that_got_it() {
    let build = |network: &mut Network<'static>| {
        let more = added(network, 0..40);
        network.collect("all", more)
    };
    // What is not read may be waited for: a run that does not end is a failure.
    let run = |sim: Sim| {
        let sim = sim.place("a", 1).place("b", 2);
        testing::within(Duration::from_secs(60), |_| sim.run(&options(), build))
    };
    let whole = run(Sim::new(3)).expect("nothing is damaged");
    let (expected, expected_told) = (whole.result.take(), told(&whole.report));
    for from in 0..3 {
        let mut damaged = 0;
        for (byte, seed) in (0..60).chain((60..2_000).step_by(7)).zip((0..5).cycle()) {
            let what = format!("byte {byte} of rank {from}, seed {seed}");
            match run(Sim::new(3).seed(seed).damage(from, byte)) {
                Err(NetError::Frame { rank, .. }) => {
                    assert_ne!(rank, from, "{what}");
                    damaged += 1;
                }
                // Not so many bytes were sent.
                Ok(ran) => {
                    assert!(byte >= 60, "{what}");
                    assert_eq!(ran.result.take(), expected, "{what}");
                    assert_eq!(told(&ran.report), expected_told, "{what}");
                }
                other => panic!("{what}: {other:?}"),
            }
        }
        assert!(damaged > 100, "{damaged} of what rank {from} sends");
    }
}
