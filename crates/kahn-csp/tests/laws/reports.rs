//! The channels that a report lists: the same in every run of a network that chooses nothing.

use crate::everywhere;
use kahn_csp::{self as csp, Scope};
use kahn_csp::{MeetingKind, Options, Report, RunError};

/// A channel of each kind. The first process has met poison when it drops its end of the exchange.
async fn some_of_each(scope: Scope<'_>) {
    let (mut out, mut numbers) = csp::channel::<u32>("numbers");
    scope.spawn("source", async move {
        for n in 0..3 {
            out.send(n).await?;
        }
        Ok::<(), csp::Unsent<u32>>(())
    });
    let (mut put, mut held) = csp::buffered::<u32>("held", 2);
    scope.spawn("pass", async move {
        while let Ok(n) = numbers.recv().await {
            let _ = put.send(n).await;
        }
        put.poison();
    });
    let (mut mine, mut theirs) = csp::exchange::<u32, u32>("market");
    scope.spawn("trader", async move {
        let _ = theirs.swap(1).await;
    });
    let _ = mine.swap(2).await;
    while held.recv().await.is_ok() {}
}

/// The lines of the table of channels.
fn table(report: &Report) -> String {
    let text = format!("{report:#}");
    let table = text.split("\n\n").find(|part| part.trim_start().starts_with("channel"));
    let lines = table.expect("channels are listed").lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn channels_are_listed_by_their_names_with_what_passed_there() {
    everywhere(
        |options| csp::run(options, some_of_each).expect("it ends well").report,
        |report| {
            insta::allow_duplicates! {
                insta::assert_snapshot!(table(&report), @r"
                channel  kind         from    to      state     received
                held     buffered, 2  pass    main    poisoned         3
                market   exchange     main    trader  poisoned         1
                numbers  rendezvous   source  pass    closed           3
                ");
            }
            assert_eq!(report.messages(), 7);
            assert_eq!(report.created.1, 3);
        },
    );
}

#[test]
fn channels_are_data_as_well() {
    let report = csp::run(Options::new(), some_of_each).expect("it ends well").report;
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).expect("it is JSON");
    // Compared as data: whether fields keep their order is decided by what else uses the library.
    let held = serde_json::json!({
        "name": "held",
        "kind": "buffered",
        "capacity": 2,
        "from": "pass",
        "to": "main",
        "messages": 3,
        "state": "poisoned",
    });
    assert_eq!(json["meetings"][0], held);
}

/// A process that is stuck has its ends until the run is over: they were not dropped before.
#[test]
fn channels_of_a_standstill_have_the_ends_that_their_processes_have() {
    everywhere(
        |options| {
            let run = csp::run(options, async |scope| {
                let (mut a, mut from_a) = csp::channel::<u32>("a");
                let (mut b, mut from_b) = csp::channel::<u32>("b");
                scope.spawn("left", async move {
                    let _ = a.send(1).await;
                    let _ = from_b.recv().await;
                });
                scope.spawn("right", async move {
                    let _ = from_a.recv().await;
                    let _ = from_a.recv().await;
                    let _ = b.send(1).await;
                });
            });
            match run {
                Err(RunError::Ended(report)) => report,
                other => panic!("it must not end well: {other:?}"),
            }
        },
        |report| {
            insta::allow_duplicates! {
                insta::assert_snapshot!(table(&report), @r"
                channel  kind        from   to     state  received
                a        rendezvous  left   right  open          1
                b        rendezvous  right  left   open          0
                ");
            }
        },
    );
}

#[test]
fn of_very_many_channels_some_are_listed() {
    let run = csp::run(Options::new().workers(1), async |_scope| {
        for _ in 0..10_007 {
            let (mut out, mut input) = csp::buffered::<u32>("many", 1);
            let _ = out.send(1).await;
            let _ = input.recv().await;
        }
        csp::buffered::<u32>("the last", 1)
    });
    // The last one outlives its run.
    let report = run.expect("it ends well").report;
    assert_eq!(report.meetings.len(), 10_000);
    assert_eq!(report.meetings[0].kind, MeetingKind::Buffered);
    assert_eq!(report.more_meetings, Some((8, 7)));
    assert_eq!(report.messages(), 10_007);
    assert!(table(&report).lines().last().is_some_and(|line| line.contains("8 more")));
}

#[test]
fn a_panic_is_reported_with_its_file_and_line() {
    everywhere(
        |options| {
            let first = line!() + 2;
            let report = csp::run(options, async |scope| {
                scope.spawn("directly", async { assert!(first == 0, "spawned") });
                let child = scope.fork("dropped", async { panic!("forked") });
                drop(child);
                scope.spawn(
                    "called",
                    csp::blocking(move || assert!(first == 0, "on a thread of its own")),
                );
            });
            let Err(RunError::Ended(report)) = report else { panic!("it fails") };
            (first, report)
        },
        |(first, report)| {
            for (text, line) in [("spawned", 0), ("forked", 1), ("on a thread of its own", 5)] {
                let place = format!("{}:{}:", file!(), first + line);
                let failure = report.failures.iter().find(|failure| failure.message == text);
                let failure = failure.unwrap_or_else(|| panic!("{text}: {:?}", report.failures));
                let told = failure.at.as_deref().unwrap_or_default();
                assert!(told.starts_with(&place), "{text}: {told} is not {place}");
                assert!(report.explanation().contains(&place), "{}", report.explanation());
                assert!(report.to_json().contains(&place), "{}", report.to_json());
            }
        },
    );
}

/// A payload that is caught and thrown again passes no hook: no other panic's place is told.
#[test]
fn a_panic_is_not_reported_with_the_place_of_another() {
    let error = csp::run(Options::new(), async |scope| {
        scope.spawn("throws", async {
            let _ = std::panic::catch_unwind(|| panic!("one"));
            if std::hint::black_box(true) {
                std::panic::resume_unwind(Box::new("another"));
            }
        });
    });
    let Err(RunError::Ended(report)) = error else { panic!("it fails") };
    assert_eq!(report.failures[0].message, "another");
    assert_eq!(report.failures[0].at, None);
}
