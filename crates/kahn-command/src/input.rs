//! Input as bytes.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use crate::Failure;

/// Reads a whole file; `-` is standard input.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("some.txt");
/// std::fs::write(&path, "to be")?;
/// assert_eq!(kahn_command::read(&path)?, b"to be");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Failure::Input`] with the path if it cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let all = io::stdin().lock().read_to_end(&mut bytes);
        return match all {
            Ok(_) => Ok(bytes),
            Err(cause) => Err(Failure::input(format!("standard input: cannot be read: {cause}"))),
        };
    }
    fs::read(path).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => Failure::file(path, "no such file"),
        ErrorKind::IsADirectory => Failure::file(path, "is a directory, expected a file"),
        _ => Failure::file(path, format_args!("cannot be read: {cause}")),
    })
}
