//! The laws of `kahn::testing`: what is deterministic is found equal, what is not is found out, and
//! what hangs is explained.

use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Turn};
use kahn::testing::{
    self, Mismatch, Schedules, Unlike, VerifyError, run_process, try_run_process, within,
};
use kahn::{
    Channel, Name, Network, POLICIES, Receiver, RunError, RunOptions, Sender, Summary, process,
};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The difference that a few schedules find.
fn difference(build: impl Fn(&mut Network<'static>)) -> testing::Difference {
    match Schedules::new().verify(build) {
        Err(VerifyError::Differs(difference)) => *difference,
        other => panic!("no difference was found: {other:?}"),
    }
}

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
    for entry in POLICIES {
        assert!(list.iter().any(|schedule| schedule.policy == entry.name), "{}", entry.name);
    }
    for workers in [1, 2, 3, 8] {
        for capacity in [None, Some(1), Some(2), Some(64)] {
            let is_there = list.iter().any(|schedule| {
                schedule.policy == "ws-cur"
                    && schedule.workers == Some(workers)
                    && schedule.capacity == capacity
            });
            assert!(is_there, "ws-cur with {workers} workers and capacity {capacity:?}");
        }
    }
    let seeds = list.iter().filter(|schedule| schedule.seed.is_some());
    assert_eq!(seeds.count(), 8 * 4);
    assert!(list.iter().all(|schedule| schedule.seed.is_none() || schedule.policy == "seeded"));
}

#[test]
fn progress_tells_of_every_run_in_order() {
    let schedules = Schedules::new().policies(["shared", "seeded"]).workers([1, 2]).seeds([5]);
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
fn an_unknown_policy_and_no_schedule_are_errors() {
    let network = |network: &mut Network<'static>| {
        let numbers = network.source("numbers", 0..10_u32);
        network.for_each("ignore", numbers, |_| {});
    };
    let error = Schedules::new().policies(["nice"]).verify(network).unwrap_err();
    assert!(error.to_string().contains("there is no policy `nice`"), "{error}");
    let error = Schedules::new().policies([]).verify(network).unwrap_err();
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
        .policies(["sequential"])
        .own_policy("stack", |_setup| Stack::default())
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
            "policy stack, 1 worker, capacity 1",
            "policy stack, 3 workers, capacity 1",
        ]
    );
}

// --- comparing -------------------------------------------------------------------------------

#[test]
fn memory_shared_in_secret_is_found_with_its_channel_and_process() {
    let found = difference(|network| {
        let shared = Arc::new(AtomicUsize::new(0));
        let numbers = network.source("numbers", 0..100_u32);
        let mut parts = network.tee("copy", numbers, 2);
        for name in ["first", "second"] {
            let shared = Arc::clone(&shared);
            let channel = Channel::named(format!("tickets of {name}")).digest();
            let (out, tickets) = network.channel_with(channel);
            let part = parts.remove(0);
            network.process(name, (part, out), async move |(mut part, mut out)| {
                while part.recv().await.is_some() {
                    out.send(shared.fetch_add(1, Relaxed)).await;
                }
            });
            let (out, doubled) =
                network.channel_with(Channel::named(format!("doubled {name}")).digest());
            network.process(format!("double {name}"), (tickets, out), |ports| {
                process::map(ports, |ticket: usize| 2 * ticket)
            });
            network.for_each(format!("ignore {name}"), doubled, |_| {});
        }
    });
    let Mismatch::Message { channel, from, unlike, from_same_input, number, .. } = &found.mismatch
    else {
        panic!("{found}");
    };
    let from = from.as_ref().map(Name::as_str).expect("somebody wrote it");
    // Not the processes behind it, which differ as well but are not to blame.
    assert!(["first", "second"].contains(&from), "{found}");
    assert_eq!(channel.as_str(), format!("tickets of {from}"));
    assert_eq!(*unlike, Unlike::Contents);
    assert!(*from_same_input);
    let text = found.to_string();
    assert!(text.contains(&format!("message {number} on channel `tickets of {from}`")), "{text}");
    assert!(text.contains(&format!("written by process `{from}`")), "{text}");
}

