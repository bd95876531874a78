//! That the short form tells the same sums as the full one, and what a run was limited by.

use super::counters::tests::report;
use super::limit::Limit;
use super::*;
use crate::{Picture, ProcessEnd};

/// Seconds of a process, if they were measured.
type Named<'name> = (&'name str, Option<f64>);

fn ran(processes: &[Named<'_>], channels: &[(&str, &str, &str)], busy: f64) -> Report {
    let mut report = report();
    let like = report.channels[0].clone();
    report.processes = processes
        .iter()
        .map(|&(name, cpu_seconds)| {
            let counts =
                ProcessCounts { cpu_seconds, polls: 3, waits_empty: 2, ..Default::default() };
            ProcessReport::new(name.to_owned().into(), ProcessEnd::Finished, counts)
        })
        .collect();
    report.channels = channels
        .iter()
        .map(|&(name, from, to)| {
            let end = |name: &str| Some(Name::from(name.to_owned()));
            ChannelReport {
                name: name.to_owned().into(),
                from: end(from),
                to: end(to),
                ..like.clone()
            }
        })
        .collect();
    (report.seconds, report.workers) = (1.0, 2);
    report.worker_reports[0].busy_seconds = 2.0 * busy;
    report
}

#[test]
fn families_have_the_sums_of_their_members() {
    let mut processes: Vec<(String, Option<f64>)> = Vec::new();
    for number in 0..40_u32 {
        let seconds = (number % 3 > 0).then(|| f64::from(number) / 64.0);
        processes.push((format!("{} {number}", ["a", "b", "c"][number as usize % 3]), seconds));
        processes.push((format!("only {}", "x".repeat(number as usize)), Some(0.125)));
    }
    let named: Vec<_> = processes.iter().map(|(name, s)| (name.as_str(), *s)).collect();
    let report = ran(&named, &[], 0.5);
    let sum = |counts: Vec<ProcessCounts>| {
        let mut sum = ProcessCounts::default();
        for counts in &counts {
            sum.add(counts);
        }
        (sum.cpu_seconds, sum.polls, sum.waits_empty, sum.waits_full, sum.migrations)
    };
    let folded = report.process_families();
    assert_eq!(folded.len(), 43);
    let of_families = sum(folded.iter().map(|(_, sum)| *sum).collect());
    assert_eq!(of_families, sum(report.processes.iter().map(ProcessReport::counts).collect()));
    // What the table shows: its waits, the row of all others among them.
    let text = report.to_string();
    let rows = text.lines().skip_while(|line| !line.starts_with(" process")).skip(1);
    let waits = rows.map_while(|row| row.split_whitespace().nth_back(1)?.parse::<u64>().ok());
    assert_eq!(waits.sum::<u64>(), of_families.2, "{text}");
    assert_eq!(text, report.to_string());
}

/// However many channels of communicating processes there are, the short form has their sums.
#[test]
fn channels_where_processes_meet_are_folded_too() {
    let mut report = ran(&[("bank", Some(0.5))], &[], 0.5);
    report.meetings = (0..3_000_u32)
        .map(|number| MeetingReport {
            name: format!("{} {number}", ["orders", "replies"][number as usize % 2]).into(),
            kind: MeetingKind::Rendezvous,
            capacity: 0,
            from: Some(format!("client {number}").into()),
            to: Some(["bank", "audit"][usize::from(number == 8)].into()),
            messages: u64::from(number),
            state: MeetingState::Closed,
        })
        .collect();
    let text = report.to_string();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!(" {name}"))).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        row("orders"),
        "orders 0…2998 × 1500 rendezvous client 0…2998 several closed 2248500"
    );
    assert_eq!(
        row("replies"),
        "replies 1…2999 × 1500 rendezvous client 1…2999 bank closed 2250000"
    );
    assert!(text.lines().count() < 16 && !text.contains("traffic"), "{text}");
    assert!(format!("{report:#}").lines().count() > 3_000);
}

