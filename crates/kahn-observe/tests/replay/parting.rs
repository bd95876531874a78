//! What is not the same is found, and what cannot be replayed is not recorded.

use super::{Runs, everywhere, numbers, record, replay};
use kahn::{Channel, Network, Options, Process, RunError};
use kahn_observe::record::{Header, Recorder, Replay};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What a stage makes of a number.
type Stage = fn(u64) -> Option<u64>;

/// A source outside, a stage, and a sink with effects.
fn staged(network: &mut Network<'_>, messages: u64, stage: Stage, sink: Runs) {
    let (out, tape) = network.channel_with(numbers("tape"));
    network.blocking("device", out, move |mut out| {
        (0..messages).for_each(|number| out.send_blocking(number));
    });
    let (staged_out, staged) = network.channel_with(numbers("staged"));
    network.process("stage", (tape, staged_out), async move |(mut tape, mut out)| {
        while let Some(number) = tape.recv().await {
            if let Some(number) = stage(number) {
                out.send(number).await;
            }
        }
    });
    network.process_with(Process::named("print").effects(), staged, async move |mut staged| {
        while staged.recv().await.is_some() {
            sink.note();
        }
    });
}

#[test]
fn the_first_message_that_differs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    staged(&mut network, 1000, Some, Runs::default());
    record(&path, network, Options::new().workers(2));
    let cases: [(Stage, Option<&str>); 5] = [
        (Some, None),
        (
            |number| Some(if number > 699 { 0 } else { number }),
            Some("message 701 of channel `staged`, from `stage`, differs"),
        ),
        (
            |number| Some(number).filter(|number| *number < 999),
            Some("`print` received more than the 999 messages of `staged`"),
        ),
        (
            |number| Some(number).filter(|number| *number != 499),
            Some("message 500 of channel `staged`, from `stage`, differs"),
        ),
        (|_| None, Some("`print` received more than the 0 messages of `staged`")),
    ];
    for (stage, expected) in cases {
        everywhere(|options, schedule| {
            let sink = Runs::default();
            let ((), _, difference) =
                replay(&path, options, |network| staged(network, 1000, stage, sink.clone()));
            assert_eq!(difference.as_deref(), expected, "{schedule}");
            assert!(!sink.has());
        });
    }
}

#[test]
fn one_message_more_is_found_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    staged(
        &mut network,
        1000,
        |number| Some(number).filter(|number| *number < 999),
        Runs::default(),
    );
    record(&path, network, Options::new().workers(2));
    everywhere(|options, schedule| {
        let ((), _, difference) =
            replay(&path, options, |network| staged(network, 1000, Some, Runs::default()));
        let what = "`print` saw `staged` end before message 1000, which there is";
        assert_eq!(difference.as_deref(), Some(what), "{schedule}");
    });
}

/// One process makes numbers of a seed from outside, and another makes one of theirs: nothing that passes between
/// them is recorded, but together.
fn within(network: &mut Network<'_>, count: u64, wrong: Option<u64>) {
    let (out, seeds) = network.channel_with(numbers("seeds"));
    network.blocking("device", out, |mut out| out.send_blocking(7));
    let (many_out, many) = network.channel_with(numbers("many"));
    network.process("make", (seeds, many_out), async move |(mut seeds, mut out)| {
        let seed = seeds.recv().await.unwrap_or(0);
        out.send_all((0..count).map(|n| seed * n + u64::from(wrong == Some(n)))).await;
    });
    network.for_each("drop", many, |_| {});
}

#[test]
fn what_no_recorded_process_has_is_compared_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let count = (1 << 16) + 100;
    let mut network = Network::new();
    within(&mut network, count, None);
    record(&path, network, Options::new().workers(2));
    for workers in [1, 2] {
        for (wrong, found_at) in
            [(None, None), (Some(3), Some(1 << 16)), (Some(65_540), Some(count))]
        {
            let options = Options::new().workers(workers);
            let ((), _, difference) =
                replay(&path, options, |network| within(network, count, wrong));
            let what =
                |at| format!("some message up to {at} of channel `many`, from `make`, differs");
            assert_eq!(difference, found_at.map(what));
        }
    }
}

/// A port beside which something stands on the heap.
struct Owns(kahn::Sender<u64>, #[expect(dead_code, reason = "it is dropped")] Vec<Arc<()>>);

impl kahn::Ports for Owns {
    fn visit(&self, see: &mut dyn FnMut(kahn::Port)) {
        self.0.visit(see);
    }
}

#[test]
fn what_stands_in_for_a_process_has_its_ends_and_nothing_else_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let owned = Arc::new(());
    let build = |network: &mut Network<'_>| {
        let (blocking_out, first) = network.channel_with(numbers("first"));
        let (async_out, second) = network.channel_with(numbers("second"));
        let owns = |out| Owns(out, vec![Arc::clone(&owned); 3]);
        let code = Arc::clone(&owned);
        network.blocking("device", owns(blocking_out), move |mut ports| {
            ports.0.send_blocking(1);
            drop(code);
        });
        network.process_with(
            Process::named("clock").effects(),
            vec![owns(async_out)],
            async |mut ports| ports[0].0.send(2).await,
        );
        let first = network.fold("first sum", first, 0, |sum, number| sum + number);
        (first, network.fold("second sum", second, 0, |sum, number| sum + number))
    };
    let mut network = Network::new();
    build(&mut network);
    record(&path, network, Options::new().workers(2));
    assert_eq!(Arc::strong_count(&owned), 1);
    everywhere(|options, schedule| {
        let ((first, second), _, difference) = replay(&path, options, build);
        assert_eq!((first.take(), second.take()), (Some(1), Some(2)), "{schedule}");
        assert_eq!((Arc::strong_count(&owned), difference), (1, None), "{schedule}");
    });
}

