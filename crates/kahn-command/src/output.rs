//! Files that are there with all their content, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use tempfile::NamedTempFile;

use crate::Failure;

/// Writes a whole file: a reader sees the old content or all of the new, never a part.
///
/// The content goes to a new file beside it, which then takes its place. What is not a regular
/// file (a pipe, `/dev/stderr`) cannot be replaced and is written directly.
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
    if path == Path::new("/dev/stdout") {
        // Opened anew it would have a place of its own in a file, which the result would be written over.
        let mut out = BufWriter::new(io::stdout().lock());
        content(&mut out)?;
        return out.flush();
    }
    let old = fs::metadata(path).ok();
    // `/dev/stdout` may lead to a regular file, but that file is not ours.
    let is_lent = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
    if is_lent || old.as_ref().is_some_and(|facts| !facts.is_file()) {
        return fill(&OpenOptions::new().append(true).open(path)?, content);
    }
    // A link is followed: what it points to is replaced, not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let file = begun_in(&folder_of(&path))?;
    if let Some(facts) = old {
        file.as_file().set_permissions(facts.permissions())?;
    }
    fill(file.as_file(), content)?;
    // On the disk before its name is.
    file.as_file().sync_all()?;
    file.persist(&path).map(drop).map_err(|error| error.error)
}

/// The file that is written and is no result yet. A command writes one at a time.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Begins a file of a name that no other has.
fn begun_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut unfinished = UNFINISHED.lock();
    let file = new_file().tempfile_in(folder)?;
    *unfinished = Some(file.path().to_owned());
    Ok(file)
}

/// Removes what is half written. The command ends next: nothing more is begun.
pub(crate) fn abandon() {
    let mut unfinished = UNFINISHED.lock();
    if let Some(path) = unfinished.take() {
        // If it is a result by now, it is no more of this name.
        let _ = fs::remove_file(path);
    }
    std::mem::forget(unfinished);
}

fn fill(file: &File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(unix)]
fn new_file() -> tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut builder = tempfile::Builder::new();
    builder.prefix(".kahn-").permissions(fs::Permissions::from_mode(0o666));
    builder
}

#[cfg(not(unix))]
fn new_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kahn-");
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

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
