//! How channels end: closing, poison, ends that are dropped elsewhere.

use crate::{everywhere, fails, succeeds};
use kahn_csp::{self as csp, Gone, Unsent};
use kahn_csp::{Options, RunError};
use parking_lot::Mutex;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_receiver_gets_all_that_was_sent_and_then_learns_the_end() {
    for capacity in [0, 1, 3] {
        everywhere(
            |options| {
                succeeds(options, async move |scope| {
                    let (mut out, mut input) = if capacity == 0 {
                        csp::channel::<u32>("channel")
                    } else {
                        csp::buffered("channel", capacity)
                    };
                    scope.spawn("sender", async move {
                        for n in 0..7 {
                            out.send(n).await.expect("it is received");
                        }
                        if capacity == 3 {
                            out.poison();
                        }
                    });
                    let mut all = Vec::new();
                    loop {
                        match input.recv().await {
                            Ok(n) => all.push(n),
                            Err(gone) => return (all, gone),
                        }
                    }
                })
            },
            |(all, gone)| {
                assert_eq!(all, (0..7).collect::<Vec<_>>());
                let expected = if capacity == 3 { Gone::Poisoned } else { Gone::Closed };
                assert_eq!(gone, expected);
            },
        );
    }
}

#[test]
fn a_sender_gets_its_message_back_from_a_receiver_that_left() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, input) = csp::channel::<String>("channel");
                scope.spawn("leaver", async move {
                    csp::yield_now().await;
                    drop(input);
                });
                out.send("back".to_owned()).await
            })
        },
        |sent| assert_eq!(sent, Err(Unsent { message: "back".to_owned(), why: Gone::Closed })),
    );
}

#[test]
fn poison_reaches_everyone() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                // A line of processes, and a star at its end.
                let (first, mut left) = csp::channel::<u32>("line");
                for _ in 0..6 {
                    let (mut out, next) = csp::channel::<u32>("line");
                    let mut input = std::mem::replace(&mut left, next);
                    scope.spawn("link", async move {
                        while let Ok(n) = input.recv().await {
                            let _ = out.send(n).await;
                        }
                    });
                }
                let mut told = Vec::new();
                let mut outs = Vec::new();
                for _ in 0..4 {
                    let (out, mut input) = csp::buffered::<u32>("star", 2);
                    outs.push(out);
                    told.push(scope.fork("leaf", async move { input.recv().await }));
                }
                scope.spawn("hub", async move {
                    while let Ok(n) = left.recv().await {
                        for out in &mut outs {
                            let _ = out.send(n).await;
                        }
                    }
                });
                first.poison();
                let mut ends = Vec::new();
                for leaf in told {
                    ends.push(leaf.join().await.expect("it ends"));
                }
                ends
            })
        },
        |ends| assert_eq!(ends, [Err(Gone::Poisoned); 4]),
    );
}

#[test]
fn a_process_that_panics_poisons_its_ends() {
    let error = fails(Options::new(), async |scope| {
        let (out, mut input) = csp::channel::<u32>("channel");
        scope.spawn("panics", async move {
            let _out = out;
            assert!(std::hint::black_box(false), "no luck");
        });
        assert_eq!(input.recv().await, Err(Gone::Poisoned));
    });
    // The hook has printed the message; the report refers to it.
    assert!(error.contains("process `panics` panicked at "), "{error}");
    assert!(error.contains("ends.rs:"), "{error}");
}

#[test]
fn the_error_of_a_process_fails_the_run() {
    let error = fails(Options::new(), async |scope| {
        let (mut out, input) = csp::channel::<u32>("channel");
        drop(input);
        scope.spawn("sender", async move { out.send(1).await });
    });
    assert!(error.contains("process `sender` failed: a message could not be sent"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that is none of the runtime's")]
fn an_end_may_be_dropped_on_another_thread() {
    everywhere(
        |options| {
            succeeds(options, async |_scope| {
                let (out, mut input) = csp::channel::<u32>("channel");
                let thread = std::thread::spawn(move || drop(out));
                // Another thread is no process: only a blocking call makes the network wait for it.
                let joined = csp::blocking(move || thread.join().is_ok()).await;
                (input.recv().await, joined)
            })
        },
        |result| assert_eq!(result, (Err(Gone::Closed), true)),
    );
}

#[test]
fn an_end_that_is_dropped_on_another_thread_wakes_the_receiver_that_waits() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (out, mut input) = csp::channel::<u32>("channel");
                let receiver = scope.fork("receiver", async move { input.recv().await });
                // It waits by then, unless each process has a thread of its own.
                csp::yield_now().await;
                let dropped = csp::blocking(move || drop(out)).await;
                (receiver.join().await.map_err(|failed| failed.message), dropped)
            })
        },
        |(received, ())| assert_eq!(received, Ok(Err(Gone::Closed))),
    );
}

