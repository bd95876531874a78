//! What single policies promise beyond the laws: where processes run, and how often they move.

use super::schedules::{Schedule, listen, run};
use kahn::policy::{Load, Misplaced, Notify, Origin, Placing, Policy, Ready, Reason, Setup, Turn};
use kahn::{Channel, Name, Network, Options, Process, Report, Summary};
use kahn_policies::{Placement, partition_after, static_by};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::hint::black_box;
use std::num::NonZero;
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

fn run_ring(processes: usize, rounds: u64, options: Options) -> Report {
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
        let options = Options::new().workers(2).policy(static_by(placement));
        let report = run_ring(16, 100, options);
        assert!(report.processes.iter().all(|process| process.migrations == 0));
        assert_about(remote_share(&report), crossings / 16.0);
    }
}

#[test]
fn under_static_a_list_and_a_pin_are_heeded() {
    let run = |options: Options| {
        let mut network = Network::new();
        let (out, numbers) = network.channel("numbers");
        let send = Process::named("send").worker(1);
        network.process_with(send, out, async |mut out| out.send_all(0..100_u64).await);
        listen(&mut network, "listen", numbers);
        run(network, options.workers(2)).local_share
    };
    // In turn, `send` would be with worker 0 and `listen` with worker 1.
    assert_eq!(run(Options::new().policy(kahn_policies::STATIC)), Some(1.0));
    let listed = |worker| Options::new().policy(static_by(Placement::list([("listen", worker)])));
    assert_eq!((run(listed(1)), run(listed(0))), (Some(1.0), Some(0.0)));
}

