//! Claims are first come, first served, and end with what holds them.

use crate::{everywhere, policy_named, succeeds};
use kahn_csp as csp;
use kahn_csp::Options;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[test]
fn claims_are_first_come_first_served() {
    for policy in ["ws-cur", "sequential", "shared", "ws-last"] {
        let order =
            succeeds(Options::new().workers(1).policy(policy_named(policy)), async |scope| {
                let list = csp::Shared::new("list", (Vec::new(), Vec::new()));
                let arrivals = Arc::new(Mutex::new(Vec::new()));
                let first = list.claim().await;
                let forks = scope.forks("clients");
                for n in 0..20 {
                    let (list, arrivals) = (list.clone(), Arc::clone(&arrivals));
                    forks.spawn("client", async move {
                        arrivals.lock().push(n);
                        list.claim().await.0.push(n);
                    });
                }
                for _ in 0..3 {
                    csp::yield_now().await;
                }
                drop(first);
                forks.join().await;
                let mut claim = list.claim().await;
                claim.1.clone_from(&arrivals.lock());
                claim.clone()
            });
        assert_eq!(order.0, order.1, "{policy}: as they came");
    }
}

#[test]
fn a_claim_ends_with_a_panic() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let shared = csp::Shared::new("shared", 1_u32);
                let theirs = shared.clone();
                let panics = scope.fork("panics", async move {
                    let _claim = theirs.claim().await;
                    assert!(std::hint::black_box(false), "with the claim");
                });
                assert!(panics.join().await.is_err());
                *shared.claim().await
            })
        },
        |value| assert_eq!(value, 1),
    );
}

#[test]
fn nobody_else_is_in_while_one_is() {
    everywhere(
        |options| {
            succeeds(options, async |scope| {
                let counter = csp::Shared::new("counter", 0_u32);
                let forks = scope.forks("clients");
                for _ in 0..10 {
                    let counter = counter.clone();
                    forks.spawn("client", async move {
                        for _ in 0..10 {
                            let mut claim = counter.claim().await;
                            let before = *claim;
                            csp::yield_now().await;
                            *claim = before + 1;
                        }
                    });
                }
                forks.join().await;
                *counter.claim().await
            })
        },
        |count| assert_eq!(count, 100),
    );
}

#[test]
fn urgent_processes_run_before_others_at_every_scheduling_point() {
    for policy in ["ws-cur", "sequential", "shared", "ws-last"] {
        let order =
            succeeds(Options::new().workers(1).policy(policy_named(policy)), async |scope| {
                let log = Arc::new(Mutex::new(Vec::new()));
                let levels = [
                    (csp::Priority::Background, 3),
                    (csp::Priority::Usual, 2),
                    (csp::Priority::Urgent, 1),
                ];
                let forks = scope.forks("levels");
                for (priority, level) in levels {
                    for _ in 0..3 {
                        let log = Arc::clone(&log);
                        forks.spawn(csp::Process::named("p").priority(priority), async move {
                            for _ in 0..4 {
                                log.lock().push(level);
                                csp::yield_now().await;
                            }
                        });
                    }
                }
                forks.join().await;
                log.lock().clone()
            });
        assert!(order.is_sorted(), "{policy}: {order:?}");
        assert_eq!(order.len(), 36);
    }
}

#[test]
fn a_process_of_a_worker_runs_there_only() {
    for policy in ["ws-cur", "shared"] {
        let threads =
            succeeds(Options::new().workers(3).policy(policy_named(policy)), async |scope| {
                let processes = (0..6_u32).map(|n| {
                    let process = csp::Process::named("pinned").worker(n);
                    scope.fork(process, async move {
                        let mut threads = std::collections::BTreeSet::new();
                        for _ in 0..50 {
                            threads.insert(format!("{:?}", std::thread::current().id()));
                            csp::yield_now().await;
                        }
                        threads.len()
                    })
                });
                let processes: Vec<_> = processes.collect();
                let mut all = Vec::new();
                for process in processes {
                    all.push(process.join().await.expect("it ends"));
                }
                all
            });
        assert_eq!(threads, [1; 6], "{policy}");
    }
}

/// More than are pushed one by one, of all kinds, with work enough for several workers to take part.
#[test]
fn more_than_a_worker_keeps_apart_go_on_from_a_barrier() {
    const MEMBERS: u32 = 2500;
    for workers in [1, 2] {
        let counted = succeeds(Options::new().workers(workers), async |scope| {
            let (count, forks) = (Arc::new(AtomicU32::new(0)), scope.forks("members"));
            let barrier = csp::Barrier::new("phase");
            for _ in 0..MEMBERS {
                let (count, mut barrier) = (Arc::clone(&count), barrier.clone());
                forks.spawn("member", async move {
                    for phase in 1..=3 {
                        count.fetch_add(1, SeqCst);
                        barrier.sync().await;
                        assert!(count.load(SeqCst) >= phase * MEMBERS, "all have come");
                    }
                });
            }
            drop(barrier);
            forks.join().await;
            count.load(SeqCst)
        });
        assert_eq!(counted, 3 * MEMBERS);
    }
}

#[test]
fn many_at_a_barrier_go_on_in_step() {
    const PROCESSES: u32 = 120;
    const PHASES: u32 = 12;
    everywhere(
        |options| {
            let here = AtomicU32::new(0);
            let here = &here;
            succeeds(options, async move |scope| {
                let barrier = csp::Barrier::new("phase");
                let forks = scope.forks("members");
                for n in 0..PROCESSES {
                    let mut barrier = barrier.clone();
                    let process = csp::Process::named(format!("p{n}"));
                    let process = match n % 20 {
                        7 => process.priority(csp::Priority::Urgent),
                        13 => process.priority(csp::Priority::Background),
                        17 => process.worker(n),
                        _ => process,
                    };
                    forks.spawn(process, async move {
                        for phase in 0..PHASES {
                            (0..500).for_each(|step| {
                                std::hint::black_box(step);
                            });
                            here.fetch_add(1, SeqCst);
                            // Some leave before the others.
                            if n % 11 == 3 && phase == PHASES / 2 {
                                here.fetch_add(PHASES - 1 - phase, SeqCst);
                                return;
                            }
                            barrier.sync().await;
                            let count = here.load(SeqCst);
                            assert!(count >= (phase + 1) * PROCESSES, "{count} in {phase}");
                        }
                    });
                }
                drop(barrier);
                forks.join().await;
            });
            here.load(SeqCst)
        },
        |count| assert_eq!(count, PROCESSES * PHASES),
    );
}
