//! What rank 0 sees of a run on several: recordings that are run again anywhere, traces by one clock.

use kahn::observe::Observer;
use kahn::{Channel, Network, Options, Process, Summary};
use kahn_net::{Clock, Heard, NetError, Ran, Sim, Watch};
use kahn_observe::record::{Entry, Header, RankSums, Reader, Recorder, Replay, ReplayOnRank};
use kahn_observe::trace::{Level, OtherRank, RankTrace, Timeline, Trace};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a rank has told, and how its clock goes.
type Told = (Vec<u8>, Option<Clock>);

/// What a rank tells when the run is over, in pieces of seven bytes.
type Tells = Box<dyn Fn() -> Vec<u8> + Send + Sync>;

/// Has what observes a rank tell rank 0.
#[derive(Default)]
struct Seen {
    observers: Vec<Arc<dyn Observer>>,
    tells: Option<Tells>,
    left: Mutex<Option<Vec<u8>>>,
    /// By how much its clock is ahead.
    ahead: u64,
    heard: Mutex<BTreeMap<usize, Told>>,
}

impl Watch for Seen {
    fn observers(&self) -> Vec<Arc<dyn Observer>> {
        self.observers.clone()
    }

    fn clock(&self) -> u64 {
        RankTrace::clock() + self.ahead
    }

    fn last(&self, into: &mut Vec<u8>) -> bool {
        let mut left = self.left.lock();
        let left = left.get_or_insert_with(|| self.tells.as_ref().map_or(Vec::new(), |all| all()));
        into.extend(left.drain(..left.len().min(7)));
        !left.is_empty()
    }

    fn hears(&self, rank: usize, what: Heard<'_>) {
        let mut heard = self.heard.lock();
        let (bytes, its_clock) = heard.entry(rank).or_default();
        match what {
            Heard::Last(piece) => bytes.extend(piece),
            Heard::Clock(clock) => *its_clock = Some(clock),
            _ => {}
        }
    }
}

fn numbers(name: &'static str) -> Channel<u64> {
    Channel::named(name).wire()
}

/// Reads numbers outside, has them doubled on rank 1 and added up on rank 2, and tells that outside. Of the first two
/// one is so much more, and the other so much less.
fn build(network: &mut Network<'_>, outside: u64, off: u64) -> kahn::process::Output<Vec<u64>> {
    let (read_out, read) = network.channel_with(numbers("read"));
    network.blocking("read", read_out, move |mut out| {
        (outside..outside + 100).for_each(|number| out.send_blocking(number));
    });
    let (doubled_out, doubled) = network.channel_with(numbers("doubled"));
    network.process_with(
        Process::named("double").rank(1),
        (read, doubled_out),
        async move |(mut read, mut out)| {
            while let Some(number) = read.recv().await {
                let off = match number {
                    40 => off,
                    41 => 0_u64.wrapping_sub(off),
                    _ => 0,
                };
                out.send((2 * number).wrapping_add(off)).await;
            }
        },
    );
    let (sums_out, sums) = network.channel_with(numbers("sums"));
    network.process_with(
        Process::named("add").rank(2),
        (doubled, sums_out),
        async |(mut doubled, mut out)| {
            let mut sum = 0;
            while let Some(number) = doubled.recv().await {
                sum += number;
                // Not all of what came can be told from what goes.
                if sum % 2 == 0 {
                    out.send(sum / 1000).await;
                }
            }
        },
    );
    let (told_out, told) = network.channel_with(numbers("told"));
    network.process_with(
        Process::named("tell").effects(),
        (sums, told_out),
        async |(mut sums, mut out)| {
            while let Some(sum) = sums.recv().await {
                out.send(sum).await;
            }
        },
    );
    network.collect("all", told)
}

