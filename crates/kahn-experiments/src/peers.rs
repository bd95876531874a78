//! Programs of others that are measured in the same run, where a variable names their folder.
//!
//! | variable | programs | run as |
//! |---|---|---|
//! | `KAHN_PEER_CCSP` | `ring`, `mtring`, `mandel`, `agents` | `ring CYCLES`, `mtring CYCLES TOKENS`, `mandel FRAMES`, `agents GRID AGENTS`, with `CCSP_RUNTIME_THREADS` |
//! | `KAHN_PEER_PHOENIX` | `wordcount`, `kmeans` | `wordcount FILE`, `kmeans POINTS GROUPS`, with `MR_NUMTHREADS` |
//! | `KAHN_PEER_FRONT` | `fibonacci`, `poweroftwo` | `fibonacci N`, `poweroftwo N`, with `SNET_WORKERS` |
//!
//! The folder may hold scripts that call the programs in their own way, and a file `VERSION` whose first line is kept
//! with their digests: what they were built from. The time is that of the whole
//! program, or the number behind the word `seconds` at the start of a line that it prints.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use kahn_apps::Failure;

use crate::experiment::{Bench, Measured, Outcome, Refused};
use crate::measure::time;

/// A folder of programs.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What it is called.
    pub(crate) name: &'static str,
    /// The variable that names the folder.
    variable: &'static str,
    /// The variable that tells its programs how many threads there are.
    threads: &'static str,
}

/// CCSP, of the paper on communicating processes.
pub(crate) static CCSP: Peer =
    Peer { name: "CCSP", variable: "KAHN_PEER_CCSP", threads: "CCSP_RUNTIME_THREADS" };

/// Phoenix, or Phoenix++, whichever is in the folder.
pub(crate) static PHOENIX: Peer =
    Peer { name: "Phoenix", variable: "KAHN_PEER_PHOENIX", threads: "MR_NUMTHREADS" };

/// The runtime of S-Net of its authors.
pub(crate) static FRONT: Peer =
    Peer { name: "FRONT", variable: "KAHN_PEER_FRONT", threads: "SNET_WORKERS" };

impl Peer {
    /// Runs a program once, on so many threads, and takes its time.
    pub(crate) fn measure(
        &self,
        program: &str,
        arguments: &[&str],
        threads: usize,
        bench: &Bench<'_>,
    ) -> Result<Outcome, Failure> {
        match bench.peers.get(self.variable) {
            Some(folder) => self.run(&folder.join(program), arguments, threads, bench),
            None => Ok(Outcome::Refused(self.missing(program, "not set"))),
        }
    }

    fn missing(&self, program: &str, value: &str) -> Refused {
        let what = format!("{}'s `{program}`", self.name);
        Refused { what, limit: self.variable.to_owned(), value: value.to_owned() }
    }

    fn run(
        &self,
        program: &Path,
        arguments: &[&str],
        threads: usize,
        bench: &Bench<'_>,
    ) -> Result<Outcome, Failure> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !program.is_file() {
            let folder = program.parent().unwrap_or(program).display().to_string();
            return Ok(Outcome::Refused(self.missing(&name, &folder)));
        }
        let version = fs::read_to_string(program.with_file_name("VERSION")).unwrap_or_default();
        let of = version.lines().next().map(|line| format!(" of {line}")).unwrap_or_default();
        bench.depends_on(&format!("{} {name}{of}", self.name), program)?;
        let mut command = Command::new(program);
        command.args(arguments).env(self.threads, threads.to_string());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let failed = |what: String| Failure::input(format!("{}: {what}", program.display()));
        let (seconds, output) = time(|| command.output());
        let output = output.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(format!("it ended with {}", output.status)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let own = text.lines().find_map(|line| line.strip_prefix("seconds")?.trim().parse().ok());
        Ok(Outcome::Measured(Measured::seconds(own.unwrap_or(seconds))))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::{Plan, Size};
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    const PLAN: Plan = Plan { size: Size::Quick, cores: 2 };

    fn named(folder: &Path) -> BTreeMap<String, PathBuf> {
        BTreeMap::from([("KAHN_PEER_CCSP".to_owned(), folder.to_owned())])
    }

    fn measure(script: &str) -> (Result<Outcome, Failure>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ring");
        fs::write(folder.path().join("VERSION"), "1.0, built as told\nand more\n").unwrap();
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let peers = named(folder.path());
        let bench = Bench::new(PLAN, folder.path(), &peers);
        let outcome = CCSP.measure("ring", &["3"], 2, &bench);
        (outcome, bench.used().into_keys().collect())
    }

    /// One after the other: a program that another thread writes while this one forks cannot be run.
    #[test]
    fn a_program_says_its_seconds_or_is_timed_or_fails() {
        let script = "test \"$1$CCSP_RUNTIME_THREADS\" = 32 && echo hello && echo seconds 1.5";
        let (outcome, used) = measure(script);
        assert_eq!(outcome.unwrap(), Outcome::Measured(Measured::seconds(1.5)));
        assert_eq!(used, ["CCSP ring of 1.0, built as told"], "its digest is kept");
        let (outcome, _) = measure("exit 0");
        let Outcome::Measured(measured) = outcome.unwrap() else { panic!("it was there") };
        assert!(measured.0["seconds"] > 0.0);
        let (outcome, _) = measure("exit 3");
        assert!(outcome.unwrap_err().to_string().ends_with("it ended with exit status: 3"));
    }

    #[test]
    fn a_program_that_is_not_there_is_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        for peers in [BTreeMap::new(), named(folder.path())] {
            let bench = Bench::new(PLAN, folder.path(), &peers);
            let outcome = CCSP.measure("ring", &[], 1, &bench).unwrap();
            let Outcome::Refused(refused) = outcome else { panic!("{outcome:?}") };
            assert!(refused.is_for_a_variable() && refused.what == "CCSP's `ring`", "{refused}");
        }
    }
}
