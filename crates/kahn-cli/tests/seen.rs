//! `kahn snet run` and programs whose processes communicate, traced, shown while they run, asked and stopped.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

const FIBONACCI: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../kahn-apps/src/snet/fibonacci.snet");
const RECORD: &[u8] = b"{\"tags\":{\"n\":9}}\n";

fn kahn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kahn"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The command with its input given; its exit code, results and messages.
fn typed(arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let mut run = kahn(arguments).spawn().expect("it starts");
    let mut stdin = run.stdin.take().expect("it is piped");
    // It may have refused, and be gone.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = run.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A program that runs until its input is closed, its input, and the lines that it says.
fn running(arguments: &[&str]) -> (Child, ChildStdin, impl Iterator<Item = String> + use<>) {
    let mut run = kahn(arguments).spawn().expect("it starts");
    let mut stdin = run.stdin.take().expect("it is piped");
    stdin.write_all(RECORD).and_then(|()| stdin.flush()).expect("it reads");
    let said = BufReader::new(run.stderr.take().expect("it is piped"));
    (run, stdin, said.lines().map_while(Result::ok))
}

fn signal(run: &Child, signal: &str) {
    let kill = Command::new("kill").args([signal, &run.id().to_string()]).status();
    assert!(kill.expect("there is such a program").success());
}

#[test]
fn an_snet_program_is_traced_by_the_names_of_its_components() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.perfetto-trace").display().to_string();
    let network = ["snet", "run", FIBONACCI, "--runtime", "network", "--trace", &file];
    let (code, output, said) = typed(&[&network[..], &["--trace-summary"]].concat(), RECORD);
    assert_eq!((code, output.as_str()), (Some(0), "{\"tags\":{\"x\":34}}\n"), "{said}");
    let (code, summary, _) = typed(&["trace", "summary", &file], b"");
    assert_eq!(code, Some(0));
    for text in [said, summary] {
        assert!(
            text.contains("filter [{<level>, <mask>, <r>} -> …] in net `fibonacci/merge/rewrite`"),
            "{text}"
        );
        // Which of the stages are among those that ran the longest depends on the run.
        assert!(text.contains(" in net `fibonacci/recur` at stage "), "{text}");
    }
    // Of a run that fails, what happened last.
    let failing = ["snet", "run", FIBONACCI, "--runtime", "network"];
    let into = folder.path().join("failed").display().to_string();
    let failing = [&failing[..], &["--trace-on-failure", &into]].concat();
    let (code, _, said) = typed(&failing, b"{\"tags\":{\"m\":1}}\n");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("kahn: what happened last is in "), "{said}");
    let left: Vec<_> = fs::read_dir(&into).expect("it is made").collect();
    assert_eq!(left.len(), 1);
    let name = left[0].as_ref().expect("a file").file_name();
    assert_eq!(name.to_str(), Some("fibonacci-1.perfetto-trace"));
}

#[test]
fn an_snet_program_is_shown_while_it_runs() {
    let network = ["snet", "run", FIBONACCI, "--runtime", "network"];
    let (run, stdin, mut said) = running(&[&network[..], &["--live=json"]].concat());
    let line = said.find(|line| line.starts_with('{')).expect("it writes lines");
    let view: serde_json::Value = serde_json::from_str(&line).expect("an object");
    let processes = view["processes"].as_array().expect("a list");
    let process = |name: &str| processes.iter().find(|process| process["name"] == name);
    assert_eq!(process("input").expect("it is there")["doing"], "busy", "{line}");
    assert_eq!(process("output").expect("it is there")["doing"], "empty", "{line}");
    assert!(process("star * {<r>} in net `fibonacci/recur` at stage 3").is_some(), "{line}");
    for process in processes {
        let sum: f64 = ["busy", "ready", "empty", "full", "outside"]
            .iter()
            .filter_map(|state| process[state].as_f64())
            .sum();
        assert!((sum - 1.0).abs() < 1e-6, "{process}");
    }
    drop(stdin);
    let output = run.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 18));

    let (run, stdin, mut said) = running(&[&network[..], &["--serve", "127.0.0.1:0"]].concat());
    let line = said.next().expect("it says where");
    assert!(line.starts_with("kahn: live at http://127.0.0.1:"), "{line}");
    drop(stdin);
    assert!(run.wait_with_output().expect("it ends").status.success());
}

#[test]
fn a_run_that_is_asked_says_what_it_waits_for_and_goes_on() {
    let network = ["snet", "run", FIBONACCI, "--runtime", "network", "--trace-summary"];
    for (arguments, told) in [(&network[..], "`output`"), (&network[..3], "workers carry records")]
    {
        let (run, stdin, mut said) = running(arguments);
        wait_for_handlers(&run);
        asked_until(&run, &mut said, &["-QUIT"], |line| line.contains(told));
        if arguments.len() > 3 {
            let is_traced = |line: &str| line.contains("box") || line.contains("filter");
            asked_until(&run, &mut said, &["-USR1", "-QUIT"], is_traced);
        }
        drop(stdin);
        let output = run.wait_with_output().expect("it ends");
        let result = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!((output.status.code(), result.as_str()), (Some(0), "{\"tags\":{\"x\":34}}\n"));
    }
}

