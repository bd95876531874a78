//! The shape of the code: which module may use which, where threads come from, how long files get.
//!
//! What is checked here is told in `ARCHITECTURE.md`; this file keeps it true.

mod reading;

use reading::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules of `kahn`, lowest first: each may use those before it.
///
/// The library of processes has a room in the folder of `network`, whose methods they are, and stands
/// above it: they are written over the public interface, and so is `testing`.
const LAYERS: [&str; 6] = ["graph", "channel", "deadlock", "network", "process", "testing"];

/// The modules that use the crate by the names its users see.
const OVER_THE_PUBLIC_INTERFACE: [&str; 2] = ["process", "testing"];

/// What may come from `std::sync` without passing through `crate::sync`: shared ownership and cells
/// that are written once. They are touched when a network is made and not on the way of a message,
/// and loom has no `Weak` and no `OnceLock`.
const PAST_THE_DOOR: [&str; 3] = ["Arc", "OnceLock", "Weak"];

/// The crates of this workspace, and which others each may use.
const CRATES: [(&str, &[&str]); 18] = [
    ("kahn-derive", &[]),
    ("kahn-report", &[]),
    ("kahn-engine", &["kahn-report"]),
    ("kahn-policies", &["kahn-engine"]),
    ("kahn", &["kahn-derive", "kahn-engine", "kahn-report"]),
    ("kahn-csp", &["kahn-engine", "kahn-report"]),
    ("kahn-observe", &["kahn-engine", "kahn-report"]),
    ("kahn-laws", &["kahn", "kahn-csp", "kahn-policies"]),
    ("kahn-mapreduce", &["kahn", "kahn-engine"]),
    ("kahn-net", &["kahn", "kahn-engine"]),
    ("kahn-snet", &["kahn", "kahn-engine", "kahn-policies", "kahn-report"]),
    ("kahn-live", &["kahn-observe", "kahn-report"]),
    ("kahn-command", &["kahn", "kahn-live", "kahn-net", "kahn-observe", "kahn-policies"]),
    ("kahn-apps", &["kahn", "kahn-command", "kahn-csp", "kahn-mapreduce", "kahn-snet"]),
    ("kahn-experiments", &["kahn", "kahn-apps", "kahn-csp", "kahn-policies", "kahn-snet"]),
    (
        "kahn-cli",
        &["kahn", "kahn-apps", "kahn-command", "kahn-experiments", "kahn-policies", "kahn-snet"],
    ),
    ("kahn-mpi", &["kahn", "kahn-cli", "kahn-command", "kahn-net"]),
    // The second for what is recorded of a run: its feature `record`.
    ("kgz", &["kahn", "kahn-observe"]),
];

/// What the tests of any crate may use.
const FOR_TESTS: [&str; 2] = ["kahn-laws", "kahn-policies"];

/// Crates whose documentation or tests show what their users do, and the crate that they do it with.
const FOR_EXAMPLES: [(&str, &str); 13] = [
    ("kahn-derive", "kahn"),
    ("kahn-policies", "kahn"),
    ("kahn-engine", "kahn"),
    ("kahn-report", "kahn"),
    ("kahn-observe", "kahn"),
    ("kahn-live", "kahn"),
    ("kahn-live", "kahn-csp"),
    // Programs on several ranks.
    ("kahn-apps", "kahn-net"),
    // Traces of jobs, and of programs.
    ("kahn-observe", "kahn-csp"),
    ("kahn-observe", "kahn-mapreduce"),
    ("kahn-observe", "kahn-snet"),
    // Networks that run communicating processes, and are run by them.
    ("kahn-csp", "kahn"),
    ("kahn-csp", "kahn-engine"),
];

/// What the engine must not know: these stand in no line of its code.
const NOT_THE_ENGINES: [&str; 7] =
    ["csp", "Kahn", "prun", "poison", "barrier", "failure mark", "crate::network"];

