//! What two runs must have in common, and what is named if they have not.

use crate::panic_of;
use kahn::testing::{self, Mismatch, Schedules, Unlike, VerifyError};
use kahn::{Channel, Name, Network, ProcessEnd, Sender, Summary, process};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The difference that a few schedules find.
fn difference(build: impl Fn(&mut Network<'static>)) -> testing::Difference {
    match Schedules::new().verify(build) {
        Err(VerifyError::Differs(difference)) => *difference,
        other => panic!("no difference was found: {other:?}"),
    }
}

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
fn memory_shared_by_processes_of_the_library_is_found_without_asking() {
    let found = difference(|network| {
        let shared = Arc::new(AtomicUsize::new(0));
        let numbers = network.source("numbers", 0..100_u32);
        for (part, name) in network.tee("copy", numbers, 2).into_iter().zip(["first", "second"]) {
            let shared = Arc::clone(&shared);
            let tickets = network.map(name, part, move |_| shared.fetch_add(1, Relaxed));
            let texts = network.map(format!("print {name}"), tickets, |ticket| ticket.to_string());
            let pairs = network.batch(format!("pairs {name}"), texts, 2);
            network.for_each(format!("ignore {name}"), pairs, |_| {});
        }
    });
    let Mismatch::Message { channel, unlike, from_same_input, .. } = &found.mismatch else {
        panic!("{found}");
    };
    // Not the texts and pairs of texts that are made of them.
    assert!(["first", "second"].contains(&channel.as_str()), "{found}");
    assert_eq!((*unlike, *from_same_input), (Unlike::Contents, true));
}

/// What nobody has told a digest of.
struct Opaque(usize);

#[test]
fn a_network_of_which_no_channel_is_compared_by_contents_is_equal_by_count_only() {
    let build = |network: &mut Network<'static>| {
        let shared = Arc::new(AtomicUsize::new(0));
        for name in ["first", "second"] {
            let shared = Arc::clone(&shared);
            let numbers = (0..100).map(move |_| Opaque(shared.fetch_add(1, Relaxed)));
            let tickets = network.source(name, numbers);
            network.for_each(format!("ignore {name}"), tickets, |ticket| assert!(ticket.0 < 200));
        }
    };
    let verified = Schedules::new().policies([kahn::policy::STEALING]).verify(build).unwrap();
    assert_eq!((verified.by_contents, verified.by_count), (0, 2));
    let text = verified.to_string();
    assert!(text.starts_with("equal by count only under 16 schedules: 200 messages"), "{text}");
    assert!(text.contains("Opaque`"), "the types without a digest are named: {text}");
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
    let schedules =
        Schedules::new().policies([kahn::policy::SEEDED]).capacities([4]).seeds([0, 1, 2]);
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
        .policies([kahn::policy::STEALING])
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
        expected: Some(ProcessEnd::Finished),
        found: None,
    };
    assert_eq!(found, Some(expected));
}

#[test]
fn what_is_created_during_the_run_is_compared_by_its_creator() {
    /// Counts down, each number by a process that the one before creates.
    fn count(mut out: Sender<u32>, create: kahn::Spawner<'static>, n: u32) -> Ports {
        Box::pin(async move {
            out.send(n).await;
            if n > 0 {
                let mut create = create;
                let next = create.clone();
                // Two branches that run at once: which channel is made first differs from run to run.
                for side in ["left", "right"] {
                    let channel = Channel::named(format!("{side} of {n}")).digest();
                    let (sender, mut receiver) = create.channel_with(channel);
                    if side == "left" {
                        let again = next.clone();
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
            let create = network.spawner();
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
