//! Measurements on disk, a line each, written as they are made.
//!
//! ```text
//! {"study":"ring","size":"quick","points":1,"machine":{…}}                   whose they are
//! {"point":[["policy","static"],["processes",10]],"round":0,"measured":{"seconds":0.01}}
//! {"point":[…],"round":0,"refused":{"what":…,"limit":…,"value":…}}
//! ```
//!
//! Whatever ends the program, the lines before stay: at the next start they are read, and what is
//! there is not measured again. A line cut short is dropped. Lines that belong to another program,
//! machine or size are not mixed with new ones: the file is put aside, as `….jsonl.old`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::{Measured, Outcome, Point, Refused};

/// Whose the measurements of a file are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// What was measured.
    pub(crate) study: String,
    /// In which size.
    pub(crate) size: String,
    /// By what.
    pub(crate) machine: Machine,
}

#[derive(Serialize, Deserialize)]
struct Line {
    point: Point,
    round: usize,
    #[serde(flatten)]
    outcome: Written,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Written {
    Measured(BTreeMap<String, f64>),
    Refused(Refused),
}

/// The measurements of one study.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    file: Option<File>,
    owner: Owner,
    lines: BTreeMap<(String, usize), Outcome>,
    put_aside: bool,
}

impl Store {
    /// Opens the file of `owner`, and puts the measurements of another aside.
    ///
    /// # Errors
    ///
    /// Returns what the system said about the file.
    pub(crate) fn open(path: &Path, owner: Owner) -> io::Result<Self> {
        let mut store = Self::empty(path, owner);
        if let Some(text) = read(path)? {
            if let Some(whole) = store.take(&text) {
                // What is behind them is a line that was cut short.
                File::options().write(true).open(path)?.set_len(whole as u64)?;
            } else {
                fs::rename(path, path.with_extension("jsonl.old"))?;
                store.put_aside = true;
            }
        }
        Ok(store)
    }

    fn empty(path: &Path, owner: Owner) -> Self {
        let path = path.to_owned();
        Self { path, file: None, owner, lines: BTreeMap::new(), put_aside: false }
    }

    /// Whether there were measurements of another owner, which are put aside.
    pub(crate) fn put_aside(&self) -> bool {
        self.put_aside
    }

    /// Reads the measurements there are, whoever made them; there may be none.
    ///
    /// # Errors
    ///
    /// Returns what the system said about the file.
    pub(crate) fn read_only(path: &Path) -> io::Result<Option<Self>> {
        let Some(text) = read(path)? else { return Ok(None) };
        let first = text.lines().next().unwrap_or_default();
        let Ok(owner) = serde_json::from_str(first) else { return Ok(None) };
        let mut store = Self::empty(path, owner);
        store.take(&text);
        Ok(Some(store))
    }

    /// Takes the lines of a file of the same owner; returns how many bytes of it are whole lines.
    fn take(&mut self, text: &str) -> Option<usize> {
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let owner: Owner = serde_json::from_str(lines.next()?).ok()?;
        if owner != self.owner {
            return None;
        }
        for line in lines {
            // What is not a line of ours is measured again.
            let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
            let outcome = match line.outcome {
                Written::Measured(figures) => Outcome::Measured(Measured(figures)),
                Written::Refused(refused) => Outcome::Refused(refused),
            };
            self.lines.insert((line.point.key(), line.round), outcome);
        }
        Some(whole)
    }

    /// Whose they are.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Finds a measurement.
    pub(crate) fn get(&self, point: &Point, round: usize) -> Option<&Outcome> {
        self.lines.get(&(point.key(), round))
    }

    /// Keeps a measurement: when this returns, it is in the file.
    ///
    /// # Errors
    ///
    /// Returns what the system said about the file.
    pub(crate) fn keep(&mut self, point: &Point, round: usize, outcome: Outcome) -> io::Result<()> {
        let written = match &outcome {
            Outcome::Measured(measured) => Written::Measured(measured.0.clone()),
            Outcome::Refused(refused) => Written::Refused(refused.clone()),
        };
        let line = Line { point: point.clone(), round, outcome: written };
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        self.file()?.write_all(text.as_bytes())?;
        self.lines.insert((point.key(), round), outcome);
        Ok(())
    }

    /// Opens the file for the next line; a new one begins with whose it is.
    fn file(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            closed => {
                if let Some(folder) = self.path.parent() {
                    fs::create_dir_all(folder)?;
                }
                let mut file = File::options().append(true).create(true).open(&self.path)?;
                if file.metadata()?.len() == 0 {
                    let mut text = serde_json::to_string(&self.owner)?;
                    text.push('\n');
                    file.write_all(text.as_bytes())?;
                }
                Ok(closed.insert(file))
            }
        }
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(match String::from_utf8(bytes) {
            Ok(text) => text,
            // Whatever it is, we have not written it: what stands before is ours.
            Err(error) => {
                let whole = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(whole);
                String::from_utf8(bytes).unwrap_or_default()
            }
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
