//! One test for each feature of occam-pi, by its name there.

use crate::{everywhere, policy_named, succeeds};
use kahn_csp::Options;
use kahn_csp::{self as csp, Guard, OneOf2, Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::time::Duration;

fn ring(options: Options, processes: u64, tokens: u64, cycles: u64) -> u64 {
    succeeds(options, async move |scope| {
        let (mut first, mut left) = csp::channel::<u64>("ring");
        for _ in 1..processes {
            let (mut out, next) = csp::channel::<u64>("ring");
            let mut input = std::mem::replace(&mut left, next);
            scope.spawn("element", async move {
                loop {
                    let token = input.recv().await.expect("the ring is closed");
                    let next = if token > 0 { token + 1 } else { 0 };
                    out.send(next).await.expect("the ring is closed");
                    if token == 0 {
                        return;
                    }
                }
            });
        }
        first.send(1).await.expect("the ring is closed");
        left.recv().await.expect("the ring is closed");
        for token in 1..=tokens {
            first.send(token).await.expect("the ring is closed");
        }
        for _ in 0..cycles * tokens {
            let token = left.recv().await.expect("the ring is closed");
            first.send(token + 1).await.expect("the ring is closed");
        }
        let mut total = 0;
        for _ in 0..tokens {
            total += left.recv().await.expect("the ring is closed");
        }
        first.send(0).await.expect("the ring is closed");
        left.recv().await.expect("the ring is closed");
        total
    })
}

#[test]
fn seq_and_channel_protocol_ring() {
    for tokens in [1, 4, 7] {
        let (n, c) = (8, 10);
        let expected = tokens * (tokens + 1) / 2 + tokens * (n - 1 + n * c);
        everywhere(|options| ring(options, n, tokens, c), |total| assert_eq!(total, expected));
    }
}

#[test]
fn par_waits_for_all_and_returns_their_results() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut a, mut b) = csp::channel::<u32>("inner");
                let both = (async move { a.send(3).await.is_ok() }, async move { b.recv().await });
                scope.par(both).await
            })
        },
        |result| assert_eq!(result, Ok((true, Ok(3)))),
    );
}

#[test]
fn replicated_par() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                scope.par((0..40_u64).map(|n| async move { n }).collect::<Vec<_>>()).await
            })
        },
        |result| assert_eq!(result, Ok((0..40).collect())),
    );
}

#[test]
fn par_returns_the_failure_of_a_process() {
    let failed = succeeds(Options::new(), async |scope| {
        scope
            .par([async {
                assert!(std::hint::black_box(false), "on purpose");
            }])
            .await
    });
    assert_eq!(failed.expect_err("it panicked").message, "on purpose");
}

#[test]
fn forking_waits_for_all_forks() {
    everywhere(
        |options| {
            let done = AtomicU32::new(0);
            succeeds(options, async |scope| {
                let forks = scope.forks("forks");
                for _ in 0..10 {
                    let again = forks.clone();
                    let done = &done;
                    forks.spawn("fork", async move {
                        // A fork may fork in the same scope.
                        again.spawn("fork of a fork", async move {
                            csp::yield_now().await;
                            done.fetch_add(1, Relaxed);
                        });
                    });
                }
                forks.join().await;
                done.load(Relaxed)
            })
        },
        |seen| assert_eq!(seen, 10),
    );
}

#[test]
fn recursive_procs() {
    fn count<'env>(
        scope: csp::Scope<'env>,
        depth: u32,
        mut out: Sender<u32>,
    ) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + 'env>> {
        Box::pin(async move {
            let mut sum = 1;
            if depth > 0 {
                for _ in 0..2 {
                    let (tell, mut told) = csp::channel("sum");
                    scope.spawn("child", count(scope, depth - 1, tell));
                    sum += told.recv().await.expect("children tell");
                }
            }
            let _ = out.send(sum).await;
        })
    }
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (tell, mut told) = csp::channel("sum");
                scope.spawn("root", count(scope, 5, tell));
                told.recv().await
            })
        },
        |sum| assert_eq!(sum, Ok(63)),
    );
}

#[test]
fn alt_with_boolean_guards_keeps_indices() {
    everywhere(
        |options| {
            succeeds(options, async |_scope| {
                let (mut a_out, mut a) = csp::buffered::<u32>("a", 1);
                let (mut b_out, mut b) = csp::buffered::<u32>("b", 1);
                a_out.send(1).await.expect("room");
                b_out.send(2).await.expect("room");
                csp::pri((a.recv().when(false), b.recv())).await
            })
        },
        |choice| assert_eq!(choice, OneOf2::Second(Ok(2))),
    );
}