#[test]
fn a_list_that_makes_no_sense_is_refused_before_anything_runs() {
    let refused = |name, worker| {
        let mut network = Network::new();
        ring(&mut network, 3, 1);
        let policy = static_by(Placement::list([("root", 0), (name, worker)]));
        let options = Options::new().workers(2).policy(policy);
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
    let options = Options::new().workers(4).policy(partition_after(Duration::from_micros(100)));
    let report = run_ring(64, 200, options);
    let again = report.rebalances.expect("this policy tells");
    assert!(again.changed <= again.asked);
    // One token: three of the four workers are idle, for much more than that all together.
    assert!(again.asked >= 1 && again.seconds > 0.0, "{report}");
    // Each cut that is taken lets a few processes in a row move; the ring itself is cut four times.
    assert!(remote_share(&report) < 0.5, "{report}");
    assert!(migrations(&report) <= again.moved, "{report}");
    assert!(run_ring(8, 10, Options::new()).rebalances.is_none());
}

fn migrations(report: &Report) -> u64 {
    report.processes.iter().map(|process| process.migrations).sum()
}

/// Whether a worker of two is idle while the other one computes.
fn has_two_cores() -> bool {
    std::thread::available_parallelism().map_or(1, NonZero::get) >= 2
}

fn compute() {
    let mut sum = 0_u64;
    for n in 0..20_000_u64 {
        sum = black_box(sum.wrapping_mul(31) ^ n);
    }
}

/// Two processes that compute for each message between them, until one of them finds that all is
/// over; and two that wait for the end of that.
fn two_compute_and_two_wait(
    network: &mut Network<'_>,
    is_over: impl Fn(&'static str) -> bool + Clone + Send + 'static,
) {
    let (out, messages) = network.channel_with(Channel::<u64>::named("messages").capacity(1));
    let (end_out, end) = network.channel::<u64>("end");
    let (pass_out, passed) = network.channel::<u64>("passed");
    let ends = is_over.clone();
    network.process("computes", (out, end_out), async move |(mut out, _end)| {
        for n in 0.. {
            compute();
            out.send(n).await;
            if ends("computes") {
                break;
            }
        }
    });
    network.process("computes too", messages, async move |mut messages| {
        while messages.recv().await.is_some() {
            compute();
            is_over("computes too");
        }
    });
    network.process("waits", (end, pass_out), async |(mut end, mut out)| {
        while let Some(n) = end.recv().await {
            out.send(n).await;
        }
    });
    listen(network, "waits too", passed);
}

#[test]
fn partition_parts_two_processes_that_compute_though_they_are_neighbours() {
    if !has_two_cores() {
        return;
    }
    // Where each was last, and how often they have asked.
    let last = Arc::new(Mutex::new((Vec::new(), 0)));
    let parted = Arc::new(AtomicBool::new(false));
    let were_parted = Arc::clone(&parted);
    let is_over = move |name: &'static str| {
        let me = std::thread::current().id();
        let mut last = last.lock();
        let (places, asked) = &mut *last;
        *asked += 1;
        places.retain(|&(other, _)| other != name);
        places.push((name, me));
        if matches!(places[..], [(_, one), (_, two)] if one != two) {
            parted.store(true, Release);
        }
        *asked > 20_000 || parted.load(Acquire)
    };
    let mut network = Network::new();
    // All weigh the same before the start, and so the two that compute are one part.
    two_compute_and_two_wait(&mut network, is_over);
    let options = Options::new().workers(2).policy(partition_after(Duration::from_micros(100)));
    let report = run(network, options);
    assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
    let again = report.rebalances.expect("this policy tells");
    assert!(again.changed >= 1 && again.changed <= again.asked, "{report}");
    assert!(migrations(&report) >= 1 && migrations(&report) <= again.moved, "{report}");
    assert!(were_parted.load(Acquire), "{report}");
}

#[test]
fn under_partition_one_that_creates_many_does_not_keep_them_all() {
    let mut network = Network::new();
    let spawner = network.spawner();
    let threads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&threads);
    network.process_with(Process::named("create").effects(), spawner, async move |mut create| {
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
    let report = run(network, Options::new().workers(4).policy(kahn_policies::PARTITION));
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
        let report = run(network, Options::new().workers(workers).policy(kahn_policies::BATCH));
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
        let report = run(network, Options::new().workers(workers).policy(kahn_policies::BATCH));
        assert_eq!(report.outcome, Summary::Finished);
        let moves: u64 = report.processes.iter().map(|process| process.migrations).sum();
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
    assert!(local > 0.8, "those that talk to each other are together: {report}");
}

#[test]
fn options_run_one_network_after_the_other_also_under_a_policy_of_ones_own() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&made);
    let own = Options::new().workers(2).seed(5).policy(move |setup: Setup| {
        seen.lock().push((setup.workers, setup.seed));
        FirstInFirstOut::default()
    });
    for options in [Options::new().policy(kahn_policies::WS_CUR).workers(2), own.clone(), own] {
        for _ in 0..2 {
            run_ring(4, 10, options.clone());
        }
    }
    assert_eq!(*made.lock(), [(2, 5); 4], "each run has a policy of its own");
}

/// Where processes are pinned, by what a policy was told.
type Pins = Vec<(Name, Option<usize>)>;

/// What was asked of a policy that places, and what it said.
#[derive(Debug, Default)]
struct Asked {
    times: u64,
    moved: u64,
    pins: Pins,
    /// Whether a process that computes was ever told to weigh ten times one that does not.
    is_weighed: bool,
    is_over: bool,
}

/// A queue for each worker. Each time that it is asked, all processes are to go to the next worker.
#[derive(Debug)]
struct Rotates {
    queues: [FirstInFirstOut; 2],
    asked: Arc<Mutex<Asked>>,
}

impl Policy for Rotates {
    fn name(&self) -> &'static str {
        "rotates"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let home = ready.belongs_to().expect("all were placed");
        let _ = self.queues[home].push(origin, ready, reason);
        Notify::Worker(home)
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        self.queues[worker].pop(worker, turn)
    }

    fn has_work(&self, worker: usize) -> bool {
        self.queues[worker].has_work(worker)
    }

    fn placing(&self) -> Option<&dyn Placing> {
        Some(self)
    }
}

