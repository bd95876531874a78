//! What the destructors of a process do while it is being ended: nothing, and the program goes on.

use super::schedules::{Heard, everywhere, listen};
use kahn::{Network, Receiver, Report, Sender, StopHandle, Summary};
use std::pin::pin;
use std::task::{Context, Waker};

/// Uses its ends when it is dropped, in the form of its process.
struct Last {
    out: Sender<u64>,
    from: Option<Receiver<u64>>,
    blocks: bool,
    heard: Heard<Option<u64>>,
    stop: Option<StopHandle>,
}

impl Last {
    fn new(out: Sender<u64>, from: Receiver<u64>, blocks: bool, heard: Heard<Option<u64>>) -> Self {
        Self { out, from: Some(from), blocks, heard, stop: None }
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.stop();
        }
        if self.blocks {
            self.out.send_blocking(99);
            self.out.reserve_blocking().send(98);
            if let Some(from) = &mut self.from {
                self.heard.push(from.recv_blocking());
                self.heard.push(from.recv_in_place_blocking().map(|message| *message));
            }
            return;
        }
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(self.out.send(99)).poll(&mut context).is_ready(), "it waits");
        for _ in 0..200 {
            assert!(pin!(self.out.flush()).poll(&mut context).is_ready(), "it waits");
        }
        if let Some(from) = &mut self.from {
            assert!(pin!(from.recv()).poll(&mut context).is_ready(), "it waits");
        }
    }
}

fn ending(report: &Report, name: &str) -> String {
    let process = report.processes.iter().find(|process| process.name.as_str() == name);
    process.expect("listed").ending.to_string()
}

/// Runs under every schedule a network with a process `last`, blocking or not, that passes on what it
/// receives, and has a `Last`. `others` adds what is at its two ends, and `law` judges the report.
fn with_a_last<'env, T>(
    others: impl Fn(&mut Network<'env>, Sender<u64>, Receiver<u64>) -> T,
    law: impl Fn(&Report, T),
) {
    everywhere(|schedule| {
        for blocks in [true, false] {
            let mut network = Network::new();
            let (feed, numbers) = network.channel::<u64>("numbers");
            let (out, on) = network.channel::<u64>("on");
            let heard = Heard::default();
            let tell = heard.clone();
            if blocks {
                network.blocking("last", (numbers, out), move |(from, out)| {
                    let mut last = Last::new(out, from, true, tell);
                    while let Some(n) = last.from.as_mut().and_then(Receiver::recv_blocking) {
                        last.out.send_blocking(n);
                    }
                });
            } else {
                network.process("last", (numbers, out), async move |(from, out)| {
                    let mut last = Last::new(out, from, false, tell);
                    while let Some(n) = last.from.as_mut().expect("not dropped").recv().await {
                        last.out.send(n).await;
                    }
                });
            }
            let others = others(&mut network, feed, on);
            law(&schedule.run(network), others);
            assert!(heard.all().iter().all(Option::is_none), "received while it was ended");
        }
    });
}

fn endless(network: &mut Network<'_>, out: Sender<u64>) {
    network.process("endless", out, async |mut out| out.send_all(0..).await);
}

/// Adds a process that sends so many numbers and fails.
fn fail_after(network: &mut Network<'_>, numbers: u64, out: Sender<u64>) {
    network.process("fail", out, async move |mut out| {
        out.send_all(0..numbers).await;
        Err::<(), _>("on purpose")
    });
}

#[test]
fn destructors_of_a_pruned_process_do_nothing() {
    let others = |network: &mut Network<'_>, feed, on: Receiver<u64>| {
        endless(network, feed);
        network.process("read three", on, async |mut on| {
            for n in 0..3 {
                assert_eq!(on.recv().await, Some(n));
            }
        });
    };
    with_a_last(others, |report, ()| {
        assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
        assert_eq!(ending(report, "last"), "pruned");
    });
}

#[test]
fn destructors_of_a_process_that_reached_a_failure_mark_do_nothing() {
    let others = |network: &mut Network<'_>, feed, on| {
        fail_after(network, 3, feed);
        listen(network, "listen", on)
    };
    with_a_last(others, |report, listened| {
        assert_eq!(report.outcome, Summary::Failed, "{report}");
        assert_eq!(listened.all(), [0, 1, 2], "a destructor sent");
        assert!(!listened.is_complete(), "a failure looked like an end");
        assert_eq!(ending(report, "last"), "failed with `fail`, at `numbers`");
    });
}

