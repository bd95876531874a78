//! Recording and replay as typed. This is both: the program that is recorded, if the first word is one of its
//! subcommands, and the tests, which start it.
#![cfg(unix)]

mod program;

use kahn::policy::PolicyChoice;
use kahn_observe::record::{Header, Reader, Writer};
use program::CHANGED;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::{env, fs, thread};

fn main() -> ExitCode {
    if matches!(env::args().nth(1).as_deref(), Some("run" | "replay" | "resume")) {
        return program::program();
    }
    a_failure_that_data_decides_comes_again_under_every_schedule();
    a_run_that_ends_well_is_run_again_and_writes_nothing_unless_it_is_asked();
    a_recording_is_of_its_owner_and_is_written_over_nothing();
    what_cannot_be_replayed_is_refused_before_it_runs();
    another_program_is_refused_and_another_version_is_told();
    a_program_that_has_changed_stops_where_histories_part();
    a_recording_that_was_killed_is_replayed_as_far_as_it_goes();
    a_recording_of_a_run_that_was_stopped_says_so_and_goes_on();
    files_that_a_recording_names_are_not_touched();
    what_is_there_before_a_receive_is_shown_the_same_under_every_schedule();
    a_run_that_fails_leaves_what_runs_it_again_and_one_that_ends_well_leaves_nothing();
    a_bundle_without_messages_has_none_of_them();
    a_file_that_was_cut_off_fails_again_without_the_file();
    a_run_is_recorded_and_traced_at_once();
    ExitCode::SUCCESS
}

fn program() -> Command {
    let mut command = Command::new(env::current_exe().expect("it runs"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove(CHANGED).env_remove("RUST_BACKTRACE");
    command
}

fn started(arguments: &[&str], file: &Path) -> Child {
    program().args(arguments).arg(file).spawn().expect("it starts")
}

/// Runs `arguments file` with these lines on standard input.
fn fed(arguments: &[&str], file: &Path, numbers: impl Iterator<Item = u64>) -> Output {
    let lines: Vec<_> = numbers.map(|number| number.to_string()).collect();
    fed_bytes(arguments, file, lines.join("\n").into_bytes())
}

fn fed_bytes(arguments: &[&str], file: &Path, bytes: Vec<u8>) -> Output {
    let mut run = started(arguments, file);
    let mut input = run.stdin.take().expect("it is a pipe");
    // One that fails reads no more.
    let feeder = thread::Builder::new().spawn(move || drop(input.write_all(&bytes)));
    let feeder = feeder.expect("a thread starts");
    let output = run.wait_with_output().expect("it ends");
    feeder.join().expect("it writes");
    output
}

/// Replays a file, without anything on standard input.
fn replayed(file: &Path, more: &[&str]) -> Output {
    let mut command = program();
    command.arg("replay").arg(file).args(more).stdin(Stdio::null());
    command.output().expect("it starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a run says: its exit code, its result, and what it tells of the failure.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let told = text(&output.stderr);
    // Not where a thread panicked, and not what the sink tells, which acts.
    let is_left_out = |line: &str| {
        let by_panics = ["thread '", "the sum is ", "note: run with "];
        by_panics.iter().any(|begin| line.starts_with(begin)) || line.ends_with(" numbers")
    };
    let told = told.lines().filter(|line| !line.is_empty() && !is_left_out(line));
    (output.status.code(), text(&output.stdout), told.collect::<Vec<_>>().join("\n"))
}

/// Numbers of which no sum up to one of them is a multiple of 1009, and then one is.
fn failing() -> impl Iterator<Item = u64> {
    let mut sum = 0;
    let steady = (0..1500_u64).map(move |n| {
        let next = n * 48_271 % 977 + 1;
        let next = if (sum + next) % 1009 == 0 { next + 1 } else { next };
        sum += next;
        (next, sum)
    });
    let (numbers, sums): (Vec<_>, Vec<_>) = steady.unzip();
    let last = 1009 - sums[1499] % 1009;
    numbers.into_iter().chain([last]).chain(1..2000)
}

fn a_failure_that_data_decides_comes_again_under_every_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.rec");
    let recorded = fed(&["run", "--workers", "8", "--record"], &file, failing());
    let (code, result, told) = said(&recorded);
    assert_eq!((code, result.as_str()), (Some(1), ""), "{told}");
    assert!(told.contains("process `add` panicked: the sum is "), "{told}");
    assert!(text(&recorded.stderr).contains(" 1500 numbers"), "the sink acts");
    for policy in kahn_policies::POLICIES.iter().map(PolicyChoice::name) {
        for workers in ["1", "2", "8"] {
            let again = replayed(&file, &["--workers", workers, "--policy", policy]);
            let schedule = format!("{policy}, {workers} workers");
            assert_eq!(said(&again), said(&recorded), "{schedule}");
            assert!(!text(&again.stderr).contains(" numbers"), "{schedule}: the sink acts");
        }
    }
}

fn a_run_that_ends_well_is_run_again_and_writes_nothing_unless_it_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, sink, after] = ["run.rec", "sink", "after"].map(|name| folder.path().join(name));
    let arguments = ["--sink", path(&sink), "--file", path(&after), "--record"];
    let recorded = fed(&[&["run"], &arguments[..]].concat(), &file, 1..=40);
    assert_eq!(said(&recorded), (Some(0), "820\n".to_owned(), String::new()));
    for written in [&sink, &after] {
        fs::write(written, "mine").expect("it is written");
    }
    assert_eq!(said(&replayed(&file, &[])), said(&recorded));
    let content = |path| fs::read_to_string(path).expect("it is there");
    assert_eq!((content(&sink), content(&after)), ("mine".to_owned(), "mine".to_owned()));

    assert_eq!(said(&replayed(&file, &["--with-effects"])), said(&recorded));
    assert_eq!(content(&sink).lines().last(), Some("820"));
    assert_eq!(content(&after), "done\n");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

fn a_recording_is_of_its_owner_and_is_written_over_nothing() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().expect("a folder");
    let [file, link, nowhere] = ["file", "link", "nowhere"].map(|name| folder.path().join(name));
    let run = fed(&["run", "--record"], &file, 1..10);
    assert_eq!(run.status.code(), Some(0));
    let mode = fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let before = fs::read(&file).expect("it is there");
    symlink(&file, &link).expect("it is made");
    symlink("missing", &nowhere).expect("it is made");
    for target in [&file, &link, &nowhere] {
        let (code, result, told) = said(&fed(&["run", "--record"], target, 1..10));
        assert_eq!((code, result.as_str()), (Some(2), ""), "{told}");
        assert!(told.contains("there is such a file or directory"), "{told}");
    }
    assert!(fs::read(&file).expect("it is there") == before);
    assert!(!folder.path().join("missing").exists());
    let nowhere = folder.path().join("no folder/file");
    let (code, _, told) = said(&fed(&["run", "--record"], &nowhere, 1..10));
    assert!(code == Some(2) && told.contains("there is no directory"), "{told}");
}

