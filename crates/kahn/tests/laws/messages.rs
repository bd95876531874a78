//! Messages of any type; every one is dropped exactly once, however the run ends.

use super::schedules::{Heard, Schedule, everywhere, listen, run};
use kahn::{Channel, Network, Process, Summary};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends some messages of a type through a pipeline, and compares.
fn through<T>(schedule: &Schedule, make: fn(u64) -> T)
where
    T: Send + Clone + PartialEq + std::fmt::Debug + 'static,
{
    let mut network = Network::new();
    let (out, first) = network.channel_with(Channel::named("first").initial([make(1000)]));
    network.process("send", out, async move |mut out| {
        for n in 0..70 {
            out.send(make(n)).await;
        }
    });
    let (out, second) = network.channel("second");
    network.blocking("pass", (first, out), |(mut from, mut out)| {
        while let Some(message) = from.recv_blocking() {
            out.send_blocking(message);
        }
    });
    let heard = Heard::default();
    let tell = heard.clone();
    network.process("hear", second, async move |mut from| {
        from.for_each(|message| tell.push(message)).await;
    });
    schedule.finish(network);
    let expected: Vec<T> = std::iter::once(1000).chain(0..70).map(make).collect();
    assert_eq!(heard.all(), expected);
}

#[derive(Clone, Debug, PartialEq)]
#[repr(align(256))]
struct Aligned(u64);

/// A message that itself tells which of several things it is.
#[derive(Clone, Debug, PartialEq)]
enum Either {
    Name(String),
    Words([u64; 3]),
}

fn either(n: u64) -> Either {
    if n.is_multiple_of(2) { Either::Name(format!("message {n}")) } else { Either::Words([n; 3]) }
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn messages_of_any_type_arrive_as_they_were_sent() {
    everywhere(|schedule| {
        through(schedule, |_| ());
        through(schedule, |n| n as u8);
        through(schedule, |n| n.is_multiple_of(2));
        through(schedule, |n| [n; 500]);
        through(schedule, Box::new);
        through(schedule, |n| format!("message {n}"));
        through(schedule, either);
        through(schedule, |n| n.is_multiple_of(2).then(|| vec![n; 3]));
        through(schedule, |n| (n as u8, u128::from(n), Some(n as u16)));
        through(schedule, |n| {
            let aligned = Aligned(n);
            assert!(std::ptr::from_ref(&aligned).addr().is_multiple_of(256));
            aligned
        });
    });
}

/// Two processes ask and answer in turn, so that each sleeps when the other sends; by messages of a type. One
/// receives by value, the other in place, so that its message must have a slot.
fn to_and_fro<T>(schedule: &Schedule, make: fn(u64) -> T)
where
    T: Send + Clone + PartialEq + std::fmt::Debug + 'static,
{
    let mut network = Network::new();
    let (ask, asked) = network.channel_with(Channel::named("asked").capacity(1));
    let (answer, answered) = network.channel_with(Channel::named("answered").capacity(1));
    network.process("answer", (asked, answer), async |(mut asked, mut answer)| {
        while let Some(message) = asked.recv().await {
            answer.send(message).await;
        }
    });
    let heard = Heard::default();
    let tell = heard.clone();
    network.process("ask", (answered, ask), async move |(mut answered, mut ask)| {
        for n in 0..70 {
            ask.send(make(n)).await;
            let answer = answered.recv_in_place().await.expect("as many as were asked");
            tell.push(answer.into_inner());
        }
    });
    let report = schedule.finish(network);
    assert_eq!(heard.all(), (0..70).map(make).collect::<Vec<_>>());
    for channel in &report.channels {
        assert_eq!((channel.sent, channel.received), (70, 70), "{channel:?}");
        assert!(channel.remote == 0 || report.workers > 1, "{channel:?}");
    }
}

/// Those that fit into a word may be given to a receiver that sleeps, and others take a slot; some have bytes
/// that mean nothing.
#[test]
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn messages_of_any_type_arrive_where_the_receiver_sleeps() {
    everywhere(|schedule| {
        to_and_fro(schedule, |_| ());
        to_and_fro(schedule, |n| n as u8);
        to_and_fro(schedule, |n| n.is_multiple_of(3));
        to_and_fro(schedule, |n| (n as u8, n as u16));
        to_and_fro(schedule, |n| char::from_u32(n as u32));
        to_and_fro(schedule, |n| [n as u8; 7]);
        to_and_fro(schedule, |n| n);
        to_and_fro(schedule, |n| [n as u8; 9]);
        to_and_fro(schedule, u128::from);
        to_and_fro(schedule, Box::new);
        to_and_fro(schedule, |n| format!("message {n}"));
        to_and_fro(schedule, either);
        to_and_fro(schedule, Aligned);
    });
}

/// Counts those that are alive.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped twice");
    }
}