#[test]
fn shared_claim_keeps_what_belongs_together() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (out, mut all) = csp::channel::<u32>("all");
                let out = csp::Shared::new("out", out);
                for n in 0..8 {
                    let out = out.clone();
                    scope.spawn("client", async move {
                        for _ in 0..5 {
                            let mut out = out.claim().await;
                            for _ in 0..3 {
                                out.send(n).await?;
                                csp::yield_now().await;
                            }
                        }
                        Ok::<(), csp::Unsent<u32>>(())
                    });
                }
                drop(out);
                let mut triples = 0;
                while let Ok(first) = all.recv().await {
                    assert_eq!(all.recv().await, Ok(first));
                    assert_eq!(all.recv().await, Ok(first));
                    triples += 1;
                }
                triples
            })
        },
        |triples| assert_eq!(triples, 40),
    );
}

#[test]
fn mobile_channel_ends_move_in_messages() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut lend, mut borrow) = csp::channel::<(Sender<u32>, Receiver<u32>)>("ends");
                scope.spawn("server", async move {
                    while let Ok((mut reply, mut ask)) = borrow.recv().await {
                        while let Ok(n) = ask.recv().await {
                            reply.send(n * 2).await.expect("the client waits");
                        }
                    }
                });
                let mut sum = 0;
                for n in 0..5 {
                    let (mut ask, asked) = csp::channel("ask");
                    let (reply, mut replied) = csp::channel("reply");
                    lend.send((reply, asked)).await.expect("the server serves");
                    ask.send(n).await.expect("the server serves");
                    sum += replied.recv().await.expect("the server serves");
                }
                sum
            })
        },
        |sum| assert_eq!(sum, 20),
    );
}

/// Asks and answers in turn by messages of a type, so that each side meets a partner that waits and one that does not.
fn to_and_fro<T>(make: fn(u64) -> T)
where
    T: Send + PartialEq + std::fmt::Debug + 'static,
{
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut ask, mut asked) = csp::channel::<T>("ask");
                let (mut answer, mut answered) = csp::channel::<T>("answer");
                scope.spawn("echo", async move {
                    while let Ok(message) = asked.recv().await {
                        answer.send(message).await.expect("the other waits for it");
                    }
                });
                let mut heard = Vec::new();
                for n in 0..9 {
                    ask.send(make(n)).await.expect("the echo receives");
                    heard.push(answered.recv().await.expect("the echo answers"));
                }
                heard
            })
        },
        |heard| assert_eq!(heard, (0..9).map(make).collect::<Vec<_>>()),
    );
}

/// A message that itself tells which of several things it is.
#[derive(Debug, PartialEq)]
enum Either {
    Name(String),
    Words([u64; 3]),
}

#[derive(Debug, PartialEq)]
#[repr(align(64))]
struct Aligned(u64);

#[test]
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
fn messages_of_any_type_arrive_as_they_were_sent() {
    to_and_fro(|_| ());
    to_and_fro(|n| n as u8);
    to_and_fro(|n| (n as u8, n as u16));
    to_and_fro(|n| n);
    to_and_fro(u128::from);
    to_and_fro(|n| [n; 4]);
    to_and_fro(Box::new);
    to_and_fro(|n| format!("message {n}"));
    to_and_fro(|n| match n % 2 {
        0 => Either::Name(format!("message {n}")),
        _ => Either::Words([n; 3]),
    });
    to_and_fro(|n| (n % 2 == 0).then(|| vec![n; 3]));
    to_and_fro(Aligned);
}

#[test]
fn mobile_data_and_arrays_move_without_a_copy() {
    let (before, after) = succeeds(Options::new().workers(1), async |scope| {
        let (mut out, mut input) = csp::channel::<Vec<u8>>("array");
        let array = vec![7; 100];
        let before = array.as_ptr().addr();
        scope.spawn("giver", async move { out.send(array).await });
        let array = input.recv().await.expect("it is given");
        (before, array.as_ptr().addr())
    });
    assert_eq!(before, after);
}

