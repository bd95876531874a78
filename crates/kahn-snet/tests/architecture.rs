//! The rooms of this crate: what each may use, and names that mean one thing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The modules of the crate; each uses only those before it.
const MODULES: [&str; 10] = [
    "diagnostics",
    "syntax",
    "types",
    "plan",
    "inference",
    "record",
    "program",
    "boxes",
    "runtime",
    "command",
];

/// The rooms and files of the runtime; each uses only those before it.
const RUNTIME: [&str; 9] =
    ["steps", "handle", "options", "streams", "report", "error", "front", "network", "run"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Rust file below a folder or file, with its text.
fn files(from: &Path) -> Vec<(PathBuf, String)> {
    if from.is_file() {
        let text = std::fs::read_to_string(from).expect("a file that can be read");
        return vec![(from.to_owned(), text)];
    }
    let entries = std::fs::read_dir(from).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "rs"))
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| files(path)).collect()
}

/// A module, as a folder or a file.
fn module(parent: &Path, name: &str) -> PathBuf {
    let folder = parent.join(name);
    if folder.is_dir() { folder } else { parent.join(format!("{name}.rs")) }
}

/// The code of a text, without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The names that follow `prefix` in a line.
fn named<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.split(prefix).skip(1).map(|rest| {
        let end = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// Asserts that each of the modules below `parent` uses only those before it.
fn assert_order(parent: &Path, modules: &[&str], prefix: &str) {
    for (index, name) in modules.iter().enumerate() {
        for (path, text) in files(&module(parent, name)) {
            for used in code(&text).flat_map(|line| named(line, prefix)) {
                let place = modules.iter().position(|known| *known == used);
                // What the parent exports lies in one of them, and is not used by that way inside.
                let place = place.unwrap_or_else(|| panic!("{}: {prefix}{used}", path.display()));
                assert!(place <= index, "{} uses {prefix}{used}", path.display());
            }
        }
    }
}

#[test]
fn each_module_uses_only_those_before_it() {
    let inside = source();
    let declared = std::fs::read_to_string(inside.join("lib.rs")).expect("the crate");
    let declared =
        code(&declared).filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let mut declared: Vec<&str> = declared.filter_map(|line| line.strip_suffix(';')).collect();
    declared.sort_unstable();
    let mut known = MODULES.to_vec();
    known.sort_unstable();
    assert_eq!(declared, known, "each module has its place in the order");
    assert_order(&inside, &MODULES, "crate::");
}

#[test]
fn each_room_of_the_runtime_uses_only_those_before_it() {
    let inside = source().join("runtime");
    assert_order(&inside, &RUNTIME, "crate::runtime::");
    for (room, other) in [("front", "network"), ("network", "front")] {
        for (path, text) in files(&inside.join(room)) {
            let uses = code(&text).any(|line| line.contains(&format!("runtime::{other}")));
            assert!(!uses, "{} uses {other}", path.display());
        }
    }
}

/// A room is entered by its full path, so that the tests above see it.
#[test]
fn no_file_of_a_room_reaches_out_by_super() {
    for room in ["steps", "front", "network"] {
        let folder = source().join("runtime").join(room);
        for (path, text) in files(&folder) {
            let depth = path.strip_prefix(&folder).expect("inside").components().count();
            let is_root = depth == 1 && path.ends_with("mod.rs");
            let reach = if is_root { "super::" } else { "super::super::" };
            let reaches = code(&text).any(|line| line.contains(reach) && !line.contains("pub(in"));
            assert!(!reaches, "{} reaches out of its room", path.display());
        }
    }
}

/// A type that is seen outside of its module has a name that no other such type has.
#[test]
fn no_two_types_that_others_see_have_one_name() {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (path, text) in files(&source()) {
        for line in code(&text).filter(|line| line.starts_with("pub")) {
            for word in ["struct ", "enum ", "trait ", "type ", "union "] {
                let Some((before, _)) = line.split_once(word) else { continue };
                if before.trim_end().ends_with(['b', ')']) || before.trim_end().ends_with("unsafe")
                {
                    let name = named(line, word).next().unwrap_or_default();
                    found.entry(name.to_owned()).or_default().push(path.clone());
                    break;
                }
            }
        }
    }
    assert!(found.len() > 100, "few types were found: {}", found.len());
    let twice: Vec<_> = found.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}
