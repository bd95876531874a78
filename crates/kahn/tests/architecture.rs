//! The shape of the code: which module may use which, where threads come from, how long files get.
//!
//! What is checked here is told in `ARCHITECTURE.md`; this file keeps it true.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of this crate, lowest first: each may use those before it.
///
/// `process` stands above `network`, for its processes are written over the public interface, and
/// so does `testing`.
const LAYERS: [&str; 7] = ["graph", "channel", "deadlock", "network", "csp", "process", "testing"];

/// The modules that use the crate by the names its users see.
const OVER_THE_PUBLIC_INTERFACE: [&str; 2] = ["process", "testing"];

/// What may come from `std::sync` without passing through `crate::sync`: shared ownership and cells
/// that are written once. They are touched when a network is made and not on the way of a message,
/// and loom has no `Weak` and no `OnceLock`.
const PAST_THE_DOOR: [&str; 3] = ["Arc", "OnceLock", "Weak"];

/// The crates of this workspace, and which others each may use.
const CRATES: [(&str, &[&str]); 10] = [
    ("kahn-derive", &[]),
    ("kahn-report", &[]),
    ("kahn-engine", &["kahn-report"]),
    ("kahn", &["kahn-derive", "kahn-engine", "kahn-report"]),
    ("kahn-laws", &["kahn"]),
    ("kahn-mapreduce", &["kahn"]),
    ("kahn-snet", &["kahn"]),
    ("kahn-apps", &["kahn", "kahn-mapreduce", "kahn-snet"]),
    ("kahn-experiments", &["kahn", "kahn-apps", "kahn-snet"]),
    ("kahn-cli", &["kahn", "kahn-apps", "kahn-experiments", "kahn-snet"]),
];

/// What the tests of any crate may use.
const FOR_TESTS: &str = "kahn-laws";

/// Crates whose documentation shows what their users do, and the crate that they do it with.
const FOR_EXAMPLES: [(&str, &str); 2] = [("kahn-engine", "kahn"), ("kahn-report", "kahn")];

/// What the engine must not know: these stand in no line of its code.
const NOT_THE_ENGINES: [&str; 7] =
    ["csp", "Kahn", "prun", "poison", "barrier", "failure mark", "crate::network"];

/// A folder of models for loom: they are tests, and put together what they need.
const MODELS: &str = "models";

/// A longer file is two.
const MOST_LINES: usize = 600;

struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// The module of the crate that a file under `src` belongs to.
    fn module(&self) -> &str {
        let mut parts = self.path.strip_prefix(src()).expect("a file under src").iter();
        let first = parts.next().and_then(|part| part.to_str()).expect("a file has a name");
        first.strip_suffix(".rs").unwrap_or(first)
    }

    fn is_model(&self) -> bool {
        self.path.iter().any(|part| part == MODELS || part == "model.rs")
    }

    /// The text without its comments, for links in prose may point anywhere; line for line.
    fn code(&self) -> String {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let lines = self.text.lines().map(|line| Some(line).filter(is_code).unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What follows each `prefix` in the code, with the place: a word, or all words of a list.
    fn after(&self, prefix: &str) -> Vec<(String, String)> {
        let code = self.code();
        let mut found = Vec::new();
        for (start, _) in code.match_indices(prefix) {
            let at = format!("{}:{}", self.path.display(), code[..start].lines().count());
            let rest = &code[start + prefix.len()..];
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let words = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next(),
                None => rest.split(|c| !is_word(c)).next(),
            };
            for item in words.unwrap_or_default().split(',') {
                let word: String = item.trim().chars().take_while(|c| is_word(*c)).collect();
                if !word.is_empty() {
                    found.push((at.clone(), word));
                }
            }
        }
        found
    }
}

/// The files of this crate that run in a program.
fn sources_of_the_crate() -> impl Iterator<Item = Source> {
    sources(&src()).into_iter().filter(|source| !source.is_model())
}

/// The files of the engine that run in a program.
fn sources_of_the_engine() -> impl Iterator<Item = Source> {
    let engine = workspace().join("crates/kahn-engine/src");
    sources(&engine).into_iter().filter(|source| !source.is_model())
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a folder, in the order of their names.
fn sources(folder: &Path) -> Vec<Source> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file is text");
            found.push(Source { path, text });
        }
    }
    found
}