/// What a policy may use of the engine: the trait, queues that are safe to use, and the door to threads.
const OF_THE_ENGINE_FOR_POLICIES: [&str; 3] = ["policy", "queue", "sync"];

/// What S-Net's `front` may use of it, which has workers and tasks of its own.
const OF_THE_ENGINE_FOR_SNET: [&str; 3] = ["queue::ends", "sleep", "sync"];

/// The crates whose folders are rooms: none of them knows, by whatever way, one that knows it.
const ROOMS: [&str; 4] = ["kahn-csp", "kahn-engine", "kahn", "kahn-report"];

/// The crates of the runtime, in which a type that is visible outside its module has a name of its own.
const ONE_NAME_EACH: [&str; 6] =
    ["kahn", "kahn-csp", "kahn-engine", "kahn-mapreduce", "kahn-policies", "kahn-report"];

/// A longer file is two.
const MOST_LINES: usize = 600;

/// The files of this crate that run in a program.
fn sources_of_the_crate() -> impl Iterator<Item = Source> {
    sources(&src()).into_iter().filter(|source| !source.is_model())
}

/// The files of the communicating processes that run in a program.
fn sources_of_csp() -> impl Iterator<Item = Source> {
    let csp = workspace().join("crates/kahn-csp/src");
    sources(&csp).into_iter().filter(|source| !source.is_model())
}

/// The files of the papers' policies.
fn sources_of_policies() -> Vec<Source> {
    let policies = sources(&workspace().join("crates/kahn-policies/src"));
    assert!(!policies.is_empty());
    policies
}

/// The files of the engine that run in a program.
fn sources_of_the_engine() -> impl Iterator<Item = Source> {
    let engine = workspace().join("crates/kahn-engine/src");
    sources(&engine).into_iter().filter(|source| !source.is_model())
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
fn no_two_folders_of_a_crate_know_each_other() {
    for name in ROOMS {
        let used = used_by_folders(name);
        assert!(used.len() > 2, "{name} has folders, and they use each other: {used:?}");
        let found = knots(&used);
        assert!(found.is_empty(), "folders of {name} know each other: {found:?} of {used:#?}");
    }
}

#[test]
fn knots_are_found_through_others_and_in_lists() {
    let code = "use crate::{a::{B, c::D as E}, f};\n crate::g::h()";
    let found: Vec<_> = paths(code, "crate::").iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["crate::a::B", "crate::a::c::D", "crate::f", "crate::g::h"]);
    let used = |all: &[(&str, &str)]| {
        let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for &(by, folder) in all {
            used.entry(by.into()).or_default().insert(folder.into());
        }
        used
    };
    let ring = used(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("c", "e")]);
    assert_eq!(knots(&ring), BTreeSet::from([vec!["a".to_owned(), "b".into(), "c".into()]]));
    assert!(knots(&used(&[("a", "b"), ("a", "c"), ("b", "c")])).is_empty());
}

#[test]
fn threads_locks_and_atomics_come_through_one_door() {
    let is_the_door = |source: &Source| source.path.iter().any(|part| part == "sync");
    let languages = sources_of_the_crate().chain(sources_of_csp());
    for source in languages.chain(sources_of_the_engine()).chain(sources_of_policies()) {
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
            // A call of Linux has one of them in its name.
            let code = source.code().replace("membarrier", "").replace("MembarrierCommand", "");
            let found = code.lines().position(|line| line.contains(word));
            let at = source.path.display();
            assert_eq!(found, None, "{at}: `{word}` is no word of the engine (line from 0)");
        }
    }
}

#[test]
fn two_networks_of_communicating_processes_share_nothing() {
    for source in sources_of_csp() {
        for (number, line) in source.code().lines().enumerate() {
            let is_static = ["static ", "thread_local!"].iter().any(|word| {
                line.trim_start()
                    .trim_start_matches("pub(crate) ")
                    .trim_start_matches("pub(super) ")
                    .starts_with(word)
            });
            // The functions of the language, which do not change.
            let is_constant = line.starts_with("static CSP: Tag");
            let at = source.path.display();
            assert!(!is_static || is_constant, "{at}:{}: `{line}` is shared by all", number + 1);
        }
    }
}