#[test]
fn what_limits_a_run_is_told() {
    let limit = |processes: &[Named<'_>], channels: &[(&str, &str, &str)], busy| {
        let report = ran(processes, channels, busy);
        let text = report.limit().to_string();
        assert!(report.to_string().contains(&text));
        text
    };
    let forth = ("forth", "a", "b");
    let (a, b) = (("a", Some(0.9)), ("b", Some(0.1)));
    assert_eq!(
        limit(&[a, b], &[forth], 0.5),
        "limited by the input: process `a` ran 90 % of the time"
    );
    assert_eq!(
        limit(&[("a", Some(0.1)), ("b", Some(0.9))], &[forth], 0.5),
        "limited by process `b`: it ran 90 % of the time"
    );
    assert!(limit(&[("a", Some(0.7)), ("b", Some(0.7))], &[forth], 0.9).contains("the workers"));
    let back = ("back", "b", "a");
    let looped = limit(&[("a", Some(0.4)), ("b", Some(0.4))], &[forth, back], 0.4);
    assert!(looped.starts_with("limited by a loop: `a`, `b` wait for each other"), "{looped}");
    let served = limit(&[("a", Some(0.1)), ("b", Some(0.1))], &[forth, back], 0.1);
    assert!(served.starts_with("limited by waiting: for 90 %"), "no loop runs so little: {served}");
    let idle = limit(&[("a", Some(0.2)), ("b", Some(0.1))], &[forth], 0.15);
    assert!(idle.starts_with("limited by waiting: for 85 %"), "{idle}");
    assert!(idle.contains("no process or loop was busy throughout"), "{idle}");
    // `driver` is no process: what reads from it alone waited for it.
    let told = ("told", "driver", "a");
    let outside = limit(&[("a", Some(0.2)), ("b", Some(0.1))], &[told, forth], 0.15);
    assert!(
        outside.ends_with("`a` waited 2 times for a message from `driver`, which no worker runs"),
        "{outside}"
    );
    // With another input it may have waited for that.
    let both = limit(&[("a", Some(0.2)), ("b", Some(0.1))], &[told, ("other", "b", "a")], 0.15);
    assert!(both.contains("no process or loop was busy throughout"), "{both}");
    let mut report = ran(&[("read", Some(0.0)), ("b", Some(0.1))], &[("lines", "read", "b")], 0.05);
    report.processes[0].polls = 0;
    let text = report.limit().to_string();
    assert!(text.ends_with("a message from `read`, which no worker runs"), "{text}");
    report.processes[1].waits_full = 7;
    (report.channels[0].from, report.channels[0].to) = (Some("b".into()), Some("read".into()));
    let text = report.limit().to_string();
    assert!(text.contains("`b` waited 7 times for room towards `read`"), "{text}");
    // Without workers nothing is said of them.
    let mut report = ran(&[("a", Some(0.2)), ("b", Some(0.1))], &[told, forth], 0.15);
    report.worker_reports.clear();
    let text = report.limit().to_string();
    assert!(text.contains("each has a thread of its own") && !text.contains("workers"), "{text}");
    let unknown = ran(&[("a", None), ("b", None)], &[forth], 0.5);
    assert_eq!(unknown.limit(), Limit::Unknown);
    assert!(!unknown.to_string().contains("0.00 us"), "{unknown}");
}

#[test]
fn a_picture_shows_where_time_and_messages_went() {
    let mut report = ran(&[("a", Some(0.9)), ("b", Some(0.1))], &[("forth", "a", "b")], 0.5);
    let svg = report.svg();
    assert_eq!(svg, report.clone().svg());
    // 22 messages of 27 bytes that own 28 more.
    for shown in [">90 % · 900 ms<", ">1.18 KiB<", ">▲ 26 growths<", "class=\"hot\""] {
        assert!(svg.contains(shown), "{shown}: {svg}");
    }
    for process in &mut report.processes {
        process.cpu_seconds = None;
    }
    assert!(!report.svg().contains("class=\"hot\""));
    assert!(Picture::default().svg().contains("0 processes, 0 channels"));
}
