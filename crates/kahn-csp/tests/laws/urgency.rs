//! How urgent a process is and where it runs: two things that do not depend on each other, and can
//! be read, changed and lost while it runs.

use super::{policy_named, succeeds};
use kahn_csp::Options;
use kahn_csp::{self as csp, Priority, Process};
use kahn_policies::POLICIES;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::thread;

/// All policies that queue processes, on so many workers.
fn queues(workers: usize) -> impl Iterator<Item = (&'static str, Options)> {
    let names =
        POLICIES.iter().map(csp::policy::PolicyChoice::name).filter(|&name| name != "threads");
    names.map(move |name| (name, Options::new().workers(workers).policy(policy_named(name))))
}

/// What happened, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn note(&self, what: &'static str) {
        self.0.lock().push(what);
    }

    fn all(&self) -> Vec<&'static str> {
        self.0.lock().clone()
    }
}

#[test]
fn a_pinned_process_waits_as_one_of_its_urgency() {
    const MOST: u32 = 10_000;
    for worker in [0, 1] {
        let workers = worker as usize + 1;
        for (policy, options) in queues(workers) {
            let dispatches = succeeds(options, async |scope| {
                // Where both of them run, and made before it can run either.
                let maker = Process::named("maker").worker(worker);
                let maker = scope.fork(maker, async move {
                    let is_over = Arc::new(AtomicBool::new(false));
                    let seen = Arc::clone(&is_over);
                    let background = Process::named("background").worker(worker);
                    let background = background.priority(Priority::Background);
                    let background = scope.fork(background, async move {
                        let mut dispatches = 0;
                        while !seen.load(Relaxed) && dispatches < MOST {
                            dispatches += 1;
                            csp::yield_now().await;
                        }
                        dispatches
                    });
                    let usual = scope.fork(Process::named("usual").worker(worker), async move {
                        for _ in 0..10 {
                            csp::yield_now().await;
                        }
                        is_over.store(true, Relaxed);
                    });
                    usual.join().await.expect("it does not fail");
                    background.join().await.expect("it does not fail")
                });
                maker.join().await.expect("it does not fail")
            });
            assert_eq!(
                dispatches, 0,
                "dispatches of a pinned background process before a usual one, with {policy} on \
                 {workers} workers"
            );
        }
    }
}

#[test]
fn pinned_processes_run_in_order_of_urgency_and_not_of_creation() {
    for (policy, options) in queues(2) {
        let order = succeeds(options, async |scope| {
            let maker = scope.fork(Process::named("maker").worker(1), async move {
                let log = Log::default();
                let forks = scope.forks("levels");
                let levels = [
                    ("background", Priority::Background),
                    ("usual", Priority::Usual),
                    ("urgent", Priority::Urgent),
                ];
                for (name, priority) in levels {
                    for _ in 0..2 {
                        let log = log.clone();
                        // As pinned as the maker.
                        forks.spawn(Process::named(name).priority(priority), async move {
                            assert_eq!(csp::affinity(), Some(1));
                            log.note(name);
                        });
                    }
                }
                forks.join().await;
                log.all()
            });
            maker.join().await.expect("it does not fail")
        });
        let expected = ["urgent", "urgent", "usual", "usual", "background", "background"];
        assert_eq!(order, expected, "with {policy}");
    }
}

#[test]
fn a_process_that_wakes_a_more_urgent_one_gives_way_before_its_next_operation_completes() {
    for (waker, woken) in [
        (Priority::Usual, Priority::Urgent),
        (Priority::Background, Priority::Usual),
        (Priority::Background, Priority::Urgent),
    ] {
        for (policy, options) in queues(1) {
            let log = succeeds(options, async |scope| {
                let log = Log::default();
                let (mut ask, mut asked) = csp::channel::<()>("ask");
                let (mut out, mut pairs) = csp::channel::<()>("pairs");
                let forks = scope.forks("all");
                let noted = log.clone();
                forks.spawn(Process::named("woken").priority(woken), async move {
                    while asked.recv().await.is_ok() {
                        noted.note("woken");
                    }
                });
                forks.spawn(Process::named("partner").priority(waker), async move {
                    while pairs.recv().await.is_ok() {}
                });
                let noted = log.clone();
                forks.spawn(Process::named("waker").priority(waker), async move {
                    for _ in 0..20 {
                        for _ in 0..3 {
                            let _ = out.send(()).await;
                        }
                        noted.note("wakes");
                        let _ = ask.send(()).await;
                        let _ = out.send(()).await;
                        noted.note("goes on");
                    }
                });
                forks.join().await;
                log.all()
            });
            let rounds = log.chunks(3);
            let expected = ["wakes", "woken", "goes on"];
            // Where every operation waits once, the other may be the one that completes it.
            let completes = |round: &[&str]| round == expected || policy == "seeded";
            for (number, round) in rounds.enumerate() {
                assert!(
                    completes(round),
                    "round {number} of {waker:?} and {woken:?} with {policy}: {round:?}"
                );
            }
        }
    }
}