/// How a run ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Finished,
    ReceiverLeaves,
    Failed,
    Stopped,
    Misuse,
}

const ENDS: [(End, Summary); 5] = [
    (End::Finished, Summary::Finished),
    (End::ReceiverLeaves, Summary::Finished),
    (End::Failed, Summary::Failed),
    (End::Stopped, Summary::Stopped),
    (End::Misuse, Summary::Misuse),
];

#[test]
fn every_message_is_dropped_exactly_once_in_every_ending() {
    everywhere(|schedule| {
        for (end, summary) in ENDS {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut network = Network::new();
            let stop = network.stop_handle();
            let initial: Vec<_> = (0..3).map(|_| Counted::new(&alive)).collect();
            let channel = Channel::named("messages").initial(initial);
            let (out, messages) = network.channel_with(channel);
            let (back_out, back) = network.channel::<Counted>("back");
            let make = Arc::clone(&alive);
            network.process("send", (out, back), async move |(mut out, mut back)| {
                for _ in 0..50 {
                    out.send(Counted::new(&make)).await;
                }
                out.send_all((0..50).map(|_| Counted::new(&make))).await;
                match end {
                    End::Failed => return Err("on purpose"),
                    End::Misuse | End::Stopped => {
                        back.recv().await;
                    }
                    End::Finished | End::ReceiverLeaves => {}
                }
                Ok(())
            });
            let make = Arc::clone(&alive);
            // With effects, so that it is not pruned when the other has left.
            let hear = Process::named("hear").effects();
            network.process_with(hear, (messages, back_out), async move |(mut from, mut back)| {
                back.send(Counted::new(&make)).await;
                match end {
                    End::ReceiverLeaves => {
                        from.recv().await;
                    }
                    End::Stopped => {
                        from.recv().await;
                        stop.stop();
                        std::future::pending::<()>().await;
                    }
                    End::Misuse => {
                        let mut receiving = Box::pin(back.send(Counted::new(&make)));
                        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
                        let _ = receiving.as_mut().poll(&mut context);
                    }
                    End::Finished | End::Failed => {
                        from.for_each(drop).await;
                    }
                }
            });
            let report = schedule.run(network);
            assert_eq!(report.outcome, summary, "{end:?}: {}", report.explanation());
            assert_eq!(alive.load(Ordering::Relaxed), 0, "{end:?}");
        }
    });
}

#[test]
fn messages_in_a_deadlock_and_in_rings_that_grew_are_dropped_once() {
    everywhere(|schedule| {
        for budget in [1 << 20, 8 * 600] {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut network = Network::new();
            let (held_out, held) = network.channel::<Counted>("held");
            let (first_out, first) = network.channel::<Counted>("first");
            let make = Arc::clone(&alive);
            let ports = (held_out, first_out);
            network.process("split", ports, async move |(mut held, mut first)| {
                for _ in 0..1000 {
                    held.send(Counted::new(&make)).await;
                }
                first.send(Counted::new(&make)).await;
                // And now both wait for each other.
                drop(held);
                std::future::pending::<()>().await;
            });
            network.process("join", (held, first), async move |(mut held, mut first)| {
                let _first = first.recv().await;
                for _ in 0..500 {
                    held.recv().await;
                }
                first.recv().await;
            });
            let budget = budget + 2 * 8 * u64::from(schedule.capacity);
            let report = run(network, schedule.options().budget(budget));
            let expected = if budget > 1 << 20 { Summary::Deadlock } else { Summary::OverBudget };
            assert_eq!(report.outcome, expected);
            assert_eq!(alive.load(Ordering::Relaxed), 0);
        }
    });
}

#[test]
fn a_ring_goes_on_from_what_its_channel_begins_with() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (around_out, around) = network.channel_with(Channel::named("around").initial([0_u64]));
        let (out, numbers) = network.channel::<u64>("numbers");
        let ends = (around, around_out, out);
        network.process("counts", ends, async |(mut around, mut around_out, mut out)| {
            while let Some(n) = around.recv().await
                && n < 20
            {
                out.send(n).await;
                around_out.send(n + 1).await;
            }
        });
        let heard = listen(&mut network, "listen", numbers);
        schedule.finish(network);
        assert_eq!(heard.all(), (0..20).collect::<Vec<_>>());
    });
}
