//! A run from outside: stopped, with a deadline or without; looked into while it goes on.

use crate::{everywhere, policy_named};
use kahn_csp::{self as csp, Handle, OneOf2};
use kahn_csp::{Options, RunError, Summary};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

/// Does something on a thread that is none of a network.
#[expect(clippy::disallowed_methods, reason = "somebody outside is what is tested")]
fn beside<R: Send + 'static>(does: impl FnOnce() -> R + Send + 'static) -> thread::JoinHandle<R> {
    thread::spawn(does)
}

fn is_stopped<R>(result: Result<csp::Run<R>, RunError>) -> bool {
    result
        .is_err_and(|error| error.report().is_some_and(|report| report.outcome == Summary::Stopped))
}

#[test]
fn a_stop_drops_every_process_where_it_is() {
    everywhere(
        |options| {
            let handle = Handle::new();
            let outside = handle.clone();
            let (tell, told) = mpsc::channel();
            let stopper = beside(move || {
                told.recv().expect("the run begins");
                outside.stop_within(LONG).map_err(|still| still.to_string())
            });
            let result = handle.run(options, async move |scope| {
                let (_out, mut never) = csp::channel::<u32>("never");
                let mut barrier = csp::Barrier::new("barrier");
                let theirs = barrier.clone();
                scope.spawn("yields", async {
                    while !csp::handle().is_ending() {
                        csp::yield_now().await;
                    }
                    std::future::pending::<()>().await;
                });
                scope.spawn("offers", async move {
                    csp::alt((barrier.sync(), csp::after(LONG))).await;
                    drop(theirs);
                });
                scope.spawn("pending", std::future::pending::<()>());
                tell.send(()).expect("the stopper waits");
                let _ = never.recv().await;
            });
            (is_stopped(result), stopper.join().expect("it does not panic"), handle.is_ending())
        },
        |result| assert_eq!(result, (true, Ok(()), true)),
    );
}

#[test]
fn a_run_that_was_stopped_before_it_began_does_not_begin() {
    everywhere(
        |options| {
            let handle = Handle::new();
            handle.stop();
            let ran = AtomicBool::new(false);
            let result = handle.run(options, async |_scope| ran.store(true, SeqCst));
            (is_stopped(result), ran.into_inner(), handle.explain().waiting.len())
        },
        |result| assert_eq!(result, (true, false, 0)),
    );
}

#[test]
fn who_does_not_stop_in_time_is_named() {
    for policy in ["stealing", "threads"] {
        let handle = Handle::new();
        let outside = handle.clone();
        let (tell, told) = mpsc::channel();
        let go_on = &AtomicBool::new(true);
        thread::scope(|threads| {
            threads.spawn(move || {
                told.recv().expect("the run begins");
                let still = outside.stop_within(Duration::from_millis(1));
                let still = still.expect_err("it computes").to_string();
                go_on.store(false, SeqCst);
                assert!(still.contains("`stubborn` computes"), "{still}");
                outside.stop_within(LONG).expect("it has stopped");
            });
            let result =
                handle.run(Options::new().policy(policy_named(policy)), async move |scope| {
                    scope.spawn("stubborn", async move {
                        tell.send(()).expect("the stopper waits");
                        while go_on.load(SeqCst) {
                            thread::yield_now();
                        }
                        csp::yield_now().await;
                    });
                });
            // Under `threads` it may have ended by itself before it was told to.
            assert!(is_stopped(result) || policy == "threads");
        });
    }
}

#[test]
fn a_call_that_does_not_return_is_told_of() {
    let handle = Handle::new();
    let outside = handle.clone();
    let (tell, told) = mpsc::channel();
    let (open, opened) = mpsc::channel::<()>();
    let stopper = beside(move || {
        told.recv().expect("the call begins");
        loop {
            let still = outside.stop_within(Duration::from_millis(1)).expect_err("the call waits");
            if still.to_string().contains("1 of the blocking calls") {
                break;
            }
        }
        drop(open);
        outside.stop_within(LONG).expect("the call has returned");
    });
    let result = handle.run(Options::new(), async move |_scope| {
        let call = move || {
            tell.send(()).expect("the stopper waits");
            opened.recv().is_err()
        };
        csp::blocking(call).await
    });
    stopper.join().expect("it does not panic");
    assert!(is_stopped(result));
}

