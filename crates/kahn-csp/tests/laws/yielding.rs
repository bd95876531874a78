//! What runs before a process that gives way: all that were ready, or less where the documentation
//! of `yield_now` says so.

use super::{policy_named, succeeds};
use kahn_csp as csp;
use kahn_csp::Options;
use kahn_policies::POLICIES;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

const OTHERS: u32 = 1000;

/// How many of many others have not run when a process goes on that has given way once.
fn left_by(policy: &str) -> u32 {
    succeeds(Options::new().workers(1).policy(policy_named(policy)), async |scope| {
        let left = Arc::new(AtomicU32::new(OTHERS));
        for _ in 0..OTHERS {
            let left = Arc::clone(&left);
            scope.spawn("other", async move {
                left.fetch_sub(1, Relaxed);
            });
        }
        csp::yield_now().await;
        left.load(Relaxed)
    })
}

#[test]
fn all_that_were_ready_run_before_a_process_that_gives_way() {
    for policy in ["stealing", "shared", "sequential", "static", "partition"] {
        if POLICIES.iter().any(|entry| entry.name() == policy) {
            assert_eq!(left_by(policy), 0, "with {policy}");
        }
    }
}

/// However they became ready: some give way themselves, which are more than a worker's own queue holds in the end; some are
/// new; some were woken.
#[test]
fn all_that_were_ready_run_before_a_process_that_gives_way_among_others_that_do() {
    const FEW: usize = 3;
    for others in [0, 1, 2, 10, 300, 1000] {
        let left_out = succeeds(Options::new().workers(1), async |scope| {
            let counts: Arc<[AtomicU32]> = (0..others).map(|_| AtomicU32::new(0)).collect();
            let ran = Arc::new(AtomicU32::new(0));
            let is_over = Arc::new(AtomicBool::new(false));
            let all = scope.forks("all");
            for number in 0..others {
                let (counts, is_over) = (Arc::clone(&counts), Arc::clone(&is_over));
                all.spawn("gives way", async move {
                    while !is_over.load(Relaxed) {
                        counts[number].fetch_add(1, Relaxed);
                        csp::yield_now().await;
                    }
                });
            }
            let mut wakes: Vec<_> = (0..FEW)
                .map(|_| {
                    let (wakes, mut waits) = csp::channel("wakes");
                    let ran = Arc::clone(&ran);
                    all.spawn("is woken", async move {
                        while waits.recv().await.is_ok() {
                            ran.fetch_add(1, Relaxed);
                        }
                    });
                    wakes
                })
                .collect();
            let mut left_out = None;
            // Not always as many of each: what was woken last does not go through the same queue as the others.
            for (round, (made, woken)) in (1..=200).map(|round| (round, (round % 3, round / 3 % 3)))
            {
                csp::yield_now().await;
                let now = || counts.iter().map(|count| count.load(Relaxed));
                let (before, ran_before) = (now().collect::<Vec<_>>(), ran.load(Relaxed));
                for _ in 0..made {
                    let ran = Arc::clone(&ran);
                    all.spawn("is new", async move {
                        ran.fetch_add(1, Relaxed);
                    });
                }
                for wakes in &mut wakes[..woken] {
                    wakes.send(()).await.expect("it receives");
                }
                csp::yield_now().await;
                let did_not = now().zip(before).filter(|(now, before)| now == before).count();
                let ran = (ran.load(Relaxed) - ran_before) as usize;
                if (ran, did_not) != (made + woken, 0) {
                    left_out =
                        Some(format!("{ran} of {} and {did_not} in round {round}", made + woken));
                    break;
                }
            }
            is_over.store(true, Relaxed);
            drop(wakes);
            all.join().await;
            left_out
        });
        assert_eq!(left_out, None, "beside {others} others");
    }
}

/// If one of these begins to promise more, its documentation does, too.
#[test]
fn under_other_policies_a_process_that_gives_way_may_go_on_before_some() {
    for policy in ["ws-cur", "ws-last", "batch"] {
        assert_ne!(left_by(policy), 0, "with {policy}");
    }
    let left: Vec<_> = (0..20_u64)
        .map(|seed| {
            let options = Options::new().policy(kahn_csp::policy::SEEDED).seed(seed);
            succeeds(options, async |scope| {
                let left = Arc::new(AtomicU32::new(1));
                let other = Arc::clone(&left);
                scope.spawn("other", async move { other.store(0, Relaxed) });
                csp::yield_now().await;
                left.load(Relaxed)
            })
        })
        .collect();
    assert!(left.contains(&0) && left.contains(&1), "{left:?}");
}

/// Both workers have something to run at all times, and one of them is inside one poll.
#[test]
fn what_stands_behind_one_that_holds_its_thread_is_found_by_a_worker_that_is_busy() {
    const YIELDERS: usize = 64;
    /// Far more than a worker runs before it looks.
    const MANY: u64 = 10_000_000;
    let all_ran = succeeds(Options::new().workers(2), async |scope| {
        let counts: Arc<[AtomicU64; YIELDERS]> = Arc::new([const { AtomicU64::new(0) }; YIELDERS]);
        let is_over = Arc::new(AtomicBool::new(false));
        let yielders = scope.forks("yielders");
        for number in 0..YIELDERS {
            let (counts, is_over) = (Arc::clone(&counts), Arc::clone(&is_over));
            yielders.spawn("yielder", async move {
                while !is_over.load(Relaxed) {
                    counts[number].fetch_add(1, Relaxed);
                    csp::yield_now().await;
                }
            });
        }
        let now = || [(); YIELDERS].iter().enumerate().map(|(at, ())| counts[at].load(Relaxed));
        while now().any(|count| count < 1000) {
            csp::yield_now().await;
        }
        let before: Vec<u64> = now().collect();
        let sum: u64 = before.iter().sum();
        let all_ran = loop {
            if now().zip(&before).all(|(count, before)| count > *before) {
                break true;
            }
            if now().sum::<u64>() > sum + MANY {
                break false;
            }
            std::hint::spin_loop();
        };
        is_over.store(true, Relaxed);
        yielders.join().await;
        all_ran
    });
    assert!(all_ran, "some process stood behind the one that held its thread");
}
