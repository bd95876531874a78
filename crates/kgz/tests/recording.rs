//! What was read of an input is recorded once, and done again from the file: the same messages and the same exit
//! code, on any number of threads, with nothing read and nothing written.
#![cfg(feature = "record")]

mod common;
#[path = "common/program.rs"]
mod program;

use common::text;
use kahn_observe::record::{Header, Reader, Writer};
use program::{code, fed as kgz, names, told};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// Compressed words, in a format.
fn packed(format: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = kgz(folder.path(), &["--format", format, "-b", "32"], &text(1, 700_000));
    assert_eq!(code(&output), 0, "{}", told(&output));
    output.stdout
}

/// Replays a recording on 1, 2 and 8 threads: what was told is told again, and nothing else happens.
fn replays_as(folder: &Path, recording: &str, recorded: &Output) {
    let before = names(folder);
    for workers in ["1", "2", "8"] {
        let output = kgz(folder, &["replay", recording, "-p", workers], b"");
        assert_eq!(told(&output), told(recorded), "on {workers} threads");
        assert_eq!(code(&output), code(recorded), "on {workers} threads");
        assert!(output.stdout.is_empty());
        assert_eq!(names(folder), before);
    }
}

#[test]
fn a_file_that_is_cut_off_fails_again_on_any_number_of_threads_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for format in ["gzip", "bgzf", "zstd"] {
        let packed = packed(format);
        let cut = &packed[..packed.len() / 3 * 2];
        let name = format!("{format}.rec");
        let recorded = kgz(at, &["-dc", "-p", "3", "--record", &name], cut);
        assert_eq!(code(&recorded), 1);
        assert!(told(&recorded).contains(": unexpected end of file; "), "{}", told(&recorded));
        // As it is without a recording.
        let unrecorded = kgz(at, &["-dc"], cut);
        assert_eq!(told(&recorded), told(&unrecorded));
        assert!(recorded.stdout == unrecorded.stdout, "{format}: other bytes");
        let header = Reader::open(at.join(&name)).expect("a recording").header().clone();
        assert_eq!(header.arguments[..2], ["--processes=3", "-dc"]);
        let mode = fs::metadata(at.join(&name)).expect("a recording").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        replays_as(at, &name, &recorded);
    }
}

#[test]
fn damage_within_a_file_fails_again_although_its_input_was_not_read_to_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in ["gzip", "bgzf", "zstd"] {
        let mut packed = packed(format);
        let middle = packed.len() / 2;
        packed[middle] ^= 0xff;
        let name = format!("{format}.rec");
        // Little is in flight: what comes back is waited for.
        let typed = ["-t", "-p", "1", "--record", &name];
        let recorded = kgz(folder.path(), &typed, &packed);
        assert_eq!(code(&recorded), 1, "{format}");
        replays_as(folder.path(), &name, &recorded);
    }
    let mut packed = packed("bgzf");
    let middle = packed.len() / 2;
    packed[middle] ^= 0xff;
    let typed = ["-d", "--keep-going", "-v", "--record", "on.rec"];
    let recorded = kgz(folder.path(), &typed, &packed);
    assert!(told(&recorded).contains("left out: block "), "{}", told(&recorded));
    replays_as(folder.path(), "on.rec", &recorded);
}

#[test]
fn what_goes_well_is_done_again_both_ways() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let words = text(1, 700_000);
    for format in ["gzip", "bgzf", "zstd"] {
        let (there, back) = (format!("{format}.rec"), format!("{format}-back.rec"));
        let packed = kgz(at, &["--format", format, "-v", "--record", &there], &words);
        assert!(told(&packed).contains("700 000 bytes became "), "{}", told(&packed));
        let unrecorded = kgz(at, &["--format", format], &words);
        assert!(packed.stdout == unrecorded.stdout, "{format}: other bytes");
        replays_as(at, &there, &packed);
        let again = kgz(at, &["-d", "-v", "--record", &back, "-"], &packed.stdout);
        assert!((code(&again), again.stdout == words) == (0, true), "{}", told(&again));
        replays_as(at, &back, &again);
    }
}

