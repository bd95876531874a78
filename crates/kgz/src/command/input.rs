//! Files that are read: what may be, and whether a name still means the same file.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that is read.
pub(super) struct Input {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) found: Metadata,
}

/// Why a file is not read.
pub(super) enum Refused {
    /// It is left alone, with a warning.
    LeftAlone(String),
    /// The system says no.
    Failed(io::Error),
}

/// Opens a file, and looks at what was opened: not at what its name meant before.
///
/// Without `force` a link is not followed, and a file with several names is left alone.
pub(super) fn open(path: &Path, force: bool, is_removed_later: bool) -> Result<Input, Refused> {
    let follow = if force { 0 } else { libc::O_NOFOLLOW };
    // A pipe without a writer would make opening wait.
    let flags = follow | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(Refused::LeftAlone("is a link; left alone (`-f` follows it)".to_owned()));
        }
        Err(error) => return Err(Refused::Failed(error)),
    };
    let found = file.metadata().map_err(Refused::Failed)?;
    if !found.is_file() {
        let text = "is no regular file; left alone (`kgz < FILE` reads it)";
        return Err(Refused::LeftAlone(text.to_owned()));
    }
    if found.nlink() > 1 && !force && is_removed_later {
        let others = found.nlink() - 1;
        let text = format!(
            "has {others} other name{}; left alone (`-f` takes it)",
            if others == 1 { "" } else { "s" }
        );
        return Err(Refused::LeftAlone(text));
    }
    Ok(Input { path: path.to_owned(), file, found })
}

impl Input {
    /// Removes the file, unless its name means another one by now.
    pub(super) fn remove(&self) -> io::Result<bool> {
        let now = fs::symlink_metadata(&self.path)?;
        let (of_name, of_link) = (now.is_symlink(), fs::metadata(&self.path)?);
        let same =
            |other: &Metadata| (other.dev(), other.ino()) == (self.found.dev(), self.found.ino());
        if same(&now) || of_name && same(&of_link) {
            fs::remove_file(&self.path)?;
            return Ok(true);
        }
        Ok(false)
    }
}
