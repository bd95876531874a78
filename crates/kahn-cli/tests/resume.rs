//! Runs that are killed and go on, until they end: with the bytes of one that was not killed.
//!
//! A run is killed when its recording has a random length, so at any place of its work, again and again; what a kill
//! leaves goes on with `kahn resume`. `KAHN_KILLS=100` has it killed so often, in place of a few times.
#![cfg(unix)]

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// How often each program is killed.
fn kills() -> usize {
    #[expect(clippy::disallowed_methods, reason = "how often, not what")]
    let kills = env::var("KAHN_KILLS").ok();
    kills.map_or(6, |kills| kills.parse().expect("KAHN_KILLS is a number"))
}

/// Numbers that look random, the same in each run of the test: what happens between them is not.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

fn kahn(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kahn"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

fn done(mut command: Command) -> Output {
    let output = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    output
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let names = entries.map(|entry| entry.expect("it is read").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |facts| facts.len())
}

/// Kills it when the recording is as long; returns whether it was still there.
fn is_killed_at(mut run: Child, recording: &Path, goal: u64) -> bool {
    while length(recording) < goal && run.try_wait().expect("it is a child").is_none() {
        thread::yield_now();
    }
    // It may have ended, which is no error.
    let _ = run.kill();
    let output = run.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{told}");
    is_killed
}

/// Has a run killed so often, and compares the files that it writes, and what it shows, with those of a whole one.
///
/// Returns how often it was killed, in how many runs, and how often one of them.
fn killed_and_resumed(typed: &[&str], inputs: &[(&str, &[u8])], written: &[&str]) -> String {
    let begin = |folder: &Path| {
        let write = |(name, bytes): &(&str, &[u8])| fs::write(folder.join(name), bytes);
        inputs.iter().try_for_each(write).expect("it is written");
    };
    let run = [&["run"], typed, &["--save-each", "1", "--record", "run.rec"]].concat();
    let whole = tempfile::tempdir().expect("a folder");
    begin(whole.path());
    let shown = done(kahn(whole.path(), &run)).stdout;
    let expected: Vec<_> = written.iter().map(|name| fs::read(whole.path().join(name))).collect();
    let expected: Vec<Vec<u8>> =
        expected.into_iter().map(|bytes| bytes.expect("it is there")).collect();
    let all = length(&whole.path().join("run.rec"));
    let mut left = names(whole.path());
    left.sort();

    let mut numbers = Numbers(all);
    let (mut killed, mut runs, mut in_a_row, mut most) = (0, 0, 0, 0);
    let mut folder = tempfile::tempdir().expect("a folder");
    begin(folder.path());
    while killed < kills() {
        let recording = folder.path().join("run.rec");
        let before = length(&recording);
        let again = ["resume", "run.rec", "--workers", ["1", "2", "3"][killed % 3]];
        let mut command = kahn(folder.path(), if before == 0 { &run } else { &again });
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let goal = before + 1 + numbers.below(all / 12);
        if is_killed_at(child.expect("it starts"), &recording, goal) {
            (killed, in_a_row) = (killed + 1, in_a_row + 1);
            // One that had not begun leaves nothing, or a recording of nothing.
            if length(&recording) == 0 {
                let _ = fs::remove_file(&recording);
            }
            if killed < kills() {
                continue;
            }
        }
        let resumed = done(kahn(folder.path(), &["resume", "run.rec"]));
        assert!(resumed.stdout == shown, "it shows the same after {in_a_row} kills");
        for (name, expected) in written.iter().zip(&expected) {
            let bytes = fs::read(folder.path().join(name)).expect("it is there");
            assert!(bytes == *expected, "{name} is the same after {in_a_row} kills");
        }
        assert_eq!(names(folder.path()), left, "nothing else is left");
        let replayed = done(kahn(folder.path(), &["replay", "run.rec"]));
        assert!(replayed.stdout == shown, "it is a recording of the run");
        (runs, most, in_a_row) = (runs + 1, most.max(in_a_row), 0);
        folder = tempfile::tempdir().expect("a folder");
        begin(folder.path());
    }
    format!("{}: {killed} kills in {runs} runs, {most} of one", typed[0])
}

/// A text of many words, each some times.
fn text() -> Vec<u8> {
    let mut numbers = Numbers(7);
    let word = |number: u64| {
        let letter =
            |at| char::from(b'a' + u8::try_from(number / 26_u64.pow(at) % 26).expect("small"));
        (0..4).map(letter).collect::<String>()
    };
    let words = (0..120_000).map(|_| {
        let most = 1 + numbers.below(120_000);
        word(numbers.below(most))
    });
    words.collect::<Vec<_>>().join(" ").into_bytes()
}

#[test]
fn word_count_goes_on_to_the_same_bytes() {
    let typed = ["wordcount", "book.txt", "--parts", "3", "-o", "counts.txt"];
    let told = killed_and_resumed(&typed, &[("book.txt", &text())], &["counts.txt"]);
    println!("{told}");
}

#[test]
fn k_means_goes_on_to_the_same_bytes() {
    let typed = [
        "kmeans",
        "points.csv",
        "--groups",
        "20",
        "--parts",
        "3",
        "--rounds",
        "rounds.csv",
        "--assignments",
        "groups.txt",
    ];
    let mut numbers = Numbers(9);
    let mut row = || format!("{},{}\n", numbers.below(10_000), numbers.below(10_000));
    let points: String = (0..4000).map(|_| row()).collect();
    let written = ["rounds.csv", "groups.txt"];
    let told = killed_and_resumed(&typed, &[("points.csv", points.as_bytes())], &written);
    println!("{told}");
}

/// What is told when it goes on.
fn told(folder: &Path) -> (Option<i32>, String) {
    let output = kahn(folder, &["resume", "run.rec"]).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_goes_on_is_shown_and_traced_as_it_was_and_replaces_no_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, trace) = (folder.path().join("run.rec"), folder.path().join("a.trace"));
    fs::write(folder.path().join("book.txt"), "to be or not to be").expect("it is written");
    let run = ["run", "wordcount", "book.txt", "--trace", "a.trace", "--serve", "127.0.0.1:0"];
    done(kahn(folder.path(), &[&run[..], &["--record", "run.rec"]].concat()));
    let bytes = fs::read(&recording).expect("it is there");
    let header = 16 + u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes")) as usize;
    fs::write(&recording, &bytes[..header]).expect("it is written");

    let first = fs::read(&trace).expect("it is there");
    let (code, why) = told(folder.path());
    assert!(code == Some(2) && why.contains("a.trace: it is there from before"), "{why}");
    assert!(fs::read(&trace).expect("it is there") == first, "it is left as it was");
    assert_eq!(length(&recording), header as u64, "nothing has run");

    fs::remove_file(&trace).expect("it is there");
    let (code, why) = told(folder.path());
    assert_eq!(code, Some(0), "{why}");
    assert!(why.contains("http://127.0.0.1:"), "it is served: {why}");
    let summary = done(kahn(folder.path(), &["trace", "summary", "a.trace"])).stdout;
    assert!(String::from_utf8_lossy(&summary).contains("count"), "it is a trace of the network");
}

