//! Blocking processes and outside parties: the same channels, the same rings, the same ends.

use super::schedules::{Heard, count, everywhere, listen, schedules, watch};
use kahn::{Channel, Ended, Network, Options, Summary};
use parking_lot::{Condvar, Mutex};
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};

#[test]
fn a_ring_made_only_of_blocking_processes_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (held_out, held) = network.channel::<u64>("held");
        let (first_out, first) = network.channel::<u64>("first");
        network.blocking("split", (held_out, first_out), |(mut held, mut first)| {
            for n in 0..100 {
                held.send_blocking(n);
            }
            first.send_blocking(0);
        });
        let heard = Heard::default();
        let tell = heard.clone();
        network.blocking("join", (held, first), move |(mut held, mut first)| {
            assert_eq!(first.recv_blocking(), Some(0));
            while let Some(n) = held.recv_blocking() {
                tell.push(n);
            }
        });
        let report = schedule.finish(network);
        assert_eq!(heard.all(), (0..100).collect::<Vec<_>>());
        assert_eq!(report.channels[0].growths > 0, schedule.capacity < 100);
    });
}

#[test]
fn a_ring_of_a_party_a_blocking_and_an_async_process_grows() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (to_blocking, blocking_in) = network.channel::<u64>("to blocking");
        let (to_async, async_in) = network.channel::<u64>("to async");
        let (to_party, party_in) = network.channel::<u64>("to party");
        // Each sends a hundred before it receives one.
        network.blocking("blocking", (blocking_in, to_async), |(mut from, mut to)| {
            for n in 0..100 {
                to.send_blocking(n);
            }
            assert_eq!(from.recv_blocking(), Some(0));
            while from.recv_blocking().is_some() {}
        });
        network.process("async", (async_in, to_party), async |(mut from, mut to)| {
            for n in 0..100 {
                to.send(n).await;
            }
            assert_eq!(from.for_each(|_| ()).await, 100);
        });
        let (mut to, mut from) = network.outside("party", (to_blocking, party_in));
        std::thread::scope(|scope| {
            let party = scope.spawn(move || {
                for n in 0..100 {
                    to.send_blocking(n).expect("the run goes on");
                }
                drop(to);
                let mut heard = Vec::new();
                while let Some(n) = from.recv_blocking().expect("nobody fails") {
                    heard.push(n);
                }
                heard
            });
            schedule.finish(network);
            assert_eq!(party.join().expect("no panic"), (0..100).collect::<Vec<_>>());
        });
    });
}

#[test]
fn what_a_blocking_source_has_sent_is_seen_though_it_waits_for_something_else() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let seen = Arc::new((Mutex::new(false), Condvar::new()));
        let wait = Arc::clone(&seen);
        network.blocking("source", out, move |mut out| {
            out.send_blocking(1);
            let mut is_seen = wait.0.lock();
            wait.1.wait_while(&mut is_seen, |seen| !*seen);
            out.send_blocking(2);
        });
        network.process("hear", numbers, async move |mut numbers| {
            assert_eq!(numbers.recv().await, Some(1));
            *seen.0.lock() = true;
            seen.1.notify_all();
            assert_eq!(numbers.recv().await, Some(2));
            assert_eq!(numbers.recv().await, None);
        });
        schedule.finish(network);
    });
}

#[test]
fn the_owner_of_a_party_may_leave_before_the_run() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let party = network.outside("party", out);
        drop(party);
        let heard = listen(&mut network, "listen", numbers);
        let others = count(&mut network, "others", 200);
        let heard_others = listen(&mut network, "listen to others", others);
        // Something that stands still for ever must still be found.
        let (back, around) = network.channel::<u64>("around");
        network.process("dead", (back, around), async |(_back, mut around)| {
            around.recv().await;
        });
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Deadlock, "{}", report.explanation());
        assert!(heard.is_complete() && heard_others.is_complete());
        assert_eq!(heard_others.all().len(), 200);
    });
}

