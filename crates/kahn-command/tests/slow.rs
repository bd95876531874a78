//! `docs/slow.md`, as typed. This is all of it: the program of the page, `kahn trace` if it is started by that
//! name, and the test, which types what the page says.
#![cfg(unix)]

mod pages;
#[path = "../examples/seal.rs"]
mod seal;

use pages::{blocks, is_of_the_example, page, text, typed};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let name = env::args().next().unwrap_or_default();
    match Path::new(&name).file_name().and_then(|name| name.to_str()) {
        Some("seal") => return seal::main(),
        Some("kahn") => {
            return kahn_command::start("kahn", || {
                let command = clap::Command::new("kahn").subcommand(kahn_command::trace::command());
                let matches = command.get_matches();
                let (_, trace) = matches.subcommand().expect("it is `kahn trace`");
                kahn_command::trace::perform(trace)
            });
        }
        _ => {}
    }
    what_the_page_says_can_be_typed();
    is_of_the_example(&page("slow.md"), include_str!("../examples/seal.rs"));
    ExitCode::SUCCESS
}

/// A table of figures by the word in front of them, from behind a line that has these words.
fn rows(told: &str, heading: &str) -> BTreeMap<String, Vec<String>> {
    let below = told.lines().skip_while(|line| !heading.split(' ').all(|word| line.contains(word)));
    let rows = below.skip(1).take_while(|line| line.split_whitespace().count() > 3);
    let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    rows.map(words).map(|words| (words[0].clone(), words)).collect()
}

/// How often a process waited for room, as a report tells it.
fn waits_for_room(report: &str, process: &str) -> u64 {
    let rows = rows(report, "process ended waits: room");
    let row = rows.get(process).unwrap_or_else(|| panic!("{process}: {report}"));
    row.last().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{row:?}"))
}

fn what_the_page_says_can_be_typed() {
    let [programs, folder] = [(), ()].map(|()| tempfile::tempdir().expect("a folder"));
    let (programs, folder) = (programs.path(), folder.path());
    for name in ["seal", "kahn"] {
        symlink(env::current_exe().expect("it runs"), programs.join(name)).expect("it is made");
    }
    let page = page("slow.md");
    let (mut lines, mut room) = (0, Vec::new());
    for line in blocks(&page, "sh").into_iter().flat_map(str::lines) {
        let output = typed(line, programs, folder);
        let (result, told) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{line}: {result}{told}");
        lines += 1;
        if line.contains("--report") {
            room.push(waits_for_room(&told, "stamped"));
        }
        if line.contains("--trace-summary") {
            assert!(told.contains("for room in stamped") && !told.contains("lost"), "{told}");
        }
        if line.starts_with("kahn trace diff") {
            assert!(result.contains("stamped waits for room in stamped"), "{result}");
        }
        if line.contains("--live=json") {
            let looks = fs::read_to_string(folder.join("looks.txt")).expect("it is there");
            let views = looks.lines().filter(|line| line.starts_with('{'));
            let mut all = 0;
            for view in views {
                let view: serde_json::Value = serde_json::from_str(view).expect("it is JSON");
                let names = view["processes"].as_array().expect("a list").iter();
                all += names.filter(|process| process["name"] == "sealed").count();
            }
            assert!(all > 0, "{looks}");
        }
    }
    assert!(lines > 9, "{lines} lines");
    // Nearly each line waits for room for one; with room for two pages hardly any does.
    let [slow, roomy, split] = room[..] else { panic!("{room:?}") };
    // How far it falls depends on what else the machine does, so the bounds are wide.
    assert!(slow > 10_000 && roomy < slow / 4 && split < slow, "{room:?}");
    let sealed = ["sealed.txt", "roomy.txt", "split.txt"].map(|name| fs::read(folder.join(name)));
    let [slow, roomy, split] = sealed.map(|text| text.expect("it is there"));
    assert!(slow.len() > 100_000 && slow == roomy && slow == split, "the result is the same");
    for name in ["slow.svg", "roomy.svg", "split.svg"] {
        let picture = fs::read_to_string(folder.join(name)).expect("it is there");
        assert!(picture.starts_with("<svg") && picture.contains(">stamped<"), "{name}");
    }
}
