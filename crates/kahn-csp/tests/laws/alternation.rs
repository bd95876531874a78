//! Choosing: no message lost or doubled, whatever alternates; fairness; priority; repeatability.

use crate::{everywhere, policy_named, succeeds};
use kahn_csp::Options;
use kahn_csp::{self as csp, Guard, OneOf2, OneOf3};
use std::pin::pin;

#[test]
fn input_alternation_takes_every_message_once() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut inputs = Vec::new();
                for n in 0..5_u64 {
                    let (mut out, input) = csp::channel::<u64>("input");
                    inputs.push(input);
                    scope.spawn("source", async move {
                        for i in 0..20 {
                            out.send(n * 20 + i).await?;
                        }
                        Ok::<(), csp::Unsent<u64>>(())
                    });
                }
                let mut all = Vec::new();
                while !inputs.is_empty() {
                    match csp::alt(csp::any(&mut inputs)).await {
                        (_, Ok(n)) => all.push(n),
                        (which, Err(_)) => drop(inputs.swap_remove(which)),
                    }
                }
                all.sort_unstable();
                all
            })
        },
        |all| assert_eq!(all, (0..100).collect::<Vec<_>>()),
    );
}

#[test]
fn output_alternation_sends_every_message_once() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut a, mut from_a) = csp::channel::<u32>("a");
                let (mut b, mut from_b) = csp::channel::<u32>("b");
                let readers = [
                    scope.fork("reader", async move {
                        let mut got = Vec::new();
                        while let Ok(n) = from_a.recv().await {
                            got.push(n);
                        }
                        got
                    }),
                    scope.fork("reader", async move {
                        let mut got = Vec::new();
                        while let Ok(n) = from_b.recv().await {
                            got.push(n);
                            csp::yield_now().await;
                        }
                        got
                    }),
                ];
                for n in 0..60 {
                    match csp::alt((a.send(n), b.send(n))).await {
                        OneOf2::First(sent) | OneOf2::Second(sent) => sent.expect("they read"),
                    }
                }
                drop((a, b));
                let mut all = Vec::new();
                for reader in readers {
                    all.extend(reader.join().await.expect("it ends"));
                }
                all.sort_unstable();
                all
            })
        },
        |all| assert_eq!(all, (0..60).collect::<Vec<_>>()),
    );
}

/// Each of the processes sends and receives what it can, with all neighbours at once.
#[test]
fn both_ends_alternating_with_inputs_and_outputs() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                const EACH: u32 = 30;
                let (mut there, mut back) =
                    (csp::channel::<u32>("there"), csp::channel::<u32>("back"));
                let one = scope.fork("one", async move {
                    let (mut sent, mut received) = (0, Vec::new());
                    while sent < EACH || received.len() < EACH as usize {
                        let choice = csp::alt((
                            there.0.send(sent).when(sent < EACH),
                            back.1.recv().when(received.len() < EACH as usize),
                        ));
                        match choice.await {
                            OneOf2::First(Ok(())) => sent += 1,
                            OneOf2::Second(Ok(n)) => received.push(n),
                            _ => panic!("the other is there"),
                        }
                    }
                    received
                });
                let other = scope.fork("other", async move {
                    let (mut sent, mut received) = (0, Vec::new());
                    while sent < EACH || received.len() < EACH as usize {
                        let choice = csp::alt((
                            back.0.send(sent).when(sent < EACH),
                            there.1.recv().when(received.len() < EACH as usize),
                        ));
                        match choice.await {
                            OneOf2::First(Ok(())) => sent += 1,
                            OneOf2::Second(Ok(n)) => received.push(n),
                            _ => panic!("the other is there"),
                        }
                    }
                    received
                });
                (one.join().await, other.join().await)
            })
        },
        |(one, other)| {
            let expected: Vec<_> = (0..30).collect();
            assert_eq!(one, Ok(expected.clone()));
            assert_eq!(other, Ok(expected));
        },
    );
}

#[test]
fn fair_alternation_waits_no_longer_than_once_round() {
    everywhere(
        |options| {
            succeeds(options, async |_scope| {
                let mut inputs = Vec::new();
                let mut outs = Vec::new();
                for n in 0..7_usize {
                    let (mut out, input) = csp::buffered::<usize>("busy", 10);
                    for _ in 0..10 {
                        out.send(n).await.expect("room");
                    }
                    inputs.push(input);
                    outs.push(out);
                }
                let mut fair = csp::Fair::new();
                let mut chosen = Vec::new();
                for _ in 0..70 {
                    chosen.push(fair.alt(csp::any(&mut inputs)).await.0);
                }
                chosen
            })
        },
        |chosen| {
            for window in chosen.windows(7) {
                let mut window = window.to_vec();
                window.sort_unstable();
                assert_eq!(window, (0..7).collect::<Vec<_>>(), "each once in seven turns");
            }
        },
    );
}

