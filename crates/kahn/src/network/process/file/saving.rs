//! How much of its file a process has on the disk: told while it writes, and gone on from in another run of the same.
//!
//! The first *n* messages are the first *b(n)* bytes of the file in every run, for what is received is the same, and it
//! is only appended to. What is told is true from then on, and after a power failure as well: the bytes are
//! on the disk (`fsync`) before they are told. What is told may be lost, then an earlier one counts.
//!
//! | the file beside the target | last told | killed here, another run |
//! |---|---|---|
//! | is not there | nothing, or its name with no bytes | makes a file, and writes all |
//! | is there, with any bytes | its name with no bytes, before it was made | cuts it to nothing, and writes all |
//! | has *m* messages, part of which may not be on the disk | *n* ≤ *m* messages, *b(n)* bytes | cuts it to *b(n)* bytes, drops the first *n* messages, writes the others |
//! | has the target's name, for it was finished | *n* messages of a file that is not there any more | makes a file, and writes all: the same bytes |
//! | is gone, for the run was stopped or failed | likewise | likewise |
//! | is another one than was told, by content or kind | *n* messages | leaves it alone, makes a file, and writes all |
//!
//! Nothing is cut before the run has begun: one that is refused leaves all files as they were.

use super::whole::{LeftBeside, WholeFile};
use crate::channel::observer::{saves_each, tell_of_saving};
use crate::network::core::{By, Core};
use crate::network::replay::Again;
use kahn_report::Name;
use std::io;
use std::path::Path;

/// After so many bytes it is told in any case.
const MOST_BYTES: u64 = 64 << 20;

/// What another run has left, as far as it was told.
pub(super) struct LeftOfFile {
    beside: LeftBeside,
    at: Extent,
}

/// A place in a file, between two messages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

impl Core {
    /// What the next process, of this name, has left of its file in a run that it is to go on with.
    pub(super) fn left_of_file(
        &self,
        name: &Name,
        by: By<'_>,
        target: &Path,
    ) -> Option<LeftOfFile> {
        let Again(script) = self.script.get()?;
        let process = self.coming(name, by);
        let saved = script.saved(process)?;
        let at = Extent { messages: saved.messages, bytes: saved.bytes };
        match LeftBeside::open(target, &saved.part) {
            Ok(beside) => {
                script.goes_on(process, Ok(&beside.file)).then_some(LeftOfFile { beside, at })
            }
            Err(error) => {
                script.goes_on(process, Err(error));
                None
            }
        }
    }
}

/// Tells how far a file has come, of which the process that runs writes messages.
pub(super) struct Saving {
    /// After how many messages it tells.
    each: u64,
    told: Extent,
}

impl Saving {
    /// Makes the file, or goes on with what is left of it: returns it, and where it goes on.
    pub(super) fn begin(target: &Path, left: Option<LeftOfFile>) -> io::Result<(WholeFile, Self)> {
        let (file, told) = if let Some(LeftOfFile { beside, at }) = left {
            (beside.go_on(at.bytes)?, at)
        } else {
            let tell = |part: &str| tell_of_saving(part, 0, 0, None);
            (WholeFile::create_told(target, tell)?, Extent::default())
        };
        Ok((file, Self { each: saves_each().unwrap_or(u64::MAX), told }))
    }

    /// Where it began, or was told last.
    pub(super) fn told(&self) -> Extent {
        self.told
    }

    /// Whether it is to be told that the file has come to this place.
    pub(super) fn is_due(&self, now: Extent) -> bool {
        let is_told = self.each != u64::MAX;
        is_told
            && (now.messages - self.told.messages >= self.each
                || now.bytes - self.told.bytes >= MOST_BYTES)
    }

    /// Has what was written on the disk, and tells so: the file ends at this place.
    pub(super) fn save(&mut self, file: &WholeFile, now: Extent) -> io::Result<()> {
        self.told = now;
        if let Some((part, file)) = file.save()? {
            tell_of_saving(part, now.messages, now.bytes, Some(file));
        }
        Ok(())
    }
}
