//! Measurements on disk: whose they are, then a line of JSON for each runtime, parameters, workers and metric.
//!
//! ```text
//! {"date":"2026-01-31","machine":{…},"peers":["tokio 1.2.3",…],"command":"kahn-bench table","missing":{}}
//! {"workload":"ring","runtime":"kahn",…,"median":16.2,"min":16.1,"figures":[16.2,16.1,17.0],…}
//! ```

use crate::lines::Line;
use crate::table::Missing;
use anyhow::{Context, Result};
use kahn_apps::output;
use kahn_experiments::{Machine, read_plain};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// When, on what, beside what, and by which command it was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Conditions {
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) peers: Vec<String>,
    pub(crate) command: String,
    pub(crate) missing: Missing,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) conditions: Conditions,
    pub(crate) lines: Vec<Line>,
}

impl Data {
    /// Writes the file whole, or leaves it as it was.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut lines = vec![serde_json::to_string(&self.conditions)?];
        for line in &self.lines {
            lines.push(serde_json::to_string(line)?);
        }
        output::write_whole(path, |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
        Ok(())
    }

    /// Reads what was written; it may be compressed by `gzip` since.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let bytes = read_plain(path).with_context(|| format!("{name} cannot be read"))?;
        let text = String::from_utf8(bytes).with_context(|| format!("{name} is no text"))?;
        let mut rest = text.lines();
        let first = rest.next().with_context(|| format!("{name} is empty"))?;
        let conditions = serde_json::from_str(first)
            .with_context(|| format!("{name}, line 1 does not say whose measurements these are"))?;
        let lines = rest.enumerate().map(|(index, line)| {
            serde_json::from_str(line).with_context(|| format!("{name}, line {}", index + 2))
        });
        Ok(Self { conditions, lines: lines.collect::<Result<_>>()? })
    }
}
