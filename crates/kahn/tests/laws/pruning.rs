//! Receivers that leave are invisible; processes that nobody can observe are ended.

use super::schedules::{Heard, Schedule, count, everywhere, listen, run};
use kahn::{Channel, Detection, Network, Process, Receiver, Report, Summary};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

pub(super) fn endless(network: &mut Network<'_>, name: &'static str) -> Receiver<u64> {
    let (out, numbers) = network.channel(name);
    network.process(name, out, async |mut out| out.send_all(0..).await);
    numbers
}

pub(super) fn pass(network: &mut Network<'_>, name: &str, from: Receiver<u64>) -> Receiver<u64> {
    let (out, on) = network.channel(name.to_owned());
    network.process(name.to_owned(), (from, out), async |(mut from, mut out)| {
        while let Some(n) = from.recv().await {
            out.send(n).await;
        }
    });
    on
}

fn panic_silently() {
    std::panic::resume_unwind(Box::new("on purpose"));
}

pub(super) fn ending(report: &Report, name: &str) -> String {
    let process = report.processes.iter().find(|process| process.name.as_str() == name);
    process.expect("listed").ending.to_string()
}

#[test]
fn infinite_sources_end_when_nobody_listens_any_more() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let mut numbers = endless(&mut network, "source");
        for name in ["first", "second", "third"] {
            numbers = pass(&mut network, name, numbers);
        }
        let heard = Heard::default();
        let tell = heard.clone();
        network.process("take", numbers, async move |mut numbers| {
            for _ in 0..10 {
                tell.push(numbers.recv().await);
            }
        });
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..10).map(Some).collect::<Vec<_>>());
        for name in ["source", "first", "second", "third"] {
            assert_eq!(ending(&report, name), "pruned");
        }
    });
}

#[test]
fn a_departed_receiver_is_invisible_to_its_sender() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (gone_out, gone) = network.channel::<u64>("gone");
        let (kept_out, kept) = network.channel::<u64>("kept");
        network.process("send", (gone_out, kept_out), async |(mut gone, mut kept)| {
            for n in 0..100 {
                gone.send(n).await;
                kept.send(n).await;
            }
        });
        network.process("leave", gone, async |mut gone| {
            gone.recv().await;
        });
        let heard = listen(&mut network, "listen", kept);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
        assert!(heard.is_complete());
        assert_eq!(report.channels[0].received, 1);
        assert_eq!(ending(&report, "send"), "finished");
    });
}

#[test]
fn processes_with_effects_run_to_their_end_though_nobody_listens() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let done = Heard::default();
        let tell = done.clone();
        network.process_with(Process::named("log").effects(), out, async move |mut out| {
            for n in 0..300 {
                out.send(n).await;
                tell.push(n);
            }
        });
        network.process("leave", numbers, async |_numbers| {});
        let report = schedule.finish(network);
        assert_eq!(done.all().len(), 300);
        assert_eq!(ending(&report, "log"), "finished");
    });
}

#[test]
fn processes_that_may_create_others_are_not_pruned() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let spawner = network.spawner();
        let done = Heard::default();
        let tell = done.clone();
        network.process("create", (out, spawner), async move |(mut out, mut spawner)| {
            for n in 0..50 {
                out.send(n).await;
            }
            let tell = tell.clone();
            spawner.process("child", (), async move |()| tell.push(1));
        });
        network.process("leave", numbers, async |_numbers| {});
        schedule.finish(network);
        assert_eq!(done.all(), [1]);
    });
}

#[test]
fn pruning_goes_through_a_process_that_waits_for_something_foreign() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let numbers_source = endless(&mut network, "source");
        network.process("wait", (numbers_source, out), async |(_source, mut out)| {
            out.send(1).await;
            // Its waker is kept alive, and nobody ever calls it.
            let mut kept = None;
            std::future::poll_fn::<(), _>(|context| {
                kept = Some(context.waker().clone());
                std::task::Poll::Pending
            })
            .await;
        });
        network.process("leave", numbers, async |mut numbers| {
            assert_eq!(numbers.recv().await, Some(1));
        });
        let report = schedule.finish(network);
        assert_eq!(ending(&report, "wait"), "pruned");
    });
}

