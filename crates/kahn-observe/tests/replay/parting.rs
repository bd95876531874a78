//! What is not the same is found, and what cannot be replayed is not recorded.

use super::{Runs, everywhere, numbers, record, replay};
use kahn::{Network, Options, Process, RunError};
use kahn_observe::record::{Header, Recorder, Replay};
use std::sync::Arc;

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
    let _plain = network.outside("client", plain);
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
