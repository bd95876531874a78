//! What must not be done with an end: each ends the run, and says what to do instead.
//!
//! Where it may depend on the schedule whether misuse shows, it shows under `seeded`, whose
//! operations all wait once.

use super::schedules::{Schedule, count, everywhere, listen, run};
use futures_util::SinkExt as _;
use futures_util::future::{join, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use kahn::{Channel, Network, Options, Received, Receiver, Report, Sender, Summary};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A schedule under which every operation waits once.
fn seeded() -> Options {
    Options::new().policy(kahn::policy::SEEDED)
}

fn text(report: &Report) -> String {
    assert_eq!(report.outcome, Summary::Misuse, "{}", report.explanation());
    report.explanation()
}

/// Runs one process with a receiver and a sender, fed and heard by others.
fn one<F, R>(code: F) -> Network<'static>
where
    F: FnOnce((Receiver<u64>, Sender<u64>)) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 10);
    let (out, results) = network.channel("results");
    network.process("wrong", (numbers, out), code);
    listen(&mut network, "listen", results);
    network
}

#[test]
fn dropping_an_operation_that_has_waited() {
    let network = one(async |(mut numbers, _out)| {
        let mut receiving = pin!(numbers.recv());
        poll_fn(|context| {
            let _ = receiving.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
    });
    insta::assert_snapshot!(text(&run(network, seeded())), @r"
    misuse: the result could depend on the schedule
      process `wrong` abandoned an operation on channel `numbers` that had waited, as `select`, `timeout` and `now_or_never` do: complete it, or let a process of its own wait there
    ");
}

#[test]
fn dropping_an_operation_that_has_waited_is_found_where_it_waits_for_certain() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (back, around) = network.channel::<u64>("around");
        network.process("wrong", (back, around), async |(mut back, mut around)| {
            // Nothing can be there: a `try_recv`, if it were allowed.
            let answer = {
                let mut receiving = pin!(around.recv());
                poll_fn(|context| Poll::Ready(receiving.as_mut().poll(context))).await
            };
            assert!(answer.is_pending());
            back.send(1).await;
        });
        assert_eq!(schedule.run(network).outcome, Summary::Misuse);
    });
}