#[test]
fn a_process_is_observed_as_long_as_one_of_its_receivers_is_there() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 100);
        let (left_out, left) = network.channel::<u64>("left");
        let (right_out, right) = network.channel::<u64>("right");
        network.process("tee", (numbers, left_out, right_out), async |(mut from, mut l, mut r)| {
            while let Some(n) = from.recv().await {
                l.send(n).await;
                r.send(n).await;
            }
        });
        network.process("leave", left, async |_left| {});
        let heard = listen(&mut network, "listen", right);
        schedule.finish(network);
        assert_eq!(heard.all().len(), 100);
    });
}

#[test]
fn a_process_that_drops_its_last_observed_sender_is_pruned_too() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (gone_out, gone) = network.channel::<u64>("gone");
        let (kept_out, kept) = network.channel::<u64>("kept");
        network.process("send", (gone_out, kept_out), async |(mut gone, mut kept)| {
            kept.send(1).await;
            drop(kept);
            gone.send_all(0..).await;
        });
        network.process("leave", gone, async |_gone| {});
        let heard = listen(&mut network, "listen", kept);
        let report = schedule.finish(network);
        assert_eq!(heard.all(), [1]);
        assert!(heard.is_complete());
        assert_eq!(ending(&report, "send"), "pruned");
    });
}

#[test]
fn whether_a_process_is_pruned_before_it_panics_changes_no_outcome() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let source = endless(&mut network, "source");
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("panic", (source, out), async |(mut source, mut out)| {
            for n in 0..20 {
                out.send(n).await;
                source.recv().await;
            }
            panic_silently();
        });
        network.process("read three", numbers, async |mut numbers| {
            for n in 0..3 {
                assert_eq!(numbers.recv().await, Some(n));
            }
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Finished, "{report}");
        assert!(report.failures.is_empty());
        assert_eq!(ending(&report, "panic"), "pruned");
    });
}

#[test]
fn a_process_is_pruned_that_is_made_when_all_its_readers_have_left() {
    everywhere(|schedule| {
        for blocks in [true, false] {
            let mut network = Network::new();
            let (out, numbers) = network.channel::<u64>("numbers");
            let (gone_out, gone) = network.channel::<u64>("gone");
            network.process("leave", (numbers, gone_out), async |(numbers, mut gone)| {
                drop(numbers);
                gone.send(1).await;
            });
            let spawner = network.spawner();
            network.process("make", (out, gone, spawner), async move |(out, mut gone, mut by)| {
                gone.recv().await;
                if blocks {
                    by.blocking("endless", out, |mut out| {
                        for n in 0.. {
                            out.send_blocking(n);
                        }
                    });
                } else {
                    by.process("endless", out, async |mut out| out.send_all(0..).await);
                }
            });
            assert_eq!(ending(&schedule.finish(network), "endless"), "pruned");
        }
    });
}

/// A process that waits for one that is dead, and passes on what it gets to one that reads or leaves.
fn behind_a_dead_one(schedule: &Schedule, reads: bool) -> Report {
    let mut network = Network::new();
    let (loop_out, loop_in) = network.channel::<u64>("loop");
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("dead", (loop_in, loop_out, out), async |(mut own, _own, mut out)| {
        own.recv().await;
        out.send(1).await;
    });
    let passed = pass(&mut network, "pass", numbers);
    network.process("last", passed, async move |mut passed| {
        if reads {
            passed.recv().await;
        }
    });
    schedule.run(network)
}

