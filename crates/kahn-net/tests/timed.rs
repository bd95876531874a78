//! Under a virtual clock a run takes the same time each time, and what it takes has laws.

#[path = "../examples/scale/shapes.rs"]
#[expect(dead_code, reason = "figures are made of it")]
mod shapes;

use kahn::{Channel, Network, Options, Process, Report, RunError, Summary};
use kahn_laws::network::{OverRanks, Ranked};
use kahn_laws::{Extent, soak};
use kahn_net::{LogGp, NetError, Timed, TimedSim, Traffic, Window};
use shapes::Shape;
use std::time::Duration;

const MICROSECOND: Duration = Duration::from_micros(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// What a message costs is more than a parcel does, so receipts go meanwhile.
const COSTS: LogGp = LogGp {
    latency: Duration::from_micros(10),
    overhead: Duration::from_micros(3),
    bytes_per_second: u64::MAX,
    message: Duration::from_micros(4),
};

fn run(shape: Shape, ranks: usize) -> (Duration, Traffic) {
    let ran = TimedSim::new(ranks, COSTS)
        .run(&Options::new(), |core, network| shape.build(ranks, core, network));
    let Timed { time, traffic, .. } = ran.expect("it runs");
    (time, traffic)
}

#[test]
fn a_run_takes_the_same_time_each_time() {
    for shape in [
        Shape::Ring { cycles: 3 },
        Shape::Pipeline { numbers: 300 },
        Shape::ScatterGather { rounds: 3, task: 5 * MICROSECOND },
        Shape::Random { rounds: 2 },
    ] {
        let first = run(shape, 5);
        for _ in 0..3 {
            assert_eq!(run(shape, 5), first, "{shape:?}");
        }
    }
}

#[test]
fn files_are_compared_under_it_whether_they_are_mapped_or_read() {
    static MAPPED: &str = "to be or not to be, in the file of this program";
    let program = std::env::current_exe().expect("the system tells");
    let read = MAPPED.to_owned();
    for text in [MAPPED, &read] {
        let ran = TimedSim::new(3, COSTS).run(&Options::new(), |_core, network| {
            network.input(&program, text.as_bytes());
            let (out, words) = network.channel_with(Channel::named("words").wire_within(text));
            network.process("cut", out, async move |mut out| out.send_all(text.split(' ')).await);
            network.fold("count", words, 0, |count, _word| count + 1)
        });
        assert_eq!(ran.expect("it runs").ran.result.take(), Some(12));
    }
}

#[test]
fn a_token_takes_as_long_for_each_hop_as_the_costs_say() {
    // It is taken, read, written, given, and under way.
    let hop = COSTS.overhead + 2 * COSTS.message + COSTS.overhead + COSTS.latency;
    for ranks in [2, 3, 8, 20] {
        let time = |cycles| run(Shape::Ring { cycles }, ranks).1.last;
        let hops = u32::try_from(ranks).expect("it is small");
        // Receipts for parcels go in the eighth turn, so what is told at the end of seven stands behind one.
        assert_eq!(time(12), time(2) + 10 * hops * hop, "{ranks} ranks");
    }
}

#[test]
fn so_many_bytes_a_second_leave_a_rank_and_come_to_one() {
    let costs = LogGp { bytes_per_second: 1_000_000, ..COSTS };
    let second = Duration::from_secs(1);
    // Each of two ranks sends a megabyte to the first, or one sends both.
    for senders in [1, 2_usize] {
        let timed = TimedSim::new(3, costs).run(&Options::new(), |_core, network| {
            for text in 0..2 {
                let texts = Channel::named(format!("texts {text}")).wire();
                let (out, texts) = network.channel_with(texts);
                let write = Process::named(format!("write {text}")).rank(1 + text % senders);
                network.process_with(write, out, async |mut out| {
                    out.send_all((0..100).map(|n| format!("{n:10000}"))).await;
                });
                network.for_each(format!("read {text}"), texts, |_text: String| {});
            }
        });
        let time = timed.expect("it runs").traffic.last;
        assert!(time > 2 * second && time < 2 * second + second / 10, "{senders}: {time:?}");
    }
}

#[test]
fn processes_of_a_rank_compute_one_after_the_other_and_those_of_two_at_once() {
    for (ranks, expected) in [(1, 40), (2, 40), (3, 20), (5, 10)] {
        let timed = TimedSim::new(ranks, LogGp { message: Duration::ZERO, ..COSTS }).run(
            &Options::new(),
            |core, network| {
                for place in 0..4 {
                    let (out, done) =
                        network.channel_with(Channel::named(format!("done {place}")).wire());
                    let rank = if ranks == 1 { 0 } else { 1 + place % (ranks - 1) };
                    let core = core.clone();
                    let compute = Process::named(format!("compute {place}")).rank(rank);
                    network.process_with(compute, out, async move |mut out| {
                        core.compute(Duration::from_millis(10)).await;
                        out.send(1_u64).await;
                    });
                    network.for_each(format!("take {place}"), done, |_| {});
                }
            },
        );
        let time = timed.expect("it runs").time;
        let expected = Duration::from_millis(expected);
        assert!(time >= expected && time < expected + MILLISECOND, "{ranks} ranks: {time:?}");
    }
}

/// So rank 0 takes and gives `2 (n - 1)` frames for a round.
#[test]
fn whether_all_rest_is_asked_of_each_rank_and_answered_once_a_round() {
    for ranks in [2, 5, 30] {
        // Each process waits for the one before it, for ever.
        let timed = TimedSim::new(ranks, COSTS).run(
            &Options::new().quiescence_is_normal(true),
            |_core, network| {
                let ends: Vec<_> = (0..ranks)
                    .map(|rank| {
                        network.channel_with(Channel::<u64>::named(format!("to {rank}")).wire())
                    })
                    .collect();
                let (mut to, from): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
                to.rotate_left(1);
                for (rank, ends) in from.into_iter().zip(to).enumerate() {
                    let wait = Process::named(format!("wait {rank}")).rank(rank);
                    network.process_with(wait, ends, async |(mut from, mut to)| {
                        while let Some(n) = from.recv().await {
                            to.send(n).await;
                        }
                    });
                }
            },
        );
        let Timed { ran, traffic, .. } = timed.expect("it is normal");
        assert_eq!(ran.report.outcome, Summary::Quiescent);
        assert_eq!((traffic.messages, traffic.credits.frames), (0, 0));
        // After each round all look and tell what they see, and after each look but the last they act.
        let (others, rounds) = (ranks as u64 - 1, traffic.rounds);
        assert!(rounds > 1, "first it is noted what is dead");
        assert_eq!(
            traffic.termination.frames,
            others * (2 * rounds + 2 * rounds + rounds - 1),
            "{ranks} ranks"
        );
    }
}

#[test]
fn no_more_than_a_window_of_parcels_is_under_way_to_a_rank_that_sleeps() {
    let second = Duration::from_secs(1);
    let texts = |sim: TimedSim| {
        let timed = sim.run(&Options::new(), |_core, network| {
            let texts = Channel::named("texts").capacity(2000).wire();
            let (out, texts) = network.channel_with(texts);
            network.process_with(Process::named("write").rank(1), out, async |mut out| {
                out.send_all((0..4000).map(|n| format!("{n:4000}"))).await;
            });
            network.fold("read", texts, 0, |sum, text: String| sum + text.len())
        });
        let timed = timed.expect("it runs");
        assert_eq!(timed.ran.result.take(), Some(4000 * 4000));
        (timed.time, timed.traffic.most_under_way)
    };
    let sim = TimedSim::new(2, COSTS);
    let (awake, _) = texts(sim.clone());
    let (slept, most) = texts(sim.pause(0, MILLISECOND, second));
    assert_eq!(most, Window::MOST);
    assert!(slept > awake && slept < awake + second + 10 * MILLISECOND, "{awake:?}, {slept:?}");
}

#[test]
fn what_fails_on_a_rank_is_told_by_the_first() {
    let timed = TimedSim::new(3, COSTS).run(&Options::new(), |core, network| {
        let (out, numbers) = network.channel_with(Channel::<u64>::named("numbers").wire());
        let (core, place) = (core.clone(), Process::named("fail").rank(2));
        network.process_with(place, out, async move |mut out| {
            core.compute(MILLISECOND).await;
            out.send(1).await;
            panic!("on purpose");
        });
        network.for_each("ignore", numbers, |_| {});
    });
    let Err(NetError::Run(error)) = timed else { panic!("it fails: {timed:?}") };
    assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Failed));
}

/// Over a clock, and with a latency by the seed.
struct OverClock;

impl OverRanks for OverClock {
    fn run<'env>(
        &self,
        ranks: usize,
        seed: u64,
        options: &Options,
        build: &(dyn Fn(&mut Network<'env>) + Sync),
    ) -> Result<Report, RunError> {
        let latency = Duration::from_nanos(1 << (seed % 24));
        let sim = TimedSim::new(ranks, LogGp { latency, ..COSTS });
        let timed = sim.run(options, |_core, network| build(network));
        timed.map(|timed| timed.ran.report).map_err(|error| match error {
            NetError::Run(error) => error,
            other => RunError::Refused(other.to_string()),
        })
    }
}

#[test]
fn random_networks_do_under_a_clock_what_the_model_says() {
    let extent = Extent { seed: 2, cases: 100, time: None, shrinking: Duration::from_secs(20) };
    let summary = soak(&Ranked { runs: 4, over: OverClock }, extent);
    assert!(summary.is_good(), "{summary}");
    assert!(summary.tally.messages > 10 * summary.cases, "{summary}");
}