#[test]
fn a_network_whose_only_party_has_left_finishes() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let parties = (network.outside("send", out), network.outside("hear", numbers));
        drop(parties);
        schedule.finish(network);
    });
}

#[test]
fn a_party_that_panics_is_a_failure_and_no_clean_end() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let mut party = network.outside("party", out);
        let heard = listen(&mut network, "listen", numbers);
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                party.send_blocking(1).expect("the run goes on");
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Failed, "{report}");
            assert_eq!(report.failures[0].process.as_str(), "party");
            assert!(thread.join().is_err());
        });
        assert_eq!(heard.all(), [1]);
        assert!(!heard.is_complete());
    });
}

#[test]
fn a_party_is_told_of_failures_and_of_the_end_of_the_run() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("fail", out, async |mut out| {
            out.send(1).await;
            Err::<(), _>("on purpose")
        });
        let mut party = network.outside("party", numbers);
        let (back, around) = network.channel::<u64>("around");
        let mut other = network.outside("other", around);
        network.process("wait", back, async |_back| std::future::pending::<()>().await);
        let stop = network.stop_handle();
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                assert_eq!(party.recv_blocking(), Ok(Some(1)));
                assert_eq!(party.recv_blocking(), Err(Ended::Sender));
                assert_eq!(party.recv_blocking(), Err(Ended::Sender));
                // Before it leaves: then the rest is a deadlock.
                stop.stop();
                drop(party);
            });
            let other = scope.spawn(move || other.recv_blocking());
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Stopped);
            assert_eq!(report.failures.len(), 1);
            assert_eq!(other.join().expect("no panic"), Err(Ended::Run));
            thread.join().expect("no panic");
        });
    });
}

#[test]
fn a_true_deadlock_through_parties_that_block_is_found() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (to, from_party) = network.channel::<u64>("to process");
        let (to_party, from) = network.channel::<u64>("to party");
        let (mut to, mut from) = network.outside("party", (to, from));
        network.process("process", (from_party, to_party), async |(mut from, mut to)| {
            while let Some(n) = from.recv().await {
                to.send(n).await;
            }
        });
        std::thread::scope(|scope| {
            let party = scope.spawn(move || {
                let heard = from.recv_blocking();
                let _ = to.send_blocking(1);
                heard
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Deadlock);
            assert_eq!(party.join().expect("no panic"), Err(Ended::Run));
        });
    });
}

/// Polls a future a few times and drops it if it is not ready: a party may.
fn try_for<F: Future>(times: u64, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..times {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        std::thread::yield_now();
    }
    None
}

#[test]
fn parties_that_cancel_lose_nothing_and_wake_nobody_twice() {
    for schedule in schedules() {
        let mut network = Network::new();
        let (there_out, there) = network.channel::<u64>("there");
        let (back_out, back) = network.channel::<u64>("back");
        network.process("echo", (there, back_out), async |(mut there, mut back)| {
            while let Some(n) = there.recv().await {
                back.send(n).await;
            }
        });
        // What is left at the end is a deadlock, and is found only if the count of those that are
        // busy is right after all that cancelling.
        let (silent, silence) = network.channel::<u64>("silence");
        network.process("dead", (silent, silence), async |(_silent, mut silence)| {
            silence.recv().await;
        });
        let mut to = network.outside("send", there_out);
        let mut from = network.outside("hear", back);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 0_u64;
                while next < 300 {
                    if try_for(next % 3 + 1, to.send(next)).is_some() {
                        next += 1;
                    }
                }
            });
            let hear = scope.spawn(move || {
                let mut heard = Vec::new();
                loop {
                    match try_for(heard.len() as u64 % 4 + 1, from.recv()) {
                        Some(Ok(Some(n))) => heard.push(n),
                        Some(Ok(None)) => return heard,
                        Some(Err(error)) => panic!("{error}"),
                        None => {}
                    }
                }
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, Summary::Deadlock, "{schedule:?}");
            assert_eq!(hear.join().expect("no panic"), (0..300).collect::<Vec<_>>());
        });
    }
}

