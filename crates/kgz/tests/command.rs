//! The program: files, names, messages, exit codes.

mod common;
#[path = "common/program.rs"]
mod program;

use common::text;
use program::{begun, code, fed, names, told};
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

fn kgz(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kgz"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn piped(arguments: &[&str], input: &[u8]) -> Output {
    fed(Path::new("."), arguments, input)
}

/// A folder with a file `words`, and what is in it.
fn folder() -> (TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let words = text(1, 200_000);
    fs::write(folder.path().join("words"), &words).expect("a file");
    (folder, words)
}

#[test]
fn a_file_becomes_its_compressed_form_and_comes_back_with_mode_and_time() {
    let (folder, words) = folder();
    let at = folder.path();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let file = fs::File::options().write(true).open(at.join("words")).expect("a file");
    file.set_modified(time).expect("a time");
    file.set_permissions(Permissions::from_mode(0o640)).expect("a mode");
    for (format, name) in [("bgzf", "words.gz"), ("gzip", "words.gz"), ("zstd", "words.zst")] {
        let output = kgz(at, &["--format", format, "words"]);
        assert_eq!((code(&output), told(&output).as_str()), (0, ""), "{format}");
        assert_eq!(names(folder.path()), [name]);
        let found = fs::metadata(at.join(name)).expect("a file");
        assert_eq!((found.mode() & 0o777, found.modified().expect("a time")), (0o640, time));
        assert_eq!(code(&kgz(at, &["-t", name])), 0);
        assert_eq!(code(&kgz(at, &["-d", name])), 0);
        assert_eq!(names(folder.path()), ["words"]);
        let found = fs::metadata(at.join("words")).expect("a file");
        assert_eq!((found.mode() & 0o777, found.modified().expect("a time")), (0o640, time));
        assert!(fs::read(at.join("words")).expect("a file") == words);
    }
}

#[test]
fn an_existing_file_is_kept_unless_it_may_be_replaced() {
    let (folder, _) = folder();
    let at = folder.path();
    fs::write(at.join("words.gz"), "precious").expect("a file");
    let output = kgz(at, &["words"]);
    assert_eq!(code(&output), 2);
    assert!(told(&output).contains("words.gz exists; nothing was done (`-f` replaces it)"));
    assert_eq!(fs::read(at.join("words.gz")).expect("a file"), b"precious");
    assert_eq!(code(&kgz(at, &["-f", "words"])), 0);
    assert_eq!(names(folder.path()), ["words.gz"]);
}

#[test]
fn what_is_no_plain_file_is_left_alone() {
    let (folder, _) = folder();
    let at = folder.path();
    symlink("words", at.join("link")).expect("a link");
    fs::hard_link(at.join("words"), at.join("second")).expect("a second name");
    fs::create_dir(at.join("folder")).expect("a folder");
    for (name, text) in [
        ("link", "is a link"),
        ("second", "has 1 other name;"),
        ("folder", "is a folder"),
        ("/dev/zero", "is no regular file"),
    ] {
        let output = kgz(at, &[name]);
        assert_eq!(code(&output), 2, "{name}");
        assert!(told(&output).contains(text), "{}", told(&output));
    }
    assert_eq!(names(folder.path()), ["folder", "link", "second", "words"]);
    let output = kgz(at, &["-q", "link"]);
    assert_eq!((code(&output), told(&output).as_str()), (2, ""));
    // With several names it may be read if it is kept.
    assert_eq!(code(&kgz(at, &["-k", "second"])), 0);
}

#[test]
fn a_damaged_file_leaves_nothing_behind_and_stays() {
    let (folder, _) = folder();
    let at = folder.path();
    for format in ["bgzf", "gzip", "zstd"] {
        assert_eq!(code(&kgz(at, &["-k", "-o", "packed.gz", "--format", format, "words"])), 0);
        let mut packed = fs::read(at.join("packed.gz")).expect("a file");
        let middle = packed.len() / 2;
        packed[middle] ^= 0xff;
        fs::write(at.join("packed.gz"), &packed).expect("a file");
        let output = kgz(at, &["-d", "packed.gz"]);
        assert_eq!(code(&output), 1, "{format}");
        assert!(told(&output).starts_with("kgz: packed.gz: block "), "{}", told(&output));
        assert_eq!(told(&output).lines().count(), 1);
        assert_eq!(names(folder.path()), ["packed.gz", "words"]);
        fs::remove_file(at.join("packed.gz")).expect("it is there");
    }
}

#[test]
fn damage_is_told_although_the_input_goes_on_for_ever() {
    // The other side keeps the pipe open, and writes nothing more.
    let mut child = begun(Path::new("."), &["-d"]);
    let mut stdin = child.stdin.take().expect("it has a standard input");
    let mut stderr = child.stderr.take().expect("it has a standard error");
    if let Err(error) = stdin.write_all(&vec![7; 200_000]) {
        // It may have ended before it has read all.
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
    }
    let mut text = String::new();
    stderr.read_to_string(&mut text).expect("it tells");
    assert!(text.contains("not in gzip, BGZF or zstd format"), "{text}");
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    drop(stdin);
}

#[test]
fn standard_input_becomes_standard_output() {
    let words = text(3, 500_000);
    for format in ["bgzf", "gzip", "zstd"] {
        let packed = piped(&["--format", format], &words);
        assert_eq!(code(&packed), 0);
        let again = piped(&["-d"], &packed.stdout);
        assert_eq!(code(&again), 0);
        assert!(again.stdout == words);
    }
    let output = piped(&["-d"], b"");
    assert_eq!(code(&output), 1);
    assert!(told(&output).contains("unexpected end of file"));
}