#[test]
fn a_process_takes_the_handle_of_its_run_outside() {
    let result = csp::run(Options::new(), async |scope| {
        let handle = csp::handle();
        beside(move || handle.stop());
        scope.spawn("pending", std::future::pending::<()>());
        while !csp::handle().is_ending() {
            csp::yield_now().await;
        }
    });
    assert!(is_stopped(result));
}

#[test]
#[should_panic(expected = "a `csp::Handle` is for one run")]
fn a_handle_is_for_one_run() {
    let handle = Handle::new();
    for _ in 0..2 {
        let _ = handle.run(Options::new(), async |_scope| ());
    }
}

/// Two that have talked and then both send, one that waits for them, and one that goes on.
async fn partly_stuck(scope: csp::Scope<'_>, go_on: &AtomicBool) {
    let (mut a, mut from_a) = csp::channel::<u32>("a");
    let (mut b, mut from_b) = csp::channel::<u32>("b");
    let left = scope.fork("left", async move {
        a.send(1).await?;
        let _ = from_b.recv().await;
        a.send(2).await
    });
    scope.spawn("right", async move {
        let _ = from_a.recv().await;
        b.send(1).await?;
        b.send(2).await?;
        let _ = from_a.recv().await;
        Ok::<(), csp::Unsent<u32>>(())
    });
    scope.spawn("waits for left", async move {
        let _ = left.join().await;
    });
    let (mut feed, mut fed) = csp::channel::<u32>("feed");
    scope.spawn("idle", async move { while fed.recv().await.is_ok() {} });
    while go_on.load(SeqCst) {
        feed.send(1).await.expect("it listens");
        csp::yield_now().await;
    }
    csp::handle().stop();
}

#[test]
fn a_part_that_is_stuck_behind_others_is_listed_on_demand() {
    everywhere(
        |options| {
            let handle = Handle::new();
            let outside = handle.clone();
            let go_on = AtomicBool::new(true);
            thread::scope(|threads| {
                let looker = threads.spawn(|| {
                    let found = loop {
                        let explanation = outside.explain();
                        let stuck = explanation.waiting.iter().filter(|waiting| waiting.is_stuck);
                        let stuck: Vec<_> = stuck.map(|w| w.process.to_string()).collect();
                        for name in &stuck {
                            assert!(["left", "right", "waits for left"].contains(&&**name));
                        }
                        if stuck.len() == 3 {
                            break (stuck, explanation.rings.len(), explanation.remedies.len());
                        }
                    };
                    go_on.store(false, SeqCst);
                    found
                });
                let go_on = &go_on;
                let result =
                    handle.run(options, async move |scope| partly_stuck(scope, go_on).await);
                assert!(is_stopped(result));
                looker.join().expect("it does not panic")
            })
        },
        |(stuck, rings, remedies)| {
            assert_eq!(stuck, ["left", "right", "waits for left"]);
            assert_eq!((rings, remedies), (1, 1));
        },
    );
}

