//! What is told afterwards: the same in every run, in the same order.

use super::schedules::{Schedule, count, everywhere, listen, run};
use kahn::{Accounting, Network, Options, Report};
use parking_lot::Mutex;
use std::fmt::Write;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::thread::ThreadId;

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
    let spawner = network.spawner();
    network.process("create", (numbers, out, spawner), async |(mut from, mut out, mut create)| {
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

/// The thread of each poll of a process.
type Polls = Arc<Mutex<Vec<ThreadId>>>;

/// Notes each poll of a body.
async fn note_polls<F: Future>(polls: Polls, body: F) -> F::Output {
    let mut body = pin!(body);
    poll_fn(|context| {
        polls.lock().push(std::thread::current().id());
        body.as_mut().poll(context)
    })
    .await
}

#[test]
fn counters_fit_together() {
    everywhere(|schedule| {
        let mut network = Network::new();
        let polls = [(); 3].map(|()| Polls::default());
        let [first, second, third] = polls.clone();
        let (out, numbers) = network.channel::<u64>("numbers");
        network.process("numbers", out, async |mut out| {
            note_polls(first, out.send_all(0..500)).await;
        });
        let (out, on) = network.channel::<u64>("on");
        network.process("pass", (numbers, out), async |(mut from, mut out)| {
            let pass = async {
                while let Some(n) = from.recv().await {
                    out.send(n).await;
                }
            };
            note_polls(second, pass).await;
        });
        network.process("listen", on, async |mut on| {
            note_polls(third, async { while on.recv().await.is_some() {} }).await;
        });
        let report = schedule.finish(network);
        assert_eq!(report.messages(), 1000);
        let mut remote = 0;
        for channel in &report.channels {
            assert_eq!((channel.sent, channel.received), (500, 500));
            assert!(channel.remote <= channel.received);
            assert!(channel.most_waiting >= 1 && channel.most_waiting <= channel.capacity);
            assert_eq!(channel.capacity, schedule.capacity);
            remote += channel.remote;
        }
        let local = report.local_share.expect("messages were counted");
        let remote = u32::try_from(remote).expect("few");
        assert!((local + f64::from(remote) / 1000.0 - 1.0).abs() < 1e-9, "{report}");
        for (process, polls) in report.processes.iter().zip(&polls) {
            let polls = polls.lock();
            let moves = polls.windows(2).filter(|two| two[0] != two[1]).count();
            let found = (process.polls, process.migrations);
            assert_eq!(found, (polls.len() as u64, moves as u64), "{report}");
            // The last poll ends in no wait.
            assert!(process.waits_empty + process.waits_full < process.polls, "{report}");
        }
        assert_eq!((report.processes[0].waits_empty, report.processes[2].waits_full), (0, 0));
        for worker in &report.worker_reports {
            assert!(worker.steals_won <= worker.steals_tried, "{report}");
        }
        if let [only] = &report.worker_reports[..] {
            assert_eq!((remote, only.steals_tried), (0, 0), "{report}");
        }
        assert_eq!(report.slot_bytes.0, 0);
        assert_eq!(report.created, (3, 2));
    });
}

#[test]
fn each_column_of_the_tables_shows_its_own_counter() {
    let mut network = Network::new();
    let numbers = count(&mut network, "numbers", 5);
    listen(&mut network, "listen", numbers);
    let mut report = Schedule::sequential(1).finish(network);
    let process = &mut report.processes[1];
    process.cpu_seconds = Some(1.5);
    (process.polls, process.waits_empty, process.waits_full, process.migrations) = (11, 12, 13, 14);
    let channel = &mut report.channels[0];
    (channel.received, channel.remote, channel.most_waiting) = (21, 22, 23);
    (channel.capacity, channel.growths) = (24, 25);
    (channel.message_bytes, channel.owned_bytes) = (26, Some(27));
    let worker = &mut report.worker_reports[0];
    (worker.busy_seconds, worker.idle_seconds) = (3.5, 3.25);
    (worker.spins, worker.sleeps, worker.steals_tried, worker.steals_won) = (31, 32, 33, 34);
    let text = format!("{report:#}");
    let rows = ["process ", " listen ", "channel ", " numbers  numbers ", "worker ", " 0 "];
    let found = rows.map(|begin| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.trim_start().starts_with(begin.trim_start()));
        line.unwrap_or_else(|| panic!("no row of `{begin}`: {text}")).split_whitespace().collect()
    });
    let found: Vec<Vec<&str>> = found.to_vec();
    assert_eq!(found[0], ["process", "ended", "cpu", "polls", "empty", "full", "migrations"]);
    assert_eq!(found[1], ["listen", "finished", "1.50", "s", "11", "12", "13", "14"]);
    assert_eq!(
        found[2][3..],
        ["received", "remote", "waiting", "capacity", "growths", "bytes", "owned"]
    );
    assert_eq!(
        found[3],
        ["numbers", "numbers", "listen", "21", "22", "23", "24", "25", "26", "B", "27", "B"]
    );
    assert_eq!(found[4], ["worker", "busy", "idle", "spins", "sleeps", "tried", "won"]);
    assert_eq!(found[5], ["0", "3.50", "s", "3.25", "s", "31", "32", "33", "34"]);
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
            let text = format!("{report:#}");
            let row = text.lines().find(|line| line.starts_with(" listen")).expect("its row");
            assert_eq!(row.split_whitespace().nth(2), Some("-"), "{text}");
            // The short form: its share and its time.
            let text = report.to_string();
            let row = text.lines().find(|line| line.starts_with(" listen")).expect("its row");
            let times: Vec<_> = row.split_whitespace().skip(2).take(2).collect();
            assert_eq!(times, ["-", "-"], "{text}");
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
        let options =
            Options::new().policy(kahn_laws::policy(policy)).workers(2).accounting(timing);
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
        let options = Options::new()
            .policy(kahn_laws::policy(policy))
            .workers(2)
            .accounting(accounting)
            .capacity(1);
        let report = run(network, options);
        for process in &report.processes {
            let seconds = process.cpu_seconds.expect("they were measured");
            assert!(seconds > 0.0 && seconds <= report.seconds, "{report}");
        }
    }
}
