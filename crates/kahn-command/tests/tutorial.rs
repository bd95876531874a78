//! `docs/replay.md`, as typed. This is both: the program of the page, if the first word is one of its
//! subcommands, and the test, which types what the page says.
#![cfg(unix)]

#[path = "../examples/gauge.rs"]
mod gauge;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::{env, fs};

fn main() -> ExitCode {
    if matches!(env::args().nth(1).as_deref(), Some("run" | "replay")) {
        return gauge::main();
    }
    what_the_page_says_can_be_typed();
    the_program_of_the_page_is_the_example();
    ExitCode::SUCCESS
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/replay.md");
    fs::read_to_string(page).expect("it is there")
}

/// The blocks of the page that are written in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Has a shell do this, which finds the program by the name that the page gives it.
fn typed(line: &str, programs: &Path, folder: &Path) -> Output {
    let path = [programs.as_os_str(), ":".as_ref(), &env::var_os("PATH").unwrap_or_default()];
    let path: std::ffi::OsString = path.into_iter().collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    shell.env_remove("RUST_BACKTRACE").output().expect("there is a shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number of the message at which the run failed that is in `crash`.
fn failed_at(folder: &Path) -> Option<u64> {
    let why = fs::read_to_string(folder.join("crash/explanation.txt")).ok()?;
    why.split("message ").nth(1)?.split(' ').next()?.parse().ok()
}

fn what_the_page_says_can_be_typed() {
    let [programs, folder] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
    let (programs, folder) = (programs.path(), folder.path());
    symlink(env::current_exe().expect("it runs"), programs.join("gauge")).expect("it is made");
    let (mut lines, mut held) = (0, Vec::new());
    for line in blocks(&page(), "sh").into_iter().flat_map(str::lines) {
        // It fails at another message each time.
        let line = match failed_at(folder) {
            Some(number) => line.replace("@118", &format!("@{number}")),
            None => line.to_owned(),
        };
        let output = typed(&line, programs, folder);
        let (result, told) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{line}: {result}{told}");
        lines += 1;
        if line.contains("|| echo") {
            assert!(result.ends_with("again\n"), "{line}: {result}{told}");
            assert!(told.contains("the change is 0"), "{line}: {told}");
        }
        if line.contains("--until") {
            let number = failed_at(folder).expect("it has failed");
            let is_held = format!("held before it receives message {number} from `readings`");
            assert!(result.contains(&is_held) && result.contains("`readings` holds "), "{result}");
            held.push(result);
        }
    }
    assert!(lines > 6, "{lines} lines");
    assert!(held.len() > 1 && held.iter().all(|text| *text == held[0]), "{held:?}");
}

fn the_program_of_the_page_is_the_example() {
    let example = include_str!("../examples/gauge.rs");
    let page = page();
    let blocks = blocks(&page, "rust");
    assert!(!blocks.is_empty());
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for block in blocks {
        assert!(squeezed(example).contains(&squeezed(block)), "{block}");
    }
}