/// Sends these signals, of which the last is QUIT, until a line is said that is looked for: it may not run yet, or not
/// be so far.
fn asked_until(
    run: &Child,
    said: &mut impl Iterator<Item = String>,
    signals: &[&str],
    is_it: impl Fn(&str) -> bool,
) {
    let mut is_said = false;
    while !is_said {
        for one in signals {
            signal(run, one);
        }
        let mut is_answer = |line: &String| {
            is_said |= is_it(line);
            line.starts_with("kahn: it runs:") || line == "kahn: no network runs"
        };
        assert!(said.any(|line| is_answer(&line)), "it ends");
    }
}

/// Waits until the command catches QUIT.
fn wait_for_handlers(run: &Child) {
    let catches = || {
        let status = fs::read_to_string(format!("/proc/{}/status", run.id())).expect("it runs");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.expect("a line").trim(), 16).expect("a number");
        caught & 1 << 2 != 0
    };
    while !catches() {
        std::thread::yield_now();
    }
}

#[test]
fn a_run_that_is_stopped_ends_with_130_and_keeps_what_was_written() {
    for runtime in ["front", "network"] {
        let (run, mut stdin, mut said) = running(&["snet", "run", FIBONACCI, "--runtime", runtime]);
        wait_for_handlers(&run);
        asked_until(&run, &mut said, &["-QUIT"], |line| line.starts_with("kahn: it runs:"));
        signal(&run, "-INT");
        assert!(said.any(|line| line.starts_with("kahn: stopping;")), "{runtime}");
        // The input that it waits for comes, and is not worked at.
        let _ = stdin.write_all(RECORD);
        drop(stdin);
        assert_eq!(said.next(), None, "{runtime}");
        let output = run.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{runtime}");
        let lines = String::from_utf8_lossy(&output.stdout).lines().count();
        assert!(lines <= 1, "{runtime}");
    }
}

#[test]
fn what_cannot_be_seen_is_refused_with_the_reason() {
    for option in [&["--live=json"][..], &["--serve", "127.0.0.1:0"], &["--trace-summary"]] {
        let (code, output, said) = typed(&[&["snet", "run", FIBONACCI], option].concat(), RECORD);
        assert_eq!((code, output.as_str()), (Some(2), ""), "{said}");
        assert!(said.contains("has no effect on `--runtime front`"), "{said}");
        assert!(said.contains("add `--runtime network`"), "{said}");
    }
    let (code, _, said) = typed(&["snet", "run", FIBONACCI, "--trace-events", "9"], RECORD);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--trace-events has no effect without a trace"), "{said}");
    let network = ["snet", "run", FIBONACCI, "--runtime", "network", "--serve", "8080"];
    let (code, output, said) = typed(&network, RECORD);
    assert_eq!((code, output.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("`--serve 127.0.0.1:0`: the system chooses a port"), "{said}");
    let sequential = ["run", "mandelbrot", "--variant", "sequential", "--live=json"];
    let (code, _, said) = typed(&sequential, b"");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--live has no effect on the variant `sequential`"), "{said}");
}

#[test]
fn processes_that_communicate_are_shown_while_they_run() {
    let endless = ["run", "commstime", "--cycles", "1000000000", "--live=json"];
    for workers in ["1", "2"] {
        let mut run = kahn(&[&endless[..], &["--workers", workers]].concat()).spawn().expect("it");
        let said = BufReader::new(run.stderr.take().expect("it is piped"));
        let mut said = said.lines().map_while(Result::ok);
        let line = said.by_ref().find(|line| line.starts_with('{')).expect("it writes lines");
        let view: serde_json::Value = serde_json::from_str(&line).expect("an object");
        let processes = view["processes"].as_array().expect("a list");
        assert!(processes.len() >= 4, "{line}");
        for process in processes {
            let shares = ["busy", "ready", "empty", "full", "outside"];
            let sum: f64 = shares.iter().filter_map(|state| process[state].as_f64()).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{process}");
        }
        let channels = view["channels"].as_array().expect("a list");
        assert!(channels.iter().any(|channel| channel["received"].as_u64() > Some(0)), "{line}");
        signal(&run, "-QUIT");
        assert!(said.by_ref().any(|line| line.starts_with("kahn: it runs:")), "{workers}");
        assert!(said.by_ref().any(|line| line.contains("main")), "{workers}");
        signal(&run, "-INT");
        drop(said);
        assert_eq!(run.wait().expect("it ends").code(), Some(130));
    }
}
