//! What runs before a process that gives way: all that were ready, or less where the documentation
//! of `yield_now` says so.

use super::{policy_named, succeeds};
use kahn_csp as csp;
use kahn_csp::Options;
use kahn_policies::POLICIES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::*};

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