#[test]
fn destructors_of_a_deadlocked_process_do_nothing() {
    let others = |network: &mut Network<'_>, feed: Sender<u64>, on: Receiver<u64>| {
        let listened = Heard::default();
        let tell = listened.clone();
        network.process("wait", (on, feed), async move |(mut on, _feed)| {
            tell.push(on.recv().await);
        });
        listened
    };
    with_a_last(others, |report, listened| {
        assert_eq!(report.outcome, Summary::Deadlock, "{report}");
        assert_eq!(report.messages(), 0);
        assert!(listened.all().is_empty());
    });
}

#[test]
fn destructors_of_a_stopped_process_do_nothing() {
    let others = |network: &mut Network<'_>, feed, on: Receiver<u64>| {
        endless(network, feed);
        let stop = network.stop_handle();
        network.process("stop", on, async move |mut on| {
            while let Some(n) = on.recv().await {
                assert!(n < 90, "a destructor sent");
                if n == 20 {
                    stop.stop();
                }
            }
        });
    };
    with_a_last(others, |report, ()| assert_eq!(report.outcome, Summary::Stopped, "{report}"));
}

/// What wants to end a process while its own panic unwinds it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Stop,
    Mark,
    Prune,
}

#[test]
fn a_process_may_be_ended_while_its_own_panic_unwinds_it() {
    everywhere(|schedule| {
        for meanwhile in [Meanwhile::Stop, Meanwhile::Mark, Meanwhile::Prune] {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            network.process("feed", out, async move |mut out| {
                out.send(7).await;
                if meanwhile == Meanwhile::Mark {
                    return Err("on purpose");
                }
                Ok(())
            });
            let (out, on) = network.channel::<u64>("on");
            let stop = (meanwhile == Meanwhile::Stop).then(|| network.stop_handle());
            network.blocking("last", (numbers, out), move |(mut numbers, mut out)| -> () {
                assert_eq!(numbers.recv_blocking(), Some(7));
                out.send_blocking(1);
                let mut last = Last::new(out, numbers, true, Heard::default());
                last.stop = stop;
                std::panic::resume_unwind(Box::new("its own"))
            });
            let listened = Heard::default();
            if meanwhile == Meanwhile::Prune {
                network.process("leave", on, async |_on| {});
            } else {
                let tell = listened.clone();
                network.process("listen", on, async move |mut on| {
                    while let Some(n) = on.recv().await {
                        tell.push(n);
                    }
                    tell.complete();
                });
            }
            let report = schedule.run(network);
            assert!(!listened.is_complete(), "a failure looked like an end: {meanwhile:?}");
            match meanwhile {
                Meanwhile::Stop => assert_eq!(report.outcome, Summary::Stopped),
                Meanwhile::Mark => {
                    assert_eq!(report.outcome, Summary::Failed);
                    let failed: Vec<_> =
                        report.failures.iter().map(|failure| &*failure.message).collect();
                    assert_eq!(failed, ["on purpose", "its own"]);
                }
                Meanwhile::Prune => assert_eq!(report.outcome, Summary::Finished, "{report}"),
            }
        }
    });
}

#[test]
fn a_blocking_process_that_catches_its_end_is_ended_again() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        fail_after(&mut network, 1, out);
        let (out, on) = network.channel::<u64>("on");
        let went_on = Heard::default();
        let tell = went_on.clone();
        network.blocking("catch", (numbers, out), move |(mut numbers, mut out)| {
            let mut all = || while numbers.recv_blocking().is_some() {};
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut all));
            assert!(caught.is_err());
            out.send_blocking(2);
            tell.push(());
        });
        let listened = listen(&mut network, "listen", on);
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed, "{report}");
        assert!(went_on.all().is_empty(), "an operation went on in a process that has ended");
        assert!(listened.all().is_empty() && !listened.is_complete());
        assert_eq!(ending(&report, "catch"), "failed with `fail`, at `numbers`");
    });
}
