//! What happens when the system refuses threads, and how many there are.

use crate::{LIMIT, everywhere, policy_named, succeeds};
use kahn::testing::within;
use kahn_csp::{self as csp, Options, RunError, Summary};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// The report of a run that was out of threads.
fn out_of_threads<R: std::fmt::Debug>(run: Result<R, RunError>) -> String {
    let error = run.expect_err("a thread is missing");
    let report = error.report().expect("the run has begun");
    assert_eq!(report.outcome, Summary::OutOfThreads, "{error}");
    assert_eq!(report.failures, [], "nobody is to blame");
    let text = error.to_string();
    for word in ["out of threads", "ulimit -u", "pids.max", "vm.max_map_count", "fewer threads"] {
        assert!(text.contains(word), "`{word}` is not in {text}");
    }
    text
}

#[test]
fn a_process_of_the_policy_threads_without_a_thread_ends_the_run_out_of_threads() {
    for granted in [0, 1, 20] {
        let options =
            Options::new().policy(kahn_csp::policy::THREADS).refuse_threads_after(granted);
        let run = within(LIMIT, |_| {
            csp::run(options, async |scope| {
                let storm = (0..100_u32).map(|n| async move { n }).collect::<Vec<_>>();
                scope.par(storm).await
            })
        });
        let text = out_of_threads(run);
        assert!(text.contains("has no thread to run on"), "{text}");
    }
}

#[test]
fn workers_without_a_thread_are_a_warning_and_fewer_workers() {
    for policy in ["stealing", "batch", "ws-cur", "ws-last", "static", "partition", "shared"] {
        for granted in [0, 1, 3] {
            let options = || {
                Options::new().workers(8).policy(policy_named(policy)).refuse_threads_after(granted)
            };
            let told = format!("{} of 8 workers run: the system refused a thread", granted + 1);
            // Workers first: there is none left for the clock.
            let run = csp::run(options(), async |scope| {
                let all = (0..40_u32).map(|n| async move { n }).collect::<Vec<_>>();
                scope.par(all).await
            });
            let run = run.expect("it runs with fewer");
            assert_eq!(run.result, Ok((0..40).collect()), "{policy}");
            assert_eq!(run.report.workers, granted + 1, "{policy}");
            assert!(run.report.warnings[0].contains(&told), "{:?}", run.report.warnings);
        }
    }
}

#[test]
fn a_blocking_call_without_a_thread_waits_for_one_or_ends_the_run() {
    for workers in [1, 2] {
        let options = || Options::new().workers(workers);
        // One for the clock.
        let none = options().refuse_threads_after(workers);
        let text = out_of_threads(csp::run(none, async |_scope| csp::blocking(|| 7).await));
        assert!(text.contains("a blocking call has no thread to run on"), "{text}");
        let one = options().refuse_threads_after(workers + 1);
        let numbers = succeeds(one, async |scope| {
            let calls = (0..20_u32).map(|n| csp::blocking(move || n)).collect::<Vec<_>>();
            scope.par(calls).await
        });
        assert_eq!(numbers, Ok((0..20).collect()));
    }
}

#[test]
fn a_clock_without_a_thread_ends_the_run_only_if_somebody_waits_for_a_time() {
    for workers in [1, 2] {
        let options = || Options::new().workers(workers).refuse_threads_after(workers - 1);
        assert_eq!(succeeds(options(), async |_scope| 7), 7);
        let hour = Duration::from_hours(1);
        let text = out_of_threads(csp::run(options(), async |_scope| csp::after(hour).await));
        assert!(text.contains("the clock has no thread to run on"), "{text}");
    }
}

#[test]
fn no_more_blocking_calls_run_at_once_than_were_allowed() {
    everywhere(
        |options| {
            let now = Arc::new(AtomicUsize::new(0));
            let most = Arc::new(AtomicUsize::new(0));
            let most_at_once = Arc::clone(&most);
            let numbers = succeeds(options.blocking_calls(3), async move |scope| {
                let call = |n: u32| {
                    let (now, most) = (Arc::clone(&now), Arc::clone(&most_at_once));
                    csp::blocking(move || {
                        most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, SeqCst);
                        n
                    })
                };
                scope.par((0..50).map(call).collect::<Vec<_>>()).await
            });
            (numbers, most.load(SeqCst))
        },
        |(numbers, most)| {
            assert_eq!(numbers, Ok((0..50).collect()));
            assert!((1..=3).contains(&most), "{most} at once");
        },
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_blocking_call_of_a_pinned_worker_is_not_pinned() {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options::new().workers(1).pin(true);
    let seen = succeeds(options, async move |_scope| (cores(), csp::blocking(cores).await));
    assert_eq!(seen, (1, cores()));
}
