//! Killing a process wherever it is: its ends are dropped, and nobody else is hurt.

use crate::{everywhere, succeeds};
use kahn::csp::{self, Gone, OneOf2, Process};
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
        csp::sleep(Duration::from_hours(1)).await;
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
