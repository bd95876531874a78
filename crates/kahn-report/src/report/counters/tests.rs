//! That the table, the columns of the text and the JSON agree.

use super::*;
use crate::{Report, Summary};

/// A report of one process, one channel and one worker, each figure its own.
pub(in crate::report) fn report() -> Report {
    let mut next = 0;
    let mut count = || {
        next += 1;
        Some(next * 1_000_000_000)
    };
    let counts = ProcessCounts::of(|_| count());
    let process = ProcessReport::new("p".into(), ProcessEnd::Finished, counts);
    let channel = ChannelReport {
        name: "c".into(),
        from: None,
        to: None,
        message_type: "u8",
        sent: 21,
        received: 22,
        remote: 23,
        carried: 29,
        carried_bytes: 30,
        most_waiting: 24,
        capacity: 25,
        growths: 26,
        message_bytes: 27,
        owned_bytes: Some(28),
    };
    let worker = WorkerReport {
        worker: 0,
        busy_seconds: 31.5,
        idle_seconds: 32.5,
        spins: 33,
        sleeps: 34,
        steals_tried: 35,
        steals_won: 36,
    };
    Report {
        outcome: Summary::Finished,
        chooses: false,
        detail: None,
        failures: Vec::new(),
        policy: "stealing".to_owned(),
        workers: 1,
        seconds: 1.0,
        created: (1, 1),
        slot_bytes: (0, 0),
        most_bytes: 0,
        grown: Vec::new(),
        weight_unknown: Vec::new(),
        walks: 0,
        warnings: Vec::new(),
        from_outside: Vec::new(),
        processes: vec![process],
        more_processes: None,
        channels: vec![channel],
        more_channels: None,
        meetings: Vec::new(),
        more_meetings: None,
        local_share: None,
        rebalances: None,
        worker_reports: vec![worker],
    }
}

/// The tables of the text: a heading and a row of words each.
fn tables(text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    // Columns are apart by two blanks at least, headings of two words by one.
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect()
    };
    let lines: Vec<_> = text.lines().map(cells).collect();
    let first_words = ["process", "channel", "worker"];
    let is_heading = |line: &[String]| line.len() > 3 && first_words.contains(&line[0].as_str());
    let pairs = lines.windows(2).filter(|pair| is_heading(&pair[0]));
    pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

#[test]
fn the_table_the_columns_of_the_text_and_the_json_agree() {
    let report = report();
    let tables = tables(&format!("{report:#}"));
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    let of = |owner| match owner {
        Owner::Process => (&tables[0], &json["processes"][0]),
        Owner::Channel => (&tables[1], &json["channels"][0]),
        Owner::Worker => (&tables[2], &json["worker_reports"][0]),
    };
    for owner in [Owner::Process, Owner::Channel, Owner::Worker] {
        let ((heading, row), json) = of(owner);
        let rows: Vec<_> = COUNTERS.iter().filter(|counter| counter.owner == owner).collect();
        assert!(!rows.is_empty());
        // Each counter is a number in JSON, and nothing else is but the number of a worker.
        let numbers = json.as_object().unwrap().iter().filter(|(_, value)| value.is_number());
        let keys: Vec<_> = numbers.map(|(key, _)| key).filter(|key| *key != "worker").collect();
        assert_eq!(keys.len(), rows.len(), "{keys:?}");
        // The columns end with the counters, in the order of the table, and show the same number.
        let shown: Vec<_> = rows.iter().filter(|row| !row.column.is_empty()).collect();
        let plain = heading.len() - shown.len();
        // Empty names of a channel's ends leave no cell.
        let figures = &row[row.len() - shown.len()..];
        for ((counter, column), figure) in shown.iter().zip(&heading[plain..]).zip(figures) {
            assert_eq!(counter.column, column);
            let number = json[counter.name].as_f64().unwrap_or_else(|| panic!("{counter:?}"));
            // Each number of this report is another, and none has more than three digits.
            let expected = match counter.unit {
                Unit::Seconds => human::time(Some(number)),
                Unit::Bytes => format!("{number} B"),
                Unit::Times | Unit::Messages => number.to_string(),
            };
            assert_eq!(*figure, expected, "{counter:?}");
        }
        for counter in rows {
            assert!(json[counter.name].is_number(), "{counter:?}");
            assert_eq!(counter.unit == Unit::Seconds, counter.name.ends_with("_seconds"));
        }
    }
}

#[test]
fn each_counter_has_a_name_and_a_column_of_its_own() {
    for (place, counter) in COUNTERS.iter().enumerate() {
        for other in &COUNTERS[..place] {
            let is_same = counter.owner == other.owner;
            assert!(!is_same || counter.name != other.name, "{counter:?}");
            let is_column = !counter.column.is_empty();
            assert!(!is_same || !is_column || counter.column != other.column, "{counter:?}");
        }
    }
}

#[test]
fn sums_know_what_was_measured() {
    let counted = |count| ProcessCounts::of(|_| count);
    let mut sum = counted(None);
    sum.add(&counted(Some(2_000_000_000)));
    sum.add(&counted(None));
    assert_eq!((sum.cpu_seconds, sum.polls), (Some(2.0), 2_000_000_000));
    assert_eq!(counted(None).cpu_seconds, None);
}