impl Placing for Rotates {
    fn place(&self, load: &Load) -> Result<Option<Vec<usize>>, Misplaced> {
        let mut asked = self.asked.lock();
        let work = |name: &str| {
            load.processes.iter().find(|process| process.name == name).map(|process| process.work)
        };
        if let (Some(much), Some(little)) = (work("computes"), work("waits")) {
            asked.is_weighed |= much > 10 * little.max(1);
        }
        asked.times += 1;
        asked.is_over = asked.is_weighed && asked.times > 10 || asked.times > 20_000;
        if asked.times == 1 {
            let pins = load.processes.iter().map(|process| (process.name.clone(), process.pinned));
            asked.pins = pins.collect();
        }
        let next = |worker: Option<usize>| worker.map_or(0, |worker| 1 - worker);
        let homes: Vec<_> = load.processes.iter().map(|process| next(process.worker)).collect();
        asked.moved += homes.len() as u64;
        Ok(Some(homes))
    }

    fn again_after(&self) -> Option<Duration> {
        Some(Duration::from_micros(50))
    }
}

#[test]
fn a_policy_that_places_is_told_what_computes_and_each_question_and_each_move_is_counted() {
    if !has_two_cores() {
        return;
    }
    let asked = Arc::new(Mutex::new(Asked::default()));
    let told = Arc::clone(&asked);
    let options = Options::new().workers(2).policy(move |_setup| Rotates {
        queues: <[FirstInFirstOut; 2]>::default(),
        asked: Arc::clone(&told),
    });
    let mut network = Network::new();
    let over = Arc::clone(&asked);
    two_compute_and_two_wait(&mut network, move |_| over.lock().is_over);
    let report = run(network, options);
    assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
    let asked = asked.lock();
    assert!(asked.is_weighed, "it was asked {} times", asked.times);
    // It was asked once before the start, of four processes that were nowhere.
    let again = report.rebalances.expect("this policy is asked again");
    let (times, moved) = (asked.times - 1, asked.moved - 4);
    assert_eq!((again.asked, again.changed, again.moved), (times, times, moved), "{report}");
    assert!(migrations(&report) >= 1 && migrations(&report) <= again.moved, "{report}");
}

#[test]
fn a_policy_of_ones_own_is_told_where_processes_are_pinned() {
    let ready = Arc::new(Mutex::new(Pins::new()));
    let asked = Arc::new(Mutex::new(Asked::default()));
    let mut network = Network::new();
    for (name, worker) in [("first", Some(1)), ("second", None), ("third", Some(0))] {
        let process = Process::named(name);
        let process = worker.map_or(process.clone(), |worker| process.worker(worker));
        network.process_with(process, (), async |()| {});
    }
    let (pushed, placed) = (Arc::clone(&ready), Arc::clone(&asked));
    let options = Options::new().workers(2).policy(move |_setup| {
        let queue = || FirstInFirstOut { pins: Some(Arc::clone(&pushed)), ..Default::default() };
        Rotates { queues: [queue(), queue()], asked: Arc::clone(&placed) }
    });
    run(network, options);
    let expected = [("first".into(), Some(1)), ("second".into(), None), ("third".into(), Some(0))];
    assert_eq!(asked.lock().pins, expected);
    assert_eq!(*ready.lock(), expected);
}

/// One queue for all workers.
#[derive(Debug, Default)]
struct FirstInFirstOut {
    ready: Mutex<VecDeque<Ready>>,
    /// Where those are pinned that became ready, if that is to be told.
    pins: Option<Arc<Mutex<Pins>>>,
}

impl Policy for FirstInFirstOut {
    fn name(&self) -> &'static str {
        "first in, first out"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        if let Some(pins) = &self.pins {
            pins.lock().push((ready.name().clone(), ready.pinned_worker()));
        }
        self.ready.lock().push_back(ready);
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
        self.ready.lock().pop_front()
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.ready.lock().is_empty()
    }
}