#[test]
fn a_process_that_has_given_way_to_a_more_urgent_one_goes_on_before_others() {
    for (policy, options) in queues(1).filter(|&(policy, _)| policy != "seeded") {
        let log = succeeds(options, async |scope| {
            let log = Log::default();
            let (mut ask, mut asked) = csp::channel::<()>("ask");
            let (mut done, mut is_done) = csp::buffered::<()>("done", 1);
            let forks = scope.forks("all");
            let noted = log.clone();
            forks.spawn(Process::named("urgent").priority(Priority::Urgent), async move {
                let _ = asked.recv().await;
                noted.note("urgent");
            });
            csp::yield_now().await;
            for _ in 0..3 {
                let noted = log.clone();
                forks.spawn("other", async move { noted.note("other") });
            }
            let _ = ask.send(()).await;
            let _ = done.send(()).await;
            log.note("goes on");
            let _ = is_done.recv().await;
            forks.join().await;
            log.all()
        });
        assert_eq!(log, ["urgent", "goes on", "other", "other", "other"], "with {policy}");
    }
}

#[test]
fn a_more_urgent_child_runs_before_the_next_operation_of_its_maker() {
    for (policy, options) in queues(1).filter(|&(policy, _)| policy != "seeded") {
        let log = succeeds(options, async |scope| {
            let log = Log::default();
            let (mut done, mut is_done) = csp::buffered::<()>("done", 1);
            let noted = log.clone();
            let urgent = Process::named("urgent").priority(Priority::Urgent);
            scope.spawn(urgent, async move { noted.note("urgent") });
            let _ = done.send(()).await;
            log.note("goes on");
            let _ = is_done.recv().await;
            log.all()
        });
        assert_eq!(log, ["urgent", "goes on"], "with {policy}");
    }
}

#[test]
fn a_process_that_gives_way_again_and_again_does_not_keep_others_from_running() {
    for (policy, options) in queues(1) {
        let rounds = succeeds(options, async |scope| {
            let (mut ask, mut asked) = csp::channel::<()>("ask");
            let has_run = Arc::new(AtomicBool::new(false));
            let urgent = Process::named("urgent").priority(Priority::Urgent);
            scope.spawn(urgent, async move { while asked.recv().await.is_ok() {} });
            let ran = Arc::clone(&has_run);
            scope.spawn("other", async move { ran.store(true, Relaxed) });
            let mut rounds = 0;
            while !has_run.load(Relaxed) && rounds < 10_000 {
                let _ = ask.send(()).await;
                rounds += 1;
            }
            rounds
        });
        assert!(rounds < 10_000, "{rounds} rounds, and the other has not run, with {policy}");
    }
}

#[test]
fn urgency_is_inherited_read_changed_and_lost_while_a_process_runs() {
    for (_, options) in queues(2) {
        succeeds(options, async |scope| {
            assert_eq!(csp::priority(), Priority::Usual);
            csp::set_priority(Priority::Urgent);
            let child = scope.fork("child", async { csp::priority() });
            assert_eq!(child.join().await, Ok(Priority::Urgent));
            csp::set_priority(Priority::Background);
            csp::yield_now().await;
            assert_eq!(csp::priority(), Priority::Background);
            csp::set_priority(Priority::Usual);
            let child = scope.fork("child", async { csp::priority() });
            assert_eq!(child.join().await, Ok(Priority::Usual));
        });
    }
}

