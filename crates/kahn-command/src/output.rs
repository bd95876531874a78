//! Files that are there with all their content, or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use kahn::process::WholeFile;

use crate::Failure;

/// Writes a whole file: a reader sees the old content or all of the new, never a part.
///
/// It is a [`WholeFile`]: the content goes to a new file beside it, which then takes its place. What is a
/// link, a device or a pipe is written in place.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("answer");
/// kahn_command::output::write_whole(&path, |out| writeln!(out, "42"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "42\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Failure::Output`] with the path and what the system said; the file is then as it was.
pub fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    try_write(path, content).map_err(|cause| Failure::Output { path: path.to_owned(), cause })
}

/// Refuses, before any work is done for it, a path that no file can be written to.
///
/// # Examples
///
/// ```
/// use std::path::Path;
///
/// assert!(kahn_command::output::check_writable(Path::new("/no such folder/answer")).is_err());
/// ```
///
/// # Errors
///
/// Returns [`Failure::Input`] if the path is a directory or would be in no directory.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::file(path, "is a directory, expected a file to write"));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(Failure::file(
            path,
            format_args!("cannot be written: there is no directory {}", folder.display()),
        ));
    }
    Ok(())
}

fn try_write(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(WholeFile::create(path)?);
    content(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn content_that_fails_half_way_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer");
        fs::write(&path, "old").unwrap();
        let failed = write_whole(&path, |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_path_in_no_directory_is_refused_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_writable(&folder.path().join("new")).is_ok());
        assert!(check_writable(folder.path()).is_err());
        assert!(check_writable(&folder.path().join("missing/new")).is_err());
        assert!(check_writable(Path::new("beside")).is_ok());
    }
}