#[test]
fn networks_and_communicating_processes_know_nothing_of_each_other() {
    let words = |source: Source, words: &[&str]| {
        let (code, at) = (source.code(), source.path.display().to_string());
        for word in words {
            let found = code.lines().position(|line| line.contains(word));
            assert_eq!(found, None, "{at}: `{word}` is another language's (line from 0)");
        }
    };
    // `csp` stands in `kahn` once: where it was, with a word on where it went.
    for source in sources_of_the_crate() {
        if !source.path.ends_with("lib.rs") {
            words(source, &["kahn_csp", "Barrier", "Rendezvous"]);
        }
    }
    sources_of_csp().for_each(|source| words(source, &["kahn::", "FailureMark"]));
}

#[test]
fn policies_stand_on_the_trait_and_on_nothing_of_the_inside() {
    let lib = fs::read_to_string(workspace().join("crates/kahn-policies/src/lib.rs"));
    assert!(lib.expect("a crate has a lib.rs").contains("#![forbid(unsafe_code)]"));
    for source in sources_of_policies() {
        for (at, used) in source.after("kahn_engine::") {
            let is_public = OF_THE_ENGINE_FOR_POLICIES.contains(&used.as_str());
            assert!(is_public, "{at}: a policy knows nothing of `{used}`");
        }
    }
}

#[test]
fn the_workers_of_snet_know_nothing_of_the_engines_tasks() {
    let snet = workspace().join("crates/kahn-snet/src");
    let mut rooms = BTreeSet::<&str>::new();
    for source in sources(&snet) {
        for used in paths(&source.code(), "kahn_engine::") {
            let used = used.join("::");
            let is_below = |room: &&&str| used.starts_with(&format!("kahn_engine::{room}::"));
            let room = OF_THE_ENGINE_FOR_SNET.iter().find(is_below);
            assert!(room.is_some(), "{}: `{used}` is of tasks", source.path.display());
            rooms.extend(room);
        }
    }
    assert_eq!(rooms.len(), OF_THE_ENGINE_FOR_SNET.len(), "it has none of these of its own");
    for source in sources(&snet.join("runtime/front")) {
        let locks = source.after("parking_lot::").into_iter().chain(source.after("std::sync::"));
        for (at, used) in locks {
            let passes = PAST_THE_DOOR.contains(&used.as_str());
            assert!(passes, "{at}: `{used}` comes from `kahn_engine::sync`");
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
    let is_of_the_table = |name| kahn_policies::POLICIES.iter().any(|policy| policy.name() == name);
    assert!(kahn::policy::WAYS.iter().all(|policy| is_of_the_table(policy.name())));
    assert!(is_of_the_table(kahn::policy::DEFAULT.name()));
    for policy in kahn_policies::POLICIES {
        let name = policy.name();
        let built = policy.build(kahn::policy::Setup::new(1));
        let is_the_engines = kahn::policy::WAYS.iter().any(|way| way.name() == name);
        let folder = match (is_the_engines, &built) {
            (false, _) => "kahn-policies/src",
            (true, Some(_)) => "kahn-engine/src/policy",
            (true, None) => "kahn-engine/src/queue",
        };
        let file = format!("{folder}/{}.rs", name.replace('-', "_"));
        let text = fs::read_to_string(workspace().join("crates").join(&file))
            .unwrap_or_else(|error| panic!("policy `{name}` stands in {file}: {error}"));
        let opening = format!("//! `{name}`: ");
        assert!(text.starts_with(&opening), "{file} begins with \"{opening}\"");
        assert!(!policy.summary().is_empty(), "policy `{name}` has a line for lists");
        assert!(
            built.is_none_or(|built| built.name() == name),
            "reports show the name of the table: `{name}`"
        );
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
            let for_tests = section.ends_with("dev-dependencies]")
                && (FOR_TESTS.contains(&used) || FOR_EXAMPLES.contains(&(name, used)));
            assert!(for_tests || allowed.contains(&used), "{name} may not depend on {used}");
        }
    }
}

/// What `ARCHITECTURE.md` says in its table of features: of each crate its Rust and its features.
fn features_told() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let text = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("it is there");
    let (_, table) = text.split_once("| crate | Rust | features |").expect("it has the table");
    let rows = table.trim_start().lines().skip(1).take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| -> BTreeSet<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let row = |row: &str| -> Vec<(String, (String, BTreeSet<String>))> {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let told = (cells[2].to_owned(), quoted(cells[3]));
        quoted(cells[1]).into_iter().map(|name| (name, told.clone())).collect()
    };
    rows.flat_map(row).collect()
}

