//! Each option, policy and counter does something: a test for each that would otherwise do nothing
//! unnoticed. `ci/behaviour.sh` takes them away one at a time and demands that a test fails.

use super::schedules::{count, listen, run};
use kahn::policy::{Notify, Origin, Policy, Reach, Ready, Reason, Setup, Steals, Turn};
use kahn::{Accounting, Channel, Detection, Network, Options, Process, Report, Spawner, Summary};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Barrier};

/// Waits for another process of the test, which may fail; then this one must not wait for ever.
fn wait_for(signal: &Receiver<()>) {
    let _ = signal.recv();
}

fn finish(network: Network<'_>, options: Options) -> Report {
    let report = run(network, options);
    assert_eq!(report.outcome, Summary::Finished, "{}", report.explanation());
    report
}

// --- policies ---------------------------------------------------------------------------------

/// A policy of the table, and in whose queue each process was found that it was given awake.
#[derive(Debug)]
struct Spied {
    within: Box<dyn Policy>,
    workers: usize,
    found: Arc<Mutex<Vec<Found>>>,
    /// One at a time, so that nobody takes a process before it is looked for.
    lock: Mutex<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    woken_by: usize,
    ran_last_on: usize,
    in_queue_of: usize,
}

impl Spied {
    /// Whose queue the process came to that was pushed last; it is pushed once more.
    fn look_for(&self, name: &str, origin: Origin, reason: Reason) -> Option<usize> {
        (0..self.workers).find(|&worker| {
            let tried = self.within.steals(worker).tried;
            let Some(ready) = self.within.pop(worker, Turn::Front) else { return false };
            let is_own = ready.name() == name && self.within.steals(worker).tried == tried;
            let _ = self.within.push(origin, ready, reason);
            is_own
        })
    }
}

impl Policy for Spied {
    fn name(&self) -> &str {
        self.within.name()
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let _lock = self.lock.lock();
        let (name, ran_last_on) = (ready.name().to_string(), ready.last_worker());
        let notify = self.within.push(origin, ready, reason);
        if let (Origin::Worker(woken_by), Reason::Woken) = (origin, reason)
            && name == "woken"
            && let Some(in_queue_of) = self.look_for(&name, origin, reason)
        {
            self.found.lock().push(Found { woken_by, ran_last_on, in_queue_of });
        }
        notify
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        let _lock = self.lock.lock();
        self.within.pop(worker, turn)
    }

    fn has_work(&self, worker: usize) -> bool {
        self.within.has_work(worker)
    }

    fn reach(&self) -> Reach {
        self.within.reach()
    }

    fn steals(&self, worker: usize) -> Steals {
        self.within.steals(worker)
    }
}

/// Has a process woken by a worker that is not the one that ran it last; in whose queue it came.
fn woken_from_afar(policy: &str) -> Found {
    let choice = kahn_laws::policy(policy);
    let found = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&found);
    let options = Options::new().workers(2).policy(move |setup: Setup| Spied {
        workers: setup.workers,
        within: choice.build(setup).expect("it is a policy"),
        found: Arc::clone(&told),
        lock: Mutex::default(),
    });
    let mut network = Network::new();
    let together = Arc::new(Barrier::new(2));
    let meet = Arc::clone(&together);
    let (wake_out, wake) = network.channel::<()>("wake");
    let (parked_out, parked) = network.channel::<()>("parked");
    let (tell, told) = mpsc::channel();
    network.process("woken", (wake, parked_out), async move |(mut wake, mut parked)| {
        // The one that wakes it is on the other worker, and stays there.
        meet.wait();
        parked.send(()).await;
        wake.recv().await;
    });
    network.process("wakes", wake_out, async move |mut wake| {
        together.wait();
        wait_for(&told);
        wake.send(()).await;
    });
    network.process("tells", parked, async move |mut parked| {
        // Published when `woken` waits: so this runs when that has parked, for its worker is the only
        // one that is free.
        parked.recv().await;
        let _ = tell.send(());
    });
    finish(network, options);
    let found = found.lock().clone();
    let afar = found.iter().find(|found| found.woken_by != found.ran_last_on);
    *afar.unwrap_or_else(|| panic!("{policy}: {found:?}"))
}

