//! CCSP, the runtime of the paper on communicating processes, where a variable names the folder of its programs.
//!
//! Nothing of it is here: its code has a licence of its own. `docs/experiments.md` says what the folder holds. A
//! program that prints `… N ps` has taken the time of a step itself; else it is timed as a whole.

use crate::child;
use crate::measure::{Figure, nanoseconds, real, time};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// As the peer is called.
pub(crate) const NAME: &str = "ccsp";
const VARIABLE: &str = "KAHN_PEER_CCSP";

/// One of its programs, and what a time of it means.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<String>,
    pub(crate) metric: &'static str,
    /// How many steps it takes; `None` for the time of a run.
    pub(crate) steps: Option<usize>,
}

impl Program {
    /// Runs it once.
    pub(crate) fn measure(&self, workers: usize) -> Result<Vec<Figure>> {
        let mut command = Command::new(folder()?.join(self.name));
        command.args(&self.arguments).env("CCSP_RUNTIME_THREADS", workers.to_string());
        let (time, output) = time(|| child::output(&mut command));
        let Some(steps) = self.steps else {
            output?;
            return Ok(vec![Figure::new(self.metric, "ms", nanoseconds(time) / 1e6)]);
        };
        let each =
            picoseconds(&output?).map_or(nanoseconds(time) / real(steps), |own| own / 1000.0);
        Ok(vec![Figure::new(self.metric, "ns", each)])
    }
}

/// What a program says of itself.
fn picoseconds(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_suffix(" ps")?.rsplit(' ').next()?.parse().ok())
}

/// Says why its programs cannot be measured.
pub(super) fn prepare() -> Result<()> {
    let folder = folder()?;
    ensure!(folder.is_dir(), "{VARIABLE} names no folder: {}", folder.display());
    Ok(())
}

fn folder() -> Result<PathBuf> {
    let named = std::env::var_os(VARIABLE);
    named
        .map(PathBuf::from)
        .with_context(|| format!("{VARIABLE} is not set to the folder of its programs"))
}

/// What its programs were built from, if the folder says so.
pub(super) fn version() -> Option<String> {
    let text = fs::read_to_string(folder().ok()?.join("VERSION")).ok()?;
    Some(format!("{NAME} {}", text.lines().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_say_what_a_step_takes() {
        assert_eq!(picoseconds("fork 1000: 36780 ps\n"), Some(36780.0));
        assert_eq!(picoseconds("done\n"), None);
    }
}
