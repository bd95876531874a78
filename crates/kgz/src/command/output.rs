//! Files that are written: under a temporary name until they are complete.

use parking_lot::Mutex;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;

/// The temporary file that is being written, for the case that the program is interrupted.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Has an interrupted program remove what it has not finished, and exit as the system's tools do.
pub(super) fn remove_if_interrupted() {
    let handler = || {
        // The lock is kept: nothing takes its place any more.
        let unfinished = UNFINISHED.lock();
        if let Some(path) = unfinished.as_ref() {
            let _ = std::fs::remove_file(path);
        }
        end(130);
    };
    // A handler that is there already is that of a test in the same process.
    let _ = ctrlc::set_handler(handler);
}

/// Ends the program at once, whatever its threads do.
#[expect(clippy::exit, reason = "a thread may wait in a call of the system for ever")]
pub(super) fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// Where output goes.
pub(super) enum Output {
    /// To standard output.
    Standard,
    /// To a file that takes its place when it is complete.
    File { temporary: NamedTempFile, path: PathBuf, replace: bool },
    /// To a device, a pipe or through a link, as it comes.
    InPlace(File),
    /// Nowhere.
    Nowhere,
}

/// Why a file is not written.
pub(super) enum Refused {
    /// It exists.
    Exists,
    /// The system says no.
    Failed(io::Error),
}

impl Output {
    /// Begins a file beside where it is to stand.
    pub(super) fn begin(path: &Path, replace: bool) -> Result<Self, Refused> {
        if let Ok(found) = std::fs::symlink_metadata(path) {
            let kind = found.file_type();
            if kind.is_symlink()
                || kind.is_fifo()
                || kind.is_char_device()
                || kind.is_block_device()
            {
                if kind.is_symlink() && !replace {
                    return Err(Refused::Exists);
                }
                let file = OpenOptions::new().write(true).truncate(kind.is_symlink()).open(path);
                return file.map(Self::InPlace).map_err(Refused::Failed);
            }
            if !replace {
                return Err(Refused::Exists);
            }
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut unfinished = UNFINISHED.lock();
        let temporary = tempfile::Builder::new()
            .prefix(".kgz-")
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(Refused::Failed)?;
        *unfinished = Some(temporary.path().to_owned());
        Ok(Self::File { temporary, path: path.to_owned(), replace })
    }

    /// Something to write to, which may live on another thread.
    pub(super) fn writer(&self) -> io::Result<Box<dyn io::Write + Send>> {
        Ok(match self {
            Self::Standard => Box::new(io::stdout()),
            Self::File { temporary, .. } => Box::new(temporary.as_file().try_clone()?),
            Self::InPlace(file) => Box::new(file.try_clone()?),
            Self::Nowhere => Box::new(io::sink()),
        })
    }

    /// Whether it is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        match self {
            Self::Standard => io::stdout().is_terminal(),
            Self::InPlace(file) => file.is_terminal(),
            Self::File { .. } | Self::Nowhere => false,
        }
    }

    /// Gives a complete file its name, with mode and time of the file that it was made from.
    pub(super) fn commit(
        self,
        like: Option<&Metadata>,
        modified: Option<u32>,
    ) -> Result<(), Refused> {
        let Self::File { temporary, path, replace } = self else { return Ok(()) };
        let failed = Refused::Failed;
        let file = temporary.as_file();
        let mode = like.map_or(0o666 & !umask(), |found| found.permissions().mode() & 0o777);
        file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
        let told = modified.filter(|seconds| *seconds != 0);
        let told =
            told.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(seconds)));
        if let Some(time) = told.or_else(|| like.and_then(|found| found.modified().ok())) {
            file.set_modified(time).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        let mut unfinished = UNFINISHED.lock();
        let placed =
            if replace { temporary.persist(&path) } else { temporary.persist_noclobber(&path) };
        *unfinished = None;
        match placed {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Refused::Exists)
            }
            Err(error) => Err(Refused::Failed(error.error)),
        }
    }
}

/// The bits that new files do not get: read from what a new file gets.
fn umask() -> u32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|bits| u32::from_str_radix(bits.trim(), 8).ok()).unwrap_or(0o022)
}
