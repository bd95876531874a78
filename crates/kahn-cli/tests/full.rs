//! The command with all its features, as typed: see `tests/cmd/full`.

use std::process::Command;

/// What `docs/pictures` holds, and what is typed for it.
const PICTURES: [(&str, &str); 9] = [
    ("bitonic-sort", "bitonic-sort"),
    ("des", "des"),
    ("fft", "fft --size 8"),
    ("filter-bank", "filter-bank"),
    ("fm-radio", "fm-radio"),
    ("h264", "h264-graph"),
    ("hamming", "hamming 10"),
    ("kmeans", "kmeans --random 100 --groups 3"),
    ("wordcount", "wordcount README.md"),
];

/// The others, of runs that took their time: no command draws the same again.
const OF_RUNS: [(&str, &str); 4] = [
    ("roomy.svg", "slow.md"),
    ("slow.svg", "slow.md"),
    ("split.svg", "slow.md"),
    ("trace.svg", "trace.md"),
];

#[test]
fn pictures_of_the_documents_are_those_that_the_command_draws() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let shown = std::path::Path::new(root).join("docs/pictures");
    let folder = tempfile::tempdir().unwrap();
    for (name, line) in PICTURES {
        let drawn = folder.path().join(name);
        let mut graph = Command::new(env!("CARGO_BIN_EXE_kahn"));
        let graph = graph.current_dir(root).arg("graph").args(line.split(' '));
        assert!(graph.arg("--svg").arg(&drawn).status().unwrap().success(), "{line}");
        let [drawn, shown] = [drawn, shown.join(format!("{name}.svg"))].map(std::fs::read);
        let advice = format!("`kahn graph {line} --svg docs/pictures/{name}.svg` draws it anew");
        assert!(drawn.unwrap() == shown.unwrap(), "{advice}");
    }
    for (name, page) in OF_RUNS {
        assert!(shown.join(name).exists(), "{name}");
        let page = std::fs::read_to_string(shown.join("..").join(page)).unwrap();
        assert!(page.contains(&format!("](pictures/{name})")), "{name}");
    }
    let all = PICTURES.len() + OF_RUNS.len();
    assert_eq!(std::fs::read_dir(shown).unwrap().count(), all);
}

/// Each line of `docs/live.md` that is to be typed: what is shown is shown beside the result.
#[test]
fn what_the_page_about_the_live_view_shows_can_be_typed() {
    let page = include_str!("../../../docs/live.md");
    let block = page.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(block.lines().count(), 3);
    for line in block.lines() {
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_kahn")).args(&words).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {told}");
        let is_shown = match *words.last().unwrap() {
            "--live" => told.contains("--live shows nothing: standard error or standard input"),
            // And that channels grew.
            "--live=json" => told.lines().all(|line| line.starts_with(['{', 'k'])),
            _ => told.contains("kahn: live at http://127.0.0.1:"),
        };
        assert!(is_shown, "{line}: {told}");
    }
}

#[test]
fn what_is_wrong_with_an_address_is_said_before_anything_runs() {
    for (typed, told) in [
        (&["--serve", "8080"][..], "help: `--serve 127.0.0.1:0`: the system chooses a port"),
        (&["--serve", "192.0.2.1:80"], "help: add --serve-token, or serve 127.0.0.1 alone"),
        (&["--serve", "0.0.0.0:80", "--serve-token"], "every address of this machine"),
        (&["--serve-token"], "--serve <ADDR>"),
    ] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_kahn"));
        let output = run.args(["run", "sieve", "10"]).args(typed).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn the_full_command_does_what_the_sessions_show() {
    trycmd::TestCases::new().case("tests/cmd/full/*.md");
}