#[test]
fn two_operations_at_once() {
    let network = one(async |(mut numbers, mut out)| {
        join(numbers.recv(), out.send(1)).await;
    });
    insta::assert_snapshot!(text(&run(network, seeded())), @r"
    misuse: the result could depend on the schedule
      process `wrong` began an operation on channel `results` while one on channel `numbers` waited, as `join`, `select` and `zip` do: await one after the other, or make two processes of it
    ");
}

/// One slot of room, which an operation kept for the next: another may wait in between.
#[test]
fn room_that_was_left_unused_lets_no_second_operation_begin() {
    for left_by_a_sink in [false, true] {
        let network = one(async move |(mut numbers, mut out)| {
            if left_by_a_sink {
                let mut out = out.into_sink();
                poll_fn(|context| out.poll_ready_unpin(context)).await.expect("it takes all");
                let _ = join(numbers.recv(), out.send(1)).await;
            } else {
                out.send_all([]).await;
                join(numbers.recv(), out.send(1)).await;
            }
        });
        let text = text(&run(network, seeded()));
        assert!(text.contains("began an operation on channel `results`"), "{text}");
    }
}

#[test]
fn what_a_combinator_did_wrong_names_both_channels_and_the_likely_culprit() {
    let overlap = |way: usize| {
        let mut network = Network::new();
        let (left, right) = (count(&mut network, "left", 10), count(&mut network, "right", 10));
        network.process("wrong", (left, right), async move |(mut left, mut right)| match way {
            0 => drop(left.into_stream().zip(right.into_stream()).next().await),
            1 => {
                let _ = select(pin!(left.recv()), pin!(right.recv())).await;
            }
            2 => drop(
                [left.recv(), right.recv()]
                    .into_iter()
                    .collect::<FuturesUnordered<_>>()
                    .next()
                    .await,
            ),
            _ => {
                let mut waits = pin!(left.recv());
                poll_fn(|context| Poll::Ready(waits.as_mut().poll(context).is_ready())).await;
                let mut both: FuturesUnordered<_> = [right.recv()].into_iter().collect();
                both.next().await;
            }
        });
        text(&run(network, seeded()))
    };
    for way in [0, 1] {
        let text = overlap(way);
        assert!(text.contains("`left`") && text.contains("`right`"), "{text}");
        for culprit in ["`join`", "`select`", "`zip`"] {
            assert!(text.contains(culprit), "{text}");
        }
    }
    assert!(overlap(2).contains("`FuturesUnordered`"), "{}", overlap(2));
    let text = overlap(3);
    assert!(text.contains("`FuturesUnordered`"), "{text}");
    assert!(text.contains("`left`") && text.contains("`right`"), "{text}");
}

#[test]
fn the_first_of_two_operations() {
    let network = one(async |(mut numbers, mut out)| {
        select(pin!(numbers.recv()), pin!(out.send(1))).await;
    });
    insta::assert_snapshot!(text(&run(network, seeded())), @r"
    misuse: the result could depend on the schedule
      process `wrong` began an operation on channel `results` while one on channel `numbers` waited, as `join`, `select` and `zip` do: await one after the other, or make two processes of it
    ");
}

/// There is room, so the operations themselves need nobody; what they have done must not be
/// published from there.
#[test]
fn another_thread_while_there_is_room() {
    let network = one(async |(mut numbers, _out)| {
        numbers.recv().await;
        poll_fn(|context| {
            let waker = context.waker();
            let receive = || {
                for _ in 0..10 {
                    let _ = pin!(numbers.recv()).poll(&mut Context::from_waker(waker));
                }
            };
            let ended = std::thread::scope(|scope| scope.spawn(receive).join());
            assert!(ended.is_err(), "refused at the latest when there is no room left");
            Poll::Ready(())
        })
        .await;
    });
    let options = Options::new().policy(kahn::policy::SEQUENTIAL);
    insta::assert_snapshot!(text(&run(network, options)), @r"
    misuse: the result could depend on the schedule
      process `wrong` used an end of channel `numbers` that belongs to another process: give each end to one process when that is created
    ");
}

#[test]
fn a_foreign_waker() {
    let network = one(async |(mut numbers, _out)| {
        let mut all = FuturesUnordered::new();
        all.push(numbers.recv());
        while all.next().await.is_some() {}
    });
    insta::assert_snapshot!(text(&run(network, seeded())), @r"
    misuse: the result could depend on the schedule
      process `wrong` polled an operation on channel `numbers` with a waker that is not its own, as `FuturesUnordered`, `join_all` and `buffered` do: await it directly, or make it a process of its own
    ");
}

#[test]
fn a_foreign_waker_ends_the_run_even_if_an_executor_inside_waits_for_ever() {
    everywhere(|schedule| {
        let network = one(async |(mut numbers, _out)| {
            block_on(numbers.recv());
        });
        assert_eq!(schedule.run(network).outcome, Summary::Misuse);
    });
}

/// The simplest executor: blocks the thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

#[test]
fn using_the_end_of_another_process() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 10);
        let shelf: Arc<Mutex<Option<Receiver<u64>>>> = Arc::default();
        let (out, ready) = network.channel::<()>("ready");
        let put = Arc::clone(&shelf);
        network.process("owner", (numbers, out), async move |(numbers, mut out)| {
            *put.lock() = Some(numbers);
            out.send(()).await;
            // Stay, so that it is the use that shows and not the end left behind.
            std::future::pending::<()>().await;
        });
        network.process("wrong", ready, async move |mut ready| {
            ready.recv().await;
            let mut taken = shelf.lock().take().expect("put there before");
            taken.recv().await;
        });
        let report = schedule.run(network);
        let text = text(&report);
        let expected = "process `wrong` used an end of channel `numbers` that belongs to another";
        assert!(text.contains(expected), "{text}");
    });
}

