//! Files as slices: mapped where that is possible, read where it is not.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use kahn::ranks::Beside;
use kahn::{BoxError, Network};
use memmap2::Mmap;

use crate::Failure;

/// The bytes of a file, for as long as this value lives.
///
/// A regular file is mapped, so that it may be larger than the memory. What cannot be mapped (a
/// pipe, a terminal, a file of the system that says it is empty) is read to its end instead.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("some.txt");
/// std::fs::write(&path, "to be or not to be")?;
/// let input = kahn_apps::Input::open(&path)?;
/// assert_eq!(&input[..5], b"to be");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
    /// All of it, which stays: what is opened again is the same.
    Standard(&'static [u8]),
}

/// Reads standard input to its end, once in a program.
fn standard() -> Result<&'static [u8], Failure> {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(all) = ALL.get() {
        return Ok(all);
    }
    let mut bytes = Vec::new();
    match io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => Ok(ALL.get_or_init(|| bytes)),
        Err(cause) => Err(Failure::input(format!("standard input: cannot be read: {cause}"))),
    }
}

impl Input {
    /// Opens a file; `-` is standard input, which is read to its end, once: opened again, it is the same.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if there is no such file, if it may not be read, or if it is a
    /// directory.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let input = |bytes| Self { path: path.to_owned(), bytes };
        if path == Path::new("-") {
            return standard().map(|bytes| input(Bytes::Standard(bytes)));
        }
        Self::bytes(path).map(input).map_err(|cause| match cause.kind() {
            io::ErrorKind::IsADirectory => Failure::file(path, "is a directory")
                .with_help(format!("name the files in it: {}", path.join("*").display())),
            io::ErrorKind::NotFound => Failure::file(path, "no such file"),
            _ => Failure::file(path, format_args!("cannot read: {cause}")),
        })
    }

    /// Tells a network that it depends on the file: a recording of its run has its length and its digest,
    /// and is not run again with another.
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_apps::Input;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("some.txt");
    /// # std::fs::write(&path, "to be or not to be")?;
    /// let input = Input::open(&path)?;
    /// let mut network = Network::new();
    /// input.tell(&mut network);
    /// let words = network.source("words", input.split(|byte| *byte == b' '));
    /// let count = network.fold("count", words, 0, |count, _| count + 1);
    /// network.run()?;
    /// assert_eq!(count.take(), Some(6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tell<'env>(&'env self, network: &mut Network<'env>) {
        network.input(&self.path, self);
    }

    fn bytes(path: &Path) -> io::Result<Bytes> {
        let mut file = File::open(path)?;
        let facts = file.metadata()?;
        if facts.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if facts.is_file() && facts.len() > 0 {
            // SAFETY: the map is private and never written to here. What is left is that another
            // program changes the file meanwhile: then the bytes are any bytes, which every reader
            // of this type copes with, or, if the file is cut, the system ends this process.
            let map = unsafe { Mmap::map(&file) }?;
            return Ok(Bytes::Mapped(map));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Bytes::Read(bytes))
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
            Bytes::Standard(bytes) => bytes,
        }
    }
}

/// Files that every rank has: a part of one is written as which file it is of, where it begins and how long it is.
///
/// ```
/// use kahn::ranks::Beside;
/// use kahn_apps::{Files, Input};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("some.txt");
/// # std::fs::write(&path, "to be or not to be")?;
/// let files = [Input::open(&path)?];
/// let mut written = Vec::new();
/// (&files[0][3..5]).encode(Files(&files), &mut written);
/// assert_eq!(<&[u8]>::decode(Files(&files), &mut &written[..]).ok(), Some(&b"be"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Files<'files>(pub &'files [Input]);

impl<'files> Beside<Files<'files>> for &'files [u8] {
    fn encode(&self, files: Files<'files>, into: &mut Vec<u8>) {
        // Where nothing is does not matter.
        let is_of = |file: &Input| {
            let within = self.as_ptr().addr().checked_sub(file.as_ptr().addr());
            within.is_some_and(|within| within + self.len() <= file.len())
        };
        let number = if self.is_empty() { None } else { files.0.iter().position(is_of) };
        assert!(number.is_some() || self.is_empty(), "a message is no part of a file");
        match number {
            Some(number) => {
                number.encode((), into);
                self.encode(&files.0[number][..], into);
            }
            None => NOWHERE.encode((), into),
        }
    }

    fn decode(files: Files<'files>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        match usize::decode((), bytes)? {
            NOWHERE => Ok(&[]),
            number => {
                let file = files.0.get(number).ok_or("there is no such file")?;
                Self::decode(&file[..], bytes)
            }
        }
    }
}

/// The number of no file.
const NOWHERE: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_an_empty_slice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        std::fs::write(&path, "").unwrap();
        assert_eq!(&Input::open(&path).unwrap()[..], b"");
    }

    #[test]
    fn what_is_missing_and_what_is_a_directory_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Input::open(&folder.path().join("missing")).unwrap_err().to_string();
        assert!(missing.ends_with("missing: no such file"), "{missing}");
        let directory = Input::open(folder.path()).unwrap_err().to_string();
        assert!(directory.ends_with(": is a directory"), "{directory}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_the_system_that_claims_to_be_empty_is_read() {
        let input = Input::open(Path::new("/proc/self/status")).unwrap();
        assert!(input.starts_with(b"Name:"));
    }
}