#[test]
fn what_follows_the_data_is_ignored_with_a_warning() {
    let mut packed = piped(&[], b"text").stdout;
    packed.extend(b"something else");
    let output = piped(&["-d"], &packed);
    assert_eq!((code(&output), output.stdout.as_slice()), (2, &b"text"[..]));
    assert!(told(&output).contains("is ignored"), "{}", told(&output));
}

#[test]
fn a_range_is_the_bytes_of_the_range() {
    let (folder, words) = folder();
    let at = folder.path();
    for (format, name) in [("bgzf", "words.gz"), ("gzip", "words.gz"), ("zstd", "words.zst")] {
        let mut variants = vec![vec!["-kf", "--format", format, "-b", "16"]];
        if format != "gzip" {
            variants.push(vec!["-kf", "--format", format, "-b", "16", "--index"]);
        }
        for mut variant in variants {
            variant.push("words");
            assert_eq!(code(&kgz(at, &variant)), 0);
            for (from, to) in
                [(0, 10), (16_380, 16_390), (100_000, 150_000), (199_990, 300_000), (5, 5)]
            {
                let output = kgz(at, &["--range", &format!("{from}-{to}"), name]);
                assert_eq!((code(&output), told(&output).as_str()), (0, ""));
                assert!(
                    output.stdout == words[from..to.min(words.len())],
                    "{variant:?} {from}-{to}"
                );
            }
            let output = kgz(at, &["--range", "150K-", name]);
            assert!(output.stdout == words[150 << 10..]);
        }
    }
}

#[test]
fn sizes_are_listed() {
    let (folder, _) = folder();
    let at = folder.path();
    assert_eq!(code(&kgz(at, &["-k", "words"])), 0);
    assert_eq!(code(&kgz(at, &["-k", "--format", "zstd", "words"])), 0);
    let output = kgz(at, &["-l", "words.gz", "words.zst"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().nth(1).expect("a line").contains(" 200000 "), "{text}");
    assert!(text.ends_with("(all)\n"));
}

#[test]
fn a_name_is_kept_and_given_back() {
    let (folder, words) = folder();
    let at = folder.path();
    assert_eq!(code(&kgz(at, &["-N", "--format", "gzip", "words"])), 0);
    fs::rename(at.join("words.gz"), at.join("other.gz")).expect("it is renamed");
    assert_eq!(code(&kgz(at, &["-dN", "other.gz"])), 0);
    assert_eq!(names(folder.path()), ["words"]);
    assert!(fs::read(at.join("words")).expect("a file") == words);
}

#[test]
fn folders_are_gone_through_in_order() {
    let (folder, _) = folder();
    let at = folder.path();
    fs::create_dir_all(at.join("a/b")).expect("folders");
    fs::write(at.join("a/one"), "1").expect("a file");
    fs::write(at.join("a/b/two"), "2").expect("a file");
    assert_eq!(code(&kgz(at, &["-r", "a"])), 0);
    assert!(at.join("a/one.gz").exists() && at.join("a/b/two.gz").exists());
    assert_eq!(code(&kgz(at, &["-dr", "a"])), 0);
    assert!(at.join("a/one").exists() && at.join("a/b/two").exists());
}

#[test]
fn a_full_device_is_an_error() {
    let words = text(3, 500_000);
    let packed = piped(&[], &words).stdout;
    let (folder, _) = folder();
    fs::write(folder.path().join("packed.gz"), &packed).expect("a file");
    let output = kgz(folder.path(), &["-d", "-o", "/dev/full", "packed.gz"]);
    assert_eq!(code(&output), 1);
    assert!(told(&output).contains("writing failed"), "{}", told(&output));
    assert!(folder.path().join("packed.gz").exists());
}

#[test]
fn figures_are_json() {
    let output = piped(&["--stats", "json"], &text(3, 100_000));
    let figures: serde_json::Value =
        serde_json::from_slice(&output.stderr).expect("a line of JSON");
    assert_eq!(figures["bytes_read"], 100_000);
    assert_eq!(figures["blocks"], 2);
    assert_eq!(figures["bytes_written"], output.stdout.len());
}

#[test]
fn an_interrupted_program_leaves_no_file_behind() {
    let (folder, _) = folder();
    let mut child = begun(folder.path(), &["-o", "out.gz"]);
    let mut stdin = child.stdin.take().expect("it has a standard input");
    // Until it waits for more, its temporary file is there.
    stdin.write_all(&text(1, 1 << 20)).expect("it reads");
    while !names(folder.path()).iter().any(|name| name.starts_with(".kgz-")) {
        std::thread::yield_now();
    }
    let kill =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(names(folder.path()), ["words"]);
}

#[test]
fn wrong_arguments_say_what_is_right() {
    let (folder, _) = folder();
    for (arguments, text) in [
        (&["--level", "13", "words"][..], "bgzf has the levels 0 to 12, not 13"),
        (&["--format", "lz4", "words"], "formats are bgzf, gzip and zstd"),
        (&["--nonsense"], "--nonsense"),
    ] {
        let output = kgz(folder.path(), arguments);
        assert_eq!(code(&output), 1);
        assert!(told(&output).contains(text), "{}", told(&output));
        assert!(told(&output).contains("kgz --help"));
    }
    assert_eq!(names(folder.path()), ["words"]);
    let output = kgz(folder.path(), &["--help"]);
    assert!(code(&output) == 0 && output.stdout.starts_with(b"Compresses and decompresses"));
}
