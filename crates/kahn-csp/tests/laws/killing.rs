//! Killing a process wherever it is: its ends are dropped, and nobody else is hurt.

use crate::{everywhere, succeeds};
use kahn_csp::Options;
use kahn_csp::{self as csp, Gone, OneOf2, Process};
use std::time::Duration;

/// Kills a process that waits in the way `wait` does.
fn killed_while<F>(
    wait: impl Fn(csp::Scope<'static>, csp::Sender<u32>) -> F + Copy + Send + Sync + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    for delay in 0..3 {
        everywhere(
            |options| {
                succeeds(options, async move |scope| {
                    let (out, mut witness) = csp::channel::<u32>("witness");
                    let victim = wait(scope, out);
                    let victim = scope.fork(Process::named("victim").killable(), victim);
                    for _ in 0..delay {
                        csp::yield_now().await;
                    }
                    victim.kill();
                    let end = victim.join().await;
                    (end.is_err(), witness.recv().await)
                })
            },
            // Its ends are dropped.
            |(is_killed, witness)| assert_eq!((is_killed, witness), (true, Err(Gone::Closed))),
        );
    }
}

#[test]
fn while_it_receives() {
    killed_while(|_, witness| async move {
        let _witness = witness;
        let (_out, mut input) = csp::channel::<u32>("never");
        let _ = input.recv().await;
    });
}

#[test]
fn while_it_sends() {
    killed_while(|_, witness| async move {
        let _witness = witness;
        let (mut out, _input) = csp::channel::<String>("never");
        let _ = out.send("lost".to_owned()).await;
    });
}

#[test]
fn while_it_alternates() {
    killed_while(|_, witness| async move {
        let _witness = witness;
        let (_a, mut input) = csp::channel::<u32>("never");
        let (mut out, _b) = csp::channel::<u32>("never");
        let hour = Duration::from_hours(1);
        let _ = csp::alt((input.recv(), out.send(1), csp::after(hour))).await;
    });
}

#[test]
fn while_it_sleeps() {
    killed_while(|_, witness| async move {
        let _witness = witness;
        csp::after(Duration::from_hours(1)).await;
    });
}

#[test]
fn while_it_yields() {
    killed_while(|_, witness| async move {
        let _witness = witness;
        loop {
            csp::yield_now().await;
        }
    });
}

#[test]
fn while_it_waits_at_a_barrier() {
    killed_while(|scope, witness| async move {
        let _witness = witness;
        let mut barrier = csp::Barrier::new("barrier");
        let other = barrier.clone();
        scope.spawn("other", async move {
            let mut other = other;
            // Goes on when the victim has resigned.
            for _ in 0..3 {
                csp::yield_now().await;
            }
            other.sync().await;
        });
        barrier.sync().await;
        barrier.sync().await;
        std::future::pending::<()>().await;
    });
}

#[test]
fn while_it_waits_for_a_claim_or_holds_one() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let shared = csp::Shared::new("shared", 0_u32);
                let mine = shared.claim().await;
                let victims = [1, 2].map(|_| {
                    let shared = shared.clone();
                    scope.fork(Process::named("victim").killable(), async move {
                        let _claim = shared.claim().await;
                        std::future::pending::<()>().await;
                    })
                });
                let third = shared.clone();
                let third = scope.fork("third", async move { *third.claim().await });
                csp::yield_now().await;
                victims[0].kill();
                drop(mine);
                // The second has the claim now, or is about to.
                csp::yield_now().await;
                victims[1].kill();
                for victim in victims {
                    assert!(victim.join().await.is_err());
                }
                third.join().await
            })
        },
        |third| assert_eq!(third, Ok(0)),
    );
}

#[test]
fn the_partner_of_a_killed_process_loses_nothing() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<u32>("numbers");
                let consumer = scope.fork(Process::named("consumer").killable(), async move {
                    let mut count = 0;
                    while input.recv().await.is_ok() {
                        count += 1;
                    }
                    count
                });
                let producer = scope.fork("producer", async move {
                    let mut sent = 0;
                    loop {
                        match out.send(sent).await {
                            Ok(()) => sent += 1,
                            Err(unsent) => return (sent, unsent.message),
                        }
                    }
                });
                for _ in 0..5 {
                    csp::yield_now().await;
                }
                consumer.kill();
                drop(consumer);
                producer.join().await.expect("it ends")
            })
        },
        // The message that was not taken comes back.
        |(sent, back)| assert_eq!(sent, back),
    );
}

#[test]
fn a_process_may_be_killed_at_both_ends_of_a_race() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<u32>("race");
                let sender = scope.fork(Process::named("sender").killable(), async move {
                    while out.send(1).await.is_ok() {}
                });
                let receiver = scope.fork(Process::named("receiver").killable(), async move {
                    let hour = Duration::from_hours(1);
                    while let OneOf2::First(Ok(_)) =
                        csp::alt((input.recv(), csp::after(hour))).await
                    {}
                });
                csp::yield_now().await;
                receiver.kill();
                sender.kill();
                let _ = sender.join().await;
                let _ = receiver.join().await;
            });
        },
        |()| {},
    );
}

/// How the receiver of an extended rendezvous fails while its sender waits.
/// How often a race is tried.
const ROUNDS: usize = 100;