#[test]
fn what_crates_need_of_rust_and_their_features_are_told() {
    let manifest = |folder: &Path| {
        fs::read_to_string(folder.join("Cargo.toml")).expect("each crate has a manifest")
    };
    let rust = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
        line.map(|version| version.trim_matches('"').to_owned())
    };
    let usual = rust(&manifest(&workspace())).expect("the workspace has a version of Rust");
    let of_crate = |name: &str| {
        let text = manifest(&workspace().join("crates").join(name));
        let features = text.split_once("\n[features]\n").map_or("", |(_, rest)| rest);
        let features = features.lines().take_while(|line| !line.starts_with('['));
        let features = features.filter(|line| !line.starts_with('#'));
        let features = features.filter_map(|line| line.split_once(" = "));
        let features = features.map(|(name, _)| name.to_owned()).filter(|name| name != "default");
        (name.to_owned(), (rust(&text).unwrap_or_else(|| usual.clone()), features.collect()))
    };
    let found: BTreeMap<_, _> = CRATES.iter().map(|(name, _)| of_crate(name)).collect();
    assert_eq!(features_told(), found);
}

/// The list of a section of `ARCHITECTURE.md`: `crate: file, file, …`, a line or more each.
fn files_told(section: &str) -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("it is there");
    let (_, section) = text.split_once(section).expect("it has a section on that");
    let list = section.split("```").nth(1).expect("with a list").trim_start_matches("text");
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        let files = match line.split_once(':') {
            Some((name, files)) => {
                told.push((name.trim().to_owned(), Vec::new()));
                files
            }
            None => line,
        };
        let files = files.split(',').map(str::trim).filter(|file| !file.is_empty());
        let (_, of_crate) = told.last_mut().expect("the first line names a crate");
        of_crate.extend(files.map(str::to_owned));
    }
    told
}

#[test]
fn files_that_use_each_other_are_told() {
    let knots_of = |name: &str| {
        let knots = knots(&used_by_files(name));
        knots.into_iter().map(|knot| (name.to_owned(), knot)).collect::<Vec<_>>()
    };
    let found: BTreeSet<_> = ROOMS.into_iter().flat_map(knots_of).collect();
    let told: BTreeSet<_> = files_told("### Files that use each other").into_iter().collect();
    let missing: Vec<_> = found.difference(&told).collect();
    let gone: Vec<_> = told.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not told: {missing:#?}; told in vain: {gone:#?}"
    );
}

#[test]
fn unsafe_code_stands_where_architecture_says() {
    let crates = workspace().join("crates");
    let mut found = BTreeSet::new();
    for (name, _) in CRATES {
        let src = crates.join(name).join("src");
        for source in sources(&src) {
            let is_unsafe = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait"];
            let code = source.code();
            if !source.is_model() && is_unsafe.iter().any(|word| code.contains(word)) {
                let file = source.path.strip_prefix(&src).expect("a file under src");
                found.insert(format!("{name}/{}", file.display()));
            }
        }
    }
    let of_crate = |(name, files): (String, Vec<String>)| -> Vec<String> {
        files.into_iter().map(|file| format!("{name}/{file}")).collect()
    };
    let told: BTreeSet<_> = files_told("## Unsafe code").into_iter().flat_map(of_crate).collect();
    let missing: Vec<_> = found.difference(&told).collect();
    let gone: Vec<_> = told.difference(&found).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not told: {missing:?}; told in vain: {gone:?}");
}