#[test]
fn a_process_that_nobody_reads_is_told_as_pruned_though_it_may_have_come_to_wait_for_the_dead() {
    everywhere(|schedule| {
        let report = behind_a_dead_one(schedule, false);
        // The one that waits for itself could be observed through these alone.
        assert_eq!(report.outcome, Summary::Finished, "{report}");
        assert_eq!(ending(&report, "dead"), "pruned");
        assert_eq!(ending(&report, "pass"), "pruned");
        assert_eq!(ending(&report, "last"), "finished");
        assert!(!report.explanation().contains("`pass`"), "{}", report.explanation());
    });
}

/// A process that waits for the dead when it has dropped its sender; what that sent, which is nothing.
fn waits_without_a_sender(network: &mut Network<'_>) -> Receiver<u64> {
    let (loop_out, loop_in) = network.channel::<u64>("loop");
    let (out, numbers) = network.channel::<u64>("numbers");
    network.process("dead", (loop_in, loop_out, out), async |(mut own, _own, _out)| {
        own.recv().await;
    });
    let (on, passed) = network.channel::<u64>("on");
    network.process("waits", (numbers, on), async |(mut numbers, on)| {
        drop(on);
        numbers.recv().await;
    });
    passed
}

/// It is pruned at its start if its reader has left by then; else it waits for ever, without a sender.
#[test]
fn a_process_that_nobody_reads_is_told_as_pruned_though_it_has_dropped_its_sender_and_waits() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let passed = waits_without_a_sender(&mut network);
        network.process("leaves", passed, async |_passed| {});
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Finished, "{report}");
        assert_eq!(ending(&report, "waits"), "pruned");
        assert!(!report.explanation().contains("`waits`"), "{}", report.explanation());
    });
}

/// No schedule prunes it: but what sees its end may be pruned later, and so is not asked.
#[test]
fn a_process_that_waits_is_told_as_pruned_if_only_one_that_may_be_pruned_sees_its_end() {
    for (takes, told) in [(2, "pruned"), (3, "pruned"), (4, "never")] {
        everywhere(|schedule| {
            let mut network = Network::new();
            let passed = waits_without_a_sender(&mut network);
            let (counts, counted) = network.channel_with(Channel::named("counts").initial([1_u64]));
            network.process("sees", (passed, counts), async |(mut passed, mut counts)| {
                while passed.recv().await.is_some() {}
                counts.send(1).await;
                counts.send(2).await;
            });
            network.process("takes", counted, async move |mut counted| {
                for _ in 0..takes {
                    counted.recv().await;
                }
            });
            let report = schedule.run(network);
            let outcome = if told == "never" { Summary::Deadlock } else { Summary::Finished };
            assert_eq!(report.outcome, outcome, "{report}");
            assert_eq!(ending(&report, "waits"), told, "{report}");
        });
    }
}

#[test]
fn a_process_whose_reader_waits_for_it_is_told_to_wait_for_the_dead() {
    everywhere(|schedule| {
        let report = behind_a_dead_one(schedule, true);
        assert_eq!(report.outcome, Summary::Deadlock, "{report}");
        assert_eq!(ending(&report, "dead"), "never");
        assert_eq!(ending(&report, "pass"), "never");
        assert_eq!(ending(&report, "last"), "never");
        assert!(report.explanation().contains("`pass`"), "{}", report.explanation());
    });
}

#[test]
fn a_party_that_waits_for_the_dead_keeps_no_sender_waiting() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (loop_out, loop_in) = network.channel::<u64>("loop");
        let (answers_out, answers) = network.channel::<u64>("answers");
        network.process("dead", (loop_in, loop_out, answers_out), async |(mut own, _own, _out)| {
            own.recv().await;
        });
        // More than any channel of these schedules has room for.
        let numbers = count(&mut network, "numbers", 100);
        let (mut answers, numbers) = network.outside("party", (answers, numbers));
        let report = std::thread::scope(|scope| {
            scope.spawn(move || {
                assert!(answers.recv_blocking().is_err(), "nobody answers");
                drop(numbers);
            });
            schedule.run(network)
        });
        assert_eq!(report.outcome, Summary::Deadlock, "{report}");
        assert_eq!(ending(&report, "numbers"), "pruned", "{report}");
    });
}

