//! The service among the examples of `kahn`: what real clients said is said again without them.

use super::{everywhere, replay};
use kahn::{Options, Report};
use kahn_observe::record::{Act, Entry, Header, Reader, Recorder};
use std::sync::Arc;

#[path = "../../../kahn/examples/service.rs"]
#[expect(dead_code, reason = "an example is a program")]
mod example;

/// What passed on each channel.
fn passed(report: &Report) -> Vec<(String, u64, u64)> {
    let of =
        |channel: &kahn::ChannelReport| (channel.name.to_string(), channel.sent, channel.received);
    report.channels.iter().map(of).collect()
}

#[test]
fn a_service_is_recorded_from_its_clients_and_replayed_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.rec");
    let lines: Vec<_> =
        (0..40).map(|number| format!("client {number} says {}", number * number)).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let recorder = Arc::new(Recorder::new(&path, Header::default()));
    let mut recorded = None;
    let heard = example::talk(&lines, |network| {
        let report = network.run_with(Options::new().workers(2).observer(Arc::clone(&recorder)))?;
        recorded = Some(report.clone());
        Ok(report)
    });
    recorder.finish().unwrap();
    let reversed = |line: &&str| line.chars().rev().chain(['\n']).collect::<String>();
    assert_eq!(heard.unwrap(), lines.iter().map(reversed).collect::<Vec<_>>());

    // In the order in which they came, whatever that was.
    let mut reader = Reader::open(&path).unwrap();
    let mut asked = Vec::new();
    while let Some(entry) = reader.read().unwrap() {
        if let Entry::Acts { act: Act::Sends { message, .. }, .. } = entry {
            asked.push(String::from_utf8(message.to_vec()).unwrap());
        }
    }
    asked.sort_unstable();
    let mut said: Vec<_> = lines.iter().map(ToString::to_string).collect();
    said.sort_unstable();
    assert_eq!(asked, said);

    let recorded = recorded.unwrap();
    everywhere(|options, schedule| {
        let (requests, report, difference) = replay(&path, options, example::service);
        assert_eq!(difference, None, "{schedule}");
        assert_eq!(passed(&report), passed(&recorded), "{schedule}");
        assert!(requests.ask_blocking("more".to_owned()).is_err(), "{schedule}: it is closed");
    });
}
