//! `kahn run --ranks`, shown while it runs, and what its report tells of ranks.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn kahn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kahn"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_run_on_several_ranks_is_shown_with_the_processes_of_all() {
    // For good, as far as this test goes.
    let ring = ["run", "ring", "--processes", "6", "--cycles", "100000000"];
    let run = [&ring[..], &["--ranks", "3", "--workers", "1", "--live=json"]].concat();
    let mut run = kahn(&run).stdout(Stdio::null()).spawn().expect("it starts");
    let said = BufReader::new(run.stderr.take().expect("it is piped"));
    let mut lines = said.lines().map_while(Result::ok);
    let view = lines.find_map(|line| {
        let view: Value = serde_json::from_str(&line).expect("each line is an object");
        let processes = view["processes"].as_array().expect("a list");
        let ranks: BTreeSet<_> = processes.iter().filter_map(|one| one["rank"].as_u64()).collect();
        // Others tell of themselves when they have looked often enough.
        (ranks.len() == 3).then_some(view)
    });
    run.kill().and_then(|()| run.wait()).expect("it ends");
    let view = view.expect("there was such a line");
    let of = |name: &str| {
        let processes = view["processes"].as_array().expect("a list").iter();
        let ranks: Vec<_> =
            processes.filter(|one| one["name"] == name).map(|one| one["rank"].as_u64()).collect();
        ranks
    };
    // Each once: what moves messages from rank to rank is none of them.
    let of_three = ["root", "element 1", "element 3"].map(of);
    assert_eq!(of_three, [vec![Some(0)], vec![Some(2)], vec![Some(1)]]);
    let ids: BTreeSet<_> = view["processes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].as_str())
        .collect();
    let channels = view["channels"].as_array().expect("a list");
    let names: BTreeSet<_> = channels.iter().map(|one| one["name"].as_str()).collect();
    assert_eq!((channels.len(), names.len()), (6, 6), "{channels:?}");
    for channel in channels {
        assert!(
            ids.contains(&channel["from"].as_str()) && ids.contains(&channel["to"].as_str()),
            "{channel}"
        );
    }
    let workers = view["workers"].as_array().expect("a list").iter();
    assert!(workers.map(|one| one["rank"].as_u64()).eq([Some(0), Some(1), Some(2)]));
}

#[test]
fn a_report_tells_which_process_ran_where_and_what_went_from_rank_to_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report.json");
    let file = path.display().to_string();
    let run =
        ["run", "hamming", "100", "--ranks", "3", "--place", "times*=2", "--report-json", &file];
    let output =
        kahn(&[&run[..], &["--report", "--budget", "1M"]].concat()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    for line in [
        "3 ranks, placed by hand, the others in turn",
        "rank 2: times 2, times 3, times 5, copy",
        // Numbers up to 1536 in one byte or two, behind four for the length.
        "result: 100 messages, 563 B from rank 2 to rank 0",
        "the budget is that of each rank",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let report = std::fs::read_to_string(&path).expect("it is written");
    let report: Value = serde_json::from_str(&report).expect("it is JSON");
    let ranks = &report["ranks"];
    assert_eq!((&ranks["count"], &ranks["budget"]), (&3.into(), &"per rank".into()));
    let channels = ranks["channels"].as_array().expect("a list");
    let result = channels.iter().find(|one| one["name"] == "result").expect("it is cut");
    assert_eq!((&result["to"], &result["messages"]), (&0.into(), &100.into()));
    // The same, where it is told of channels.
    let told = report["channels"].as_array().expect("a list");
    for channel in channels {
        let known = told.iter().find(|one| one["name"] == channel["name"]).expect("there is one");
        assert_eq!(channel["messages"], known["carried"]);
        assert_eq!(channel["bytes"], known["carried_bytes"]);
        // What a number is written as.
        let figures = ["messages", "bytes"].map(|figure| channel[figure].as_u64().expect("one"));
        assert!((5 * figures[0]..=7 * figures[0]).contains(&figures[1]), "{channel}");
    }
}