#[test]
fn what_goes_on_is_told_and_a_changed_input_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (book, recording): (PathBuf, PathBuf) =
        (folder.path().join("my book.txt"), folder.path().join("run.rec"));
    fs::write(&book, "to be or not to be").expect("it is written");
    let run = ["run", "wordcount", "my book.txt", "-o", "counts.txt", "--record", "run.rec"];
    done(kahn(folder.path(), &run));
    // It has not ended: the recording has its header alone.
    let bytes = fs::read(&recording).expect("it is there");
    let header = 16 + u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes")) as usize;
    fs::write(&recording, &bytes[..header]).expect("it is written");
    let (code, why) = told(folder.path());
    let line = "goes on with: kahn run wordcount 'my book.txt' -o counts.txt --record run.rec";
    assert!(code == Some(0) && why.contains(line), "{why}");
    assert!(why.contains("`write` does all again from the beginning"), "{why}");
    assert_eq!(fs::read(folder.path().join("counts.txt")).ok().map(|bytes| bytes.len()), Some(21));

    fs::write(&recording, &bytes[..header]).expect("it is written");
    fs::write(&book, "to be or not to bee").expect("it is written");
    fs::remove_file(folder.path().join("counts.txt")).expect("it is there");
    let (code, why) = told(folder.path());
    assert!(code == Some(2) && why.contains("`my book.txt` has 19 bytes and had 18"), "{why}");
    assert_eq!(names(folder.path()), ["my book.txt", "run.rec"]);
}
