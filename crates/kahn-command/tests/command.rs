//! A command for a network, as typed. This file is both: the program, if the first word is one of its
//! subcommands, and the tests, which start it.

use kahn_command::{Answer, Parts};
use std::env;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output};
#[cfg(target_os = "linux")]
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::mpsc,
    thread,
};

/// Tells of each word how many characters of its beginning the word before it has, too.
#[derive(clap::Args)]
struct Arguments {
    /// The words
    words: Vec<String>,

    /// Forgets to clear what is used again
    #[arg(long)]
    planted: bool,

    /// Writes the words into this file while the network runs
    #[arg(long)]
    sink: Option<PathBuf>,

    /// Never ends
    #[arg(long)]
    endless: bool,

    /// Has that file wait for the end of standard input, and tells so
    #[arg(long)]
    slow: bool,

    /// Writes a word into this file after the run, tells so, and goes on when standard input ends
    #[arg(long)]
    file: Option<PathBuf>,
}

/// A compressor that writes what a word has in common with what it has seen since it was reset.
#[derive(Clone, Default)]
struct Deflate {
    seen: String,
}

impl Deflate {
    fn deflate(&mut self, word: &str, is_planted: bool) -> String {
        // The reset.
        if !is_planted {
            self.seen.clear();
        }
        let common = word.chars().zip(self.seen.chars()).take_while(|(a, b)| a == b).count();
        word.clone_into(&mut self.seen);
        format!("{common}{}", word.chars().skip(common).collect::<String>())
    }
}

/// What a sink writes; if it is slow, not before standard input has ended.
struct Chunk<'a> {
    word: &'a str,
    is_slow: bool,
}

impl AsRef<[u8]> for Chunk<'_> {
    fn as_ref(&self) -> &[u8] {
        if self.is_slow {
            kahn_command::note("slow");
            std::io::stdin().read_to_end(&mut Vec::new()).expect("it is read");
        }
        self.word.as_bytes()
    }
}

fn program() -> ExitCode {
    kahn_command::main_with_parts(
        Parts { default: 2, most: 8 },
        |arguments: Arguments| Ok(arguments),
        |arguments, parts, network| {
            let is_planted = arguments.planted;
            let words = network.source("words", arguments.words.iter().map(String::as_str));
            let make = Deflate::default;
            let deflated =
                network.parallel_map_with("deflate", words, parts, make, move |state, word| {
                    state.deflate(word, is_planted)
                });
            if let Some(sink) = &arguments.sink {
                let rounds = if arguments.endless { usize::MAX } else { 1 };
                let words = (0..rounds).flat_map(|_| &arguments.words);
                let is_slow = arguments.slow;
                let words = words.map(move |word| Chunk { word, is_slow });
                let words = network.source("words for the sink", words);
                network.write_file("sink", words, sink);
            }
            let all = network.collect("all", deflated);
            let answer = Answer::new(move |out| {
                all.take().iter().flatten().try_for_each(|word| writeln!(out, "{word}"))
            });
            Ok(match &arguments.file {
                Some(file) => answer.file(file, |out| {
                    out.write_all(b"half")?;
                    kahn_command::note("half");
                    std::io::stdin().read_to_end(&mut Vec::new())?;
                    Ok(())
                }),
                None => answer,
            })
        },
    )
}

fn main() -> ExitCode {
    if matches!(env::args().nth(1).as_deref(), Some("run" | "verify" | "graph")) {
        return program();
    }
    state_that_was_reset_is_found_and_named_and_all_else_is_equal();
    numbers_of_parts_are_checked();
    #[cfg(target_os = "linux")]
    {
        live_lines_tell_what_each_process_does();
        ctrl_c_while_a_file_is_written_leaves_nothing();
        a_run_that_is_asked_says_what_it_waits_for_and_goes_on();
        a_traced_run_that_is_asked_leaves_what_has_happened_and_goes_on();
        ctrl_c_of_a_run_with_a_file_sink_leaves_the_old_file_and_nothing_else();
        a_second_ctrl_c_leaves_the_old_file_and_nothing_else();
        a_named_pipe_is_written_to_and_stays_one();
        a_link_stays_one_for_a_sink_and_for_a_result();
    }
    ExitCode::SUCCESS
}

