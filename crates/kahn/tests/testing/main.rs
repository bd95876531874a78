//! The laws of `kahn::testing`: what is deterministic is found equal, what is not is found out, and
//! what hangs is explained.

mod compare;
mod written;

use kahn::policy::{
    Notify, Origin, Policy, PolicyChoice, Ready, Reason, SEEDED, SEQUENTIAL, SHARED, Turn, WAYS,
};
use kahn::testing::{Schedules, VerifyError, run_process, try_run_process, within};
use kahn::{Network, Options, Receiver, RunError, Sender, Summary, process};
use kahn_policies::POLICIES;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Duration;

/// The text of a panic.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("it panics");
    *payload.downcast::<String>().expect("with a text that is made then")
}

// --- schedules -------------------------------------------------------------------------------

#[test]
fn every_policy_is_in_the_schedules_and_the_oracle_comes_first() {
    let list = Schedules::new().list();
    assert_eq!(list[0].policy, "sequential");
    let all = Schedules::new().policies(POLICIES.iter().cloned()).list();
    for (policies, list) in [(WAYS, &list), (POLICIES, &all)] {
        for policy in policies {
            let is_there = list.iter().any(|schedule| schedule.policy == policy.name());
            assert!(is_there, "{}", policy.name());
        }
    }
    for workers in [1, 2, 3, 8] {
        for capacity in [None, Some(1), Some(2), Some(64)] {
            let is_there = list.iter().any(|schedule| {
                schedule.policy == "stealing"
                    && schedule.workers == Some(workers)
                    && schedule.capacity == capacity
            });
            assert!(is_there, "stealing with {workers} workers and capacity {capacity:?}");
        }
    }
    let seeds = list.iter().filter(|schedule| schedule.seed.is_some());
    assert_eq!(seeds.count(), 8 * 4);
    assert!(list.iter().all(|schedule| schedule.seed.is_none() || schedule.policy == "seeded"));
}

#[test]
fn progress_tells_of_every_run_in_order() {
    let schedules = Schedules::new().policies([SHARED, SEEDED]).workers([1, 2]).seeds([5]);
    let mut seen = Vec::new();
    let verified = schedules
        .verify_with(
            |network| network.source("numbers", 0..10_u32),
            |_receiver| (),
            |progress| seen.push((progress.done, progress.of, progress.schedule.clone())),
        )
        .expect_err("an end that no process has");
    assert!(matches!(verified, VerifyError::Refused { .. }), "{verified}");
    assert!(verified.to_string().contains("receiver of channel `numbers`"), "{verified}");
    assert_eq!(seen, []);

    let verified = schedules
        .verify_with(
            |network| {
                let numbers = network.source("numbers", 0..10_u32);
                network.fold("sum", numbers, 0, |sum, n| sum + n)
            },
            |sum| sum.take(),
            |progress| seen.push((progress.done, progress.of, progress.schedule.clone())),
        )
        .unwrap();
    assert_eq!(verified.result, Some(45));
    assert_eq!(verified.schedules, 12);
    let expected: Vec<_> =
        schedules.list().into_iter().enumerate().map(|(i, s)| (i + 1, 12, s)).collect();
    assert_eq!(seen, expected);
}

#[test]
fn no_schedule_is_an_error() {
    let network = |network: &mut Network<'static>| {
        let numbers = network.source("numbers", 0..10_u32);
        network.for_each("ignore", numbers, |_| {});
    };
    let none: [PolicyChoice; 0] = [];
    let error = Schedules::new().policies(none).verify(network).unwrap_err();
    assert!(matches!(error, VerifyError::NoSchedule));
}

/// One stack for all workers; now and then the process that has waited longest.
#[derive(Debug, Default)]
struct Stack(parking_lot::Mutex<VecDeque<Ready>>);

impl Policy for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
        self.0.lock().push_back(ready);
        Notify::Anyone
    }

    fn pop(&self, _worker: usize, turn: Turn) -> Option<Ready> {
        let mut ready = self.0.lock();
        if turn == Turn::Front { ready.pop_back() } else { ready.pop_front() }
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.0.lock().is_empty()
    }
}

#[test]
fn a_policy_of_ones_own_is_verified_with_the_others() {
    let schedules = Schedules::new()
        .policies([SEQUENTIAL])
        .policy(|_setup| Stack::default())
        .workers([1, 3])
        .capacities([1]);
    let mut names = Vec::new();
    let verified = schedules
        .verify_with(
            |network| {
                let numbers = network.source("numbers", 0..100_u32);
                let same = network.parallel_map("same", numbers, 3, |n| n);
                network.fold("sum", same, 0, |sum, n| sum + n)
            },
            |sum| sum.take(),
            |progress| names.push(progress.schedule.to_string()),
        )
        .unwrap();
    assert_eq!(verified.result, Some(4950));
    assert_eq!(
        names,
        [
            "policy sequential, capacity 1",
            "policy Stack, 1 worker, capacity 1",
            "policy Stack, 3 workers, capacity 1",
        ]
    );
}

// --- one process as a function ---------------------------------------------------------------

type Nested = (([Receiver<u32>; 2], Receiver<char>), (Sender<u32>, (Sender<char>, Sender<()>)));