#[test]
fn under_ws_cur_a_woken_process_comes_to_the_worker_that_woke_it() {
    let found = woken_from_afar("ws-cur");
    assert_eq!(found.in_queue_of, found.woken_by, "{found:?}");
}

#[test]
fn under_ws_last_a_woken_process_goes_back_to_the_worker_that_ran_it_last() {
    let found = woken_from_afar("ws-last");
    assert_eq!(found.in_queue_of, found.ran_last_on, "{found:?}");
}

#[test]
fn what_is_stolen_is_counted_for_the_thief_and_for_the_process() {
    for policy in ["stealing", "ws-cur", "ws-last"] {
        let mut network = Network::new();
        let create = network.spawner();
        network.process("maker", create, async move |mut create| {
            let (tell, told) = mpsc::channel();
            for child in 0..3 {
                let tell = tell.clone();
                create.process(format!("child {child}"), (), async move |()| {
                    let _ = tell.send(());
                });
            }
            // Holds its worker, so that they run on the other one, though they were put here.
            for _ in 0..3 {
                wait_for(&told);
            }
        });
        let report = finish(network, Options::new().workers(2).policy(kahn_laws::policy(policy)));
        let won: u64 = report.worker_reports.iter().map(|worker| worker.steals_won).sum();
        let tried: u64 = report.worker_reports.iter().map(|worker| worker.steals_tried).sum();
        // Several at a time, under the first. The maker as well, if the other worker was quicker.
        let least = if policy == "stealing" { 1 } else { 3 };
        assert!((least..=4).contains(&won) && tried >= won, "{report}");
    }
}

#[test]
fn a_seed_is_heeded_and_the_same_seed_gives_the_same_order() {
    let order = |seed| {
        let ran = Arc::new(Mutex::new(Vec::new()));
        let mut network = Network::new();
        for process in 0..16 {
            let ran = Arc::clone(&ran);
            let body = async move |()| ran.lock().push(process);
            network.process(format!("process {process}"), (), body);
        }
        finish(network, Options::new().policy(kahn::policy::SEEDED).seed(seed));
        ran.lock().clone()
    };
    let orders: BTreeSet<Vec<u32>> = (0..8).map(order).collect();
    assert!(orders.len() > 1, "{orders:?}");
    assert_eq!(order(3), order(3));
}

// --- options ----------------------------------------------------------------------------------

/// The cores that the calling thread may run on.
#[cfg(target_os = "linux")]
fn allowed_cores() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.expect("it is among them").trim().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn a_pinned_worker_runs_on_one_core_and_two_on_two() {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let allowed = |pin| {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let both = Arc::new(Barrier::new(2));
        let mut network = Network::new();
        for process in 0..2 {
            let (seen, both) = (Arc::clone(&seen), Arc::clone(&both));
            network.process(format!("process {process}"), (), async move |()| {
                // Each holds a worker until the other has one.
                both.wait();
                seen.lock().insert(allowed_cores());
            });
        }
        finish(network, Options::new().workers(2).pin(pin));
        seen.lock().clone()
    };
    let before = allowed_cores();
    let pinned = allowed(true);
    assert!(pinned.iter().all(|list| list.parse::<usize>().is_ok()), "{pinned:?}");
    assert_eq!(pinned.len(), cores.min(2), "{pinned:?}");
    assert_eq!(
        allowed_cores(),
        before,
        "this thread was the first worker, and is its caller's again"
    );
    if cores > 1 {
        assert_eq!(allowed(false).into_iter().collect::<Vec<_>>(), [before]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_pinned_worker_starts_is_not_pinned() {
    for policy in [&kahn::policy::STEALING, &kahn::policy::THREADS] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut network = Network::new();
        let spawner = network.spawner();
        let [blocking, created, late, inner] = [(); 4].map(|()| Arc::clone(&seen));
        network.blocking("blocks", (), move |()| blocking.lock().push(allowed_cores()));
        let process = Process::named("creates").effects();
        let has_thread = policy.name() == "threads";
        network.process_with(process, spawner, async move |mut create: Spawner<'_>| {
            create.process("created", (), async move |()| {
                if has_thread {
                    created.lock().push(allowed_cores());
                }
            });
            // This worker starts its thread.
            create.blocking("created, and blocks", (), move |()| late.lock().push(allowed_cores()));
            let mut network = Network::new();
            network.process("of another run", (), async move |()| {
                inner.lock().push(allowed_cores());
            });
            network.run_async(Options::new().workers(1)).await.expect("it runs");
        });
        finish(network, Options::new().workers(1).policy(policy.clone()).pin(true));
        let seen = seen.lock();
        assert!(seen.iter().all(|cores| *cores == allowed_cores()), "{policy:?}: {seen:?}");
        assert_eq!(seen.len(), 3 + usize::from(has_thread));
    }
}

#[test]
fn an_option_has_every_operation_wait_once() {
    let polls = |wait| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 20);
        listen(&mut network, "listen", numbers);
        let report =
            finish(network, Options::new().policy(kahn::policy::SEQUENTIAL).wait_once(wait));
        (report.processes[0].polls, report.processes[1].polls)
    };
    let ((sends, receives), (sends_waiting, receives_waiting)) = (polls(false), polls(true));
    assert!(sends < 20 && receives < 20, "all fit into the channel");
    // Every message, and the end of the stream.
    assert!(sends_waiting > 20 && receives_waiting > 21, "{sends_waiting}, {receives_waiting}");
}