#[test]
fn a_type_that_other_modules_see_shares_its_name_with_no_other() {
    for name in ONE_NAME_EACH {
        let folder = workspace().join("crates").join(name).join("src");
        let mut seen = BTreeMap::new();
        for source in sources(&folder).into_iter().filter(|source| !source.is_model()) {
            let code = source.code();
            for declared in code.lines().filter_map(visible_type) {
                let path = source.path.display().to_string();
                let before = seen.insert(declared.to_owned(), path.clone());
                let elsewhere = before.filter(|before| *before != path);
                assert_eq!(elsewhere, None, "`{declared}` in {path}: two types need two names");
            }
        }
        assert!(!seen.is_empty(), "{name} has types");
    }
}

#[test]
fn what_a_type_can_do_stands_in_its_folder() {
    assert_eq!(inherent_impl("impl<'a, T: Into<Vec<T>>> Kept<T> {"), Some("Kept"));
    assert_eq!(inherent_impl("impl Clone for Kept {"), None);
    for name in ONE_NAME_EACH.into_iter().chain(["kahn-snet"]) {
        let folder = workspace().join("crates").join(name).join("src");
        let sources = sources(&folder).into_iter().filter(|source| !source.is_model());
        let sources: Vec<_> = sources.map(|source| (source.code(), source.path)).collect();
        let mut homes: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        for (code, path) in &sources {
            for line in code.lines() {
                let words: Vec<_> = line.split([' ', '<', '(', ';', '{']).collect();
                let declared =
                    words.windows(2).find(|pair| ["struct", "enum", "union"].contains(&pair[0]));
                if let Some(pair) = declared {
                    homes.entry(pair[1]).or_default().push(path.parent().expect("a folder"));
                }
            }
        }
        assert!(!homes.is_empty(), "{name} has types");
        for (code, path) in &sources {
            for of in code.lines().filter_map(inherent_impl) {
                let Some(homes) = homes.get(of) else { continue };
                let is_at_home = homes.iter().any(|home| path.starts_with(home));
                assert!(is_at_home, "{}: `{of}` is declared in {homes:?}", path.display());
            }
        }
    }
}

/// What stands in backquotes in a document and looks like the path of a file: `kahn-engine/queue/lane.rs`.
fn paths_told(text: &str) -> impl Iterator<Item = &str> {
    let is_path_like = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(move |told| {
        let ends = [".rs", ".md", ".py", ".sh", ".toml"];
        told.contains('/')
            && told.chars().all(is_path_like)
            && ends.iter().any(|end| told.ends_with(end))
    })
}

#[test]
fn files_that_documents_name_are_there() {
    let root = workspace();
    let below = |name: &str| sources(&root.join("crates").join(name).join("src"));
    let files: Vec<_> = CRATES.iter().flat_map(|(name, _)| below(name)).collect();
    // From the workspace; as `crate/file` below the sources of a crate; or as `folder/file` in any of them.
    let is_there = |told: &str| {
        let in_crate = told.split_once('/').is_some_and(|(name, file)| {
            root.join("crates").join(name).join("src").join(file).exists()
        });
        in_crate || root.join(told).exists() || files.iter().any(|file| file.path.ends_with(told))
    };
    let mut told = 0;
    let mut missing = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "bench/NOTES.md"] {
        let text = fs::read_to_string(root.join(document)).expect("it is there");
        let paths: Vec<_> = paths_told(&text).collect();
        told += paths.len();
        let gone = paths.into_iter().filter(|path| !is_there(path));
        missing.extend(gone.map(|path| format!("{document}: {path}")));
    }
    assert!(told > 20, "only {told} paths were found in the documents");
    assert!(missing.is_empty(), "documents name files that are not there: {missing:#?}");
}