#[test]
fn a_file_is_done_again_without_it_under_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let words = text(1, 700_000);
    fs::write(at.join("words"), &words).expect("a file");
    let recorded = kgz(at, &["-v", "-p", "3", "--record", "there.rec", "words"], b"");
    assert!(told(&recorded).starts_with("words: 700 000 bytes became "), "{}", told(&recorded));
    assert_eq!(names(at), ["there.rec", "words.gz"]);
    let packed = fs::read(at.join("words.gz")).expect("it was written");
    assert!(packed == kgz(at, &["-c"], &words).stdout, "other bytes");
    replays_as(at, "there.rec", &recorded);

    // A part of it is decompressed with all that comes before it.
    let typed = ["--range", "690000-690009", "-v", "--record", "part.rec", "words.gz"];
    let part = kgz(at, &typed, b"");
    assert!(part.stdout == words[690_000..690_009], "{}", told(&part));
    // What is damaged is told by the name of the file, which is not needed to tell it again.
    let mut damaged = packed;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    fs::write(at.join("words.gz"), damaged).expect("a file");
    let tested = kgz(at, &["-t", "--record", "damaged.rec", "words.gz"], b"");
    assert_eq!(code(&tested), 1);
    assert!(told(&tested).starts_with("kgz: words.gz: "), "{}", told(&tested));
    fs::remove_file(at.join("words.gz")).expect("it is there");
    replays_as(at, "part.rec", &part);
    replays_as(at, "damaged.rec", &tested);

    let missing = kgz(at, &["-t", "--record", "none.rec", "words.gz"], b"");
    assert_eq!(told(&missing).lines().count(), 1, "{}", told(&missing));
    assert!(!at.join("none.rec").exists());
}

#[test]
fn a_bundle_of_a_file_has_the_report_of_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("cut.gz"), &packed("gzip")[..1000]).expect("a file");
    let failed = kgz(at, &["-t", "--bundle", "crash", "cut.gz"], b"");
    assert_eq!(code(&failed), 1);
    let crash = at.join("crash");
    assert_eq!(names(&crash), ["README.md", "explanation.txt", "report.json", "run.rec"]);
    let report = fs::read_to_string(crash.join("report.json")).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let processes = report["processes"].as_array().expect("a list");
    assert!(processes.iter().any(|process| process["name"] == "unpack"), "{report}");
    let again = kgz(&crash, &["replay", "run.rec"], b"");
    assert!(told(&failed).ends_with(&told(&again)), "{}", told(&again));
}

#[test]
fn a_full_device_is_full_again_and_no_file_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Of a file the end of the run is waited for; standard input might never come, so then there may be none.
    fs::write(at.join("words"), text(1, 700_000)).expect("a file");
    let recorded = kgz(at, &["-o", "/dev/full", "--record", "full.rec", "words"], b"");
    assert!(told(&recorded).contains("writing failed after "), "{}", told(&recorded));
    assert_eq!(code(&recorded), 1);
    replays_as(at, "full.rec", &recorded);
    let recorded = kgz(at, &["-o", "out.gz", "--index", "--record", "out.rec"], b"text");
    assert_eq!((code(&recorded), names(at).len()), (0, 5), "{}", told(&recorded));
    fs::remove_file(at.join("out.gz")).expect("it is there");
    fs::remove_file(at.join("out.gz.gzi")).expect("it is there");
    replays_as(at, "out.rec", &recorded);
}

