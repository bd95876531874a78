//! The command as it is typed: what it refuses, and that it measures.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kahn-bench"));
    command.args(arguments).output().expect("the program starts")
}

/// Exit code 2, a word that tells what was wrong, and nothing on standard output.
fn refused(arguments: &[&str], because: &str) {
    let output = bench(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(because), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

#[test]
fn bad_input_is_refused_with_exit_code_2() {
    refused(&["run", "rung"], "there is no workload `rung`");
    refused(&["run", "ring", "--peers", "python"], "there is no peer `python`");
    refused(&["run", "ring", "--workers", "0"], "1 or more");
    refused(&["run", "ring", "--tokens", "256"], "from 1 to 255");
    refused(&["run", "ring", "--repeat", "0"], "1 or more");
    refused(&["run", "ring", "--json", "/nowhere/at/all"], "no directory /nowhere/at");
    refused(&["measure", "{"], "no order");
    refused(&["instructions", "--locked", "rung"], "there is no row `rung`");
    refused(&["runs"], "unrecognized subcommand");
}

#[test]
fn the_list_names_workloads_and_peers() {
    let output = bench(&["list"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["ring", "pipeline", "stream", "spawn", "scatter-gather", "random", "deadlock"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
    }
    for name in ["idle", "oversubscribed", "wordcount", "kmeans", "tokio-kanal", "may", "go"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
    }
    for name in ["rendezvous", "commstime", "fork-join", "barrier", "alternation", "claim"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
    }
}

/// The runtimes in the lines of a quick run on one worker, beside one peer.
fn runtimes_of(workload: &str, peers: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines.json");
    let path = path.to_str().expect("a path in UTF-8");
    let run = ["run", workload, "--quick", "--repeat", "1", "--workers", "1"];
    let output = bench(&[&run[..], &["--peers", peers, "--json", path]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(path).expect("the lines");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let runtime = |line: serde_json::Value| line["runtime"].as_str().expect("a name").to_owned();
    lines.map(runtime).collect()
}

#[test]
fn communicating_processes_are_measured_under_both_policies_beside_a_peer_and_the_floor() {
    for (workload, peer) in [("commstime", "may"), ("claim", "tokio-kanal"), ("agents", "loop")] {
        let runtimes = runtimes_of(workload, peer);
        for name in ["kahn", "kahn-batch-policy", peer, "floor"] {
            assert!(runtimes.iter().any(|runtime| runtime == name), "{workload}: {name}");
        }
    }
}

#[test]
fn a_run_writes_a_json_line_for_each_runtime_and_metric() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines.json");
    let path = path.to_str().expect("a path in UTF-8");
    let run = ["run", "ring", "--quick", "--repeat", "2", "--workers", "1", "--tokens", "3"];
    let output = bench(&[&run[..], &["--peers", "tokio-kanal", "--json", path]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(path).expect("the lines");
    let mut runtimes = Vec::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        assert_eq!((&line["workload"], &line["workers"]), (&"ring".into(), &1.into()));
        assert_eq!(line["params"], "256 processes, 3 tokens, capacity 1");
        assert_eq!(line["runs"], 2);
        assert!(line["min"].as_f64() <= line["median"].as_f64());
        runtimes.push(line["runtime"].as_str().expect("a name").to_owned());
    }
    for name in ["kahn", "kahn-timing", "kahn-central", "tokio-kanal", "floor"] {
        assert!(runtimes.iter().any(|runtime| runtime == name), "{name}");
    }
    assert!(!runtimes.iter().any(|runtime| runtime == "go"));
}
