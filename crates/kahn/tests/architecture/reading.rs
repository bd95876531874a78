//! How sources are read: modules, paths in code, what lines declare.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of models for loom: they are tests, and put together what they need.
const MODELS: &str = "models";

pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    /// The module of the crate that a file under `src` belongs to.
    pub(crate) fn module(&self) -> &str {
        let path = self.path.strip_prefix(src()).expect("a file under src");
        let within = path.strip_prefix("network").ok().filter(|path| path.starts_with("process"));
        let mut parts = within.unwrap_or(path).iter();
        let first = parts.next().and_then(|part| part.to_str()).expect("a file has a name");
        first.strip_suffix(".rs").unwrap_or(first)
    }

    pub(crate) fn is_model(&self) -> bool {
        self.path.iter().any(|part| part == MODELS || part == "model.rs")
    }

    /// The text without its comments, for links in prose may point anywhere; line for line.
    pub(crate) fn code(&self) -> String {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let lines = self.text.lines().map(|line| Some(line).filter(is_code).unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The code without the tests at its end, which may put together what they need.
    pub(crate) fn running_code(&self) -> String {
        let mut code = self.code();
        let tests = code.find("\n#[cfg(test)]\nmod ").or_else(|| code.find("\n#[cfg(all(test"));
        code.truncate(tests.unwrap_or(code.len()));
        code
    }

    /// What follows each `prefix` in the code, with the place: a word, or all words of a list.
    pub(crate) fn after(&self, prefix: &str) -> Vec<(String, String)> {
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

/// The paths that stand in code from a prefix on, word by word; those of a list each for itself.
pub(crate) fn paths(code: &str, prefix: &str) -> Vec<Vec<String>> {
    code.match_indices(prefix).flat_map(|(start, _)| tree(&code[start..]).0).collect()
}

/// The paths of a tree as it stands behind `use`, and what follows it.
pub(crate) fn tree(text: &str) -> (Vec<Vec<String>>, &str) {
    let mut rest = text.trim_start();
    let mut path = Vec::new();
    loop {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        path.push(rest[..end].to_owned());
        rest = &rest[end..];
        let Some(further) = rest.strip_prefix("::") else { return (vec![path], rest) };
        rest = further;
        let Some(list) = rest.strip_prefix('{') else { continue };
        let mut paths = Vec::new();
        rest = list.trim_start();
        while !rest.is_empty() && !rest.starts_with('}') {
            let (members, behind) = tree(rest);
            paths.extend(members.into_iter().map(|member| [path.clone(), member].concat()));
            // What a name is known as is no matter.
            let end = behind.find([',', '}']).unwrap_or(behind.len());
            rest = behind[end..].trim_start_matches(',').trim_start();
        }
        return (paths, rest.strip_prefix('}').unwrap_or_default());
    }
}

/// For each folder or file right below `src` of a crate, those that it uses.
pub(crate) fn used_by_folders(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = workspace().join("crates").join(name).join("src");
    let all = sources(&src);
    let within = |source: &Source| -> Vec<String> {
        let path = source.path.strip_prefix(&src).expect("a file under src").with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts.filter(|part| part != "mod").collect()
    };
    let lib = all.iter().find(|source| source.path.ends_with("lib.rs")).expect("a crate has it");
    let lib = lib.code();
    let exports = lib.match_indices("pub use ");
    let exported: BTreeMap<_, _> = exports
        .flat_map(|(start, what)| tree(&lib[start + what.len()..]).0)
        .filter(|path| path.len() > 1)
        .map(|path| (path[path.len() - 1].clone(), path[0].clone()))
        .collect();
    let running =
        all.iter().filter(|source| !source.is_model() && !source.path.ends_with("lib.rs"));
    let running: Vec<_> = running.map(|source| (within(source), source)).collect();
    let folders: BTreeSet<_> = running.iter().map(|(place, _)| place[0].clone()).collect();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (place, source) in &running {
        let code = &source.running_code();
        let mut roots: Vec<_> =
            paths(code, "crate::").into_iter().map(|mut p| p.split_off(1)).collect();
        let up = format!("super::{}", "super::".repeat(place.len() - 1));
        roots.extend(paths(code, &up).into_iter().map(|mut p| p.split_off(place.len())));
        for root in roots {
            let Some(first) = root.first() else { continue };
            let folder = if folders.contains(first) { Some(first) } else { exported.get(first) };
            let is_other = |folder: &&String| folders.contains(*folder) && **folder != place[0];
            if let Some(folder) = folder.filter(is_other) {
                used.entry(place[0].clone()).or_default().insert(folder.clone());
            }
        }
    }
    used
}

/// For each file of a crate, those of its files that it uses: `channel/raw`, and `channel` for its `mod.rs`.
pub(crate) fn used_by_files(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let src = workspace().join("crates").join(name).join("src");
    let module = |source: &Source| -> Vec<String> {
        let path = source.path.strip_prefix(&src).expect("a file under src").with_extension("");
        let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
        parts.filter(|part| !["lib", "mod"].contains(&part.as_str())).collect()
    };
    let running = sources(&src).into_iter().filter(|source| !source.is_model());
    let files: BTreeMap<_, _> = running.map(|file| (module(&file), file.running_code())).collect();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (place, code) in &files {
        let mut all: Vec<_> =
            paths(code, "crate::").into_iter().map(|mut path| path.split_off(1)).collect();
        let below = |path: Vec<String>| [&place[..], &path[1..]].concat();
        all.extend(paths(code, "self::").into_iter().map(below));
        for (start, _) in code.match_indices("super::") {
            if code[..start].ends_with("super::") {
                continue;
            }
            all.extend(tree(&code[start..]).0.into_iter().map(|path| {
                let up = path.iter().take_while(|part| *part == "super").count();
                let above = &place[..place.len().saturating_sub(up)];
                [above, &path[up..]].concat()
            }));
        }
        for mut path in all {
            while !path.is_empty() && !files.contains_key(&path) {
                path.pop();
            }
            if !path.is_empty() && path != *place {
                used.entry(place.join("/")).or_default().insert(path.join("/"));
            }
        }
    }
    used
}

/// The sets of folders, or of files, that use each other, by whatever way.
pub(crate) fn knots(used: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(folder) = next.pop() {
            let others = used.get(folder).into_iter().flatten();
            next.extend(others.filter(|other| reached.insert((*other).clone())));
        }
        reached
    };
    let reach: BTreeMap<_, _> = used.keys().map(|folder| (folder, reached(folder))).collect();
    let mutual = |folder: &String| {
        let all = reach[folder]
            .iter()
            .filter(|other| reach.get(other).is_some_and(|theirs| theirs.contains(folder)));
        all.cloned().collect::<Vec<_>>()
    };
    used.keys().map(mutual).filter(|knot| !knot.is_empty()).collect()
}

pub(crate) fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a folder, in the order of their names.
pub(crate) fn sources(folder: &Path) -> Vec<Source> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        // What cargo has built is nobody's source.
        if path.is_dir() && !path.ends_with("target") {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file is text");
            found.push(Source { path, text });
        }
    }
    found
}

/// The type that a line declares and shows to other modules.
pub(crate) fn visible_type(line: &str) -> Option<&str> {
    let public = line.trim_start().strip_prefix("pub")?;
    let declared = match public.strip_prefix('(') {
        Some(scope) => scope.split_once(") ")?.1,
        None => public.strip_prefix(' ')?,
    };
    let declared = declared.strip_prefix("unsafe ").unwrap_or(declared);
    let kinds = ["struct ", "enum ", "union ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| declared.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The type of an inherent `impl` that begins at this line.
pub(crate) fn inherent_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("unsafe ").unwrap_or(line).strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(parameters) => {
            let mut depth = 1;
            let end = parameters.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            })?;
            &parameters[end + 1..]
        }
        None => rest,
    };
    let name = rest.strip_prefix(' ').filter(|rest| !rest.contains(" for "))?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end])
}