#[test]
fn a_module_uses_only_what_stands_before_it() {
    let place = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    for source in sources_of_the_crate() {
        let module = source.module();
        if module == "lib" {
            continue;
        }
        let own = place(module);
        assert!(own.is_some(), "{module} has no place among the layers: add it to LAYERS");
        for (at, used) in source.after("crate::") {
            match place(&used) {
                Some(layer) => {
                    assert!(Some(layer) <= own, "{at}: `{module}` may not use `{used}`");
                }
                None => assert!(
                    OVER_THE_PUBLIC_INTERFACE.contains(&module),
                    "{at}: `{module}` may not use `{used}` by its public name: \
                     name the module it comes from"
                ),
            }
        }
    }
}

#[test]
fn threads_locks_and_atomics_come_through_one_door() {
    let is_the_door = |source: &Source| source.path.iter().any(|part| part == "sync");
    for source in sources_of_the_crate().chain(sources_of_the_engine()) {
        if is_the_door(&source) {
            continue;
        }
        for (at, used) in source.after("std::sync::") {
            let passes = PAST_THE_DOOR.contains(&used.as_str());
            assert!(passes, "{at}: `{used}` comes from `kahn_engine::sync`");
        }
        for other in ["std::thread::", "parking_lot::"] {
            let found = source.after(other);
            assert!(found.is_empty(), "{found:?} of `{other}` come from `kahn_engine::sync`");
        }
    }
}

#[test]
fn the_engine_knows_no_kind_of_processes() {
    for source in sources_of_the_engine() {
        for word in NOT_THE_ENGINES {
            let found = source.code().lines().position(|line| line.contains(word));
            let at = source.path.display();
            assert_eq!(found, None, "{at}: `{word}` is no word of the engine (line from 0)");
        }
    }
}

#[test]
fn what_a_run_tells_knows_no_threads_and_only_names_are_unsafe() {
    let told = sources(&workspace().join("crates/kahn-report/src"));
    assert!(!told.is_empty());
    for source in told {
        for runs in ["std::thread", "std::sync", "parking_lot", "kahn::"] {
            let found = source.after(runs);
            assert!(found.is_empty(), "{found:?}: what is told does not run");
        }
        let is_name = source.path.ends_with("name.rs");
        let unsafe_code = source.after("unsafe ");
        assert!(is_name || unsafe_code.is_empty(), "{unsafe_code:?}: only names need it");
    }
}

#[test]
fn lib_is_a_table_of_contents() {
    let lib = fs::read_to_string(src().join("lib.rs")).expect("the crate has a lib.rs");
    for word in ["struct ", "enum ", "trait ", "impl "] {
        let found = lib.lines().find(|line| line.trim_start().starts_with(word));
        assert_eq!(found, None, "types stand in modules, lib.rs names them");
    }
}

#[test]
fn no_file_is_too_long_and_every_file_says_what_it_is() {
    let folders = ["crates", "bench", "examples"].map(|folder| workspace().join(folder));
    for source in folders.iter().flat_map(|folder| sources(folder)) {
        let path = source.path.display();
        let lines = source.text.lines().count();
        assert!(lines <= MOST_LINES, "{path} has {lines} lines: make two files of it");
        assert!(source.text.starts_with("//!"), "{path} begins with `//!` and what it is");
    }
}

#[test]
fn every_policy_of_the_table_has_a_file_that_says_what_it_does() {
    assert!(kahn::POLICIES.iter().any(|entry| entry.name == kahn::policy::DEFAULT));
    for entry in kahn::POLICIES {
        let file = format!("kahn-engine/src/policy/{}.rs", entry.name.replace('-', "_"));
        let text = fs::read_to_string(workspace().join("crates").join(&file))
            .unwrap_or_else(|error| panic!("policy `{}` stands in {file}: {error}", entry.name));
        let opening = format!("//! `{}`: ", entry.name);
        assert!(text.starts_with(&opening), "{file} begins with \"{opening}\"");
        assert!(!entry.summary.is_empty(), "policy `{}` has a line for lists", entry.name);
        let built = (entry.build)(kahn::policy::Setup::new(1));
        assert_eq!(built.name(), entry.name, "reports show the name of the table");
    }
}

#[test]
fn arrows_between_crates_go_down() {
    for entry in fs::read_dir(workspace().join("crates")).expect("the workspace has crates") {
        let folder = entry.expect("a readable folder").path();
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == name) else {
            panic!("crate {name} has no place among the others: add it to CRATES");
        };
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            }
            if !line.starts_with("kahn") {
                continue;
            }
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            let used = &line[..end];
            let for_tests = section == "[dev-dependencies]"
                && (used == FOR_TESTS || FOR_EXAMPLES.contains(&(name, used)));
            assert!(for_tests || allowed.contains(&used), "{name} may not depend on {used}");
        }
    }
}