#[test]
fn an_option_bounds_capacities_from_above_and_leaves_smaller_ones() {
    let capacities = |options: Options| {
        let mut network = Network::new();
        let (small_out, small) = network.channel_with(Channel::named("small").capacity(2));
        let (large_out, large) = network.channel_with(Channel::named("large").capacity(64));
        for (name, out) in [("send few", small_out), ("send many", large_out)] {
            network.process(name, out, async |mut out| out.send_all(0..20_u64).await);
        }
        let create = network.spawner();
        let ports = (small, large, create);
        network.process("join", ports, async |(mut small, mut large, mut create)| {
            small.for_each(|_| {}).await;
            large.for_each(|_| {}).await;
            // This one is made while the network runs.
            let (mut out, late) = create.channel_with(Channel::named("late").capacity(64));
            create.process("late", late, async |mut late| {
                late.for_each(|_| {}).await;
            });
            out.send_all(0..20_u64).await;
        });
        let report = finish(network, options.policy(kahn::policy::SEQUENTIAL));
        let rows = report.channels.iter().map(|channel| (channel.capacity, channel.most_waiting));
        rows.collect::<Vec<_>>()
    };
    let bounded = Options::new().capacity_at_most(8);
    assert_eq!(capacities(Options::new()), [(2, 2), (64, 20), (64, 20)]);
    assert_eq!(capacities(bounded.clone()), [(2, 2), (8, 8), (8, 8)]);
    assert_eq!(capacities(bounded.capacity(16)), [(8, 8), (8, 8), (8, 8)]);
}

#[test]
fn what_accounting_leaves_out_is_not_counted_and_what_it_takes_in_is() {
    let ran = |accounting| {
        let mut network = Network::new();
        let numbers = count(&mut network, "numbers", 100);
        listen(&mut network, "listen", numbers);
        let options =
            Options::new().policy(kahn::policy::SEQUENTIAL).capacity(4).accounting(accounting);
        finish(network, options)
    };
    let (off, counters) = (ran(Accounting::Off), ran(Accounting::Counters));
    assert_eq!((off.local_share, counters.local_share), (None, Some(1.0)));
    assert_eq!((off.channels[0].most_waiting, counters.channels[0].most_waiting), (0, 4));
    assert_eq!((off.channels[0].received, counters.channels[0].received), (100, 100));
    assert!(counters.processes[0].cpu_seconds.is_none());
    assert!(ran(Accounting::Timing).processes[0].cpu_seconds > Some(0.0));
}

// --- counters ---------------------------------------------------------------------------------

