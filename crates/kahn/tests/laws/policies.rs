//! What single policies promise beyond the laws: where processes run, and how often they move.

use super::schedules::{Schedule, listen, run};
use kahn::policy::{Notify, Origin, Placement, Policy, Ready, Reason, Turn};
use kahn::{Channel, Network, Process, Report, RunOptions, Summary};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// A ring of processes through which a token goes so many times.
fn ring(network: &mut Network<'_>, processes: usize, rounds: u64) {
    ring_until(network, processes, rounds, || {});
}

/// The same, with something to do at the end.
fn ring_until(
    network: &mut Network<'_>,
    processes: usize,
    rounds: u64,
    end: impl FnOnce() + Send + 'static,
) {
    let channel = Channel::named("from root").capacity(1);
    let (first_out, mut before) = network.channel_with(channel);
    for element in 1..processes {
        let channel = Channel::named(format!("from {element}")).capacity(1);
        let (out, next) = network.channel_with(channel);
        let from = std::mem::replace(&mut before, next);
        network.process(format!("element {element}"), (from, out), async |(mut from, mut to)| {
            while let Some(n) = from.recv().await {
                to.send(n).await;
            }
        });
    }
    let root = Process::named("root").effects();
    network.process_with(root, (before, first_out), async move |(mut from, mut to)| {
        for n in 0..rounds {
            to.send(n).await;
            assert_eq!(from.recv().await, Some(n));
        }
        end();
    });
}

fn run_ring(processes: usize, rounds: u64, options: RunOptions) -> Report {
    let mut network = Network::new();
    ring(&mut network, processes, rounds);
    let report = run(network, options);
    assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
    assert_eq!(report.messages(), processes as u64 * rounds);
    report
}

/// The share of messages that changed workers.
fn remote_share(report: &Report) -> f64 {
    1.0 - report.local_share.expect("messages were counted")
}

fn assert_about(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.01, "{found} is not about {expected}");
}

#[test]
fn under_static_nobody_changes_workers_and_placement_decides_what_crosses() {
    for (placement, crossings) in
        [(Placement::Good, 2.0), (Placement::Bad, 16.0), (Placement::RoundRobin, 16.0)]
    {
        let options = RunOptions::new().workers(2).policy("static").placement(placement);
        let report = run_ring(16, 100, options);
        assert!(report.processes.iter().all(|process| process.steals == 0));
        assert_about(remote_share(&report), crossings / 16.0);
    }
}

#[test]
fn under_static_a_list_and_a_pin_are_heeded() {
    let run = |options: RunOptions| {
        let mut network = Network::new();
        let (out, numbers) = network.channel("numbers");
        let send = Process::named("send").worker(1);
        network.process_with(send, out, async |mut out| out.send_all(0..100_u64).await);
        listen(&mut network, "listen", numbers);
        run(network, options.workers(2).policy("static")).local_share
    };
    // In turn, `send` would be with worker 0 and `listen` with worker 1.
    assert_eq!(run(RunOptions::new()), Some(1.0));
    let listed = |worker| RunOptions::new().placement(Placement::list([("listen", worker)]));
    assert_eq!((run(listed(1)), run(listed(0))), (Some(1.0), Some(0.0)));
}

#[test]
fn a_list_that_makes_no_sense_is_refused_before_anything_runs() {
    let refused = |name, worker| {
        let mut network = Network::new();
        ring(&mut network, 3, 1);
        let options = RunOptions::new().workers(2).policy("static");
        let options = options.placement(Placement::list([("root", 0), (name, worker)]));
        network.run_with(options).expect_err("it makes no sense").to_string()
    };
    insta::assert_snapshot!(
        refused("element 9", 1),
        @"the placement, line 2: there is no process `element 9` in this network"
    );
    insta::assert_snapshot!(
        refused("element 1", 2),
        @"the placement, line 2: there is no worker 2: the last of this run is 1"
    );
}

#[test]
fn partition_keeps_most_messages_local_and_tells_how_often_it_cut_anew() {
    let options = RunOptions::new().workers(4).policy("partition").tau(Duration::from_micros(100));
    let report = run_ring(64, 200, options);
    let again = report.rebalances.expect("this policy tells");
    assert!(again.changed <= again.asked);
    // One token: three of the four workers are idle, for much more than that all together.
    assert!(again.asked >= 1 && again.seconds > 0.0, "{report}");
    // Each cut that is taken lets a few processes in a row move; the ring itself is cut four times.
    assert!(remote_share(&report) < 0.5, "{report}");
    assert!(report.processes.iter().map(|process| process.steals).sum::<u64>() <= again.moved);
    assert!(run_ring(8, 10, RunOptions::new()).rebalances.is_none());
}