/// What is known of the messages of a run: how often each was dropped, how many are made, and by how many at most
/// the maker was ahead of one that was being dropped.
#[derive(Debug, Default)]
struct Drops {
    of: Vec<AtomicU64>,
    made: AtomicUsize,
    ahead: AtomicUsize,
}

/// Notes that it is dropped, which takes a while: until another has taken its slot, if one may.
#[derive(Debug)]
struct Once(usize, Arc<Drops>);

impl Drop for Once {
    fn drop(&mut self) {
        let Self(number, drops) = self;
        // Long enough for a thread that waits to be woken; and not the last that is published together.
        let turns = if *number % 512 == 3 { 20_000 } else { 1 };
        let ahead = || drops.made.load(Relaxed) - *number;
        let before = ahead();
        for _ in 0..turns {
            std::thread::yield_now();
            if ahead() > before.max(AHEAD) {
                break;
            }
        }
        drops.ahead.fetch_max(ahead(), Relaxed);
        drops.of[*number].fetch_add(1, Relaxed);
    }
}

const CAPACITY: usize = 64;

/// While one is dropped, it and others fill the channel; the next is made when there is room.
const AHEAD: usize = CAPACITY;

#[test]
fn what_stands_in_for_a_process_drops_each_message_before_another_takes_its_slot() {
    const MESSAGES: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let drops = Arc::new(Drops {
            of: (0..MESSAGES).map(|_| AtomicU64::new(0)).collect(),
            ..Drops::default()
        });
        let capacity = u32::try_from(CAPACITY).unwrap();
        let (out, messages) = network.channel_with(Channel::named("messages").capacity(capacity));
        let made = Arc::clone(&drops);
        network.process("make", out, async move |mut out| {
            let make = |number| {
                made.made.fetch_add(1, Relaxed);
                Once(number, Arc::clone(&made))
            };
            out.send_all((0..MESSAGES).map(make)).await;
        });
        network.process_with(Process::named("sink").effects(), messages, async |mut messages| {
            while messages.recv().await.is_some() {}
        });
        drops
    };
    let mut network = Network::new();
    build(&mut network);
    record(&path, network, Options::new().workers(2));
    let threads = Options::new().policy(kahn::policy::THREADS);
    let workers = [1, 2, 8].map(|workers| Options::new().workers(workers));
    for options in workers.into_iter().chain([threads]) {
        let schedule = format!("{options:?}");
        let (drops, _, difference) = replay(&path, options, build);
        assert_eq!(difference, None);
        assert!(drops.ahead.load(Relaxed) <= AHEAD, "{schedule}: a slot was taken that is in use");
        assert!(drops.of.iter().all(|drops| drops.load(Relaxed) == 1), "{schedule}");
    }
}

#[test]
fn a_sink_acts_again_if_it_is_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    staged(&mut network, 10, Some, Runs::default());
    record(&path, network, Options::new().workers(2));
    let replay = Arc::new(Replay::open(&path).unwrap().with_effects(true));
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    let sink = Runs::default();
    staged(&mut network, 0, Some, sink.clone());
    network.run_with(Options::new().observer(Arc::clone(&replay))).unwrap();
    assert!(sink.has() && replay.difference().is_none());
}

#[test]
fn another_network_is_refused_by_its_first_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    staged(&mut network, 10, Some, Runs::default());
    record(&path, network, Options::new().workers(2));
    let replay = Arc::new(Replay::open(&path).unwrap());
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    staged(&mut network, 10, Some, Runs::default());
    network.process("more", (), async |()| {});
    let error = network.run_with(Options::new().observer(replay)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this is another network than the recorded one: process 4 is `more` here and missing there \
         (in the recording)"
    );
}

#[test]
fn what_cannot_be_replayed_is_not_recorded_and_all_of_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let mut network = Network::new();
    let (plain, lines) = network.channel::<u64>("lines");
    // It leaves, so that a run which is not refused ends.
    drop(network.outside("client", plain));
    let (more, words) = network.channel::<u64>("words");
    network.blocking("device", more, |mut more| more.send_blocking(1));
    network.for_each("ignore lines", lines, |_| {});
    network.for_each("ignore words", words, |_| {});
    let spawner = network.spawner();
    network.process_with(Process::named("make").effects(), spawner, async |_spawner| {});
    let recorder = Arc::new(Recorder::new(&path, Header::default()));
    let refused = network.run_with(Options::new().observer(recorder));
    let Err(RunError::Refused(why)) = refused else { panic!("it is refused") };
    assert_eq!(
        why.lines().collect::<Vec<_>>(),
        [
            "the run cannot be recorded:",
            "  `client` sends on channel `lines`, whose messages have no written form: give it one by \
             `Channel::wire`",
            "  `device` sends on channel `words`, whose messages have no written form: give it one by \
             `Channel::wire`",
            "  `make` creates processes, and would not be run in a replay",
        ]
    );
    assert!(!path.exists(), "nothing is written");
}
