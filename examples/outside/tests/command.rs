//! The command, as typed.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

fn longest(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longest"));
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut run = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = run.stdin.take().expect("it is a pipe");
    stdin.write_all(input.as_bytes()).expect("it is read");
    drop(stdin);
    run.wait_with_output().expect("it ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn it_runs_with_any_options_and_gives_the_same() {
    let others =
        ["--workers=1", "--capacity=1", "--policy=batch", "--budget=1M", "--seed=3", "--parts=3"];
    for option in others.into_iter().chain(["--report"]) {
        let output = longest(&["run", "-", option], "a\nlonger\nb");
        assert_eq!(text(&output.stdout), "line 2, 6 characters\n", "{option}");
        assert_eq!(output.status.code(), Some(0));
    }
    let report = longest(&["run", "-", "--report"], "a");
    assert!(text(&report.stderr).contains("measure"), "{}", text(&report.stderr));
}

#[test]
fn it_verifies_what_comes_by_standard_input_and_draws_itself() {
    let output = longest(&["verify", "-"], "a\nlonger\nb");
    assert!(
        text(&output.stdout).starts_with("longest with 1, 2 and 3 parts: equal under"),
        "{}",
        text(&output.stderr)
    );
    let output = longest(&["graph", "-"], "");
    assert!(text(&output.stdout).contains("measure"));
}

#[test]
fn what_is_wrong_is_told_with_its_name_and_ends_with_2() {
    let output = longest(&["run", "missing.txt"], "");
    assert_eq!(text(&output.stderr), "longest: error: missing.txt: no such file\n");
    assert_eq!(output.status.code(), Some(2));
    let output = longest(&["run", "-", "--workers", "99999"], "");
    assert!(text(&output.stderr).contains("at most 4096 are possible"));
    assert_eq!(output.status.code(), Some(2));
    let output = longest(&["run", "-", "--parts", "65"], "");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn its_help_has_its_own_words() {
    let help = text(&longest(&["--help"], "").stdout);
    assert!(help.starts_with("Tells which line of a text has the most characters"), "{help}");
    let help = text(&longest(&["run", "--help"], "").stdout);
    assert!(help.contains("--endless") && help.contains("--workers"), "{help}");
    // It has one form.
    assert!(help.contains("--parts") && !help.contains("--variant"), "{help}");
    assert_eq!(text(&longest(&["--version"], "").stdout), "longest 0.1.0\n");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_stops_a_run_and_a_verification() {
    for verb in ["run", "verify"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longest"));
        let command = command.args([verb, "Cargo.toml", "--endless"]).stdout(Stdio::piped());
        let run = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let id = run.id().to_string();
        let catches_interrupt = || {
            let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = u64::from_str_radix(caught.expect("it is told").trim(), 16);
            caught.expect("a mask") & 1 << 1 != 0
        };
        while !catches_interrupt() {
            std::thread::yield_now();
        }
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.expect("there is such a program").success());
        let output = run.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(130), String::new()));
    }
}

#[test]
fn a_run_that_was_recorded_is_run_again() {
    let folder = std::env::temp_dir().join(format!("longest-{}", std::process::id()));
    fs::create_dir(&folder).expect("it is made");
    let [text_file, file, crash] = ["text", "run.rec", "crash"].map(|name| folder.join(name));
    fs::write(&text_file, "a\nlonger\nb").expect("it is written");
    let [input, file, crash] =
        [&text_file, &file, &crash].map(|path| path.to_str().expect("it is text"));
    let recorded = longest(&["run", input, "--record", file], "");
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded.stderr));
    for workers in ["1", "3"] {
        let again = longest(&["replay", file, "--workers", workers], "");
        assert_eq!(text(&again.stdout), "line 2, 6 characters\n", "{}", text(&again.stderr));
    }
    let held = longest(&["replay", file, "--until", "longest@2"], "");
    assert!(text(&held.stdout).contains("`longest` is held before it receives message 2"));
    // One that ends well leaves nothing.
    assert_eq!(longest(&["run", input, "--bundle", crash], "").status.code(), Some(0));
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 2);
    fs::remove_dir_all(&folder).expect("it is removed");
}
