//! What happens when the system refuses threads.

use kahn::{Network, Options, RunError, Summary};

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
fn a_blocking_child_without_a_thread_ends_the_run_out_of_threads() {
    for granted in [0, 1, 7] {
        for workers in [1, 2] {
            let mut network = Network::new();
            let numbers = network.source("numbers", 0..100_u32);
            let (out, doubled) = network.channel("doubled");
            let spawner = network.spawner();
            let ports = (numbers, out, spawner);
            network.process("creator", ports, async |(mut numbers, mut out, mut spawner)| {
                while let Some(number) = numbers.recv().await {
                    let (mut to, from) = spawner.channel::<u32>("to");
                    let (answer, mut answered) = spawner.channel("answer");
                    spawner.blocking("child", (from, answer), |(mut from, mut answer)| {
                        while let Some(number) = from.recv_blocking() {
                            answer.send_blocking(number * 2);
                        }
                    });
                    to.send(number).await;
                    drop(to);
                    out.send(answered.recv().await.unwrap_or(0)).await;
                }
            });
            let _sum = network.fold("sum", doubled, 0_u64, |sum, n| sum + u64::from(n));
            let options = Options::new().workers(workers);
            let text = out_of_threads(
                network.run_with(options.refuse_threads_after(workers - 1 + granted)),
            );
            assert!(text.contains("process `child` has no thread to run on"), "{text}");
        }
    }
}

#[test]
fn workers_without_a_thread_are_a_warning_and_fewer_workers() {
    for policy in ["stealing", "batch", "ws-cur", "ws-last", "static", "partition", "shared"] {
        for granted in [0, 1, 3] {
            let options = || {
                Options::new()
                    .workers(8)
                    .policy(kahn_laws::policy(policy))
                    .refuse_threads_after(granted)
            };
            let mut network = Network::new();
            let mut numbers = network.source("numbers", 0..500_u32);
            for step in 0..12 {
                numbers = network.map(format!("step {step}"), numbers, |n| n + 1);
            }
            let sum = network.fold("sum", numbers, 0_u64, |sum, n| sum + u64::from(n));
            let report = network.run_with(options()).expect("it runs with fewer");
            assert_eq!(sum.take(), Some((12..512).sum::<u64>()), "{policy}");
            assert_eq!(report.workers, granted + 1, "{policy}");
            let told = format!("{} of 8 workers run: the system refused a thread", granted + 1);
            assert!(report.warnings[0].contains(&told), "{:?}", report.warnings);
        }
    }
}
