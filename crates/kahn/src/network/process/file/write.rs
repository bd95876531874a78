//! Sinks: to a writer, and to a file that is there whole or not at all.

use super::at;
use super::saving::{LeftOfFile, Saving};
use crate::network::making::Making;
use crate::{Name, Network, Process, Receiver};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// Writes messages in large pieces.
struct Pieces<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> Pieces<W> {
    fn new(out: W) -> Self {
        Self { out, buffer: Vec::with_capacity(BUFFER) }
    }

    fn add(&mut self, chunk: &[u8]) -> io::Result<()> {
        if self.buffer.len() + chunk.len() > BUFFER {
            self.write()?;
        }
        if chunk.len() >= BUFFER {
            return self.out.write_all(chunk);
        }
        self.buffer.extend_from_slice(chunk);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes all messages.
fn write_all<T: AsRef<[u8]> + Send>(mut chunks: Receiver<T>, out: impl Write) -> io::Result<()> {
    let mut pieces = Pieces::new(out);
    while let Some(chunk) = chunks.recv_blocking() {
        pieces.add(chunk.as_ref())?;
    }
    pieces.write()?;
    pieces.out.flush()
}

/// Writes all messages to a file that is there whole, but for those that are in what is left of it.
fn write_whole<T: AsRef<[u8]> + Send>(
    mut chunks: Receiver<T>,
    target: &Path,
    left: Option<LeftOfFile>,
) -> io::Result<()> {
    let (file, mut saving) = Saving::begin(target, left)?;
    let (mut pieces, begin) = (Pieces::new(file), saving.told());
    let (mut now, mut received) = (begin, 0);
    while let Some(chunk) = chunks.recv_blocking() {
        received += 1;
        if received <= begin.messages {
            continue;
        }
        let chunk = chunk.as_ref();
        pieces.add(chunk)?;
        now.messages = received;
        now.bytes += chunk.len() as u64;
        if saving.is_due(now) {
            pieces.write()?;
            saving.save(&pieces.out, now)?;
        }
    }
    if received < begin.messages {
        let what =
            format!("only {received} of the {} messages come that are in it", begin.messages);
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
    }
    pieces.write()?;
    pieces.out.finish()
}

impl<'env, M: Making> Network<'env, M> {
    /// Writes what it receives to a file: all of it, or the file stays as it was.
    ///
    /// Messages are texts or bytes; nothing is put between them. What is written goes to a file beside the
    /// target, which gets the target's mode, and takes its place by a rename when the stream has ended and all
    /// is on the disk. If anything fails before, here or in a process that this one depends on, or if the run is
    /// stopped, that file is removed. A target that is a link, a device or a pipe is written in place
    /// instead. A run that is recorded tells from time to time how much of the file is on the disk, so that
    /// another run can go on with what one that was killed has left. [`process::WholeFile`](crate::process::WholeFile) does the same outside a network, and
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
        let (path, process) = (path.into(), Process::named(name).effects());
        let name = self.called(process.name.clone());
        let part = self.made.part();
        let left = part.with(|core, by| core.left_of_file(&name, by, &path));
        self.blocking_with(process, chunks, move |chunks| {
            write_whole(chunks, &path, left).map_err(at("write", &path))
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
        writer: impl Write + Send + 'env,
    ) {
        let write = Process::named(name).effects();
        self.blocking_with(write, chunks, move |chunks| write_all(chunks, writer));
    }
}