#[test]
fn an_end_may_outlive_its_run() {
    let (out, input) =
        succeeds(Options::new(), async |_scope| csp::buffered::<String>("channel", 1));
    drop(input);
    drop(out);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that is none of the runtime's")]
fn all_that_outlives_its_run_may_be_dropped_anywhere() {
    for workers in [1, 2] {
        let token = Arc::new(());
        let sent = Arc::clone(&token);
        let run = csp::run(Options::new().workers(workers), async move |scope| {
            let (mut out, input) = csp::buffered::<Arc<()>>("kept", 1);
            out.send(sent).await.expect("there is room");
            let (here, there) = csp::exchange::<u32, u32>("kept");
            let barrier = csp::Barrier::new("kept");
            let (shared, event) = (csp::Shared::new("kept", ()), csp::Event::new("kept"));
            let child = scope.fork("child", async { 1 });
            let theirs = (out, there, barrier.clone(), shared.clone(), event.clone(), child);
            ((input, here, barrier, shared, event), theirs)
        });
        let (ours, theirs) = run.expect("nobody waits").result;
        let theirs = std::thread::spawn(move || drop(theirs));
        // Another network runs meanwhile, with parts of its own.
        let other = csp::run(Options::new().workers(workers), async |scope| {
            let (mut out, mut input) = csp::channel::<u32>("other");
            scope.spawn("sender", async move { out.send(1).await });
            input.recv().await
        });
        assert_eq!(other.expect("it ends").result, Ok(1));
        drop(ours);
        theirs.join().expect("it does not panic");
        assert_eq!(Arc::strong_count(&token), 1, "the message is gone");
    }
}

/// Where something is that is never dropped, so that the address sanitizer does not miss it.
static FORGOTTEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The process that waited there is gone with its run, and what it waited in was not dropped with it.
#[test]
fn an_end_may_outlive_a_process_that_forgets_where_it_waits() {
    everywhere(
        |options| {
            let kept = Arc::new(Mutex::new(None));
            let keeps = Arc::clone(&kept);
            let said = fails(options, async move |scope| {
                let (out, input) = csp::channel::<u32>("channel");
                scope.spawn("sleeper", async move {
                    let out = Box::leak(Box::new(out));
                    let sending = Box::leak(Box::new(Box::pin(out.send(1))));
                    let place = ptr::from_ref(sending).expose_provenance();
                    FORGOTTEN.lock().push(place);
                    let _ = sending.as_mut().await;
                });
                *keeps.lock() = Some(input);
            });
            (said, kept)
        },
        |(said, kept)| {
            assert!(said.contains("sleeper"), "{said}");
            let input = kept.lock().take();
            assert!(input.is_some());
        },
    );
}

#[test]
fn messages_that_nobody_receives_are_dropped() {
    let message = Arc::new(());
    let kept = Arc::clone(&message);
    everywhere(
        |options| {
            let message = &message;
            succeeds(options, async move |scope| {
                let (mut out, input) = csp::buffered("buffer", 4);
                out.send(Arc::clone(message)).await.expect("room");
                out.send(Arc::clone(message)).await.expect("room");
                let (mut send, sent) = csp::channel("rendezvous");
                let waits = csp::Process::named("waits").killable();
                let message = Arc::clone(message);
                let waits = scope.fork(waits, async move { send.send(message).await.is_ok() });
                csp::yield_now().await;
                waits.kill();
                let _ = waits.join().await;
                drop((input, sent));
            });
        },
        |()| {},
    );
    drop(message);
    assert_eq!(Arc::strong_count(&kept), 1);
}

/// A sender whose message was taken waits until what acts is done: also if that was forgotten, or
/// comes to its end on another thread.
#[test]
fn a_receiver_that_comes_back_has_let_the_sender_go() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut out, mut input) = csp::channel::<u32>("channel");
                scope.spawn("sender", async move {
                    for n in 0..4 {
                        out.send(n).await?;
                    }
                    Ok::<(), Unsent<u32>>(())
                });
                std::mem::forget(input.recv_extended().await);
                let second = input.recv().await;
                let third = input.recv_extended().await.expect("it is sent");
                let third = std::thread::scope(|threads| threads.spawn(move || *third).join().ok());
                (second, third, csp::alt(input.recv()).await)
            })
        },
        |got| assert_eq!(got, (Ok(1), Some(2), Ok(3))),
    );
}