#[test]
fn a_party_uses_its_ends_from_another_executor() {
    everywhere(|schedule| {
        let mut outer = Network::new();
        let mut inner = Network::new();
        let (question, asked) = inner.channel::<u64>("question");
        let (answer, answered) = inner.channel::<u64>("answer");
        inner.process("add", (asked, answer), async |(mut asked, mut answer)| {
            while let Some(n) = asked.recv().await {
                answer.send(n + 1).await;
            }
        });
        // The other executor is a network as well: the ends are no ends of it.
        let (mut ask, mut hear) = inner.outside("driver", (question, answered));
        outer.process("driver", (), async move |()| {
            for n in 0..50 {
                ask.send(n).await.expect("the run goes on");
                assert_eq!(hear.recv().await, Ok(Some(n + 1)));
            }
        });
        let _watched = watch(inner.stop_handle());
        let options = schedule.options();
        std::thread::scope(|scope| {
            let inner = scope.spawn(move || inner.run_with(options));
            schedule.finish(outer);
            inner.join().expect("no panic").expect("finishes");
        });
    });
}

#[test]
fn a_forgotten_end_outside_is_named_with_what_its_party_holds_and_since_when() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (questions_out, questions) = network.channel::<u64>("questions");
        let (answers_out, answers) = network.channel::<u64>("answers");
        let (out, log) = network.channel::<u64>("log");
        network.process(
            "answer",
            (questions, answers_out, out),
            async |(mut from, mut to, _out)| {
                while let Some(n) = from.recv().await {
                    to.send(n + 1).await;
                }
            },
        );
        let (mut ask, mut hear) = network.outside("driver", (questions_out, answers));
        let forgotten = network.outside("logger", log);
        let stop = network.stop_handle();
        let text = std::thread::scope(|scope| {
            let driver = scope.spawn(move || {
                for n in 0..3 {
                    ask.send_blocking(n)?;
                    hear.recv_blocking()?;
                }
                // Holds its ends from now on, and does nothing with them.
                while !stop.explain().to_string().contains("`answer` waits to receive message 4") {
                    std::thread::yield_now();
                }
                let text = stop.explain().to_string();
                drop((ask, hear, forgotten));
                Ok::<_, Ended>(text)
            });
            schedule.finish(network);
            driver.join().expect("the driver does not panic").expect("the run goes on")
        });
        let held = "`driver` is outside and holds the sender of `questions` (3 messages sent) and the \
                    receiver of `answers` (3 messages received)";
        assert!(text.contains(held), "{text}");
        let held = "`logger` is outside and holds the receiver of `log` (nothing received)";
        assert!(text.contains(held), "{text}");
        assert!(
            text.contains("help: the run waits until `driver` and `logger` have dropped"),
            "{text}"
        );
    });
}

#[test]
fn parties_may_give_all_their_ends_up_while_the_run_begins() {
    for round in 0..4000_u32 {
        let mut network = Network::new();
        let ends: Vec<_> = (0..8)
            .map(|n| {
                // The run gives them another capacity, with whatever they hold.
                let channel = Channel::named(format!("on {n}")).initial(0..500);
                let (out, on) = network.channel_with(channel);
                let out = network.outside(format!("speaks {n}"), out);
                (out, network.outside(format!("hears {n}"), on))
            })
            .collect();
        let begin = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                begin.wait();
                // Another moment of the run's preparation each time.
                for _ in 0..round % 64 * 64 {
                    std::hint::spin_loop();
                }
                drop(ends);
            });
            begin.wait();
            if round % 4 == 0 {
                assert!(network.dot().starts_with("digraph"));
            }
            let options = Options::new().capacity(500 + round % 3);
            let report = network.run_with(options).expect("it finishes");
            assert_eq!(report.outcome, Summary::Finished);
        });
    }
}
