//! Measurements on disk, a line each, written as they are made.
//!
//! ```text
//! {"study":"ring","size":"quick","seed":1,"machine":{…}}                       whose they are
//! {"file":"zipf-10-260000.txt","sha256":"…"}                                  an input, a peer's program
//! {"point":[["policy","static"],["processes",10]],"round":0,"measured":{"seconds":0.01,"load of others":0,…}}
//! {"point":[…],"round":0,"refused":{"what":…,"limit":…,"value":…}}
//! ```
//!
//! Whatever ends the program, the lines before stay: at the next start they are read, and what is
//! there is not measured again. A line cut short is dropped. Of two lines about one round the later
//! one counts. Lines that belong to another program, machine or size are not mixed with new ones: the
//! file is put aside, as `….jsonl.old`. What is read only may be compressed by `gzip`: `….jsonl.gz`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
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
    /// How often each point is measured.
    pub(crate) rounds: usize,
    /// What the order of the points in each round is drawn from.
    pub(crate) seed: u64,
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

/// A file that measurements depend on.
#[derive(Serialize, Deserialize)]
struct Used {
    file: String,
    sha256: String,
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
    lines: Vec<(Point, usize, Outcome)>,
    places: BTreeMap<(String, usize), usize>,
    used: BTreeMap<String, String>,
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
        Self {
            path: path.to_owned(),
            file: None,
            owner,
            lines: Vec::new(),
            places: BTreeMap::new(),
            used: BTreeMap::new(),
            put_aside: false,
        }
    }

    /// Whether there were measurements of another owner, which are put aside.
    pub(crate) fn put_aside(&self) -> bool {
        self.put_aside
    }

    /// Reads the measurements there are, whatever made them; there may be none.
    ///
    /// # Errors
    ///
    /// Returns what the system said about the file.
    pub(crate) fn read_only(path: &Path) -> io::Result<Option<Self>> {
        let text = match read(path)? {
            Some(text) => text,
            None => match read(&path.with_extension("jsonl.gz"))? {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        let first = text.lines().next().unwrap_or_default();
        let wrong = |line: usize, expected: &str, error: &serde_json::Error| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("line {line}: expected {expected}: {error}"),
            )
        };
        let owner = serde_json::from_str(first)
            .map_err(|error| wrong(1, "study, size, rounds, seed and machine", &error))?;
        let mut store = Self::empty(path, owner);
        let whole = store.take(&text).unwrap_or(0);
        // What is wrong in a file that is only read is not measured again.
        for (index, line) in text[..whole].lines().enumerate().skip(1) {
            let is_used = serde_json::from_str::<Used>(line).is_ok();
            if let (false, Err(error)) = (is_used, serde_json::from_str::<Line>(line)) {
                return Err(wrong(index + 1, "point, round, and measured or refused", &error));
            }
        }
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
            if let Ok(Used { file, sha256 }) = serde_json::from_str(line) {
                self.used.insert(file, sha256);
                continue;
            }
            // What is not a line of ours is measured again.
            let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
            let outcome = match line.outcome {
                Written::Measured(figures) => Outcome::Measured(Measured(figures)),
                Written::Refused(refused) => Outcome::Refused(refused),
            };
            self.insert(line.point, line.round, outcome);
        }
        Some(whole)
    }

    fn insert(&mut self, point: Point, round: usize, outcome: Outcome) {
        let place = *self.places.entry((point.key(), round)).or_insert(self.lines.len());
        if let Some(line) = self.lines.get_mut(place) {
            line.2 = outcome;
        } else {
            self.lines.push((point, round, outcome));
        }
    }

    /// Whose they are.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The files that they depend on, with their digests.
    pub(crate) fn used(&self) -> &BTreeMap<String, String> {
        &self.used
    }

    /// All measurements, in the order in which they were made.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&Point, usize, &Outcome)> {
        self.lines.iter().map(|(point, round, outcome)| (point, *round, outcome))
    }

    /// Finds a measurement.
    pub(crate) fn get(&self, point: &Point, round: usize) -> Option<&Outcome> {
        self.places.get(&(point.key(), round)).map(|place| &self.lines[*place].2)
    }

    /// Keeps a measurement, and the files that it depends on: when this returns, they are written.
    ///
    /// # Errors
    ///
    /// Returns what the system said about the file.
    pub(crate) fn keep(
        &mut self,
        point: &Point,
        round: usize,
        outcome: Outcome,
        used: BTreeMap<String, String>,
    ) -> io::Result<()> {
        let mut text = String::new();
        for (file, sha256) in used {
            if self.used.get(&file) != Some(&sha256) {
                text +=
                    &serde_json::to_string(&Used { file: file.clone(), sha256: sha256.clone() })?;
                text.push('\n');
                self.used.insert(file, sha256);
            }
        }
        let written = match &outcome {
            Outcome::Measured(measured) => Written::Measured(measured.0.clone()),
            Outcome::Refused(refused) => Written::Refused(refused.clone()),
        };
        text += &serde_json::to_string(&Line { point: point.clone(), round, outcome: written })?;
        text.push('\n');
        self.file()?.write_all(text.as_bytes())?;
        self.insert(point.clone(), round, outcome);
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

/// Reads a file, and decompresses it if its name ends with `.gz`.
///
/// # Errors
///
/// Returns what the system said about the file, or that it is not of that format.
///
/// # Examples
///
/// ```
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(file.path(), "a line\n")?;
/// assert_eq!(kahn_experiments::read_plain(file.path())?, b"a line\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = fs::read(path)?;
    if path.extension().is_none_or(|ending| ending != "gz") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
    Ok(plain)
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let bytes = match read_plain(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        // Whatever it is, we have not written it: what stands before is ours.
        Err(error) => {
            let whole = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(whole);
            String::from_utf8(bytes).unwrap_or_default()
        }
    }))
}