#[test]
fn mobile_barrier_enrols_what_is_sent_a_clone() {
    everywhere(
        |options| {
            let phase = AtomicU32::new(0);
            let phase = &phase;
            succeeds(options, async move |scope| {
                let mut barrier = csp::Barrier::new("barrier");
                let (mut send, mut sent) = csp::channel::<csp::Barrier>("barriers");
                let worker = scope.fork("worker", async move {
                    let mut barrier = sent.recv().await.expect("a barrier is sent");
                    // It was enrolled when the send was complete: nobody went on without us.
                    let before = phase.load(SeqCst);
                    barrier.sync().await;
                    before
                });
                send.send(barrier.clone()).await.expect("the worker receives");
                barrier.sync().await;
                phase.store(1, SeqCst);
                worker.join().await
            })
        },
        |before| assert_eq!(before, Ok(0)),
    );
}

#[test]
fn sending_the_handle_itself_moves_the_enrolment() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut barrier = csp::Barrier::new("barrier");
                let (mut send, mut sent) = csp::channel::<csp::Barrier>("barriers");
                scope.spawn("worker", async move {
                    let mut barrier = sent.recv().await.expect("a barrier is sent");
                    barrier.sync().await;
                });
                send.send(barrier.clone()).await.expect("the worker receives");
                barrier.sync().await;
                let (mut send, mut sent) = csp::channel::<csp::Barrier>("barriers");
                let heir = scope.fork("heir", async move {
                    let mut barrier = sent.recv().await.expect("a barrier is sent");
                    // Alone: what sent it is not enrolled any more.
                    barrier.sync().await;
                });
                send.send(barrier).await.expect("the heir receives");
                heir.join().await
            })
        },
        |joined| assert_eq!(joined, Ok(())),
    );
}

#[test]
fn barrier_phases_never_overlap() {
    everywhere(
        |options| {
            const PROCESSES: u32 = 12;
            let here = AtomicU32::new(0);
            let here = &here;
            succeeds(options, async move |scope| {
                let barrier = csp::Barrier::new("phase");
                let processes = (0..PROCESSES).map(|n| {
                    let mut barrier = barrier.clone();
                    async move {
                        for phase in 0..10 {
                            here.fetch_add(1, SeqCst);
                            if (n + phase) % 3 == 0 {
                                csp::yield_now().await;
                            }
                            barrier.sync().await;
                            // Everybody has come in this phase, and nobody in the next but one.
                            let count = here.load(SeqCst);
                            assert!(count >= (phase + 1) * PROCESSES, "{count} in {phase}");
                            assert!(count <= (phase + 2) * PROCESSES, "{count} in {phase}");
                        }
                    }
                });
                let processes: Vec<_> = processes.collect();
                drop(barrier);
                scope.par(processes).await.expect("phases do not overlap");
            });
        },
        |()| {},
    );
}

#[test]
fn resigning_lets_the_others_go() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let mut barrier = csp::Barrier::new("barrier");
                let resigns = barrier.clone();
                scope.spawn("quitter", async move {
                    csp::yield_now().await;
                    drop(resigns);
                });
                barrier.sync().await;
            });
        },
        |()| {},
    );
}

#[test]
fn extended_rendezvous_keeps_the_sender() {
    everywhere(
        |options| {
            let acted = AtomicU32::new(0);
            let acted = &acted;
            succeeds(options, async move |scope| {
                let (mut out, mut input) = csp::channel::<u32>("extended");
                let sender = scope.fork("sender", async move {
                    let mut seen = Vec::new();
                    for n in 0..6 {
                        if n % 2 == 0 {
                            out.send(n).await.expect("it is received");
                        } else {
                            let choice = csp::pri((out.send(n), csp::skip().when(false))).await;
                            assert_eq!(choice, OneOf2::First(Ok(())));
                        }
                        seen.push(acted.load(SeqCst));
                    }
                    seen
                });
                for n in 0..6 {
                    if n == 3 {
                        csp::yield_now().await;
                    }
                    let message = input.recv_extended().await.expect("it is sent");
                    assert_eq!(*message, n);
                    csp::yield_now().await;
                    acted.fetch_add(1, SeqCst);
                    assert_eq!(message.finish(), n);
                }
                sender.join().await
            })
        },
        // The sender of message n goes on only when the receiver has acted n + 1 times.
        |seen| {
            for (n, acted) in seen.expect("the sender ends").into_iter().enumerate() {
                assert!(acted as usize > n, "released too early: {acted} at {n}");
            }
        },
    );
}