#[derive(Clone, Copy, Debug)]
enum Failing {
    Panics,
    /// In a future that unwinding does not drop.
    PanicsElsewhere,
    /// On a thread that runs no process.
    PanicsOutside,
    IsKilled,
}

/// A future that keeps something and panics.
struct Keeps<T>(T);

impl<T> Future for Keeps<T> {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        panic!("the future fails");
    }
}

async fn fails_over(how: Failing, mut input: csp::Receiver<String>, first: bool) {
    if !first {
        csp::yield_now().await;
        csp::yield_now().await;
    }
    let mut message = input.recv_extended().await.expect("it is sent");
    message.push('!');
    match how {
        Failing::Panics => panic!("it fails over `{}`", *message),
        Failing::PanicsElsewhere => Keeps(message).await,
        Failing::PanicsOutside => std::thread::scope(|threads| {
            let thread = threads.spawn(move || {
                let _message = message;
                std::panic::resume_unwind(Box::new("no message"));
            });
            assert!(thread.join().is_err());
            std::panic::resume_unwind(Box::new("a thread has failed"));
        }),
        Failing::IsKilled => std::future::pending().await,
    }
}

#[test]
fn the_sender_of_a_message_that_its_receiver_fails_over_gets_it_back() {
    use Failing::*;
    for how in [Panics, PanicsElsewhere, PanicsOutside, IsKilled] {
        for (first, offers) in [(true, false), (false, false), (true, true), (false, true)] {
            everywhere(
                |options| {
                    succeeds(options, async move |scope| {
                        let (mut out, input) = csp::channel::<String>("extended");
                        let receiver = Process::named("receiver").killable();
                        let receiver = scope.fork(receiver, fails_over(how, input, first));
                        let sender = scope.fork("sender", async move {
                            if first {
                                csp::yield_now().await;
                                csp::yield_now().await;
                            }
                            let message = "message".to_owned();
                            if offers {
                                let never = std::future::pending::<()>();
                                let never = std::pin::pin!(never);
                                match csp::alt((out.send(message), csp::on(never))).await {
                                    OneOf2::First(sent) => sent,
                                    OneOf2::Second(()) => unreachable!("it never comes"),
                                }
                            } else {
                                out.send(message).await
                            }
                        });
                        if matches!(how, IsKilled) {
                            for _ in 0..20 {
                                csp::yield_now().await;
                            }
                            receiver.kill();
                        }
                        assert!(receiver.join().await.is_err());
                        sender.join().await.expect("the sender ends")
                    })
                },
                |sent| {
                    let why = if matches!(how, IsKilled) { Gone::Closed } else { Gone::Poisoned };
                    let sent = sent.expect_err("its receiver failed");
                    assert_eq!(sent.why, why, "{how:?}, first {first}, offers {offers}");
                    // A process that is killed before it has the message has not touched it.
                    let killed_early = matches!(how, IsKilled) && sent.message == "message";
                    assert!(killed_early || sent.message == "message!", "{}", sent.message);
                },
            );
        }
    }
}

/// While one worker sees to what was dropped outside, the receiver goes on, on another.
#[test]
fn what_was_dropped_outside_is_told_before_its_receiver_goes_on() {
    const PAIRS: usize = 40;
    for round in 0..ROUNDS {
        let sent = succeeds(Options::new().workers(3), async move |scope| {
            let mut senders = Vec::new();
            for pair in 0..PAIRS {
                let (mut out, mut input) = csp::channel::<String>("extended");
                scope.spawn("receiver", async move {
                    let message = input.recv_extended().await.expect("it is sent");
                    std::thread::scope(|threads| {
                        let panics = pair % 2 == 0;
                        let thread = threads.spawn(move || {
                            let _message = message;
                            if panics {
                                std::panic::resume_unwind(Box::new("no message"));
                            }
                        });
                        assert_eq!(thread.join().is_err(), panics);
                    });
                    // The sender may be held by the next message, and not by the last one's end.
                    let message = input.recv_extended().await;
                    csp::yield_now().await;
                    drop(message);
                });
                let sender = async move {
                    (out.send("one".to_owned()).await, out.send("two".to_owned()).await)
                };
                senders.push(scope.fork("sender", sender));
            }
            let mut sent = Vec::new();
            for sender in senders {
                sent.push(sender.join().await.expect("the sender ends"));
            }
            sent
        });
        for (pair, (one, two)) in sent.into_iter().enumerate() {
            match one {
                Ok(()) => assert!(pair % 2 == 1, "round {round}: the receiver failed over it"),
                Err(back) => {
                    assert!(pair % 2 == 0, "round {round}: {back}");
                    assert_eq!((back.message.as_str(), back.why), ("one", Gone::Poisoned));
                }
            }
            assert_eq!(two, Ok(()), "round {round}");
        }
    }
}

#[test]
fn the_sender_of_a_message_that_was_let_go_in_time_has_sent_it() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<u32>("extended");
                let receiver = scope.fork("receiver", async move {
                    let message = input.recv_extended().await.expect("it is sent");
                    assert!(message.finish() > 7, "it fails afterwards");
                });
                let sent = out.send(7).await;
                assert!(receiver.join().await.is_err());
                sent
            })
        },
        |sent| assert_eq!(sent, Ok(())),
    );
}