#[test]
fn a_bundle_stays_if_all_does_not_go_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let packed = packed("bgzf");
    assert_eq!(code(&kgz(at, &["-t", "--bundle", "crash"], &packed)), 0);
    assert!(names(at).is_empty());
    let failed = kgz(at, &["-t", "--bundle", "crash"], &packed[..1000]);
    assert_eq!(code(&failed), 1);
    let (note, error) = told(&failed).split_once('\n').map(split).expect("two lines");
    assert!(note.starts_with("crash: has what is needed to do this again"), "{note}");
    let crash = at.join("crash");
    // All of the input had come, so the end of the run was waited for.
    assert_eq!(names(&crash), ["README.md", "explanation.txt", "report.json", "run.rec"]);
    assert_eq!(fs::metadata(&crash).expect("a folder").permissions().mode() & 0o777, 0o700);
    let explanation = fs::read_to_string(crash.join("explanation.txt")).expect("a file");
    assert_eq!(format!("kgz: {explanation}"), error);
    let readme = fs::read_to_string(crash.join("README.md")).expect("a file");
    assert!(readme.contains("kgz replay run.rec"), "{readme}");
    let again = kgz(&crash, &["replay", "run.rec"], b"");
    assert_eq!((code(&again), told(&again)), (1, error));
    // Never over another.
    let refused = kgz(at, &["-t", "--bundle", "crash"], &packed);
    assert_eq!(code(&refused), 1);
    assert!(told(&refused).contains("`crash` is there already"), "{}", told(&refused));
}

fn split((note, error): (&str, &str)) -> (String, String) {
    (note.to_owned(), error.to_owned())
}

/// Writes a recording again, with another header.
fn rewritten(from: &Path, to: &Path, change: impl FnOnce(&mut Header)) {
    let mut reader = Reader::open(from).expect("a recording");
    let mut header = reader.header().clone();
    change(&mut header);
    let writer = Writer::create(to, &header).expect("a new file");
    while let Some(entry) = reader.read().expect("it is read") {
        assert!(writer.append(&entry));
    }
    writer.finish().expect("written");
}

#[test]
fn another_run_and_what_is_no_recording_of_this_program_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let recorded = kgz(at, &["-d", "-p", "2", "--record", "run.rec"], &packed("bgzf"));
    assert_eq!(code(&recorded), 0);
    let changed = |name: &str, change: fn(&mut Header)| {
        rewritten(&at.join("run.rec"), &at.join(name), change);
        let output = kgz(at, &["replay", name], b"");
        (code(&output), told(&output))
    };
    // The verdict is not taken from the file: it is come to again.
    let (code, told) = changed("less.rec", |header| header.arguments.push("--max-output=9".into()));
    assert_eq!(code, 1);
    assert!(told.starts_with("kgz: less.rec: this is not the run that was recorded: "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    let (code, told) = changed("old.rec", |header| header.version = "0.0.7".into());
    assert_eq!(code, 0);
    assert!(told.starts_with("old.rec: it was recorded by kgz 0.0.7; this is "), "{told}");
    for (name, change, what) in [
        ("a.rec", (|header| header.program = "words".into()) as fn(&mut Header), "of `words`"),
        (
            "b.rec",
            |header| header.arguments = vec!["-d".into(), "a".into(), "b".into()],
            "they name several files",
        ),
        ("c.rec", |header| header.arguments.push("--help".into()), "they do not run it"),
        ("d.rec", |header| header.arguments.push("--frobnicate".into()), "--frobnicate"),
        ("e.rec", |header| header.arguments.push("--format=gzip".into()), ""),
    ] {
        let (code, told) = changed(name, change);
        // What does not change the run does not matter.
        assert_eq!(code, i32::from(!what.is_empty()), "{told}");
        assert!(told.contains(what), "{told}");
    }
    assert!(!at.join("run.rec.gz").exists());
    fs::write(at.join("text"), "text").expect("a file");
    for (typed, what) in [
        (&["replay", "text"][..], "no recording"),
        (&["replay", "none"], "none: "),
        (&["replay"], "which recording?"),
        (&["replay", "run.rec", "-p", "0"], "at least one block"),
        (&["replay", "run.rec", "-d"], "-d"),
        (&["--record", "run.rec"], "`run.rec` is there already"),
        (&["--record", "new.rec", "text", "none"], "< FILE"),
        (&["--record", "none/new.rec"], "none/new.rec: "),
    ] {
        let output = kgz(at, typed, b"text");
        assert_eq!(self::code(&output), 1, "{typed:?}");
        assert!(self::told(&output).contains(what), "{typed:?}: {}", self::told(&output));
    }
    assert!(!at.join("new.rec").exists() && at.join("text").exists());
}
