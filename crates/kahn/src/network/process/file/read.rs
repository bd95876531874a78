//! Sources: the lines, blocks and records of a reader, and the files of a folder.

use super::at;
use crate::network::making::Making;
use crate::{Channel, Network, Receiver, Sender};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes that are asked of a reader at once.
const BUFFER: usize = 64 << 10;

/// Opens a file when it is first read, for [`Network::lines`], [`Network::blocks`] and
/// [`Network::records`]: whatever fails then is the failure of the process that reads, and names the file.
///
/// # Examples
///
/// ```
/// use kahn::{Network, process};
///
/// let mut network = Network::new();
/// let lines = network.lines("lines", process::open("there/is/none"));
/// network.for_each("ignore", lines, |_| {});
/// let error = network.run().expect_err("there is no such file");
/// assert!(error.to_string().contains("process `lines` failed: cannot open `there/is/none`"));
/// ```
pub fn open(path: impl Into<PathBuf>) -> impl Read + Send {
    Opened { path: path.into(), file: None }
}

struct Opened {
    path: PathBuf,
    file: Option<File>,
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path).map_err(at("open", &self.path))?),
        };
        file.read(buffer).map_err(at("read", &self.path))
    }
}

/// Fills a buffer as far as the reader goes.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Appends the files of a folder and of those in it, each folder in the order of the names.
fn list(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = fs::read_dir(folder).map_err(at("read the folder", folder))?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut entries: Vec<_> =
        entries.collect::<io::Result<_>>().map_err(at("read the folder", folder))?;
    entries.sort_unstable();
    for path in entries {
        let kind = fs::symlink_metadata(&path).map_err(at("look at", &path))?.file_type();
        if kind.is_dir() {
            list(&path, found)?;
        } else if kind.is_file() || kind.is_symlink() && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

impl<'env, M: Making> Network<'env, M> {
    /// Makes a process that blocks its thread, and the channel that it writes.
    fn reads<T: Send + 'env>(
        &mut self,
        out: impl Into<Channel<T>>,
        read: impl FnOnce(Sender<T>) -> io::Result<()> + Send + 'env,
    ) -> Receiver<T> {
        let mut channel = out.into();
        let process = channel.writer();
        let (out, made) = self.channel_with(channel);
        self.blocking_with(process, out, read);
        made
    }

    /// Sends the lines of a reader, without their ends (`\n` or `\r\n`).
    ///
    /// The reader is a file ([`process::open`](crate::process::open)), standard input
    /// ([`std::io::stdin`]), bytes, a connection: whatever implements [`Read`]. It needs no buffer. The
    /// process blocks a thread of its own; what a thread waits for outside, such as a terminal, no stop
    /// interrupts. A line that is no text (UTF-8) is its failure: [`records`](Self::records) takes any bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.lines("lines", "to be\r\nor not\n".as_bytes());
    /// let all = network.collect("all", lines);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["to be".to_owned(), "or not".to_owned()]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn lines(
        &mut self,
        name: impl Into<Channel<String>>,
        reader: impl Read + Send + 'env,
    ) -> Receiver<String> {
        self.reads(name, move |mut out| {
            for (line, number) in BufReader::with_capacity(BUFFER, reader).lines().zip(1_u64..) {
                let told = |error: io::Error| match error.kind() {
                    io::ErrorKind::InvalidData if error.get_ref().is_none_or(is_plain) => {
                        io::Error::new(error.kind(), format!("line {number}: {error}"))
                    }
                    _ => error,
                };
                out.send_blocking(line.map_err(told)?);
            }
            Ok::<(), io::Error>(())
        })
    }

    /// Sends the bytes of a reader in blocks of `size`; the last one may be shorter.
    ///
    /// For readers, see [`lines`](Self::lines).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let blocks = network.blocks("blocks", &b"12345678"[..], 5);
    /// let all = network.collect("all", blocks);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![b"12345".to_vec(), b"678".to_vec()]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `size` is 0.
    pub fn blocks(
        &mut self,
        name: impl Into<Channel<Vec<u8>>>,
        mut reader: impl Read + Send + 'env,
        size: usize,
    ) -> Receiver<Vec<u8>> {
        assert!(size > 0, "a block has one byte at least");
        self.reads(name, move |mut out| {
            loop {
                let mut block = vec![0; size];
                let filled = fill(&mut reader, &mut block)?;
                if filled > 0 {
                    block.truncate(filled);
                    out.send_blocking(block);
                }
                if filled < size {
                    return Ok::<(), io::Error>(());
                }
            }
        })
    }

    /// Sends what stands between the bytes `end` of a reader; the last record may do without.
    ///
    /// For readers, see [`lines`](Self::lines).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// // As `find -print0` writes them.
    /// let names = network.records("names", &b"a file\0another\0"[..], 0);
    /// let all = network.collect("all", names);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![b"a file".to_vec(), b"another".to_vec()]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn records(
        &mut self,
        name: impl Into<Channel<Vec<u8>>>,
        reader: impl Read + Send + 'env,
        end: u8,
    ) -> Receiver<Vec<u8>> {
        self.reads(name, move |mut out| {
            for record in BufReader::with_capacity(BUFFER, reader).split(end) {
                out.send_blocking(record?);
            }
            Ok::<(), io::Error>(())
        })
    }

    /// Sends the paths of all files of a folder and of the folders in it, each folder in the order of the names.
    ///
    /// Links to files are sent, links to folders are not followed. All are listed before the first is
    /// sent.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let files = network.folder("files", "src");
    /// let texts = network.try_ordered_map("read", files, 4, 8, |path| Ok(std::fs::read_to_string(path)?));
    /// let lines = network.fold("count", texts, 0, |lines, text| lines + text.lines().count());
    /// network.run()?;
    /// assert!(lines.take() > Some(1000));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn folder(
        &mut self,
        name: impl Into<Channel<PathBuf>>,
        path: impl Into<PathBuf>,
    ) -> Receiver<PathBuf> {
        let path = path.into();
        self.reads(name, move |mut out| {
            let mut found = Vec::new();
            list(&path, &mut found)?;
            for file in found {
                out.send_blocking(file);
            }
            Ok::<(), io::Error>(())
        })
    }
}

/// Whether an error is the standard library's own, which says nothing of where.
fn is_plain(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    !error.is::<super::AtPath>()
}