/// More senders than a worker runs between two looks at what has waited longest, and a receiver
/// that gives way now and then, as one does that takes many messages.
#[test]
fn of_many_that_always_have_something_to_say_each_is_heard() {
    for workers in [1, 2] {
        let options = Options::new().workers(workers);
        let heard = succeeds(options, async |scope| {
            let mut ends = Vec::new();
            for _ in 0..100 {
                let (mut out, end) = csp::channel::<()>("words");
                ends.push(end);
                scope.spawn("sender", async move { while out.send(()).await.is_ok() {} });
            }
            let mut fair = csp::Fair::new();
            let mut heard = vec![0; ends.len()];
            for _ in 0..50_000 {
                heard[fair.alt(csp::any(&mut ends)).await.0] += 1;
            }
            heard
        });
        assert!(heard.iter().all(|&messages| messages > 0), "{workers} workers: {heard:?}");
    }
}

#[test]
fn who_chooses_between_both_ends_of_a_channel_does_not_meet_itself() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut end) = csp::channel::<u32>("own");
                let (mut tell, mut told) = csp::channel::<u32>("told");
                scope.spawn("teller", async move {
                    for n in 0..20 {
                        csp::yield_now().await;
                        tell.send(n).await?;
                    }
                    Ok::<(), csp::Unsent<u32>>(())
                });
                let mut heard = Vec::new();
                while heard.len() < 20 {
                    heard.push(match csp::alt((end.recv(), out.send(100), told.recv())).await {
                        OneOf3::Third(Ok(n)) => n,
                        other => panic!("nobody else has an end: {other:?}"),
                    });
                }
                heard
            })
        },
        |heard| assert_eq!(heard, (0..20).collect::<Vec<_>>()),
    );
}

#[test]
fn who_chooses_between_both_ends_of_a_buffer_fills_it_and_empties_it() {
    everywhere(
        |options| {
            succeeds(options, async |_scope| {
                let (mut out, mut end) = csp::buffered::<u32>("own", 2);
                let (mut sent, mut received) = (0, Vec::new());
                while received.len() < 20 {
                    match csp::alt((end.recv(), out.send(sent).when(sent < 20))).await {
                        OneOf2::First(Ok(n)) => received.push(n),
                        OneOf2::Second(Ok(())) => sent += 1,
                        other => panic!("both ends are there: {other:?}"),
                    }
                }
                received
            })
        },
        |received| assert_eq!(received, (0..20).collect::<Vec<_>>()),
    );
}

#[test]
fn priority_alternation_takes_the_first_that_is_ready() {
    everywhere(
        |options| {
            succeeds(options, async |_scope| {
                let (mut a_out, mut a) = csp::buffered::<u32>("a", 9);
                let (mut b_out, mut b) = csp::buffered::<u32>("b", 9);
                for n in 0..3 {
                    a_out.send(n).await.expect("room");
                    b_out.send(n).await.expect("room");
                }
                let mut chosen = String::new();
                for _ in 0..7 {
                    match csp::pri((a.recv(), b.recv(), csp::skip())).await {
                        OneOf3::First(_) => chosen.push('a'),
                        OneOf3::Second(_) => chosen.push('b'),
                        OneOf3::Third(()) => chosen.push('.'),
                    }
                }
                chosen
            })
        },
        |chosen| assert_eq!(chosen, "aaabbb."),
    );
}

#[test]
fn a_choice_that_finds_nothing_lets_those_that_are_ready_come_first() {
    for is_first in [true, false] {
        let urgent_was_taken = succeeds(Options::new().workers(1), async |scope| {
            let (mut urgent_out, mut urgent) = csp::channel::<()>("urgent");
            let (mut usual_out, mut usual) = csp::channel::<()>("usual");
            // The one that is not taken finds the other end gone.
            let sends_urgently = async move {
                let _ = urgent_out.send(()).await;
            };
            let sends_as_usual = async move {
                let _ = usual_out.send(()).await;
            };
            if is_first {
                scope.spawn("urgent", sends_urgently);
                scope.spawn("usual", sends_as_usual);
            } else {
                scope.spawn("usual", sends_as_usual);
                scope.spawn("urgent", sends_urgently);
            }
            // If it waited at once, the one that runs first would be taken.
            matches!(csp::pri((urgent.recv(), usual.recv())).await, OneOf2::First(Ok(())))
        });
        assert!(urgent_was_taken, "the urgent one runs first: {is_first}");
    }
}

