//! A process that is held before a receive: what is there then is the same in every replay, and no channel
//! grows for it.

use super::{essence, numbers, record, reported};
use kahn::policy::PolicyChoice;
use kahn::{Network, Options, Report, RunError};
use kahn_observe::record::{Left, Replay};
use std::path::Path;
use std::sync::Arc;

/// Replays until a process is held; what is told of that.
fn held<'env>(
    path: &Path,
    options: Options,
    (process, receive): (&str, u64),
    build: impl FnOnce(&mut Network<'env>),
) -> (Report, Vec<Left>) {
    let replay = Arc::new(Replay::open(path).expect("it is one").until(process, receive));
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    build(&mut network);
    let handle = network.stop_handle();
    replay.when_different(move || handle.stop());
    let report = reported(network.run_with(options.observer(Arc::clone(&replay))));
    assert_eq!(replay.difference(), None);
    (report, replay.left())
}

/// Every policy with 1, 2 and 8 workers.
fn everywhere(mut run: impl FnMut(Options, &str)) {
    for policy in kahn_policies::POLICIES.iter().map(PolicyChoice::name) {
        for workers in [1, 2, 8] {
            let options = Options::new().workers(workers).policy(kahn_laws::policy(policy));
            run(options, &format!("{policy}, {workers} workers"));
        }
    }
}

/// A device; a stage that hands every third number to `late` and all to `soon`, whose channels have to grow
/// since `join` reads `late` first; and a process beside them that has nothing to do with it.
fn network(network: &mut Network<'_>) {
    let (out, tape) = network.channel_with(numbers("tape").capacity(5));
    network.blocking("device", out, |mut out| {
        (0..3000).for_each(|number| out.send_blocking(number));
    });
    let (soon_out, soon) = network.channel_with(numbers("soon").capacity(1));
    let (late_out, late) = network.channel_with(numbers("late").capacity(1));
    network.process("deal", (tape, soon_out, late_out), async |(mut tape, mut soon, mut late)| {
        while let Some(number) = tape.recv().await {
            soon.send(number).await;
            if number % 30 == 29 {
                late.send(number).await;
            }
        }
    });
    let (sums_out, sums) = network.channel_with(numbers("sums").capacity(7));
    network.process("join", (soon, late, sums_out), async |(mut soon, mut late, mut sums)| {
        while let Some(last) = late.recv().await {
            let mut sum = 0;
            while sum < last {
                sum += soon.recv().await.expect("there are more");
            }
            sums.send(sum).await;
        }
    });
    let out = network.fold("total", sums, 0, |sum, number| sum + number);
    drop(out);
    let beside = network.source("beside", 0..100_u64);
    network.for_each("ignore", beside, |_| {});
}

fn recorded() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.rec");
    let mut live = Network::new();
    network(&mut live);
    assert!(record(&path, live, Options::new().workers(2)).is_success());
    (folder, path)
}

#[test]
fn what_is_there_before_a_receive_is_the_same_under_every_schedule() {
    let (_folder, path) = recorded();
    for place in [("join", 1), ("join", 2), ("join", 40), ("deal", 1), ("deal", 77), ("total", 3)] {
        let mut first: Option<(String, Vec<Left>)> = None;
        everywhere(|options, schedule| {
            let (report, left) = held(&path, options, place, network);
            let essence = essence(&report);
            let (process, receive) = place;
            assert!(essence.contains(&format!("`{process}` is held before")), "{essence}");
            let received: u64 = report
                .channels
                .iter()
                .filter(|channel| channel.to.as_ref().is_some_and(|to| *to == *process))
                .map(|channel| channel.received)
                .sum();
            assert_eq!(received, receive - 1, "{schedule}");
            assert!(!left.is_empty() || place == ("deal", 1));
            let grows = report.grown.iter().any(|grown| grown.to_string().contains("`soon`"));
            assert_eq!(grows, receive > 1, "{schedule}: {report}");
            let (text, before) = first.get_or_insert_with(|| (essence.clone(), left.clone()));
            assert_eq!(*text, essence, "{process}@{receive}: {schedule}");
            assert_eq!(*before, left, "{process}@{receive}: {schedule}");
        });
    }
}

#[test]
fn the_channel_of_a_held_process_holds_the_messages_that_it_would_receive_and_does_not_grow() {
    let (_folder, path) = recorded();
    everywhere(|options, schedule| {
        let (report, left) = held(&path, options, ("deal", 77), network);
        let tape = left.iter().find(|left| left.channel == "tape").expect("it is full");
        assert_eq!((tape.first, tape.messages), (77, 5), "{schedule}");
        let written = (76..81_u64).map(|number| Some(number.to_le_bytes().to_vec()));
        assert!(written.eq(tape.written.iter().cloned()), "{schedule}");
        assert!(report.grown.iter().all(|grown| !grown.to_string().contains("`tape`")));
    });
}

#[test]
fn a_recorded_process_is_held_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let tape = network.source("tape", 0..100_u64);
        let sink = kahn::Process::named("sink").effects();
        network.blocking_with(sink, tape, |mut tape| while tape.recv_blocking().is_some() {});
    };
    let mut live = Network::new();
    build(&mut live);
    assert!(record(&path, live, Options::new().workers(2)).is_success());
    everywhere(|options, schedule| {
        let (report, _) = held(&path, options, ("sink", 8), build);
        let text = essence(&report);
        assert!(
            text.contains("`sink` is held before it receives message 8 from `tape`"),
            "{schedule}"
        );
    });
}

#[test]
fn a_process_that_blocks_its_thread_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let build = |network: &mut Network<'_>| {
        let (out, tape) = network.channel_with(numbers("tape"));
        network.blocking("device", out, |mut out| {
            (0..500).for_each(|number| out.send_blocking(number));
        });
        network.blocking("count", tape, |mut tape| while tape.recv_blocking().is_some() {});
    };
    let mut live = Network::new();
    build(&mut live);
    assert!(record(&path, live, Options::new().workers(2)).is_success());
    everywhere(|options, schedule| {
        let (report, left) = held(&path, options, ("count", 300), build);
        let text = essence(&report);
        assert!(text.contains("`count` is held before it receives message 300"), "{schedule}");
        assert_eq!(left[0].first, 300, "{schedule}");
    });
}

#[test]
fn one_that_receives_less_runs_to_its_end_and_an_unknown_one_is_refused() {
    let (_folder, path) = recorded();
    let (report, left) = held(&path, Options::new().workers(2), ("total", 5000), network);
    assert!(report.is_success() && left.is_empty(), "{report}");

    let replay = Arc::new(Replay::open(&path).unwrap().until("merge", 1));
    let mut again = Network::new();
    again.replay(Arc::clone(&replay) as _);
    network(&mut again);
    let refused = again.run_with(Options::new().observer(replay)).unwrap_err();
    let RunError::Refused(why) = refused else { panic!("{refused}") };
    assert!(why.starts_with("there is no process `merge`, but `device`, `deal`, `join`"), "{why}");
}
