//! `docs/replay.md`, as typed. This is both: the programs of the page, if the first word is one of their
//! subcommands, and the test, which types what the page says.
#![cfg(unix)]

mod by_options;
#[path = "../examples/gauge.rs"]
mod gauge;
#[path = "../examples/number.rs"]
mod number;
mod pages;

use pages::{blocks, is_of_the_example, page, text, typed};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    if matches!(env::args().nth(1).as_deref(), Some("run" | "replay" | "resume")) {
        let is_number = env::args().next().is_some_and(|name| name.ends_with("number"));
        return if is_number { number::main() } else { gauge::main() };
    }
    what_the_page_says_can_be_typed();
    let examples = [
        include_str!("../examples/gauge.rs"),
        include_str!("../examples/number.rs"),
        include_str!("by_options/mod.rs"),
    ];
    is_of_the_example(&page("replay.md"), &examples.concat());
    let folder = tempfile::tempdir().expect("a folder");
    env::set_current_dir(folder.path()).expect("it is there");
    by_options::fails_again().expect("it is recorded and replayed");
    ExitCode::SUCCESS
}

/// The number of the message at which the run failed that is in `crash`.
fn failed_at(folder: &Path) -> Option<u64> {
    let why = fs::read_to_string(folder.join("crash/explanation.txt")).ok()?;
    why.split("message ").nth(1)?.split(' ').next()?.parse().ok()
}

fn what_the_page_says_can_be_typed() {
    let [programs, folder] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
    let (programs, folder) = (programs.path(), folder.path());
    for name in ["gauge", "number"] {
        symlink(env::current_exe().expect("it runs"), programs.join(name)).expect("it is made");
    }
    let (mut lines, mut held) = (0, Vec::new());
    for line in blocks(&page("replay.md"), "sh").into_iter().flat_map(str::lines) {
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
    assert!(lines > 10, "{lines} lines");
    assert!(held.len() > 1 && held.iter().all(|text| *text == held[0]), "{held:?}");
}