fn recorded(path: &Path, ranks: usize, outside: u64) -> Option<Vec<u64>> {
    let recorder = Arc::new(Recorder::new(path, Header::default()));
    let first = Arc::new(Seen { observers: vec![Arc::clone(&recorder) as _], ..Seen::default() });
    let of_first = Arc::clone(&first);
    let sim = Sim::new(ranks).watched(move |rank| {
        if rank == 0 {
            Arc::clone(&of_first) as _
        } else {
            let sums = Arc::<RankSums>::default();
            let told = Arc::clone(&sums);
            let tells: Tells = Box::new(move || told.to_bytes());
            Arc::new(Seen { observers: vec![sums], tells: Some(tells), ..Seen::default() }) as _
        }
    });
    let ran = sim.run(&Options::new(), |network| build(network, outside, 0)).expect("it runs");
    for (bytes, _) in first.heard.lock().values() {
        assert!(recorder.add(bytes));
    }
    recorder.finish().expect("there is room");
    ran.result.take()
}

/// The result on so many ranks, and the first difference from what was recorded.
fn replayed(path: &Path, ranks: usize, off: u64) -> (Option<Vec<u64>>, Option<String>) {
    let replay = Arc::new(Replay::open(path).expect("it was written"));
    assert_eq!(replay.ends_early(), None);
    let of_ranks = Arc::clone(&replay);
    let sim = Sim::new(ranks).watched(move |rank| {
        let observer: Arc<dyn Observer> = match rank {
            0 => Arc::clone(&of_ranks) as _,
            _ => Arc::new(ReplayOnRank::new(Arc::clone(&of_ranks))),
        };
        Arc::new(Seen { observers: vec![observer], ..Seen::default() })
    });
    let ran = sim.run_each(&Options::new(), |rank, network| {
        network.replay(Arc::clone(&replay) as _);
        if rank == 0 {
            let stop = network.stop_handle();
            replay.when_different(move || stop.stop());
        }
        // What is outside is not asked.
        build(network, 7_000_000, off)
    });
    let result = match ran {
        Ok(Ran { result, .. }) => result.take(),
        Err(NetError::Run(error)) => {
            assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Stopped));
            None
        }
        Err(error) => panic!("{error}"),
    };
    (result, replay.difference())
}

#[test]
fn a_recording_has_what_is_outside_of_all_ranks_and_is_run_again_on_any_number() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [1, 2, 3] {
        let path = folder.path().join(format!("{ranks}.rec"));
        let expected = recorded(&path, ranks, 40);
        assert!(
            expected.as_ref().is_some_and(|all| all.len() == 100 && all[99] == 17),
            "{expected:?}"
        );
        for again in [1, 2, 3, 4] {
            assert_eq!(replayed(&path, again, 0), (expected.clone(), None), "{ranks} {again}");
        }
    }
}

#[test]
fn what_passes_between_other_ranks_is_summed_up_in_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let sums = |ranks: usize| {
        let path = folder.path().join(format!("sums {ranks}.rec"));
        recorded(&path, ranks, 40);
        let mut reader = Reader::open(&path).unwrap();
        let channels = reader.header().network.channels.clone();
        let mut sums = BTreeMap::<String, Vec<(u64, u64)>>::new();
        while let Some(entry) = reader.read().unwrap() {
            if let Entry::Carried { channel, messages, digest } = entry {
                let name = channels.iter().find(|one| one.id == channel).unwrap().name.clone();
                sums.entry(name).or_default().push((messages, digest));
            }
        }
        sums
    };
    let of_one = sums(1);
    assert!(of_one["doubled"].iter().any(|(messages, _)| *messages == 100), "{of_one:?}");
    assert_eq!(sums(3), of_one);
}

#[test]
fn a_network_that_sends_something_else_between_other_ranks_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    recorded(&path, 3, 40);
    for ranks in [1, 3] {
        // What `add` tells of it is the same, so no process on rank 0 gets to know.
        let (_, difference) = replayed(&path, ranks, 2);
        let difference = difference.expect("it differs");
        assert!(difference.contains("channel `doubled`, from `double`, differs"), "{difference}");
    }
}