fn typed(line: &str) -> Output {
    let program = env::current_exe().expect("it runs");
    Command::new(program).args(line.split(' ')).output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn state_that_was_reset_is_found_and_named_and_all_else_is_equal() {
    let right = typed("verify --parts 2,3,8 aa ab ac ad");
    let told = text(&right.stdout);
    assert_eq!(right.status.code(), Some(0), "{}", text(&right.stderr));
    assert!(told.contains(" with 2, 3 and 8 parts: equal under "), "{told}");

    let planted = typed("verify --parts 2,3,8 aa ab ac ad --planted");
    let told = text(&planted.stderr);
    assert_eq!((planted.status.code(), text(&planted.stdout)), (Some(1), String::new()));
    let expected = "with 2 parts the result is that of the first run, and with 3 parts `0ac` in line 3 \
                    instead of `1c`: message 3 on channel `deflate gather`, written by process \
                    `deflate gather`, is the first that is another; something influences results that \
                    depends on which part does what, such as memory that is used again";
    assert!(told.contains(expected), "{told}");

    // Unless one says otherwise, several numbers are compared.
    let told = text(&typed("verify aa ab ac ad").stdout);
    assert!(told.contains(" with 1, 2 and 3 parts: equal under "), "{told}");
    assert_eq!(typed("verify aa ab ac ad --planted").status.code(), Some(1));
    // With one number alone there is nothing to see: each run deals out in the same way.
    assert_eq!(typed("verify --parts 2 aa ab ac ad --planted").status.code(), Some(0));
    for (parts, line) in [("2", "1c"), ("3", "0ac")] {
        let run = typed(&format!("run --parts {parts} aa ab ac ad --planted"));
        assert_eq!(text(&run.stdout).lines().nth(2), Some(line));
    }
}

fn numbers_of_parts_are_checked() {
    for (line, what) in [
        ("verify --parts 2,9 a", "--parts 9 is more than"),
        ("verify --parts 2,,3 a", "expected a whole number, 1 or more"),
        ("run --parts 2,3 a", "expected a whole number, 1 or more"),
    ] {
        let output = typed(line);
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(what), "{line}: {told}");
    }
    let help = text(&typed("verify --help").stdout);
    let verify = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(verify.contains("--parts <N,…>") && verify.contains("1,2,3 unless set [at most 8]"));
    let help = text(&typed("run --help").stdout);
    assert!(help.contains("default: 2, at most 8"), "{help}");
}

#[cfg(target_os = "linux")]
fn started(arguments: &[&str], file: &Path) -> Child {
    let mut command = Command::new(env::current_exe().expect("it runs"));
    let command = command.args(arguments).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().expect("it starts")
}

#[cfg(target_os = "linux")]
fn press_ctrl_c(run: &Child) {
    signal(run, "-INT");
}

#[cfg(target_os = "linux")]
fn signal(run: &Child, signal: &str) {
    let kill = Command::new("kill").args([signal, &run.id().to_string()]).status();
    assert!(kill.expect("there is such a program").success());
}

#[cfg(target_os = "linux")]
fn named_pipe_in(folder: &Path) -> PathBuf {
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("there is such a program").success());
    pipe
}

#[cfg(target_os = "linux")]
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is a folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("it is there").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(target_os = "linux")]
fn ctrl_c_while_a_file_is_written_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = started(&["run", "a", "--file"], &folder.path().join("answer"));
    // It says when it has begun to write, and then waits for the end of its input.
    let mut told = String::new();
    let stderr = run.stderr.as_mut().expect("it is a pipe");
    BufReader::new(stderr).read_line(&mut told).expect("it tells");
    assert!(told.ends_with(": half\n"), "{told}");
    assert_eq!(names_in(folder.path()).len(), 1);
    press_ctrl_c(&run);
    // Its input stays open until it has ended.
    let input = run.stdin.take();
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    drop(input);
    assert_eq!(names_in(folder.path()), [""; 0]);
}

/// A run that was stopped ends, whether its sink had come to open its pipe or not.
#[cfg(target_os = "linux")]
fn ends_when_its_pipe_is_read(mut run: Child, pipe: &Path) {
    use std::os::unix::fs::OpenOptionsExt as _;

    // One that waits for a writer would wait for ever for a run that has ended.
    let pipe = fs::File::options().read(true).custom_flags(libc::O_NONBLOCK).open(pipe);
    let mut pipe = pipe.expect("it is there");
    let status = loop {
        if let Some(status) = run.try_wait().expect("it is a child") {
            break status;
        }
        let _ = pipe.read(&mut [0; 4096]);
        thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
}

#[cfg(target_os = "linux")]
fn catches(run: &Child, number: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", run.id())).expect("it is there");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("it is told");
    // Bits, from signal 1 on.
    u64::from_str_radix(caught.trim(), 16).expect("a number") >> (number - 1) & 1 == 1
}

#[cfg(target_os = "linux")]
fn a_run_that_is_asked_says_what_it_waits_for_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nothing reads the pipe, so the sink's process cannot go on, and all others wait for it.
    let pipe = named_pipe_in(folder.path());
    let mut run = started(&["run", "a", "b", "--endless", "--sink"], &pipe);
    let lines = BufReader::new(run.stderr.take().expect("it is a pipe")).lines();
    // The system ends what does not catch it yet.
    while !catches(&run, 3) {
        thread::yield_now();
    }
    let (tell, told) = mpsc::channel();
    let read = move || {
        let mut lines = lines.map(|line| line.expect("it is text"));
        assert!(lines.any(|line| line.ends_with(": it runs:")));
        assert!(lines.any(|line| line.contains("`words for the sink` waits to send message")));
        tell.send(()).expect("it is awaited");
        // What it says behind that fills no pipe.
        lines.count()
    };
    let reader = thread::Builder::new().spawn(read).expect("a thread starts");
    // The first answers may come before the run, and before that wait.
    while told.try_recv().is_err() {
        assert!(!reader.is_finished(), "it says something else");
        signal(&run, "-QUIT");
    }
    press_ctrl_c(&run);
    ends_when_its_pipe_is_read(run, &pipe);
    reader.join().expect("it read on");
}