fn what_cannot_be_replayed_is_refused_before_it_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.rec");
    let refused = fed(&["run", "--bare", "--record"], &file, 1..10);
    let (code, result, told) = said(&refused);
    assert_eq!((code, result.as_str()), (Some(2), ""), "{told}");
    let what = "`lines` sends on channel `read`, whose messages have no written form: give it one by \
                `Channel::wire`";
    assert!(told.contains(what), "{told}");
    assert!(!file.exists());

    let (code, _, told) = said(&replayed(&folder.path().join("missing"), &[]));
    assert!(code == Some(2) && told.contains("missing: "), "{told}");
    fs::write(&file, "KAHN").expect("it is written");
    let (code, _, told) = said(&replayed(&file, &[]));
    assert!(code == Some(2) && told.contains("this is no recording of a run"), "{told}");
}

/// Writes a recording anew, with another header.
fn with_header(from: &Path, to: &Path, change: impl FnOnce(&mut Header)) {
    let mut reader = Reader::open(from).expect("it is a recording");
    let mut header = reader.header().clone();
    change(&mut header);
    let writer = Writer::create(to, &header).expect("it is made");
    while let Some(entry) = reader.read().expect("it is read") {
        writer.append(&entry);
    }
    writer.finish().expect("it is written");
}

fn another_program_is_refused_and_another_version_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, other] = ["run.rec", "other.rec"].map(|name| folder.path().join(name));
    let recorded = fed(&["run", "--record"], &file, 1..10);
    with_header(&file, &other, |header| "words".clone_into(&mut header.program));
    let (code, result, told) = said(&replayed(&other, &[]));
    assert_eq!((code, result.as_str()), (Some(2), ""));
    assert!(told.contains("this is a recording of `words`, not of `replay-"), "{told}");

    let other = folder.path().join("version.rec");
    with_header(&file, &other, |header| "kahn 0.0.1".clone_into(&mut header.version));
    let (code, result, told) = said(&replayed(&other, &[]));
    assert_eq!((code, result.as_bytes()), (Some(0), &recorded.stdout[..]));
    assert!(told.contains("was recorded by kahn 0.0.1; this is kahn "), "{told}");

    let other = folder.path().join("arguments.rec");
    with_header(&file, &other, |header| header.arguments.push("--help".to_owned()));
    let (code, result, _) = said(&replayed(&other, &[]));
    assert_eq!((code, result.as_str()), (Some(2), ""));

    let mut command = program();
    let command = command.arg("replay").arg(&file).env(CHANGED, "name");
    let (code, _, told) = said(&command.output().expect("it starts"));
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("another network") && told.contains("is `last` here and `the last`"),
        "{told}"
    );
}