#[test]
fn sending_an_end_in_a_message() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 10);
        let (out, ends) = network.channel::<Receiver<u64>>("ends");
        network.process("wrong", (numbers, out), async |(numbers, mut out)| {
            out.send(numbers).await;
        });
        network.process("take", ends, async |mut ends| {
            if let Some(mut numbers) = ends.recv().await {
                numbers.recv().await;
            }
        });
        assert_eq!(schedule.run(network).outcome, Summary::Misuse);
    });
}

#[test]
fn leaving_an_end_behind() {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 10);
    let shelf: Arc<Mutex<Option<Receiver<u64>>>> = Arc::default();
    let put = Arc::clone(&shelf);
    network.process("wrong", numbers, async move |numbers| *put.lock() = Some(numbers));
    let report = run(network, Schedule::sequential(64).options());
    insta::assert_snapshot!(text(&report), @r"
    misuse: the result could depend on the schedule
      process `wrong` ended while its end of channel `numbers` lived on elsewhere: drop it, or pass it to a process that it creates
    ");
    // What is left on the shelf can still be dropped.
    drop(shelf);
}

#[test]
fn dropping_the_end_of_another_process() {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 10);
    let shelf: Arc<Mutex<Option<Receiver<u64>>>> = Arc::default();
    let (out, ready) = network.channel::<()>("ready");
    let put = Arc::clone(&shelf);
    network.process("owner", (numbers, out), async move |(numbers, mut out)| {
        *put.lock() = Some(numbers);
        out.send(()).await;
        std::future::pending::<()>().await;
    });
    network.process("wrong", ready, async move |mut ready| {
        ready.recv().await;
        *shelf.lock() = None;
    });
    insta::assert_snapshot!(text(&run(network, seeded())), @r"
    misuse: the result could depend on the schedule
      an end of channel `numbers` of process `owner` was dropped outside that process: ends stay with their process and are not sent in messages
    ");
}

#[test]
fn ending_with_an_operation_that_waits() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (back, around) = network.channel::<u64>("around");
        network.process("wrong", (back, around), async |(_back, mut around)| {
            // Left behind, never dropped.
            let mut receiving = std::mem::ManuallyDrop::new(around.recv());
            poll_fn(|context| Poll::Ready(pin!(&mut *receiving).poll(context).is_pending())).await;
        });
        let report = schedule.run(network);
        let text = text(&report);
        assert!(text.contains("abandoned an operation on channel `around`"), "{text}");
    });
}

/// The channel is gone before its process ends: the name is told all the same.
#[test]
fn leaving_a_channel_that_ends_with_an_operation_that_waits() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let (told, hears) = network.channel::<u64>("told");
        network.process("leave", (out, hears), async |(_out, mut hears)| {
            hears.recv().await;
        });
        network.process("wrong", (told, numbers), async |(told, mut numbers)| {
            let mut receiving = std::mem::ManuallyDrop::new(numbers.recv());
            poll_fn(|context| Poll::Ready(pin!(&mut *receiving).poll(context).is_pending())).await;
            drop(numbers);
            drop(told);
            kahn::yield_now().await;
        });
        let text = text(&schedule.run(network));
        assert!(text.contains("abandoned an operation on channel `numbers`"), "{text}");
    });
}

#[test]
fn the_blocking_form_in_an_async_process() {
    everywhere(|schedule| {
        let network = one(async |(mut numbers, _out)| {
            numbers.recv_blocking();
        });
        assert_eq!(schedule.run(network).outcome, Summary::Misuse);
    });
    let network = one(async |(_numbers, mut out)| out.send_blocking(1));
    insta::assert_snapshot!(text(&run(network, seeded())), @r"
    misuse: the result could depend on the schedule
      process `wrong` used channel `results` in the wrong form: async processes await `send` and `recv`, blocking ones call `send_blocking` and `recv_blocking`
    ");
}

#[test]
fn the_async_form_in_a_blocking_process() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 10);
        network.blocking("wrong", numbers, |mut numbers| {
            block_on(numbers.recv());
        });
        let report = schedule.run(network);
        let text = text(&report);
        assert!(
            text.contains("process `wrong` used channel `numbers` in the wrong form"),
            "{text}"
        );
    });
}

