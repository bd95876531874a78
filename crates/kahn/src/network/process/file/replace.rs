//! Writing a file so that its name means the old one or the new one, and never a part.
//!
//! | step | if it fails, or the process is ended before the last |
//! |---|---|
//! | a file beside the target, which did not exist (`O_EXCL`), gets the target's mode | nothing is there |
//! | all is written to it, and to the disk (`fsync`) | it is removed |
//! | it is renamed to the target; the folder's entry is written to the disk | it is removed; the target is as it was |
//!
//! A target that is there and is no plain file (a link, a device, a pipe) is opened and written as it is: to
//! rename over it would put a file in its place.

use super::at;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Names that are tried for the file beside the target.
const TRIES: u32 = 10_000;

/// A file that is being written.
pub(super) struct Replacement {
    target: PathBuf,
    file: File,
    /// What is written to, if it is not the target; removed unless it is renamed.
    beside: Option<PathBuf>,
}

impl Replacement {
    /// Begins to write a file.
    pub(super) fn new(target: PathBuf) -> io::Result<Self> {
        let found = match fs::symlink_metadata(&target) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(at("write", &target)(error)),
        };
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            let mut options = OpenOptions::new();
            options.write(true).truncate(true).create(true);
            let file = options.open(&target).map_err(at("write", &target))?;
            return Ok(Self { target, file, beside: None });
        }
        let (beside, file) = create_beside(&target)?;
        let replacement = Self { target, file, beside: Some(beside) };
        if let Some(found) = found {
            // Before there is anything in it.
            let set = replacement.file.set_permissions(found.permissions());
            set.map_err(at("set the mode of a file beside", &replacement.target))?;
        }
        Ok(replacement)
    }

    /// All is written: puts it in the target's place.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let Some(beside) = &self.beside else { return Ok(()) };
        system::sync(&self.file).map_err(at("write to the disk", &self.target))?;
        system::rename(beside, &self.target).map_err(at("write", &self.target))?;
        self.beside = None;
        // The name's turn. Not every system opens folders, and the file is whole without.
        if let Ok(folder) = File::open(folder_of(&self.target)) {
            let _ = system::sync(&folder);
        }
        Ok(())
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a file beside the target, of a name that is not taken.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let Some(name) = target.file_name() else {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "it names no file");
        return Err(at("write", target)(error));
    };
    for number in 0..TRIES {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}-{number}.part", std::process::id()));
        let beside = target.with_file_name(beside);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at("write a file beside", target)(error)),
        }
    }
    let error = io::Error::new(io::ErrorKind::AlreadyExists, "all names beside it are taken");
    Err(at("write", target)(error))
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(at("write", &self.target))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(at("write", &self.target))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // Nothing can be done about what cannot be removed.
            let _ = fs::remove_file(beside);
        }
    }
}

/// What the system is asked to do at the end. Tests look at the order.
mod system {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    #[cfg(test)]
    thread_local! {
        pub(super) static ASKED: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
    }

    #[cfg(test)]
    fn note(what: io::Result<String>) {
        ASKED.with_borrow_mut(|asked| asked.push(what.expect("it can be told")));
    }

    pub(super) fn sync(file: &File) -> io::Result<()> {
        #[cfg(test)]
        note(file.metadata().map(|found| {
            let file = || format!("sync a file of {} bytes", found.len());
            if found.is_dir() { "sync the folder".to_owned() } else { file() }
        }));
        file.sync_all()
    }

    pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(test)]
        note(fs::metadata(from).map(|found| format!("rename {} bytes", found.len())));
        fs::rename(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_on_the_disk_before_the_name_is() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut replacement = Replacement::new(folder.path().join("target"))?;
        replacement.write_all(b"all of it")?;
        replacement.finish()?;
        let asked = system::ASKED.take();
        assert_eq!(asked, ["sync a file of 9 bytes", "rename 9 bytes", "sync the folder"]);
        Ok(())
    }
}
