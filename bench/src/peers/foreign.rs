//! Programs in other languages: built into the target folder when they are first needed.

use crate::child;
use crate::measure::Figure;
use anyhow::{Context, Result, anyhow, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// A program that takes a workload with its numbers and prints a figure a line:
/// `METRIC<TAB>UNIT<TAB>VALUE`.
pub(crate) struct Foreign {
    pub(crate) name: &'static str,
    /// Its source, in `bench/peers`.
    source: &'static str,
    /// Builds the source into the file.
    build: fn(source: &Path, into: &Path) -> Command,
    /// Prints its version in the last line.
    version: fn() -> Command,
}

/// All of them.
pub(crate) const FOREIGN: &[Foreign] = &[
    Foreign { name: "go", source: "go/main.go", build: go, version: go_version },
    Foreign {
        name: "boost-fiber",
        source: "cpp/fiber.cpp",
        build: |source, into| cpp(source, into, &["-lboost_fiber", "-lboost_context"]),
        version: || macro_of("boost/version.hpp", "BOOST_LIB_VERSION"),
    },
    Foreign {
        name: "onetbb",
        source: "cpp/tbb.cpp",
        build: |source, into| cpp(source, into, &["-ltbb"]),
        version: || macro_of("oneapi/tbb/version.h", "TBB_VERSION_MAJOR.TBB_VERSION_MINOR"),
    },
];

impl Foreign {
    /// Finds one by its name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        FOREIGN.iter().find(|program| program.name == name)
    }

    /// Builds the program if it is missing or older than a file beside its source.
    pub(crate) fn prepare(&self) -> Result<()> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(self.source);
        let program = self.program()?;
        let changed = source.parent().and_then(last_change);
        if modified(&program).is_some_and(|built| changed.is_none_or(|at| at <= built)) {
            return Ok(());
        }
        if let Some(folder) = program.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut command = (self.build)(&source, &program);
        let name = command.get_program().to_string_lossy().into_owned();
        let built = command.output().map_err(|error| anyhow!("`{name}`: {error}"))?;
        if !built.status.success() {
            let complaints = String::from_utf8_lossy(&built.stderr).into_owned();
            let first = complaints.lines().find(|line| line.contains("error")).unwrap_or_default();
            bail!("cannot be built here: {first}");
        }
        Ok(())
    }

    /// Says what is installed here.
    fn version(&self) -> Option<String> {
        let said = (self.version)().output().ok().filter(|said| said.status.success())?;
        let said = String::from_utf8(said.stdout).ok()?;
        Some(format!("{} {}", self.name, said.lines().last()?.replace(['"', ' '], "")))
    }

    /// Runs a workload.
    pub(crate) fn measure(&self, workers: usize, arguments: &[String]) -> Result<Vec<Figure>> {
        let mut command = Command::new(self.program()?);
        command.arg(workers.to_string()).args(arguments);
        if let Ok(libraries) = std::env::join_paths(library_folders()) {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let text = child::output(&mut command)?;
        text.lines().map(figure).collect()
    }

    /// Beside this program, in the target folder.
    fn program(&self) -> Result<PathBuf> {
        let own = std::env::current_exe()?;
        let folder = own.parent().context("this program is in no folder")?;
        Ok(folder.join("kahn-bench-peers").join(self.name))
    }
}

/// The versions of all of them that are installed here, and of the compiler of C++.
pub(super) fn versions() -> impl Iterator<Item = String> {
    let compiler = || {
        let said = Command::new("c++").arg("--version").output().ok()?;
        Some(String::from_utf8(said.stdout).ok()?.lines().next()?.to_owned())
    };
    FOREIGN.iter().filter_map(Foreign::version).chain(compiler())
}

fn figure(line: &str) -> Result<Figure> {
    let mut fields = line.split('\t');
    let mut next = || fields.next().with_context(|| format!("a line is no figure: {line}"));
    Ok(Figure::new(next()?, next()?, next()?.parse()?))
}

/// Gives when one of the files of a folder was changed last.
fn last_change(folder: &Path) -> Option<SystemTime> {
    fs::read_dir(folder).ok()?.filter_map(|file| modified(&file.ok()?.path())).max()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn go(source: &Path, into: &Path) -> Command {
    let mut command = Command::new("go");
    if let Some(folder) = source.parent() {
        command.current_dir(folder);
    }
    command.args(["build", "-o"]).arg(into).arg(".");
    command
}

fn go_version() -> Command {
    let mut command = Command::new("go");
    command.args(["env", "GOVERSION"]);
    command
}

/// What a header defines.
fn macro_of(header: &str, name: &str) -> Command {
    let mut command = Command::new("sh");
    let script = "echo \"$2\" | c++ -E -P -include \"$1\" -x c++ -";
    command.args(["-c", script, "sh", header, name]);
    command
}

fn cpp(source: &Path, into: &Path, libraries: &[&str]) -> Command {
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O3", "-march=native", "-pthread", "-o"]).arg(into).arg(source);
    command.args(libraries);
    command
}

/// The compiler finds libraries through `LIBRARY_PATH`; so do the programs that it makes.
#[expect(clippy::disallowed_methods, reason = "a command reads its environment")]
fn library_folders() -> Vec<PathBuf> {
    ["LD_LIBRARY_PATH", "LIBRARY_PATH"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>())
        .collect()
}