#[test]
fn ends_of_another_network_are_refused_at_once() {
    let mut network = Network::new();
    let mut other = Network::new();
    let (_out, numbers) = other.channel::<u64>("numbers");
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        network.process("wrong", numbers, async |_numbers| {});
    }));
    let message = refused.expect_err("refused");
    let message = message.downcast_ref::<String>().expect("says why");
    insta::assert_snapshot!(message, @r"an end of channel `numbers` belongs to another network: an end works only in its own");
}

#[test]
fn what_is_written_down_wrong_is_refused_before_the_run() {
    let mut network = Network::new();
    let (_out, numbers) = network.channel::<u64>("numbers");
    let (out, _numbers) = network.channel::<u64>("numbers");
    network.process("same", numbers, async |_numbers| {});
    network.process("same", out, async |_out| {});
    let error = network.run().expect_err("wrong");
    insta::assert_snapshot!(error, @r"
    the network cannot run:
      the sender of channel `numbers` belongs to no process: name it among the ports of the process that uses it
      the receiver of channel `numbers` belongs to no process: name it among the ports of the process that uses it
      two channels are called `numbers`: give each a name of its own
      two processes are called `same`: give each a name of its own
    ");
}

#[test]
fn a_message_made_elsewhere_is_refused() {
    fn fails_with<T: Send + Default + 'static>() {
        let mut network = Network::new();
        let (out, messages) = network.channel::<T>("messages");
        network.process("cheat", out, async |mut out: Sender<T>| {
            out.reserve().await.send_with(|_place| Box::leak(Box::default()));
        });
        listen_to_nothing(&mut network, messages);
        let report = run(network, Options::new());
        assert_eq!(report.outcome, Summary::Failed);
        let text = &report.failures[0].message;
        assert!(text.contains("must be made in the place that is given"), "{text}");
        assert_eq!(report.channels[0].sent, 0);
    }
    fails_with::<u64>();
    fails_with::<()>();
}

fn listen_to_nothing<T: Send + 'static>(network: &mut Network<'_>, messages: Receiver<T>) {
    network.process(
        "listen",
        messages,
        async |mut messages: Receiver<T>| {
            while messages.recv().await.is_some() {}
        },
    );
}

/// A guard in a leaked receiver outlives the run: the message stays, and so does its memory.
#[test]
fn a_message_that_is_hidden_for_good_stays() {
    type Hidden = Arc<Mutex<Option<Received<'static, Box<u64>>>>>;
    everywhere(|schedule| {
        let hidden = Hidden::default();
        let mut network = Network::new();
        let (out, messages) = network.channel("messages");
        network.process("send", out, async |mut out| out.send_all((0..100).map(Box::new)).await);
        let hide = Arc::clone(&hidden);
        network.process("hide", messages, async move |messages: Receiver<Box<u64>>| {
            let messages = Box::leak(Box::new(messages));
            *hide.lock() = messages.recv_in_place().await;
        });
        assert_eq!(schedule.run(network).outcome, Summary::Misuse);
        let mut message = hidden.lock().take().expect("hidden there");
        **message += 1;
        assert_eq!(**message, 1);
        drop(message);
    });
}

/// What goes on after a wait is abandoned no more, also if it ends in a panic of the process.
#[test]
fn an_operation_that_has_waited_and_panics_is_not_abandoned() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let weighed = Channel::named("messages").capacity(1).weighed_by(|bytes: &Vec<u8>| {
            assert_ne!(bytes.len(), 9, "nine are too heavy");
            bytes.len()
        });
        let (out, messages) = network.channel_with(weighed);
        network.process("send", out, async |mut out: Sender<Vec<u8>>| {
            for size in 0..20 {
                out.send(vec![0; size]).await;
            }
        });
        let heard = listen(&mut network, "listen", messages);
        let report = schedule.run(network);
        assert_eq!(report.outcome, Summary::Failed, "{}", report.explanation());
        assert!(report.failures[0].message.contains("nine are too heavy"), "{report}");
        assert_eq!(heard.all().len(), 9);
    });
}