async fn add_and_copy((([mut ones, mut tens], letters), (mut sums, (names, _none))): Nested) {
    while let (Some(one), Some(ten)) = (ones.recv().await, tens.recv().await) {
        sums.send(one + ten).await;
    }
    drop(sums);
    process::map((letters, names), |letter| letter).await;
}

#[test]
fn a_process_is_a_function_of_its_histories() {
    let ones: Vec<u32> = run_process((), async |((), mut out): ((), Sender<u32>)| {
        out.send_all([1; 3]).await;
    });
    assert_eq!(ones, [1, 1, 1]);

    let mut seen = Vec::new();
    run_process::<_, (), _, _, _>(vec!["a", "b"], async |(mut letters, ()): (Receiver<_>, ())| {
        letters.for_each(|letter| seen.push(letter)).await;
    });
    assert_eq!(seen, ["a", "b"]);

    let (sums, (letters, none)): (Vec<u32>, (Vec<char>, Vec<()>)) =
        run_process(([vec![1, 2], vec![10, 20, 30]], vec!['x']), add_and_copy);
    assert_eq!((sums, letters, none), (vec![11, 22], vec!['x'], vec![]));
}

#[test]
fn a_process_that_fails_or_misuses_its_ends_is_told_apart() {
    let failed: Result<Vec<u32>, RunError> = try_run_process(
        vec![1, 2],
        async |(mut numbers, mut out): (Receiver<u32>, Sender<u32>)| {
            while let Some(n) = numbers.recv().await {
                assert!(n < 2, "{n} is too much");
                out.send(n).await;
            }
        },
    );
    let error = failed.unwrap_err();
    assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Failed));
    let failures = error.report().map(|report| &report.failures[0]);
    assert_eq!(failures.map(|failure| failure.message.as_str()), Some("2 is too much"));

    let joined: Result<(), RunError> = try_run_process(
        (vec![1], vec![2]),
        async |((mut a, mut b), ()): ((Receiver<u32>, Receiver<u32>), ())| {
            futures_util::future::join(a.recv(), b.recv()).await;
        },
    );
    let report = joined.unwrap_err();
    assert_eq!(report.report().map(|report| report.outcome), Some(Summary::Misuse));
}

#[test]
fn endless_inputs_are_not_waited_for() {
    let first: Vec<u32> = run_process(
        vec![5; 10_000],
        async |(mut numbers, mut out): (Receiver<u32>, Sender<u32>)| {
            if let Some(n) = numbers.recv().await {
                out.send(n).await;
            }
        },
    );
    assert_eq!(first, [5]);
}

// --- hangs -----------------------------------------------------------------------------------

#[test]
fn a_hang_is_stopped_and_explained() {
    let text = panic_of(|| {
        within(Duration::from_millis(20), |watchdog| {
            let mut network = Network::new();
            let (out, questions) = network.channel::<u32>("questions");
            let _idle = network.outside("somebody", out);
            network.for_each("answer", questions, |_| {});
            watchdog.watch(&network);
            network.run()
        })
    });
    assert!(text.starts_with("not done after 20ms:"), "{text}");
    assert!(text.contains("`answer`") && text.contains("`questions`"), "{text}");
}

#[test]
fn a_schedule_that_hangs_is_named() {
    let parties = parking_lot::Mutex::new(Vec::new());
    let error = Schedules::new()
        .time_limit(Duration::from_millis(20))
        .verify(|network| {
            let (out, questions) = network.channel::<u32>("questions");
            parties.lock().push(network.outside("somebody", out));
            network.for_each("answer", questions, |_| {});
        })
        .unwrap_err();
    assert!(matches!(error, VerifyError::Hangs { .. }), "{error}");
    assert!(error.to_string().starts_with("with policy sequential, own capacities: not done"));
}

#[test]
fn what_is_quick_is_left_alone_and_a_panic_goes_through() {
    assert_eq!(within(Duration::from_mins(1), |_| 7), 7);
    let text = panic_of(|| {
        within(Duration::from_mins(1), |_| panic!("{} is wrong", std::hint::black_box(7)))
    });
    assert_eq!(text, "7 is wrong");
}

/// Set in the child that is to be aborted.
const ABORTED: &str = "KAHN_TEST_ABORTED";

#[test]
fn what_cannot_be_stopped_is_explained_and_aborted() {
    let name = "what_cannot_be_stopped_is_explained_and_aborted";
    if std::env::var_os(ABORTED).is_some() {
        within(Duration::from_millis(20), |watchdog| {
            let mut network = Network::new();
            let numbers = network.source("numbers", 0..10_u32);
            network.process("spin", numbers, async |mut numbers| {
                numbers.recv().await;
                while std::hint::black_box(true) {}
            });
            watchdog.watch(&network);
            network.run_with(Options::new().workers(1))
        })
        .unwrap();
    }
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program).args(["--exact", name]).env(ABORTED, "1").output().unwrap();
    let text = String::from_utf8(child.stderr).unwrap();
    assert!(!child.status.success());
    assert!(text.contains("not done after 20ms"), "{text}");
    assert!(text.contains("`spin`"), "{text}");
    assert!(text.contains("the program is aborted"), "{text}");
}
