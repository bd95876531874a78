//! What is told afterwards: the same in every run, in the same order.

use super::schedules::{Schedule, count, everywhere, listen, run};
use kahn::{Accounting, Network, Report, RunOptions};
use std::fmt::Write;

/// Everything of a report that must not depend on the schedule.
fn fixed(report: &Report) -> String {
    let mut text = report.explanation();
    for process in &report.processes {
        let _ = writeln!(text, "{}: {}", process.name, process.ending);
    }
    for channel in &report.channels {
        let name =
            |end: &Option<kahn::Name>| end.as_ref().map_or("-".to_owned(), ToString::to_string);
        let _ = writeln!(
            text,
            "{}: {} -> {}, {} received, {}",
            channel.name,
            name(&channel.from),
            name(&channel.to),
            channel.received,
            channel.message_type
        );
    }
    text
}

fn network() -> Network<'static> {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 40);
    let (out, on) = network.channel::<u64>("on");
    let creator = network.creator();
    network.process("create", (numbers, out, creator), async |(mut from, mut out, mut create)| {
        while let Some(n) = from.recv().await {
            if n % 10 == 3 {
                let (failing, results) = create.channel::<u64>(format!("results {n}"));
                create.process(format!("fail {n}"), failing, async move |mut out| {
                    out.send(n).await;
                    Err::<(), _>(format!("failure {n}"))
                });
                create.process(format!("hear {n}"), results, async |mut results| {
                    while results.recv().await.is_some() {}
                });
            }
            out.send(n).await;
        }
    });
    listen(&mut network, "listen", on);
    network.process("fail first", (), async |()| Err::<(), _>("at once"));
    network
}

#[test]
fn reports_list_failures_and_processes_in_the_same_order_in_every_run() {
    let expected = fixed(&Schedule::sequential(64).run(network()));
    everywhere(|schedule| {
        let report = schedule.run(network());
        assert_eq!(fixed(&report), expected);
        let is_single = ["sequential", "seeded"].contains(&schedule.policy);
        if is_single {
            assert_eq!(report.workers, 1);
        } else if schedule.policy != "threads" {
            assert_eq!(report.workers, schedule.workers);
        }
        assert!(report.to_json().starts_with('{'));
        assert!(report.to_string().starts_with("failed"));
    });
    insta::assert_snapshot!(expected, @r"
    failed
      process `fail 3` failed: failure 3 (and with it `hear 3`)
      process `fail 13` failed: failure 13 (and with it `hear 13`)
      process `fail 23` failed: failure 23 (and with it `hear 23`)
      process `fail 33` failed: failure 33 (and with it `hear 33`)
      process `fail first` failed: at once
    numbers: finished
    create: finished
    fail 3: failed
    hear 3: failed with `fail 3`, at `results 3`
    fail 13: failed
    hear 13: failed with `fail 13`, at `results 13`
    fail 23: failed
    hear 23: failed with `fail 23`, at `results 23`
    fail 33: failed
    hear 33: failed with `fail 33`, at `results 33`
    listen: finished
    fail first: failed
    numbers: numbers -> create, 40 received, u64
    on: create -> listen, 40 received, u64
    results 3: fail 3 -> hear 3, 1 received, u64
    results 13: fail 13 -> hear 13, 1 received, u64
    results 23: fail 23 -> hear 23, 1 received, u64
    results 33: fail 33 -> hear 33, 1 received, u64
    ");
}

#[test]
fn counters_fit_together() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 500);
        let (out, on) = network.channel::<u64>("on");
        network.process("pass", (numbers, out), async |(mut from, mut out)| {
            while let Some(n) = from.recv().await {
                out.send(n).await;
            }
        });
        listen(&mut network, "listen", on);
        let report = schedule.finish(network);
        assert_eq!(report.messages(), 1000);
        for channel in &report.channels {
            assert_eq!((channel.sent, channel.received), (500, 500));
            assert!(channel.remote <= channel.received);
            assert!(channel.most_waiting >= 1 && channel.most_waiting <= channel.capacity);
            assert_eq!(channel.capacity, schedule.capacity);
        }
        for process in &report.processes {
            assert!(process.polls >= 1);
        }
        assert_eq!(report.slot_bytes.0, 0);
        assert_eq!(report.created, (3, 2));
    });
}

#[test]
fn times_that_were_not_measured_are_unknown_and_never_zero() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 50);
        listen(&mut network, "listen", numbers);
        let report = schedule.finish(network);
        // This policy takes samples.
        if schedule.policy != "partition" {
            assert!(report.to_json().contains("\"cpu_seconds\": null"), "{}", report.to_json());
            let text = report.to_string();
            let row = text.lines().find(|line| line.starts_with(" listen")).expect("its row");
            assert_eq!(row.split_whitespace().nth(2), Some("-"), "{text}");
        }
    });
}

/// A process that holds its thread and computes nothing, and one that computes meanwhile.
#[test]
fn a_process_whose_thread_does_not_run_is_not_heavy() {
    for (policy, timing) in [("stealing", Accounting::Timing), ("partition", Accounting::Timing)] {
        let (done, wait) = std::sync::mpsc::channel();
        let mut network = Network::new();
        network.process("held", (), async move |()| {
            // Ends by itself if the other one fails.
            let _ = wait.recv();
        });
        network.blocking("computes", (), move |()| {
            let mut sum = 0_u64;
            for n in 0..20_000_000_u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31) ^ n);
            }
            let _ = done.send(sum);
        });
        let options = RunOptions::new().policy(policy).workers(2).accounting(timing);
        let report = run(network, options);
        let seconds = |at: usize| report.processes[at].cpu_seconds.expect("they were measured");
        assert!(seconds(1) > 0.001, "{report}");
        assert!(seconds(0) < seconds(1) / 2.0, "{report}");
    }
}

#[test]
fn times_are_told_where_they_are_measured_and_where_they_are_estimated() {
    for (policy, accounting) in [
        ("stealing", Accounting::Timing),
        ("threads", Accounting::Timing),
        ("partition", Accounting::Off),
    ] {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 2000);
        listen(&mut network, "listen", numbers);
        let options =
            RunOptions::new().policy(policy).workers(2).accounting(accounting).capacity(1);
        let report = run(network, options);
        for process in &report.processes {
            let seconds = process.cpu_seconds.expect("they were measured");
            assert!(seconds > 0.0 && seconds < report.seconds, "{report}");
        }
    }
}
