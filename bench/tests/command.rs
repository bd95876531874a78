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
    refused(&["run", "ring", "rung"], "there is no workload `rung`");
    refused(&["run"], "required");
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
    // The first says whose measurements these are.
    let lines =
        text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a line of JSON"));
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
    let more = ["--peers", "tokio-kanal", "--json", path, "--source", "abcdef1"];
    let output = bench(&[&run[..], &more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(path).expect("the lines");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let lines: Vec<serde_json::Value> = lines.collect();
    assert_eq!(lines[0]["machine"]["source"], "abcdef1");
    assert!(
        lines[0]["command"].as_str().is_some_and(|said| said.starts_with("kahn-bench run ring"))
    );
    let mut runtimes = Vec::new();
    for line in &lines[1..] {
        assert_eq!((&line["workload"], &line["workers"]), (&"ring".into(), &1.into()));
        assert_eq!(line["params"], "256 processes, 3 tokens, capacity 1");
        assert_eq!(line["figures"].as_array().map(Vec::len), Some(2));
        assert!(line["min"].as_f64() <= line["median"].as_f64());
        runtimes.push(line["runtime"].as_str().expect("a name").to_owned());
    }
    for name in ["kahn", "kahn-timing", "kahn-central", "tokio-kanal", "floor"] {
        assert!(runtimes.iter().any(|runtime| runtime == name), "{name}");
    }
    assert!(!runtimes.iter().any(|runtime| runtime == "go"));

    let table = printed(&["table", "--from", path]);
    assert!(table.starts_with("Medians of 2 runs in turn; "), "{table}");
    assert!(table.contains(" of abcdef1; "), "{table}");
    let row = "| ring: 256 processes, 3 tokens, capacity 1 | time per message, ns | 1 | ";
    assert_eq!(table.lines().filter(|line| line.starts_with(row)).count(), 1, "{table}");
}

/// What a command prints that goes well.
fn printed(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A file of the tree.
fn of_the_tree(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// What is printed from data in the tree.
fn from(data: &str, more: &[&str]) -> String {
    let data = of_the_tree(data);
    printed(&[&["table", "--from", data.to_str().expect("a path in UTF-8")], more].concat())
}

#[test]
fn tables_in_the_tree_follow_from_the_data_beside_them() {
    for (data, table) in [("run.jsonl.gz", "README.md"), ("ccsp.jsonl.gz", "ccsp.md")] {
        let kept = std::fs::read_to_string(of_the_tree(&format!("evaluation/peers/{table}")));
        let written = from(&format!("evaluation/peers/{data}"), &[]);
        assert_eq!(written, kept.expect("a file of the tree"), "{table}");
    }
}

#[test]
fn the_rows_in_the_readme_follow_from_the_data_in_the_tree() {
    let readme = std::fs::read_to_string(of_the_tree("README.md")).expect("a file of the tree");
    let rows = from("evaluation/peers/run.jsonl.gz", &["--readme"]);
    assert_eq!(rows.lines().count(), 23);
    assert!(readme.contains(&rows), "the README should have:\n{rows}");
}

#[test]
fn a_peer_whose_folder_is_not_named_is_left_out_and_said() {
    let run = ["run", "commstime", "--quick", "--repeat", "1", "--workers", "1", "--peers", "ccsp"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_kahn-bench"));
    let output =
        command.args(run).env_remove("KAHN_PEER_CCSP").output().expect("the program starts");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("skipped: ccsp: KAHN_PEER_CCSP is not set"), "{said}");
}

#[test]
fn what_is_no_data_is_refused_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lines.json");
    let name = path.to_str().expect("a path in UTF-8");
    refused(&["table", "--from", name], "cannot be read");
    refused(&["table", "--from", name, "--repeat", "3"], "cannot be used with");
    std::fs::write(&path, "").expect("a file");
    refused(&["table", "--from", name], "is empty");
    std::fs::write(&path, "{\"workload\":\"ring\"}\n").expect("a file");
    refused(&["table", "--from", name], "line 1 does not say whose measurements these are");
}