#[test]
fn with_one_worker_and_a_seed_choices_are_repeatable_and_seeds_differ() {
    let choices = |policy: &str, seed| {
        succeeds(Options::new().workers(1).policy(policy_named(policy)).seed(seed), async |scope| {
            let mut inputs = Vec::new();
            for _ in 0..4 {
                let (mut out, input) = csp::buffered::<u32>("input", 20);
                inputs.push(input);
                scope.spawn("source", async move { while out.send(0).await.is_ok() {} });
            }
            csp::yield_now().await;
            let mut chosen = Vec::new();
            for _ in 0..20 {
                chosen.push(csp::alt(csp::any(&mut inputs)).await.0);
            }
            chosen
        })
    };
    for policy in ["ws-cur", "sequential", "seeded"] {
        let first = choices(policy, 1);
        assert_eq!(first, choices(policy, 1), "{policy}");
        assert!((2..8).any(|seed| choices(policy, seed) != first), "{policy}: nothing is drawn");
    }
}

#[test]
fn a_send_that_loses_keeps_its_message_and_can_go_on() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<String>("late");
                let (mut go, mut gone) = csp::channel::<()>("early");
                let reader = scope.fork("reader", async move {
                    go.send(()).await.expect("somebody waits");
                    input.recv().await
                });
                let mut send = pin!(out.send("kept".to_owned()));
                match csp::pri((gone.recv(), send.as_mut())).await {
                    OneOf2::First(_) => send.await.expect("the reader reads"),
                    OneOf2::Second(_) => panic!("the reader does not read yet"),
                }
                reader.join().await.expect("it ends")
            })
        },
        |received| assert_eq!(received, Ok("kept".to_owned())),
    );
}

#[test]
fn a_dropped_operation_leaves_the_channel_usable() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<u32>("channel");
                // Polled once and dropped, at both ends.
                assert!(poll_once(input.recv()).is_none());
                assert!(poll_once(out.send(1)).is_none());
                // Lost in an alternation that has waited.
                let (mut tick, mut ticks) = csp::channel::<()>("tick");
                scope.spawn("clock", async move {
                    csp::yield_now().await;
                    tick.send(()).await
                });
                let choice = csp::alt((input.recv(), ticks.recv())).await;
                assert_eq!(choice, OneOf2::Second(Ok(())));
                scope.spawn("sender", async move { out.send(2).await });
                input.recv().await
            })
        },
        |received| assert_eq!(received, Ok(2)),
    );
}

#[test]
fn a_dropped_send_whose_receiver_still_acts_leaves_the_next_one_alone() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<Box<u32>>("channel");
                let receiver = scope.fork("receiver", async move {
                    let mut received = Vec::new();
                    while let Ok(message) = input.recv_extended().await {
                        csp::yield_now().await;
                        csp::yield_now().await;
                        received.push(*message.finish());
                    }
                    received
                });
                csp::yield_now().await;
                // Taken if the receiver is there, and then not waited for.
                let _ = poll_once(out.send(Box::new(1)));
                out.send(Box::new(2)).await.expect("the receiver is there");
                drop(out);
                receiver.join().await.expect("it ends")
            })
        },
        |received| assert!(received == [1, 2] || received == [2], "{received:?}"),
    );
}

fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn alternation_over_a_future_of_another_library() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<u32>("channel");
                scope.spawn("sender", async move {
                    for n in 0..10 {
                        out.send(n).await?;
                        csp::yield_now().await;
                    }
                    Ok::<(), csp::Unsent<u32>>(())
                });
                let (mut received, mut called) = (0, 0);
                let mut call = Box::pin(csp::blocking(|| 5));
                while received < 10 || called == 0 {
                    let choice = csp::alt((
                        input.recv().when(received < 10),
                        csp::on(call.as_mut()).when(called == 0),
                    ));
                    match choice.await {
                        OneOf2::First(n) => {
                            assert_eq!(n, Ok(received));
                            received += 1;
                        }
                        OneOf2::Second(result) => called = result,
                    }
                }
                called
            })
        },
        |called| assert_eq!(called, 5),
    );
}

async fn child(steps: u32) -> u32 {
    for _ in 0..steps {
        csp::yield_now().await;
    }
    steps
}

/// A join waits among other guards, loses its process only with its handle, and gives its result once.
#[test]
fn the_end_of_a_process_is_a_guard() {
    for steps in 0..4 {
        everywhere(
            |options| {
                succeeds(options, async |scope| {
                    let (_out, mut silent) = csp::channel::<u32>("silent");
                    let mut first = pin!(scope.fork("first", child(steps)).join());
                    let second = csp::Process::named("second").killable();
                    let second = scope.fork(second, std::future::pending::<()>());
                    let mut lost = 0;
                    let polled = loop {
                        match csp::pri((first.as_mut(), csp::skip())).await {
                            OneOf2::First(result) => break result,
                            OneOf2::Second(()) if lost < 2 => lost += 1,
                            OneOf2::Second(()) => break first.as_mut().await,
                        }
                    };
                    let third = scope.fork("third", child(steps));
                    let waited = csp::alt((silent.recv(), third.join())).await;
                    second.kill();
                    (polled, waited, second.join().await.is_err())
                })
            },
            |got| assert_eq!(got, (Ok(steps), OneOf2::Second(Ok(steps)), true)),
        );
    }
}