#[test]
fn the_first_differing_message_is_named_by_its_number() {
    let runs = AtomicUsize::new(0);
    let build = |network: &mut Network<'_>| {
        let odd = runs.fetch_add(1, Relaxed) == 3;
        let (out, numbers) = network.channel_with(Channel::named("numbers").digest());
        network.process("count", out, async move |mut out| {
            for n in 0..100_u32 {
                out.send(if odd && n >= 41 { n + 1 } else { n }).await;
            }
        });
        network.for_each("ignore", numbers, |_| {});
    };
    let schedules = Schedules::new();
    let error = schedules.verify(build).expect_err("the fourth run is another network");
    let VerifyError::Differs(found) = error else { panic!("{error}") };
    assert_eq!((&found.expected, &found.found), (&schedules.list()[0], &schedules.list()[3]));
    assert_eq!(
        found.mismatch,
        Mismatch::Message {
            channel: "numbers".into(),
            from: Some("count".into()),
            to: Some("ignore".into()),
            number: 42,
            unlike: Unlike::Contents,
            from_same_input: true,
        }
    );
}

#[test]
fn the_origin_is_named_and_not_what_follows_from_it() {
    let mismatch = second_differs(|network, second| {
        let (out, numbers) = network.channel_with(Channel::named("numbers").digest());
        network.process("count", out, async move |mut out| {
            out.send_all((0..50_u32).map(|n| if second && n == 40 { 1000 } else { n })).await;
        });
        // What differs is the first message here, and the 41st there.
        let (out, large) = network.channel_with(Channel::named("large").digest());
        network.process("keep large", (numbers, out), |ports| process::filter(ports, |n| *n >= 40));
        network.for_each("ignore", large, |_| {});
    });
    let Some(Mismatch::Message { channel, number, from_same_input, .. }) = mismatch else {
        panic!("{mismatch:?}");
    };
    assert_eq!((channel.as_str(), number, from_same_input), ("numbers", 41, true));
}

#[test]
fn in_a_ring_the_lowest_number_is_named() {
    let mismatch = second_differs(|network, second| {
        let (there, at_b) = network.channel_with(Channel::named("there").digest());
        let back = Channel::named("back").digest();
        let (back, at_a) = network.channel_with(back.initial([1_u32]));
        network.process("a", (at_a, there), async move |(mut inputs, mut out)| {
            for turn in 0..20 {
                let n = inputs.recv().await.expect("the ring goes on");
                out.send(if second && turn == 7 { n + 1 } else { n }).await;
            }
        });
        network.process("b", (at_b, back), |ports| process::map(ports, |n| n + 2));
    });
    let Some(Mismatch::Message { channel, from, number, from_same_input, .. }) = mismatch else {
        panic!("{mismatch:?}");
    };
    assert_eq!((channel.as_str(), number, from_same_input), ("there", 8, false));
    assert_eq!(from, Some("a".into()));
}

