//! How a recording gets to the disk: into one of two buffers, while a thread writes the other.
//!
//! | the buffer that is filled | the thread | a call that appends |
//! |---|---|---|
//! | is empty | waits | goes on |
//! | has less than [`ROOM`] | writes what is there when the other is written, at least each [`PERIOD`] | goes on |
//! | has more | writes the other | waits: a disk that is slow makes sources slow |
//! | – | could not write | goes on, and nothing is kept: the recording has ended, not the run |

use super::{Entry, FRAME, Header, MAGIC, MOST, VERSION, checksum};
use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A buffer with as many bytes is full.
const ROOM: usize = 1 << 20;

/// From so many bytes on the thread is told.
const WORTH_WRITING: usize = 1 << 16;

/// What a program that is killed may lose.
const PERIOD: Duration = Duration::from_millis(100);

/// Writes a recording; any thread may append.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::{Act, Entry, Header, Reader, Writer};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.rec");
/// let writer = Writer::create(&path, &Header::default())?;
/// let act = Act::Sends { channel: 4, message: b"to be" };
/// writer.append(&Entry::Acts { process: 3, act });
/// writer.finish()?;
///
/// let mut reader = Reader::open(&path)?;
/// assert_eq!(reader.read()?, Some(Entry::Acts { process: 3, act }));
/// assert_eq!(reader.read()?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something worth writing, or no more will come.
    work: Condvar,
    /// A buffer was written.
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whole records.
    buffer: Vec<u8>,
    is_finished: bool,
    /// Why nothing is written any more.
    error: Option<io::Error>,
    has_ended: bool,
    /// Nothing more is appended, what was is written.
    ends_here: bool,
    written: u64,
}

impl Writer {
    /// Makes the file and writes the header.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, Writer};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let writer = Writer::create(&path, &Header::default())?;
    /// // Never over another.
    /// assert!(Writer::create(&path, &Header::default()).is_err());
    /// writer.finish()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is a file of this name, or a link, and if it cannot be written.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::new(options.open(path)?, header)
    }

    /// Writes the header, and from now on what is appended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, Writer};
    ///
    /// let writer = Writer::new(std::io::sink(), &Header::default())?;
    /// assert!(writer.finish()? > 8);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the header cannot be written, and if there is no thread to be had.
    pub fn new(mut output: impl Write + Send + 'static, header: &Header) -> io::Result<Self> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        add(&mut bytes, header)?;
        seal(&mut bytes[MAGIC.len() + 1..]);
        output.write_all(&bytes)?;
        let shared = Arc::new(Shared::default());
        shared.state.lock().written = bytes.len() as u64;
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("kahn recording".to_owned());
        let thread = thread.spawn(move || of_thread.write(output))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Appends an entry, and waits if the disk is slow; tells whether it is kept.
    ///
    /// Once something could not be written, nothing is kept any more: [`finish`](Self::finish) tells why.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Entry, Header, Writer};
    ///
    /// let writer = Writer::new(std::io::sink(), &Header::default())?;
    /// assert!(writer.append(&Entry::Ended));
    /// writer.finish()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn append(&self, entry: &Entry<'_>) -> bool {
        let mut state = self.shared.state.lock();
        while state.buffer.len() >= ROOM && !state.has_ended {
            self.shared.work.notify_one();
            self.shared.room.wait(&mut state);
        }
        if state.has_ended || state.ends_here {
            return false;
        }
        let before = state.buffer.len();
        if let Err(error) = add(&mut state.buffer, entry) {
            state.end(error);
            return false;
        }
        if before < WORTH_WRITING && state.buffer.len() >= WORTH_WRITING {
            self.shared.work.notify_one();
        }
        true
    }

    /// Writes what is left, and returns how many bytes the recording has.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, Writer};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let bytes = Writer::create(&path, &Header::default())?.finish()?;
    /// assert_eq!(path.metadata()?.len(), bytes);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if something could not be written. What was before is a recording that was cut.
    pub fn finish(self) -> io::Result<u64> {
        self.close()
    }

    /// [`finish`](Self::finish), while others may append, of which nothing is kept any more.
    pub(super) fn close(&self) -> io::Result<u64> {
        self.join();
        let mut state = self.shared.state.lock();
        state.error.take().map_or(Ok(state.written), Err)
    }

    /// Keeps nothing any more.
    pub(super) fn end(&self) {
        self.shared.state.lock().ends_here = true;
    }

    fn join(&self) {
        self.shared.state.lock().is_finished = true;
        self.shared.work.notify_one();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            self.shared.state.lock().end(io::Error::other("the thread that writes has panicked"));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.join();
    }
}

impl State {
    fn end(&mut self, error: io::Error) {
        self.has_ended = true;
        self.error.get_or_insert(error);
    }
}

/// However the thread ends, nothing waits for it.
struct Ends<'a>(&'a Shared);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.state.lock().has_ended = true;
        self.0.room.notify_all();
    }
}

impl Shared {
    fn write(&self, mut output: impl Write) {
        let _ends = Ends(self);
        let mut bytes = Vec::new();
        let mut state = self.state.lock();
        loop {
            if state.buffer.len() < WORTH_WRITING && !state.is_finished && !state.has_ended {
                self.work.wait_for(&mut state, PERIOD);
            }
            let (is_last, has_ended) = (state.is_finished, state.has_ended);
            mem::swap(&mut bytes, &mut state.buffer);
            drop(state);
            self.room.notify_all();
            seal(&mut bytes);
            let written = output.write_all(&bytes).and_then(|()| output.flush());
            state = self.state.lock();
            match written {
                Ok(()) => state.written += bytes.len() as u64,
                Err(error) => state.end(error),
            }
            bytes.clear();
            if has_ended || state.has_ended || is_last && state.buffer.is_empty() {
                return;
            }
        }
    }
}

/// Fills in the checksums of whole records: what appends them leaves that to the thread that writes.
fn seal(mut records: &mut [u8]) {
    while let Some((frame, rest)) = records.split_first_chunk_mut::<FRAME>() {
        let [a, b, c, d, sum @ ..] = frame;
        let length = [*a, *b, *c, *d];
        let (content, rest) = rest.split_at_mut(u32::from_le_bytes(length) as usize);
        *sum = checksum(length, content).to_le_bytes();
        records = rest;
    }
}

/// Appends a record, all of it or nothing, but for its checksum.
fn add(buffer: &mut Vec<u8>, content: &impl Serialize) -> io::Result<()> {
    let before = buffer.len();
    buffer.extend([0; FRAME]);
    let added = append(buffer, before, content);
    if added.is_err() {
        buffer.truncate(before);
    }
    added
}

fn append(buffer: &mut Vec<u8>, before: usize, content: &impl Serialize) -> io::Result<()> {
    postcard::to_io(content, &mut *buffer).map_err(io::Error::other)?;
    let (frame, content) = buffer[before..].split_at_mut(FRAME);
    if content.len() > MOST {
        let text = format!("a record of {} bytes is larger than any may be", content.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let length = u32::try_from(content.len()).map_err(io::Error::other)?.to_le_bytes();
    frame[..4].copy_from_slice(&length);
    Ok(())
}