#[test]
fn exchange_swaps_both_ways_in_one_meeting() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let (mut a, mut b) = csp::exchange::<u32, String>("exchange");
                let other = scope.fork("other", async move {
                    let mut sum = 0;
                    for n in 0..5 {
                        sum += b.swap(n.to_string()).await.expect("both swap");
                    }
                    sum
                });
                let mut words = String::new();
                for n in 0..5 {
                    words += &a.swap(n).await.expect("both swap");
                }
                (other.join().await, words)
            })
        },
        |(sum, words)| {
            assert_eq!(sum, Ok(10));
            assert_eq!(words, "01234");
        },
    );
}

#[test]
fn reschedule_lets_the_others_run() {
    succeeds(Options::new().workers(1), async |scope| {
        let ran = Arc::new(AtomicU32::new(0));
        for _ in 0..5 {
            let ran = Arc::clone(&ran);
            scope.spawn("other", async move {
                ran.fetch_add(1, Relaxed);
            });
        }
        csp::yield_now().await;
        csp::yield_now().await;
        assert_eq!(ran.load(Relaxed), 5);
    });
}

#[test]
fn timers_after_and_delay() {
    let options = Options::new().virtual_time(true);
    let elapsed = succeeds(options, async |_scope| {
        let start = csp::now();
        csp::after(Duration::from_secs(5)).await;
        csp::until(start + Duration::from_secs(20)).await;
        csp::now() - start
    });
    assert_eq!(elapsed, Duration::from_secs(20));
}

#[test]
fn semaphore_bucket_event_and_crew() {
    everywhere(
        |options| {
            let inside = AtomicU32::new(0);
            let inside = &inside;
            succeeds(options, async move |scope| {
                let semaphore = csp::Semaphore::new("semaphore", 3);
                let start = csp::Event::new("start");
                let crew = csp::Crew::new("crew", 0_u64);
                let forks = scope.forks("forks");
                for n in 0..12_u64 {
                    let (semaphore, start, crew) = (semaphore.clone(), start.clone(), crew.clone());
                    forks.spawn("fork", async move {
                        start.wait().await;
                        let permit = semaphore.acquire().await;
                        assert!(inside.fetch_add(1, SeqCst) < 3);
                        csp::yield_now().await;
                        inside.fetch_sub(1, SeqCst);
                        drop(permit);
                        if n % 3 == 0 {
                            let mut value = crew.write().await;
                            let before = *value;
                            csp::yield_now().await;
                            *value = before + 1;
                        } else {
                            let value = crew.read().await;
                            let before = *value;
                            csp::yield_now().await;
                            assert_eq!(*value, before);
                        }
                    });
                }
                csp::yield_now().await;
                start.set();
                forks.join().await;
                *crew.read().await
            })
        },
        |written| assert_eq!(written, 4),
    );
}

#[test]
fn blocking_calls_leave_the_worker_free() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let answer = succeeds(Options::new().workers(1), async move |scope| {
        let call = scope.fork("caller", async move {
            csp::blocking(move || receiver.recv()).await.expect("somebody sends")
        });
        // With one worker this runs only because the call does not hold it.
        csp::yield_now().await;
        sender.send(42).expect("the call waits");
        call.join().await
    });
    assert_eq!(answer, Ok(42));
}

/// `PRI PAR`: its branches have names, priorities and places as other processes have.
#[test]
fn a_branch_of_a_par_may_say_what_process_it_is() {
    use kahn_csp::{Priority, Process};
    for policy in ["stealing", "batch", "shared", "sequential"] {
        let order = parking_lot::Mutex::new(Vec::new());
        let order = &order;
        let says = move |name: &'static str| async move { order.lock().push(name) };
        let named = |name, priority| Process::named(name).priority(priority);
        let options = Options::new().workers(1).policy(policy_named(policy));
        let run = csp::run(options, async move |scope| {
            let later = named("later", Priority::Background).runs(says("later"));
            let usual = says("usual");
            let first = named("first", Priority::Urgent).runs(says("first"));
            scope.par((later, usual, first)).await.expect("all end");
            let many = [Priority::Background, Priority::Usual, Priority::Urgent];
            let many = many.map(|priority| named("many", priority).runs(async move { priority }));
            assert_eq!(scope.par(many).await.map(|all| all.len()), Ok(3));
        });
        let run = run.expect("it ends well");
        assert_eq!(*order.lock(), ["first", "usual", "later"], "{policy}");
        let names: Vec<_> = run.report.processes.iter().map(|p| p.name.to_string()).collect();
        assert_eq!(names, ["main", "later", "par 1", "first", "many", "many", "many"], "{policy}");
    }
}