#[test]
fn under_partition_one_who_creates_many_does_not_keep_them_all() {
    let mut network = Network::new();
    let creator = network.creator();
    let threads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&threads);
    network.process_with(Process::named("create").effects(), creator, async move |mut create| {
        let done = Arc::new(AtomicBool::new(false));
        // In one dispatch, so that no child runs here meanwhile.
        for n in 0..64 {
            let (seen, done) = (Arc::clone(&seen), Arc::clone(&done));
            create.process(format!("child {n}"), (), async move |()| {
                let me = std::thread::current().id();
                let mut seen = seen.lock();
                if !seen.contains(&me) {
                    seen.push(me);
                }
                drop(seen);
                // The queue of a worker that is quick would stay the shortest.
                while !done.load(Acquire) {
                    std::thread::yield_now();
                }
            });
        }
        done.store(true, Release);
    });
    let report = run(network, RunOptions::new().workers(4).policy("partition"));
    assert_eq!(report.outcome, Summary::Finished);
    assert_eq!(threads.lock().len(), 4);
}

fn steals_won(report: &Report) -> u64 {
    report.worker_reports.iter().map(|worker| worker.steals_won).sum()
}

/// A process that stands first in the batch of worker 0, and holds its thread until `process` ends.
fn hold_until<T: Send>(
    network: &mut Network<'_>,
    process: impl FnOnce(&mut Network<'_>, Arc<AtomicBool>) -> T,
) -> T {
    let done = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&done);
    network.process_with(Process::named("hold").effects(), (), async move |()| {
        while !until.load(Acquire) {
            std::thread::yield_now();
        }
    });
    process(network, done)
}

#[test]
fn under_batch_what_waits_behind_a_process_that_holds_its_thread_is_stolen() {
    for workers in [2, 3, 8] {
        let mut network = Network::new();
        hold_until(&mut network, |network, done| {
            let (out, end) = network.channel_with(Channel::<u64>::named("end").capacity(1));
            // Neighbours of the one that holds, and others.
            let mut last = out;
            for n in 0..40 {
                let channel = Channel::<u64>::named(format!("to {n}")).capacity(1);
                let (out, from) = network.channel_with(channel);
                let to = std::mem::replace(&mut last, out);
                network.process(format!("stage {n}"), (from, to), async |(mut from, mut to)| {
                    while let Some(n) = from.recv().await {
                        to.send(n).await;
                    }
                });
            }
            network.process("source", last, async |mut out| out.send_all(0..500_u64).await);
            let sink = Process::named("sink").effects();
            network.process_with(sink, end, async move |mut end| {
                while end.recv().await.is_some() {}
                done.store(true, Release);
            });
        });
        let report = run(network, RunOptions::new().workers(workers).policy("batch"));
        assert_eq!(report.outcome, Summary::Finished, "{workers} workers");
        assert!(steals_won(&report) > 0, "the neighbours were stolen: {report}");
    }
}

#[test]
fn under_batch_a_lone_group_is_stolen_but_does_not_go_back_and_forth() {
    for workers in [2, 3, 8] {
        let mut network = Network::new();
        hold_until(&mut network, |network, done| {
            ring_until(network, 16, 500, move || done.store(true, Release));
        });
        let report = run(network, RunOptions::new().workers(workers).policy("batch"));
        assert_eq!(report.outcome, Summary::Finished);
        let moves: u64 = report.processes.iter().map(|process| process.steals).sum();
        // Those behind the process that holds are stolen. Each may be at the start, once or twice,
        // and drift to the one that wakes it; 8000 messages follow that.
        assert!(steals_won(&report) > 0, "the neighbours were stolen: {report}");
        assert!(moves <= 16 * 8, "{moves} moves with {workers} workers: {report}");
    }
}

#[test]
fn under_batch_processes_that_talk_to_each_other_stay_together() {
    let report = {
        let mut network = Network::new();
        for group in 0..8 {
            let (ask, asked) = network.channel(format!("ask {group}"));
            let (answer, answered) = network.channel(format!("answer {group}"));
            network.process(
                format!("left {group}"),
                (ask, answered),
                async |(mut to, mut from)| {
                    for n in 0..2000_u64 {
                        to.send(n).await;
                        from.recv().await;
                    }
                },
            );
            let right = Process::named(format!("right {group}")).effects();
            network.process_with(right, (asked, answer), async |(mut from, mut to)| {
                while let Some(n) = from.recv().await {
                    to.send(n).await;
                }
            });
        }
        let schedule = Schedule { policy: "batch", workers: 2, capacity: 1, seed: 0 };
        schedule.finish(network)
    };
    let local = report.local_share.expect("messages were counted");
    assert!(local > 0.8, "who talks to each other is together: {report}");
}

#[test]
fn options_run_one_network_after_the_other_also_under_a_policy_of_ones_own() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&made);
    let own = RunOptions::new().workers(2).seed(5).own_policy(move |setup| {
        seen.lock().push((setup.workers, setup.seed));
        FirstInFirstOut::default()
    });
    for options in [RunOptions::new().policy("ws-cur").workers(2), own.clone(), own] {
        for _ in 0..2 {
            run_ring(4, 10, options.clone());
        }
    }
    assert_eq!(*made.lock(), [(2, 5); 4], "each run has a policy of its own");
}

/// One queue for all workers.
#[derive(Debug, Default)]
struct FirstInFirstOut(Mutex<VecDeque<Ready>>);

impl Policy for FirstInFirstOut {
    fn name(&self) -> &'static str {
        "first in, first out"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        self.0.lock().push_back(ready);
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
        self.0.lock().pop_front()
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.lock().is_empty()
    }
}