#[test]
fn waits_are_counted_at_the_end_where_a_process_waits_and_polls_are_one_more() {
    let mut network = Network::new();
    let channel = Channel::named("numbers").capacity(1);
    let (out, numbers) = network.channel_with(channel);
    network.process("send", out, async |mut out| {
        for n in 0..50_u64 {
            out.send(n).await;
        }
    });
    listen(&mut network, "receive", numbers);
    let report = finish(network, Options::new().policy(kahn::policy::SEQUENTIAL));
    let [send, receive] = &report.processes[..] else { panic!("{report}") };
    // One message is there, and one is waited for, in turn.
    assert_eq!((send.waits_full, send.waits_empty, send.polls), (49, 0, 50), "{report}");
    assert_eq!((receive.waits_full, receive.polls - receive.waits_empty), (0, 1), "{report}");
    assert!(receive.waits_empty >= 49, "{report}");
}

#[test]
fn a_worker_that_finds_nothing_has_searched_and_slept() {
    // Fewer than two run at a time on one core, and then nobody searches.
    if std::thread::available_parallelism().map_or(1, NonZero::get) < 2 {
        return;
    }
    let mut network = Network::new();
    let (ask, asked) = network.channel::<u64>("asked");
    let (answer, answered) = network.channel::<u64>("answered");
    network.process("answer", (asked, answer), async |(mut asked, mut answer)| {
        while let Some(n) = asked.recv().await {
            answer.send(n).await;
        }
    });
    let (mut ask, mut hear) = network.outside("driver", (ask, answered));
    let report = std::thread::scope(|scope| {
        // Each round trip wakes this thread, which computes for longer than a worker searches. Meanwhile the
        // network has nothing to do.
        scope.spawn(move || {
            for n in 0..200 {
                ask.send_blocking(n).expect("the run goes on");
                assert_eq!(hear.recv_blocking(), Ok(Some(n)));
                std::hint::black_box((0..200_000).fold(n, |x, step| x.wrapping_mul(31) ^ step));
            }
        });
        finish(network, Options::new().workers(2))
    });
    let sum =
        |of: fn(&kahn::WorkerReport) -> u64| report.worker_reports.iter().map(of).sum::<u64>();
    assert!(sum(|worker| worker.spins) > 0, "{report}");
    assert!(sum(|worker| worker.sleeps) > 0, "{report}");
    assert!(report.worker_reports.iter().any(|worker| worker.idle_seconds > 0.0), "{report}");
    assert!(report.worker_reports.iter().any(|worker| worker.busy_seconds > 0.0), "{report}");
    for worker in &report.worker_reports {
        assert!(worker.busy_seconds + worker.idle_seconds <= report.seconds * 1.1, "{report}");
    }
}

#[test]
fn walks_in_search_of_rings_are_counted_where_a_ring_had_to_be_found() {
    let ran = |detection| {
        let mut network = Network::new();
        let (odd_out, odd) = network.channel_with(Channel::named("odd").capacity(1));
        let (even_out, even) = network.channel_with(Channel::named("even").capacity(1));
        network.process("split", (odd_out, even_out), async |(mut odd, mut even)| {
            odd.send_all(0..10_u64).await;
            even.send(10).await;
        });
        network.process("join", (odd, even), async |(mut odd, mut even)| {
            even.recv().await;
            odd.for_each(|_| {}).await;
        });
        run(network, Options::new().policy(kahn::policy::SEQUENTIAL).detection(detection))
    };
    let found = ran(Detection::Deferred);
    assert_eq!(found.outcome, Summary::Finished, "{found}");
    assert!(found.walks >= 1 && found.channels[0].growths >= 1, "{found}");
    let off = ran(Detection::Off);
    assert_eq!((off.outcome, off.channels[0].growths), (Summary::Deadlock, 0), "{off}");
}

#[test]
fn messages_that_change_workers_are_counted_as_remote_and_no_others() {
    for (right, remote) in [(0, 0), (1, 100)] {
        let mut network = Network::new();
        let (out, numbers) = network.channel::<u64>("numbers");
        let send = Process::named("send").worker(0);
        network.process_with(send, out, async |mut out| out.send_all(0..100).await);
        let receive = Process::named("receive").worker(right);
        network.process_with(receive, numbers, async |mut numbers| {
            numbers.for_each(|_| {}).await;
        });
        let report = finish(network, Options::new().workers(2).policy(kahn_policies::STATIC));
        assert_eq!(report.channels[0].remote, remote, "{report}");
        assert!(report.processes.iter().all(|process| process.migrations == 0), "{report}");
    }
}