/// Runs a network three times, the second time with `true`; returns the difference.
fn second_differs(build: impl Fn(&mut Network<'_>, bool)) -> Option<Mismatch> {
    let runs = AtomicUsize::new(0);
    let schedules = Schedules::new().policies(["seeded"]).capacities([4]).seeds([0, 1, 2]);
    let result = schedules.verify(|network| build(network, runs.fetch_add(1, Relaxed) == 1));
    match result {
        Ok(verified) => {
            assert_eq!(verified.schedules, 3);
            None
        }
        Err(VerifyError::Differs(difference)) => {
            assert_eq!(difference.found.seed, Some(1));
            Some(difference.mismatch)
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn numbers_of_messages_are_compared_without_a_digest() {
    let of = |more: u32| {
        second_differs(move |network, second| {
            let numbers = network.source("numbers", 0..if second { more } else { 5 });
            network.for_each("ignore", numbers, |_| {});
        })
    };
    assert_eq!(of(5), None);
    for (more, unlike, first) in [(7, Unlike::Extra, 6), (3, Unlike::Missing, 4)] {
        let Some(Mismatch::Message { channel, number, unlike: is, .. }) = of(more) else {
            panic!()
        };
        assert_eq!((channel.as_str(), number, is), ("numbers", first, unlike));
    }
}

#[test]
fn a_history_that_nobody_observes_to_its_end_may_be_a_beginning_of_another() {
    // One run of three has `last` messages, and `twist` is added to each. The reader behind `copy`
    // leaves after three, so how much more `copy` receives is a matter of the schedule.
    let of = |last: u32, twist: u32| {
        let mismatch = second_differs(move |network, second| {
            let (last, twist) = if second { (last, twist) } else { (20, 0) };
            let (out, numbers) = network.channel_with(Channel::named("numbers").digest());
            network.process("count", out, move |out| {
                process::source(out, (0..last).map(move |n| n + twist))
            });
            let copied = network.map("copy", numbers, |n| n);
            network.process("leave", copied, async |mut copied| {
                copied.recv_batch(&mut Vec::new(), 3).await;
            });
        });
        mismatch.map(|mismatch| match mismatch {
            Mismatch::Message { channel, number, unlike, .. } if channel.as_str() == "numbers" => {
                (number, unlike)
            }
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(of(20, 0), None);
    assert_eq!(of(10, 0), None);
    assert_eq!(of(30, 0), None);
    // The beginnings differ.
    assert_eq!(of(20, 1), Some((1, Unlike::Contents)));
    // With two messages the reader does not leave early, so this history is whole.
    assert_eq!(of(2, 0), Some((3, Unlike::Missing)));
}

#[test]
fn results_are_compared() {
    let runs = AtomicUsize::new(0);
    let error = Schedules::new()
        .policies(["ws-cur"])
        .verify_with(
            |network| {
                let numbers = network.source("numbers", 0..10_u32);
                network.fold("sum", numbers, 0, |sum, n| sum + n)
            },
            |sum| (sum.take(), runs.fetch_add(1, Relaxed) / 3),
            |_| {},
        )
        .expect_err("the result changes after three runs");
    let VerifyError::Differs(found) = error else { panic!("{error}") };
    let expected =
        Mismatch::Result { expected: "(Some(45), 0)".into(), found: "(Some(45), 1)".into() };
    assert_eq!(found.mismatch, expected);
}

#[test]
fn outcomes_failures_and_endings_are_compared() {
    let failing = |network: &mut Network<'_>, fails: bool, message: &'static str| {
        let numbers = network.source("numbers", 0..10_u32);
        network.process("judge", numbers, async move |mut numbers| {
            while numbers.recv().await.is_some() {}
            if fails { Err(message) } else { Ok(()) }
        });
    };
    let found = second_differs(|network, second| failing(network, second, "no"));
    assert!(matches!(found, Some(Mismatch::Failures { .. })), "{found:?}");
    let found = second_differs(|network, second| {
        failing(network, true, if second { "no" } else { "never" });
    });
    assert!(matches!(found, Some(Mismatch::Failures { .. })), "{found:?}");
    assert_eq!(second_differs(|network, _| failing(network, true, "no")), None);

    // One waits for ever for its own message, the other does not.
    let stuck = |network: &mut Network<'_>, is: bool| {
        let (out, back) = network.channel::<u32>("loop");
        network.process("self", (out, back), async move |(out, mut back)| {
            if is {
                back.recv().await;
            }
            drop(out);
        });
    };
    let found = second_differs(stuck);
    let expected = Mismatch::Outcome { expected: Summary::Finished, found: Summary::Deadlock };
    assert_eq!(found, Some(expected));
    assert_eq!(second_differs(|network, _| stuck(network, true)), None);
}

#[test]
fn other_processes_and_channels_are_a_difference() {
    let found = second_differs(|network, second| {
        if second {
            let numbers = network.source("numbers", 0..10_u32);
            network.for_each("ignore", numbers, |_| {});
        }
    });
    let expected = Mismatch::Channel { channel: "numbers".into(), expected: false };
    assert_eq!(found, Some(expected));
    let found = second_differs(|network, second| {
        network.process(if second { "this" } else { "that" }, (), async |()| {});
    });
    let expected = Mismatch::Process {
        process: "that".into(),
        expected: Some("finished".into()),
        found: None,
    };
    assert_eq!(found, Some(expected));
}

#[test]
fn what_is_created_during_the_run_is_compared_by_its_creator() {
    /// Counts down, each number by a process that the one before creates.
    fn count(mut out: Sender<u32>, create: kahn::Creator<'static>, n: u32) -> Ports {
        Box::pin(async move {
            out.send(n).await;
            if n > 0 {
                let mut create = create;
                let next = create.again();
                // Two branches that run at once: which channel is made first differs from run to run.
                for side in ["left", "right"] {
                    let channel = Channel::named(format!("{side} of {n}")).digest();
                    let (sender, mut receiver) = create.channel_with(channel);
                    if side == "left" {
                        let again = next.again();
                        create.process(
                            format!("{side} {n}"),
                            (sender, again),
                            move |(out, create)| count(out, create, n - 1),
                        );
                    } else {
                        create.process(format!("{side} {n}"), sender, async move |mut out| {
                            out.send(n).await;
                        });
                    }
                    while let Some(m) = receiver.recv().await {
                        out.send(m).await;
                    }
                }
            }
        })
    }
    type Ports = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

    let all = testing::assert_same(
        |network: &mut Network<'static>| {
            let (out, numbers) = network.channel_with(Channel::named("numbers").digest());
            let create = network.creator();
            network.process("root", (out, create), |(out, create)| count(out, create, 4));
            network.collect("all", numbers)
        },
        |all| all.take(),
    );
    assert_eq!(all, Some(vec![4, 3, 2, 1, 0, 1, 2, 3, 4]));
}

#[test]
fn runs_that_are_over_budget_are_compared_as_beginnings() {
    // The loop takes one message and gives two, for ever: no budget is enough.
    let verified = Schedules::new()
        .capacities([1, 2, 64])
        .budget(8 * 300)
        .verify(|network| {
            let channel = Channel::named("loop").initial([1_u64]).digest();
            let (out, numbers) = network.channel_with(channel);
            network.process("grow", (numbers, out), async |(mut numbers, mut out)| {
                while let Some(n) = numbers.recv().await {
                    out.send(2 * n % 1009).await;
                    out.send((2 * n + 1) % 1009).await;
                }
            });
        })
        .unwrap();
    assert_eq!(verified.cut.len(), verified.schedules);
    assert!(verified.cut.iter().all(|cut| cut.outcome == Summary::OverBudget));
    let text = verified.to_string();
    assert!(text.contains("of the runs were cut short") && text.contains("over budget"), "{text}");
}

#[test]
fn a_run_that_is_cut_short_does_not_pass_as_the_same() {
    let text = panic_of(|| {
        testing::assert_same(
            |network| {
                let numbers = network.source("numbers", 0..10_u32);
                network.process("peek", numbers, async |mut numbers| {
                    let mut first = std::pin::pin!(numbers.recv());
                    // Polls once and gives up: what `try_recv` would be.
                    std::future::poll_fn(|context| {
                        let _ = first.as_mut().poll(context);
                        std::task::Poll::Ready(())
                    })
                    .await;
                });
            },
            drop,
        );
    });
    assert!(text.contains("abandoned an operation on channel `numbers`"), "{text}");
}

#[test]
fn recording_sees_every_message_in_order_whatever_way_it_is_received() {
    for way in 0..3 {
        let verified = Schedules::new()
            .verify(|network| {
                let channel = Channel::named("numbers").initial([7_u32, 8]).digest();
                let (out, numbers) = network.channel_with(channel);
                network.process("send", out, async |mut out| {
                    out.send(1).await;
                    out.send_all(0..100).await;
                });
                network.process("receive", numbers, async move |mut numbers| match way {
                    0 => while numbers.recv().await.is_some() {},
                    1 => {
                        let mut all = Vec::new();
                        while numbers.recv_batch(&mut all, 7).await > 0 {}
                    }
                    _ => {
                        numbers.for_each(|_| {}).await;
                    }
                });
            })
            .unwrap();
        assert_eq!((verified.by_contents, verified.by_count), (1, 0));
        assert_eq!(verified.report.messages(), 103);
    }
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
    assert!(error.to_string().contains("2 is too much"), "{error}");

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
            network.run_with(RunOptions::new().workers(1))
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
