//! The laws of recording and replay: a run does the same again from its recording alone, on any number of
//! workers, under any policy and with any capacity, and what parts is found at its first message.

mod histories;
mod hostile;
mod inputs;
mod parting;
mod random;
#[cfg(unix)]
mod resume;
mod service;
mod until;

use kahn::policy::PolicyChoice;
use kahn::{BoxError, Channel, Network, Options, Report, RunError};
use kahn_observe::record::{Header, Recorder, Replay};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A channel of numbers with a written form.
fn numbers(name: &str) -> Channel<u64> {
    Channel::named(name).wire_with(
        |number, into| into.extend(number.to_le_bytes()),
        |bytes| Ok::<_, BoxError>(u64::from_le_bytes(bytes.try_into()?)),
    )
}

/// Every policy with 1, 2 and 8 workers, in channels that are as they are or hold one message.
fn everywhere(mut run: impl FnMut(Options, &str)) {
    for policy in kahn_policies::POLICIES.iter().map(PolicyChoice::name) {
        for workers in [1, 2, 8] {
            for capacity in [None, Some(1)] {
                let options = Options::new().workers(workers).policy(kahn_laws::policy(policy));
                let options = match capacity {
                    Some(capacity) => options.capacity(capacity),
                    None => options,
                };
                run(options, &format!("{policy}, {workers} workers, capacity {capacity:?}"));
            }
        }
    }
}

/// The report of a run, whatever its outcome.
fn reported(run: Result<Report, RunError>) -> Report {
    match run {
        Ok(report) => report,
        Err(RunError::Ended(report)) => *report,
        Err(error) => panic!("{error}"),
    }
}

/// Records a run into a file; `network` is built and run.
fn record(path: &Path, network: Network<'_>, options: Options) -> Report {
    let recorder = Arc::new(Recorder::new(path, Header::default()));
    let report = reported(network.run_with(options.observer(Arc::clone(&recorder))));
    recorder.finish().expect("the disk has room");
    report
}

/// Replays a recording with a network that `build` writes down; returns what that returns, the report, and
/// what differs.
fn replay<'env, T>(
    path: &Path,
    options: Options,
    build: impl FnOnce(&mut Network<'env>) -> T,
) -> (T, Report, Option<String>) {
    let replay = Arc::new(Replay::open(path).expect("it is a recording"));
    assert_eq!(replay.ends_early(), None);
    let mut network = Network::new();
    network.replay(Arc::clone(&replay) as _);
    let built = build(&mut network);
    let handle = network.stop_handle();
    replay.when_different(move || handle.stop());
    let report = reported(network.run_with(options.observer(Arc::clone(&replay))));
    (built, report, replay.difference())
}

/// What of a report is the same in every run.
fn essence(report: &Report) -> String {
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    format!("{:?}\n{failures:#?}\n{}", report.outcome, report.reason())
}

/// Says that the code of a process runs, which it must not in a replay.
#[derive(Clone, Debug, Default)]
struct Runs(Arc<AtomicBool>);

impl Runs {
    fn note(&self) {
        self.0.store(true, SeqCst);
    }

    fn has(&self) -> bool {
        self.0.load(SeqCst)
    }
}