/// Receives from a source that never ends and sends nothing on, after one message if `begins`.
fn absorb(network: &mut Network<'_>, begins: bool) -> Receiver<u64> {
    let source = endless(network, "source");
    let (out, on) = network.channel("absorbed");
    network.process("absorb", (source, out), async move |(mut source, mut out)| {
        if begins {
            out.send(0).await;
        }
        while source.recv().await.is_some() {}
        out.send(1).await;
    });
    on
}

/// Processes in a row behind one that sends nothing on, and a reader at their end that leaves.
fn leave_those_that_wait(length: usize, begins: bool, run: impl Fn(Network<'_>) -> Report) {
    let names: Vec<String> = (0..length).map(|place| format!("wait {place}")).collect();
    let mut network = Network::new();
    let mut numbers = absorb(&mut network, begins);
    for name in &names {
        numbers = pass(&mut network, name, numbers);
    }
    network.process("leave", numbers, async move |mut numbers| {
        if begins {
            assert_eq!(numbers.recv().await, Some(0));
        }
    });
    let report = run(network);
    assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
    for name in names.iter().map(String::as_str).chain(["source", "absorb"]) {
        assert_eq!(ending(&report, name), "pruned");
    }
}

/// What feeds it would run for ever, and keeps the workers from standing still.
#[test]
fn a_process_that_waits_for_ever_is_pruned_when_its_last_reader_leaves() {
    everywhere(|schedule| {
        for length in [1, 2, 40] {
            for begins in [false, true] {
                leave_those_that_wait(length, begins, |network| schedule.run(network));
            }
        }
    });
}

#[test]
fn a_process_that_waits_for_ever_is_pruned_without_detection_too() {
    everywhere(|schedule| {
        for detection in [Detection::Off, Detection::Central] {
            let options = || schedule.options().detection(detection);
            leave_those_that_wait(2, true, |network| run(network, options()));
        }
    });
}

/// Tells when it is dropped.
struct Tells(mpsc::Sender<()>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// The party that it waits for lets it wait until it is gone. It may be a process with a thread.
#[test]
fn a_process_that_waits_for_a_party_is_pruned_when_its_reader_leaves_while_all_else_sleeps() {
    everywhere(|schedule| {
        for blocks in [false, true] {
            let mut network = Network::new();
            let (asks, asked) = network.channel::<u64>("asks");
            let (out, on) = network.channel::<u64>("on");
            let (tell, told) = mpsc::channel();
            let tells = Tells(tell);
            if blocks {
                network.blocking("waits", (asked, out), move |(mut asked, _out)| {
                    let _tells = &tells;
                    let _ = asked.recv_blocking();
                });
            } else {
                network.process("waits", (asked, out), async move |(mut asked, _out)| {
                    let _tells = &tells;
                    let _ = asked.recv().await;
                });
            }
            let (asks, on) = network.outside("party", (asks, on));
            let report = std::thread::scope(|scope| {
                scope.spawn(move || {
                    drop(on);
                    let _ = told.recv();
                    drop(asks);
                });
                schedule.run(network)
            });
            assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
            assert_eq!(ending(&report, "waits"), "pruned");
        }
    });
}

#[test]
fn a_process_that_nobody_observes_ends_where_it_flushes() {
    everywhere(|schedule| {
        let (has_left, goes_on) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("flush", out, async |mut out| {
            // A channel would tell it by an operation, and it could be ended there as well.
            while !has_left.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            out.flush().await;
            goes_on.store(true, Ordering::Release);
        });
        network.blocking("leave", numbers, |numbers| {
            drop(numbers);
            has_left.store(true, Ordering::Release);
        });
        let report = schedule.finish(network);
        assert!(!goes_on.load(Ordering::Acquire), "it was not ended");
        assert_eq!(ending(&report, "flush"), "pruned");
    });
}