fn a_program_that_has_changed_stops_where_histories_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.rec");
    let recorded =
        fed(&["run", "--record"], &file, (1..=900).map(|n| if n == 1 { 2 } else { 1009 }));
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded.stderr));
    for workers in ["1", "2", "8"] {
        let mut command = program();
        let command = command.arg("replay").arg(&file).args(["--workers", workers]);
        let output = command.env(CHANGED, "sum").stdin(Stdio::null()).output().expect("it starts");
        let (code, result, told) = said(&output);
        assert_eq!((code, result.as_str()), (Some(1), ""), "{told}");
        let what = "this is not the run that was recorded: message 700 of channel `sums`, from `add`, \
                    differs";
        assert!(told.ends_with(what), "{told}");
    }
}

fn a_recording_that_was_killed_is_replayed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.rec");
    let mut run = started(&["run", "--record"], &file);
    let mut input = run.stdin.take().expect("it is a pipe");
    for _ in 0..20 {
        input.write_all(b"7\n").expect("it is read");
    }
    // Its input stays open, so it goes on; what it has done gets to the disk by itself.
    while sends_in(&file) < 20 {
        thread::yield_now();
    }
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let again = replayed(&file, &[]);
    let (code, result, told) = said(&again);
    assert_eq!((code, result.as_str()), (Some(1), ""), "{told}");
    assert!(
        told.contains("run.rec ends before the run did, which is done again so far: "),
        "{told}"
    );
    for workers in ["1", "8"] {
        assert_eq!(said(&replayed(&file, &["--workers", workers])), said(&again));
    }
    // Cut anywhere, it is one or it is refused.
    let bytes = fs::read(&file).expect("it is there");
    let cut = folder.path().join("cut.rec");
    for length in (0..bytes.len()).step_by(29) {
        fs::write(&cut, &bytes[..length]).expect("it is written");
        let (code, _, told) = said(&replayed(&cut, &[]));
        let expected = if told.contains("recording") { 2 } else { 1 };
        assert_eq!(code, Some(expected), "{length} bytes: {told}");
    }
}

fn a_recording_of_a_run_that_was_stopped_says_so_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, sink] = ["run.rec", "sink"].map(|name| folder.path().join(name));
    let mut run = started(&["run", "--sink", path(&sink), "--record"], &file);
    let mut input = run.stdin.take().expect("it is a pipe");
    for _ in 0..20 {
        input.write_all(b"7\n").expect("it is read");
    }
    while sends_in(&file) < 20 {
        thread::yield_now();
    }
    let interrupt = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    assert!(interrupt.expect("the system does it").success());
    // What it writes is removed when it stops.
    while names_in(folder.path()) != ["run.rec"] {
        thread::yield_now();
    }
    // One line more, so that the thread ends that waits for it; its input has not.
    input.write_all(b"7\n").expect("it is read");
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    assert_eq!(names_in(folder.path()), ["run.rec"]);
    let (code, _, told) = said(&replayed(&file, &[]));
    let what = "run.rec ends before the run did, which is done again so far: the run was stopped";
    assert!(code == Some(1) && told.contains(what), "{told}");

    // Fed again, and more; and something else first.
    let (code, result, told) = said(&fed(&["resume"], &file, [7, 8].into_iter()));
    assert_eq!((code, result.as_str()), (Some(1), ""), "{told}");
    let parts =
        "this is not the run that was recorded: message 2 of channel `read`, from `lines`, differs";
    assert!(told.ends_with(parts), "{told}");
    assert!(told.contains("`lines` begins again, and must send what it sent"), "{told}");
    assert!(told.contains("goes on with: "), "{told}");
    let (code, result, told) = said(&fed(&["resume"], &file, [7; 30].into_iter()));
    assert_eq!((code, result.as_str()), (Some(0), "210\n"), "{told}");
    let written = fs::read_to_string(&sink).expect("it is there");
    assert_eq!(
        written.lines().map(str::parse).collect::<Vec<_>>(),
        (1..=30).map(|n| Ok(7 * n)).collect::<Vec<Result<u64, _>>>()
    );
    assert_eq!(names_in(folder.path()), ["run.rec", "sink"]);
    let (code, result, told) = said(&replayed(&file, &[]));
    assert_eq!((code, result.as_str(), told.as_str()), (Some(0), "210\n", ""));
}