#[test]
fn what_is_listed_on_demand_reads_well() {
    let run =
        csp::run(Options::new().workers(1).policy(kahn_csp::policy::SEQUENTIAL), async |scope| {
            let (mut a, mut from_a) = csp::channel::<u32>("a");
            let (mut out, mut input) = csp::channel::<u32>("input");
            let shared = csp::Shared::new("printer", ());
            let theirs = shared.clone();
            let keeper = csp::Process::named("keeper").killable();
            let keeper = scope.fork(keeper, async move {
                a.send(1).await?;
                let _claim = theirs.claim().await;
                a.send(2).await
            });
            let client = csp::Process::named("client").killable();
            let client = scope.fork(client, async move {
                let _ = from_a.recv().await;
                csp::yield_now().await;
                drop(shared.claim().await);
                let _ = from_a.recv().await;
            });
            scope.spawn("server", async move {
                let _ = csp::alt((input.recv(), csp::after(LONG))).await;
            });
            for _ in 0..10 {
                csp::yield_now().await;
            }
            let text = csp::handle().explain().to_string();
            keeper.kill();
            client.kill();
            out.send(1).await.expect("the server listens");
            text
        });
    let text = run.expect("it ends well").result;
    let lines = text.lines().map(|line| match line.split_once(" (created at") {
        Some((line, rest)) => format!("{line}{}", rest.split_once(')').map_or("", |(_, end)| end)),
        None => line.to_owned(),
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
      `main` computes, without channel operations
      `keeper` waits to send message 2 to `a`, whose other end `client` used last: for ever
      `client` waits to claim `printer`, which `keeper` holds (claimed once so far): for ever
      `server` waits for one of 2: receive from `input`, a time
      ring: `keeper` –[send to `a`]→ `client` –[claim `printer`]→ `keeper`
    help: the process that claims `printer` keeps it while it waits for others: let it drop the claim before
    ");
}

#[test]
fn nothing_is_called_stuck_that_goes_on() {
    for options in [
        Options::new().workers(2),
        Options::new().workers(4).policy(kahn_csp::policy::SHARED),
        Options::new().policy(kahn_csp::policy::THREADS),
        Options::new().workers(1),
    ] {
        let handle = Handle::new();
        let outside = handle.clone();
        let looker = beside(move || {
            let mut looks = 0;
            while looks < 300 && !outside.is_ending() {
                let explanation = outside.explain();
                let is_stuck = explanation.waiting.iter().any(|waiting| waiting.is_stuck);
                assert!(!is_stuck, "{explanation}");
                looks += usize::from(!explanation.waiting.is_empty());
            }
            outside.stop();
        });
        let result = handle.run(options, async |scope| {
            let (mut first, mut left) = csp::channel::<u32>("ring");
            let shared = csp::Shared::new("shared", 0_u32);
            let mut pause = csp::Barrier::new("pause");
            for _ in 0..3 {
                let (mut out, next) = csp::channel::<u32>("ring");
                let mut input = std::mem::replace(&mut left, next);
                let (shared, mut pause) = (shared.clone(), pause.clone());
                scope.spawn("element", async move {
                    loop {
                        match csp::alt((input.recv(), pause.sync())).await {
                            OneOf2::First(Ok(token)) => {
                                *shared.claim().await += 1;
                                let _ = out.send(token).await;
                            }
                            OneOf2::First(Err(_)) => return,
                            OneOf2::Second(()) => {}
                        }
                    }
                });
            }
            while first.send(1).await.is_ok() {
                let _ = left.recv().await;
                pause.sync().await;
            }
        });
        assert!(is_stopped(result));
        looker.join().expect("nobody is stuck");
    }
}

/// A handle is for one run: a second one makes nothing, and keeps nothing.
#[test]
fn a_second_run_of_a_handle_leaves_nothing_behind() {
    let handle = Handle::new();
    handle.run(Options::new(), async |_scope| {}).expect("the first run");
    let token = Arc::new(());
    let theirs = Arc::clone(&token);
    let second = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        handle.run(Options::new(), async move |_scope| drop(theirs)).is_ok()
    }));
    assert!(second.is_err(), "it panics");
    assert_eq!(Arc::strong_count(&token), 1, "its first process is left");
}

/// Has a process polled again: with the waker of its poll or a clone of that, there or on another thread.
fn call(waker: &Waker, way: u32) {
    let by_a_clone = || {
        let clone = waker.clone();
        clone.wake();
    };
    match way {
        0 => waker.wake_by_ref(),
        1 => by_a_clone(),
        2 => thread::scope(|threads| drop(threads.spawn(|| waker.wake_by_ref()))),
        _ => thread::scope(|threads| drop(threads.spawn(by_a_clone))),
    }
}

/// A worker polls all its processes with one waker: it is that of the process that is polled.
#[test]
fn a_waker_that_is_called_in_a_poll_is_that_of_its_process() {
    everywhere(
        |options| {
            csp::run(options, async |scope| {
                for _ in 0..3 {
                    scope.spawn("called", async {
                        for way in 0..4 {
                            let mut is_called = false;
                            poll_fn(|context| {
                                if is_called {
                                    return Poll::Ready(());
                                }
                                is_called = true;
                                call(context.waker(), way);
                                Poll::Pending
                            })
                            .await;
                            csp::yield_now().await;
                        }
                    });
                }
            })
        },
        |ended| {
            // What is not polled again waits for ever.
            assert!(ended.is_ok(), "{ended:?}");
        },
    );
}