#[cfg(target_os = "linux")]
fn a_traced_run_that_is_asked_leaves_what_has_happened_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nothing reads the pipe: see above.
    let pipe = named_pipe_in(folder.path());
    let traces = folder.path().join("traces");
    let traces_typed = traces.to_str().expect("it is text");
    let line = ["run", "a", "b", "--endless", "--trace-on-failure", traces_typed, "--sink"];
    let mut run = started(&line, &pipe);
    let lines = BufReader::new(run.stderr.take().expect("it is a pipe")).lines();
    while !catches(&run, 10) {
        thread::yield_now();
    }
    signal(&run, "-USR1");
    let mut lines = lines.map(|line| line.expect("it is text"));
    let told = lines.find(|line| line.contains("what happened till now is in ")).expect("it is");
    let path = told.split("what happened till now is in ").nth(1).expect("it is told");
    let bytes = fs::read(path).expect("a whole file");
    assert!(kahn_observe::trace::Timeline::read(&bytes).is_ok());
    assert!(run.try_wait().expect("it is a child").is_none(), "it goes on");
    press_ctrl_c(&run);
    let reader = thread::Builder::new().spawn(move || lines.count()).expect("a thread starts");
    ends_when_its_pipe_is_read(run, &pipe);
    reader.join().expect("it read on");
}

#[cfg(target_os = "linux")]
fn live_lines_tell_what_each_process_does() {
    let folder = tempfile::tempdir().expect("a folder");
    // Nothing reads the pipe, so the sink's process cannot go on, and all others wait for it.
    let pipe = named_pipe_in(folder.path());
    let mut run = started(&["run", "a", "b", "--endless", "--live=json", "--sink"], &pipe);
    let mut lines = BufReader::new(run.stderr.take().expect("it is a pipe")).lines();
    let mut view = || -> serde_json::Value {
        let line = lines.next().expect("it is told").expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    // The source fills its channel first.
    let view = loop {
        let view = view();
        let processes = view["processes"].as_array().expect("a list");
        let source = processes.iter().find(|process| process["name"] == "words for the sink");
        if source.expect("it is there")["doing"] == "full" {
            break view;
        }
    };
    assert_eq!(view["of_processes"]["first"], 0);
    assert_eq!(view["of_processes"]["count"], view["of_processes"]["all"]);
    for process in view["processes"].as_array().expect("a list") {
        let share = |name: &str| process[name].as_f64().expect("a share");
        let all: f64 = ["busy", "ready", "empty", "full", "outside"].map(share).iter().sum();
        assert!((all - 1.0).abs() < 1e-9, "{process}");
    }
    let channels = view["channels"].as_array().expect("a list");
    let full = channels.iter().find(|channel| channel["name"] == "words for the sink");
    let full = full.expect("it is there");
    assert_eq!(full["waiting"], full["capacity"], "{full}");
    press_ctrl_c(&run);
    ends_when_its_pipe_is_read(run, &pipe);
    // No terminal here, and without the feature nothing for one.
    let told = typed("run a --live");
    assert!(text(&told.stderr).contains("`--live=json` writes lines"), "{}", text(&told.stderr));
    assert_eq!(told.status.code(), Some(if cfg!(feature = "live") { 0 } else { 2 }));
}

#[cfg(target_os = "linux")]
fn ctrl_c_of_a_run_with_a_file_sink_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("words");
    fs::write(&target, "old").expect("it is written");
    let run = started(&["run", "a", "b", "--endless", "--sink"], &target);
    // What it writes to is beside the target.
    while names_in(folder.path()).len() < 2 {
        thread::yield_now();
    }
    press_ctrl_c(&run);
    let output = run.wait_with_output().expect("it ends");
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(130), String::new()), "{told}");
    assert_eq!(names_in(folder.path()), ["words"]);
    assert_eq!(fs::read_to_string(&target).expect("it is there"), "old");
}

