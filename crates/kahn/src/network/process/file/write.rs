//! Sinks: to a writer, and to a file that is there whole or not at all.

use super::at;
use super::whole::WholeFile;
use crate::network::making::Making;
use crate::{Name, Network, Process, Receiver};
use std::io::{self, Write};
use std::path::PathBuf;

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// Writes all messages.
fn write_all<T: AsRef<[u8]> + Send>(
    mut chunks: Receiver<T>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(BUFFER);
    while let Some(chunk) = chunks.recv_blocking() {
        let chunk = chunk.as_ref();
        if buffer.len() + chunk.len() > BUFFER {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        if chunk.len() >= BUFFER {
            out.write_all(chunk)?;
        } else {
            buffer.extend_from_slice(chunk);
        }
    }
    out.write_all(&buffer)?;
    out.flush()
}

impl<'env, M: Making> Network<'env, M> {
    /// Writes what it receives to a file: all of it, or the file stays as it was.
    ///
    /// Messages are texts or bytes; nothing is put between them. What is written goes to a file beside the
    /// target, which gets the target's mode, and takes its place by a rename when the stream has ended and all
    /// is on the disk. If anything fails before, here or in a process that this one depends on, or if the run is
    /// stopped, that file is removed. A target that is a link, a device or a pipe is written in place
    /// instead. [`process::WholeFile`](crate::process::WholeFile) does the same outside a network, and
    /// [`process::exit`](crate::process::exit) ends a program without such files left.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Network, process};
    ///
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// let target = folder.path().join("numbered.txt");
    /// let mut network = Network::new();
    /// let lines = network.lines("lines", process::open("Cargo.toml"));
    /// let mut number = 0;
    /// let numbered = network.map("number", lines, move |line| {
    ///     number += 1;
    ///     format!("{number:>4}  {line}\n")
    /// });
    /// network.write_file("write", numbered, &target);
    /// network.run()?;
    /// assert!(std::fs::read_to_string(&target).is_ok_and(|text| text.starts_with("   1  [package]")));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `chunks` belongs to another network.
    pub fn write_file<T: AsRef<[u8]> + Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        chunks: Receiver<T>,
        path: impl Into<PathBuf>,
    ) {
        let path = path.into();
        self.blocking_with(Process::named(name).effects(), chunks, move |chunks| {
            let told = at("write", &path);
            let mut file = WholeFile::create(&path).map_err(&told)?;
            write_all(chunks, &mut file).map_err(&told)?;
            file.finish().map_err(&told)
        });
    }

    /// Writes what it receives to a writer, such as [`std::io::stdout`].
    ///
    /// Messages are texts or bytes; nothing is put between them. They are written in large pieces.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut written = Vec::new();
    /// let mut network = Network::new();
    /// let words = network.source("words", ["to ", "be"]);
    /// network.write("write", words, &mut written);
    /// network.run()?;
    /// assert_eq!(written, b"to be");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `chunks` belongs to another network.
    pub fn write<T: AsRef<[u8]> + Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        chunks: Receiver<T>,
        mut writer: impl Write + Send + 'env,
    ) {
        let write = Process::named(name).effects();
        self.blocking_with(write, chunks, move |chunks| write_all(chunks, &mut writer));
    }
}