/// How many messages a recording has that were sent.
fn sends_in(file: &Path) -> usize {
    use kahn_observe::record::{Act, Entry};

    let Ok(mut reader) = Reader::open(file) else { return 0 };
    let mut count = 0;
    while let Ok(Some(entry)) = reader.read() {
        count += usize::from(matches!(entry, Entry::Acts { act: Act::Sends { .. }, .. }));
    }
    count
}

fn files_that_a_recording_names_are_not_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, hostile] = ["run.rec", "hostile.rec"].map(|name| folder.path().join(name));
    let recorded = fed(&["run", "--record"], &file, 1..10);
    let names = ["--report-json", "--svg", "--trace", "--trace-on-failure", "--file"];
    let named: Vec<PathBuf> = names.iter().map(|name| folder.path().join(&name[2..])).collect();
    for (name, path) in names.iter().zip(&named) {
        let _ = fs::remove_file(&hostile);
        with_header(&file, &hostile, |header| {
            header.arguments =
                vec!["run".to_owned(), (*name).to_owned(), self::path(path).to_owned()];
        });
        assert_eq!(said(&replayed(&hostile, &[])), said(&recorded), "{name}");
        assert!(!path.exists(), "{name}");
    }
}

fn what_is_there_before_a_receive_is_shown_the_same_under_every_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.rec");
    let recorded = fed(&["run", "--workers", "2", "--record"], &file, failing());
    assert_eq!(recorded.status.code(), Some(1));
    // Before the last message that does no harm.
    let mut first: Option<String> = None;
    for policy in kahn_policies::POLICIES.iter().map(PolicyChoice::name) {
        for workers in ["1", "2", "8"] {
            let schedule = ["--workers", workers, "--policy", policy];
            let output = replayed(&file, &[&["--until", "add@1500"], &schedule[..]].concat());
            let (code, result, told) = said(&output);
            assert_eq!((code, told.as_str()), (Some(0), ""), "{schedule:?}");
            assert_eq!(*first.get_or_insert(result.clone()), result, "{schedule:?}");
        }
    }
    let shown = first.unwrap_or_default();
    let is_held = "`add` is held before it receives message 1500 from `read`";
    let last: u64 = failing().nth(1500).expect("it fails there");
    let bytes: Vec<_> = last.to_le_bytes().iter().map(|byte| format!(" {byte:02x}")).collect();
    for line in [is_held, "`read` holds ", &format!("  1501  8 bytes:{}", bytes.concat())] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for (place, what) in [
        ("add", "expected a process, `@`, and the number"),
        ("add@0", "expected a process, `@`, and the number"),
        ("@3", "expected a process, `@`, and the number"),
        ("ad@3", "there is no process `ad`, but `lines`, `add`"),
        ("add@1502", "`add` does not come to receive 1502"),
    ] {
        let (code, result, told) = said(&replayed(&file, &["--until", place]));
        assert_eq!((code, result.as_str()), (Some(2), ""), "{place}");
        assert!(told.contains(what), "{place}: {told}");
    }
    let (code, result, told) = said(&replayed(&file, &["--until", "add@3", "--ranks", "2"]));
    assert_eq!((code, result.as_str()), (Some(2), ""));
    assert!(
        told.contains("--until shows a run on one rank")
            && told.contains("help: leave --ranks out"),
        "{told}"
    );
}