/// Two processes that answer each other, on two ranks, whose clocks are so far apart.
fn traced(ahead: u64, level: Level, events: usize) -> (Timeline, Clock) {
    let trace = move || Arc::new(Trace::new(level).events(events));
    let here = trace();
    let first = Arc::new(Seen { observers: vec![Arc::clone(&here) as _], ..Seen::default() });
    let of_first = Arc::clone(&first);
    let sim = Sim::new(2).watched(move |rank| {
        if rank == 0 {
            Arc::clone(&of_first) as _
        } else {
            let there = trace();
            let told = Arc::clone(&there);
            let tells: Tells = Box::new(move || RankTrace::of(&told).to_bytes());
            let observers: Vec<Arc<dyn Observer>> = vec![there];
            Arc::new(Seen { observers, tells: Some(tells), ahead, ..Seen::default() }) as _
        }
    });
    sim.run(&Options::new().workers(1), |network| {
        let (ask_out, ask) = network.channel_with(numbers("ask"));
        let (answer_out, answer) = network.channel_with(numbers("answer"));
        network.process_with(
            Process::named("answer").rank(1),
            (ask, answer_out),
            async |(mut ask, mut out)| {
                while let Some(number) = ask.recv().await {
                    out.send(number + 1).await;
                }
            },
        );
        network.compute("ask", (ask_out, answer), async |(mut ask, mut answer)| {
            for number in 0..50 {
                ask.send(number).await;
                assert_eq!(answer.recv().await, Some(number + 1));
            }
        });
    })
    .expect("it runs");
    let (bytes, clock) = first.heard.lock().remove(&1).expect("it has told");
    let clock = clock.expect("it was asked");
    let other = OtherRank {
        rank: 1,
        trace: RankTrace::from_bytes(&bytes).expect("it was written"),
        here: &|there| clock.here(there + ahead),
        error: clock.error(),
    };
    (here.timeline_with(&[other]), clock)
}

#[test]
fn no_arrow_points_backwards_by_more_than_the_error_however_far_clocks_are_apart() {
    for ahead in [0, 1 << 20, 1 << 40] {
        let (timeline, clock) = traced(ahead, Level::Messages, 1 << 12);
        // Ranks of one program have one clock, of which this one is ahead.
        for there in [RankTrace::clock(), RankTrace::clock() - 1_000_000] {
            assert!(clock.here(there + ahead).abs_diff(there) <= clock.error(), "{clock:?}");
        }
        assert!(timeline.moved() <= timeline.clock_error(), "{} ns", timeline.moved());
        assert_eq!(timeline.ranks_of("answer").collect::<Vec<_>>(), [1]);
        assert_eq!(timeline.ranks_of("ask").collect::<Vec<_>>(), [0]);
        let mut file = Vec::new();
        timeline.write(&mut file).unwrap();
        assert_eq!(Timeline::read(&file).unwrap(), timeline);
        // Each message has one, from rank to rank.
        assert_eq!(timeline.arrows_between_ranks(), 100);
        let text = timeline.summary().to_string();
        assert!(text.contains("2 ranks, whose clocks agree to"), "{text}");
        for link in ["ask to rank 1 (rank 0)", "ask from rank 0 (rank 1)", "answer (rank 1)"] {
            assert!(text.contains(link), "{text}");
        }
    }
}

#[test]
fn what_one_rank_has_lost_is_told_of_none() {
    let (whole, _) = traced(0, Level::Schedule, 1 << 12);
    assert_eq!((whole.lost(), whole.arrows_between_ranks()), (0, 0));
    let (timeline, _) = traced(0, Level::Messages, 16);
    assert!(timeline.lost() > 100, "{}", timeline.lost());
    let text = timeline.summary().to_string();
    assert!(text.contains("older events were lost; it begins at"), "{text}");
    assert!(timeline.arrows_between_ranks() < 100);
}
