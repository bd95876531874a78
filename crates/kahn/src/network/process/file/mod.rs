//! Files and other readers and writers, at the rims of a network.
//!
//! What reads or writes blocks, so each of these processes has a thread of its own.

mod read;
mod saving;
mod whole;
mod write;

pub use read::open;
pub use whole::{WholeFile, exit};

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What failed with a file. Its cause is the system's error.
#[derive(Debug)]
struct AtPath {
    doing: &'static str,
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for AtPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} `{}`: {}", self.doing, self.path.display(), self.error)
    }
}

impl Error for AtPath {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// Says of an error what failed.
fn at<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> io::Error + use<'a> {
    move |error| {
        let kind = error.kind();
        io::Error::new(kind, AtPath { doing, path: path.to_owned(), error })
    }
}