/// The next line of what it tells a person.
#[cfg(target_os = "linux")]
fn told_next(stderr: &mut impl BufRead) -> String {
    let mut told = String::new();
    stderr.read_line(&mut told).expect("it tells");
    told
}

#[cfg(target_os = "linux")]
fn a_second_ctrl_c_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("words");
    fs::write(&target, "old").expect("it is written");
    let mut run = started(&["run", "a", "--slow", "--sink"], &target);
    let mut stderr = BufReader::new(run.stderr.take().expect("it is a pipe"));
    // The sink has begun its file, and does not come to where a stop would end it.
    assert!(told_next(&mut stderr).ends_with(": slow\n"));
    assert_eq!(names_in(folder.path()).len(), 2);
    press_ctrl_c(&run);
    let told = told_next(&mut stderr);
    assert!(told.contains("stopping; press Ctrl-C again"), "{told}");
    press_ctrl_c(&run);
    // Its input stays open until it has ended.
    let input = run.stdin.take();
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    drop(input);
    let mut told = String::new();
    stderr.read_to_string(&mut told).expect("it tells");
    assert!(told.contains("not everything has stopped"), "{told}");
    assert_eq!(names_in(folder.path()), ["words"]);
    assert_eq!(fs::read_to_string(&target).expect("it is there"), "old");
}

#[cfg(target_os = "linux")]
fn a_link_stays_one_for_a_sink_and_for_a_result() {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    let folder = tempfile::tempdir().expect("a folder");
    let [file, link, nowhere] = ["file", "link", "nowhere"].map(|name| folder.path().join(name));
    fs::write(&file, "old content").expect("it is written");
    symlink("file", &link).expect("it is made");
    symlink("made", &nowhere).expect("it is made");
    let inode = fs::metadata(&file).expect("it is there").ino();
    for (option, content) in [("--sink", "ab"), ("--file", "half")] {
        for (target, behind) in [(&link, &file), (&nowhere, &folder.path().join("made"))] {
            let mut run = started(&["run", "a", "b", option], target);
            drop(run.stdin.take());
            assert_eq!(run.wait().expect("it ends").code(), Some(0));
            assert!(fs::symlink_metadata(target).expect("it is there").is_symlink(), "{option}");
            assert_eq!(fs::read_to_string(behind).expect("it is there"), content, "{option}");
        }
        // In place: it is the same file, not another of its name.
        assert_eq!(fs::metadata(&file).expect("it is there").ino(), inode, "{option}");
        assert_eq!(names_in(folder.path()), ["file", "link", "made", "nowhere"]);
        fs::remove_file(folder.path().join("made")).expect("it is removed");
    }
}

#[cfg(target_os = "linux")]
fn a_named_pipe_is_written_to_and_stays_one() {
    use std::os::unix::fs::FileTypeExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let pipe = named_pipe_in(folder.path());
    for (option, content) in [("--sink", "ab"), ("--file", "half")] {
        let mut run = started(&["run", "a", "b", option], &pipe);
        drop(run.stdin.take());
        assert_eq!(fs::read_to_string(&pipe).expect("it is read"), content, "{option}");
        assert_eq!(run.wait().expect("it ends").code(), Some(0));
        assert!(fs::metadata(&pipe).expect("it is there").file_type().is_fifo());
    }
    assert_eq!(names_in(folder.path()), ["pipe"]);
    // Standard output is a file here, and no file is put in its place.
    let output = fs::File::create(folder.path().join("output")).expect("it is made");
    let mut command = Command::new(env::current_exe().expect("it runs"));
    let command = command.args(["run", "a", "--file", "/dev/stdout"]).stdin(Stdio::null());
    let run = command.stdout(output).status().expect("it starts");
    assert_eq!(run.code(), Some(0));
    let written = fs::read_to_string(folder.path().join("output")).expect("it is there");
    assert_eq!(written, "half0a\n");
    // The sink of a network writes where the result is written, and neither over the other.
    let output = fs::File::create(folder.path().join("output")).expect("it is made");
    let mut command = Command::new(env::current_exe().expect("it runs"));
    let command = command.args(["run", "a", "--sink", "/dev/stdout"]).stdin(Stdio::null());
    let run = command.stdout(output).status().expect("it starts");
    assert_eq!(run.code(), Some(0));
    let written = fs::read_to_string(folder.path().join("output")).expect("it is there");
    assert_eq!(written, "a0a\n");
    assert_eq!(names_in(folder.path()), ["output", "pipe"]);
}