/// What is in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("it is there").file_name();
    let mut names: Vec<_> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn a_run_that_fails_leaves_what_runs_it_again_and_one_that_ends_well_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().expect("a folder");
    let crash = folder.path().join("crash");
    let well = fed(&["run", "--bundle"], &crash, 1..=40);
    assert_eq!(said(&well), (Some(0), "820\n".to_owned(), String::new()));
    assert!(!crash.exists());
    // One that does not run leaves nothing either.
    let refused = fed(&["run", "--bare", "--bundle"], &crash, 1..=40);
    assert!(refused.status.code() == Some(2) && !crash.exists(), "{}", text(&refused.stderr));

    let failed = fed(&["run", "--workers", "8", "--bundle"], &crash, failing());
    let (code, _, told) = said(&failed);
    assert!(code == Some(1) && told.contains("has what is needed to run this again"), "{told}");
    let files = ["README.md", "explanation.txt", "report.json", "run.rec"];
    assert_eq!(names_in(&crash), files);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&crash), 0o700);
    assert!(files.iter().all(|file| mode(&crash.join(file)) == 0o600));
    let content = |name: &str| fs::read_to_string(crash.join(name)).expect("it is text");
    let why = content("explanation.txt");
    assert!(told.contains(why.trim_end()) && why.contains("process `add` panicked"), "{why}");
    assert!(content("report.json").contains("\"outcome\": \"failed\""));

    // As the page says, in the folder.
    let page = content("README.md");
    let line = page.lines().find_map(|line| line.strip_prefix("    ")).expect("a command");
    let mut words = line.split(' ');
    let called = env::current_exe().expect("it runs");
    assert_eq!(words.next(), called.file_name().and_then(|name| name.to_str()));
    let again = program().args(words).current_dir(&crash).stdin(Stdio::null()).output();
    let (code, _, again) = said(&again.expect("it starts"));
    assert!(code == Some(1) && again.contains(why.trim_end()), "{again}");

    let (code, _, told) = said(&fed(&["run", "--bundle"], &crash, 1..=40));
    assert!(code == Some(2) && told.contains("there is such a file or directory"), "{told}");
    assert_eq!(names_in(&crash), files);
}

fn a_bundle_without_messages_has_none_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    // Bytes that stand nowhere else.
    let secret = u64::from_le_bytes(*b"swordfis");
    let numbers = [1, secret, 1009 - (secret + 1) % 1009, 5];
    let has_secret = |crash: &Path| {
        let files = names_in(crash).into_iter().map(|name| fs::read(crash.join(name)));
        let mut files = files.map(|bytes| bytes.expect("it is there"));
        files.any(|bytes| bytes.windows(8).any(|bytes| bytes == b"swordfis"))
    };
    for (more, has) in [(&[][..], true), (&["--bundle-without-messages", "--bare"], false)] {
        let crash = folder.path().join(has.to_string());
        let arguments = [&["run"], more, &["--bundle"]].concat();
        let failed = fed(&arguments, &crash, numbers.into_iter());
        assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
        assert_eq!(has_secret(&crash), has);
    }
    let file = folder.path().join("false/run.rec");
    let (code, _, told) = said(&replayed(&file, &[]));
    assert!(code == Some(2) && told.contains("digests of messages alone"), "{told}");
}

fn a_file_that_was_cut_off_fails_again_without_the_file() {
    use flate2::{Compression, write::GzEncoder};

    let folder = tempfile::tempdir().expect("a folder");
    let mut number = 1_u64;
    let words = (0..20_000).map(|_| {
        number = number * 48_271 % 2_147_483_647;
        format!("{number} ")
    });
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(words.collect::<Vec<_>>().concat().as_bytes()).expect("it is memory");
    let whole = encoder.finish().expect("it is memory");
    let cut = whole[..whole.len() / 2].to_vec();
    for (name, bytes, code) in [("whole", whole, Some(0)), ("cut", cut, Some(1))] {
        let file = folder.path().join(name);
        let recorded = fed_bytes(&["run", "--gzip", "--workers", "8", "--record"], &file, bytes);
        let (is, result, told) = said(&recorded);
        assert_eq!((is, result.is_empty()), (code, code == Some(1)), "{told}");
        assert!(code == Some(0) || told.contains("process `unpack` failed: "), "{told}");
        for workers in ["1", "2", "8"] {
            assert_eq!(
                said(&replayed(&file, &["--workers", workers])),
                said(&recorded),
                "{workers}"
            );
        }
    }
}

fn a_run_is_recorded_and_traced_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, trace] = ["run.rec", "run.perfetto-trace"].map(|name| folder.path().join(name));
    let arguments = ["run", "--workers", "2", "--trace", path(&trace), "--record"];
    let recorded = fed(&arguments, &file, failing());
    assert!(recorded.status.code() == Some(1) && trace.exists(), "{}", text(&recorded.stderr));
    fs::remove_file(&trace).expect("it is there");
    assert_eq!(said(&replayed(&file, &["--workers", "1"])), said(&recorded));
    assert!(!trace.exists());
}
