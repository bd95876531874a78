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
    assert_eq!(std::fs::read_dir(shown).unwrap().count(), PICTURES.len());
}

#[test]
fn the_full_command_does_what_the_sessions_show() {
    trycmd::TestCases::new().case("tests/cmd/full/*.md");
}