/// A sender whose message was taken is done when the other end is gone, also if the receiver has
/// forgotten that it acts: wherever the end is dropped, and whatever else the sender offers.
#[test]
fn a_receiver_that_is_dropped_has_let_the_sender_go() {
    fn forget(received: Result<csp::Extended<'_, u32>, Gone>) {
        assert_eq!(received.as_deref(), Ok(&7));
        std::mem::forget(received);
    }
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut all = Vec::new();
                for how in 0..4 {
                    let (mut out, mut input) = csp::channel::<u32>("channel");
                    let sender = scope.fork("sender", async move {
                        if how == 3 {
                            let long = Duration::from_hours(1);
                            let sent = csp::alt((out.send(7), csp::after(long))).await;
                            return (sent, out.send(8).await);
                        }
                        (csp::OneOf2::First(out.send(7).await), out.send(8).await)
                    });
                    forget(input.recv_extended().await);
                    match how {
                        0 => drop(input),
                        1 => input.poison(),
                        2 => std::thread::scope(|threads| {
                            threads.spawn(move || drop(input)).join().expect("it only drops");
                        }),
                        _ => scope.spawn("other", async move { drop(input) }),
                    }
                    all.push(sender.join().await);
                }
                all
            })
        },
        |got| {
            let gone = |why| Ok((csp::OneOf2::First(Ok(())), Err(Unsent { message: 8, why })));
            let closed = || gone(Gone::Closed);
            assert_eq!(got, [closed(), gone(Gone::Poisoned), closed(), closed()]);
        },
    );
}

/// The payload of a panic whose destructor panics.
struct Sore;

impl Drop for Sore {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("in the destructor of a payload"));
    }
}

fn be_sore() {
    std::panic::resume_unwind(Box::new(Sore));
}

#[test]
fn a_payload_whose_destructor_panics_is_the_failure_of_its_process_alone() {
    let error = fails(Options::new(), async |scope| {
        scope.spawn("sore", async { be_sore() });
        let failed = scope.fork("sore too", async { be_sore() }).join().await;
        assert!(failed.expect_err("it panicked").panicked);
        // A call that nobody waits for any more.
        let call = csp::blocking(be_sore);
        let chosen = csp::pri((csp::on(call), csp::skip())).await;
        assert!(matches!(chosen, csp::OneOf2::Second(())));
    });
    assert!(error.contains("process `sore` panicked: a panic without a text"), "{error}");
}

/// A message with an end of a channel, that may be its own.
struct Nested {
    _end: csp::Receiver<Nested>,
    _token: Arc<()>,
}

#[test]
fn what_stands_in_a_buffer_is_dropped_with_the_run_even_if_it_is_the_buffers_own_receiver() {
    let token = Arc::new(());
    everywhere(
        |options| {
            let token = Arc::clone(&token);
            succeeds(options, async move |_scope| {
                let (mut out, end) = csp::buffered::<Nested>("its own", 1);
                let sent = out.send(Nested { _end: end, _token: Arc::clone(&token) }).await;
                assert!(sent.is_ok(), "there is room");
                // Two, of which each has the other.
                let (mut left, from_left) = csp::buffered::<Nested>("left", 2);
                let (mut right, from_right) = csp::buffered::<Nested>("right", 2);
                let sent = left.send(Nested { _end: from_right, _token: Arc::clone(&token) }).await;
                assert!(sent.is_ok(), "there is room");
                let sent = right.send(Nested { _end: from_left, _token: token }).await;
                assert!(sent.is_ok(), "there is room");
            });
        },
        |()| {},
    );
    assert_eq!(Arc::strong_count(&token), 1, "messages are left");
}

#[test]
fn a_result_is_dropped_with_the_run_if_its_handle_outlives_it() {
    let token = Arc::new(());
    everywhere(
        |options| {
            let token = Arc::clone(&token);
            succeeds(options, async move |scope| scope.fork("child", async move { token }))
        },
        |handle| {
            assert_eq!(Arc::strong_count(&token), 1, "the result is left");
            drop(handle);
        },
    );
    assert_eq!(Arc::strong_count(&token), 1, "it was dropped once");
}

#[test]
fn a_failure_is_told_if_the_handle_of_its_process_outlives_the_run() {
    everywhere(
        |options| {
            let mut kept = None;
            let run = csp::run(options, async |scope| {
                kept = Some(scope.fork("child", async { be_sore() }));
            });
            drop(kept);
            let Err(RunError::Ended(report)) = run else { panic!("it fails") };
            report.failures.iter().map(|failure| failure.process.clone()).collect()
        },
        |failed: Vec<_>| assert_eq!(failed, ["child"]),
    );
}

#[test]
fn a_failure_is_told_once_whenever_the_handle_of_its_process_goes() {
    for steps in 0..4 {
        for (waits, elsewhere) in [(0, false), (1, false), (2, false), (3, false), (2, true)] {
            everywhere(
                |options| {
                    let run = csp::run(options, async move |scope| {
                        let child = scope.fork("child", async move {
                            for _ in 0..steps {
                                csp::yield_now().await;
                            }
                            be_sore();
                        });
                        for _ in 0..waits {
                            csp::yield_now().await;
                        }
                        if elsewhere {
                            // On a thread that runs no process.
                            csp::blocking(move || drop(child)).await;
                        } else {
                            drop(child);
                        }
                    });
                    let Err(RunError::Ended(report)) = run else { panic!("it fails") };
                    report.failures.iter().map(|failure| failure.process.clone()).collect()
                },
                |failed: Vec<_>| assert_eq!(failed, ["child"]),
            );
        }
    }
}