#[test]
fn where_a_process_runs_is_inherited_read_changed_and_lost_while_it_runs() {
    let names =
        POLICIES.iter().filter(|entry| entry.threads() == kahn_csp::policy::Threads::AsAsked);
    for policy in names.map(csp::policy::PolicyChoice::name) {
        succeeds(Options::new().workers(3).policy(policy_named(policy)), async |scope| {
            let of = async |worker: u32| {
                csp::set_affinity(worker);
                csp::yield_now().await;
                thread::current().id()
            };
            let ids = [of(0).await, of(1).await, of(2).await];
            assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{policy}");
            for round in 0..6 {
                assert_eq!(of(round).await, ids[round as usize % 3], "{policy}");
                assert_eq!(csp::affinity(), Some(round));
            }
            // A child is as pinned, also while it waits and is woken elsewhere.
            let (mut out, mut numbers) = csp::channel::<u32>("numbers");
            let child = scope.fork("child", async move {
                let mut seen = vec![thread::current().id()];
                while numbers.recv().await.is_ok() {
                    seen.push(thread::current().id());
                }
                csp::set_affinity(None);
                (seen, csp::affinity())
            });
            csp::set_affinity(None);
            assert_eq!(csp::affinity(), None);
            for number in 0..100 {
                out.send(number).await.expect("the child listens");
                csp::yield_now().await;
            }
            drop(out);
            let (seen, left) = child.join().await.expect("it does not fail");
            assert!(seen.iter().all(|&id| id == ids[2]), "{policy}");
            assert_eq!((seen.len(), left), (101, None));
        });
    }
}

/// How often each of four processes of one priority runs, the first two of them pinned to a worker, until
/// all have run a hundred times: they do nothing but give way.
fn runs_of_pinned_and_others(options: Options, priority: Priority) -> [u32; 4] {
    succeeds(options, async |scope| {
        let counts = [const { AtomicU32::new(0) }; 4].map(Arc::new);
        let forks = scope.forks("all");
        for (place, count) in counts.iter().enumerate() {
            let all = counts.clone();
            let count = Arc::clone(count);
            let process = Process::named("p").priority(priority);
            let process = if place < 2 { process.worker(0) } else { process };
            forks.spawn(process, async move {
                while all.iter().any(|count| count.load(Relaxed) < 100)
                    && count.load(Relaxed) < 1_000_000
                {
                    count.fetch_add(1, Relaxed);
                    csp::yield_now().await;
                }
            });
        }
        forks.join().await;
        counts.map(|count| count.load(Relaxed))
    })
}

#[test]
fn pinned_processes_and_others_of_a_worker_take_turns() {
    let names = POLICIES.iter().map(csp::policy::PolicyChoice::name);
    for policy in names.filter(|&name| name != "threads") {
        // With one worker nothing else takes what is not pinned; and what is not usual stands with
        // what is pinned, beside the policy's queues.
        for workers in [1, 2] {
            for priority in [Priority::Urgent, Priority::Usual, Priority::Background] {
                let options = Options::new().workers(workers).policy(policy_named(policy));
                let counts = runs_of_pinned_and_others(options, priority);
                let all_ran = counts.iter().all(|&count| count < 1_000_000);
                assert!(all_ran, "{counts:?} with {policy}, {workers} workers, {priority:?}");
            }
        }
    }
}

/// It goes before those that give way as well: of them run only those whose turn it is once in many dispatches.
#[test]
fn an_urgent_process_that_gives_way_to_usual_ones_goes_on_before_them() {
    const TIMES: usize = 40;
    let ran = succeeds(Options::new().workers(1), async |scope| {
        let (counted, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let all = scope.forks("all");
        for _ in 0..3 {
            let (counted, is_over) = (Arc::clone(&counted), Arc::clone(&is_over));
            all.spawn("usual", async move {
                while !is_over.load(Relaxed) {
                    counted.fetch_add(1, Relaxed);
                    csp::yield_now().await;
                }
            });
        }
        csp::yield_now().await;
        // Not when it is made: its maker would give way to it, and be next.
        let ran = scope.fork("urgent", async move {
            csp::set_priority(Priority::Urgent);
            let before = counted.load(Relaxed);
            for _ in 0..TIMES {
                csp::yield_now().await;
            }
            let ran = counted.load(Relaxed) - before;
            is_over.store(true, Relaxed);
            ran
        });
        let ran = ran.join().await;
        all.join().await;
        ran
    });
    assert!(matches!(ran, Ok(ran) if ran < TIMES / 4), "usual ones ran so often: {ran:?}");
}
