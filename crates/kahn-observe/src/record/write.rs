//! How a recording gets to the disk: into one of two buffers, while a thread writes the other.
//!
//! | the buffer that is filled | the thread | a call that appends |
//! |---|---|---|
//! | is empty | waits | goes on |
//! | has less than [`ROOM`] | writes what is there when the other is written, at least each [`PERIOD`] | goes on |
//! | has more | writes the other | waits: a disk that is slow makes sources slow |
//! | is waited for ([`Writer::flush`]) | writes it at once | goes on |
//! | – | could not write | goes on, and nothing is kept: the recording has ended, not the run |

use super::{Act, Entry, FRAME, Header, MAGIC, MOST, VERSION, checksum};
use kahn_report::observe::WrittenForms;
use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
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
    /// Of the last message: that of the next is the same, as a rule.
    head: Head,
    is_finished: bool,
    /// How many wait until all is written.
    waiting: usize,
    /// The other buffer is being written.
    is_writing: bool,
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
        let file = options.open(path)?;
        lock(&file)?;
        Self::new(file, header)
    }

    /// Writes from now on what is appended, behind so many bytes of a recording that another run has left, whose
    /// lock the caller has, and which is read meanwhile. Others are cut off.
    pub(super) fn behind(file: Arc<Mutex<File>>, bytes: u64) -> io::Result<Self> {
        file.lock().set_len(bytes)?;
        Self::start(AtEnd { file, end: bytes }, bytes)
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
        Self::start(output, bytes.len() as u64)
    }

    /// Starts the thread that writes, behind so many bytes.
    fn start(output: impl Write + Send + 'static, written: u64) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.state.lock().written = written;
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
        self.append_by(|state| add(&mut state.buffer, entry))
    }

    /// Appends that a process sends these messages, an entry each; tells whether they are kept.
    pub(super) fn append_messages(
        &self,
        process: u64,
        channel: u64,
        messages: WrittenForms<'_>,
    ) -> bool {
        self.append_by(|state| state.head.add(&mut state.buffer, (process, channel), messages))
    }

    /// Waits until there is room, and has something appended.
    fn append_by(&self, add: impl FnOnce(&mut State) -> io::Result<()>) -> bool {
        let mut state = self.shared.state.lock();
        while state.buffer.len() >= ROOM && !state.has_ended {
            self.shared.work.notify_one();
            self.shared.room.wait(&mut state);
        }
        if state.has_ended || state.ends_here {
            return false;
        }
        let before = state.buffer.len();
        if let Err(error) = add(&mut state) {
            state.end(error);
            return false;
        }
        if before < WORTH_WRITING && state.buffer.len() >= WORTH_WRITING {
            self.shared.work.notify_one();
        }
        true
    }

    /// Waits until all that was appended is written.
    pub(super) fn flush(&self) {
        let mut state = self.shared.state.lock();
        state.waiting += 1;
        while !(state.buffer.is_empty() && !state.is_writing || state.has_ended) {
            self.shared.work.notify_one();
            self.shared.room.wait(&mut state);
        }
        state.waiting -= 1;
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

/// The end of a file that is read as well. Both move its one place, so each finds its own under the lock.
#[derive(Debug)]
struct AtEnd {
    file: Arc<Mutex<File>>,
    end: u64,
}

impl Write for AtEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(self.end))?;
        let written = file.write(bytes)?;
        self.end += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.lock().flush()
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
            let is_asked = state.is_finished || state.waiting > 0 && !state.buffer.is_empty();
            if state.buffer.len() < WORTH_WRITING && !is_asked && !state.has_ended {
                self.work.wait_for(&mut state, PERIOD);
            }
            let (is_last, has_ended) = (state.is_finished, state.has_ended);
            mem::swap(&mut bytes, &mut state.buffer);
            state.is_writing = true;
            drop(state);
            self.room.notify_all();
            seal(&mut bytes);
            let written = output.write_all(&bytes).and_then(|()| output.flush());
            state = self.state.lock();
            state.is_writing = false;
            if state.waiting > 0 {
                self.room.notify_all();
            }
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

/// Keeps others from writing a recording while this program has it open.
#[cfg(unix)]
pub(super) fn lock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};

    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let what = "a run that goes on writes this recording";
            Err(io::Error::new(io::ErrorKind::WouldBlock, what))
        }
        // Not every file system has locks.
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
pub(super) fn lock(_file: &File) -> io::Result<()> {
    Ok(())
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
    let length = length_of(content.len())?;
    frame[..4].copy_from_slice(&length);
    Ok(())
}

/// The length of a record, as its frame has it.
fn length_of(content: usize) -> io::Result<[u8; 4]> {
    match u32::try_from(content) {
        Ok(length) if content <= MOST => Ok(length.to_le_bytes()),
        _ => {
            let text = format!("a record of {content} bytes is larger than any may be");
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
    }
}

/// What stands before a message: a frame, and its entry up to the bytes of the message. It is the same for messages of
/// one length on one channel, and so is made once for many.
#[derive(Debug, Default)]
struct Head {
    /// The process, the channel, and the length of the message.
    of: Option<(u64, u64, usize)>,
    bytes: Vec<u8>,
}

impl Head {
    /// Appends that a process sends these messages on a channel, a record each.
    fn add(
        &mut self,
        buffer: &mut Vec<u8>,
        (process, channel): (u64, u64),
        messages: WrittenForms<'_>,
    ) -> io::Result<()> {
        for message in messages {
            let of = (process, channel, message.len());
            if self.of != Some(of) {
                self.make(of)?;
            }
            buffer.extend_from_slice(&self.bytes);
            buffer.extend_from_slice(message);
        }
        Ok(())
    }

    fn make(&mut self, of: (u64, u64, usize)) -> io::Result<()> {
        self.of = None;
        let (process, channel, length) = of;
        let entry = Entry::Acts { process, act: Act::Sends { channel, message: &[] } };
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        bytes.extend([0; FRAME]);
        let mut bytes = postcard::to_extend(&entry, bytes).map_err(io::Error::other)?;
        // It ends with the number of bytes that follow, which is one of no bytes.
        bytes.pop();
        self.bytes = postcard::to_extend(&length, bytes).map_err(io::Error::other)?;
        let length = length_of(self.bytes.len() - FRAME + length)?;
        self.bytes[..length.len()].copy_from_slice(&length);
        self.of = Some(of);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn what_is_appended_stands_behind_what_is_there_wherever_that_is_read() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"recorded, and half of a record").expect("it is written");
        let file = Arc::new(Mutex::new(file));
        let writer = Writer::behind(Arc::clone(&file), 8).expect("a writer");
        let read = |bytes: &mut Vec<u8>, count| {
            let mut file = file.lock();
            file.rewind().expect("it has a beginning");
            (&mut *file).take(count).read_to_end(bytes).expect("it is read");
        };
        let mut found = Vec::new();
        for _ in 0..3 {
            read(&mut found, 5);
            writer.append(&Entry::Ended);
            writer.flush();
        }
        assert_eq!(found, b"recorrecorrecor");
        let mut record = Vec::new();
        add(&mut record, &Entry::Ended).expect("it fits");
        seal(&mut record);
        let bytes = writer.finish().expect("it is written");
        found.clear();
        read(&mut found, u64::MAX);
        assert_eq!(
            (found, bytes),
            ([&b"recorded"[..], &record.repeat(3)].concat(), 8 + 3 * record.len() as u64)
        );
    }

    #[test]
    fn messages_are_written_as_entries_are() {
        let lengths = [0, 1, 1, 127, 128, 64, 64, 64, 16_383, 16_384, 70_000, 0];
        for (process, channel) in [(0, 0), (3, u64::MAX), (u64::MAX, 1 << 35)] {
            let messages = lengths.map(|length| vec![7; length]);
            let ends: Vec<_> = lengths
                .iter()
                .scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                })
                .collect();
            let (mut one_by_one, mut at_once) = (Vec::new(), Vec::new());
            for message in &messages {
                let act = Act::Sends { channel, message };
                add(&mut one_by_one, &Entry::Acts { process, act }).expect("it fits");
            }
            let bytes = messages.concat();
            let written = WrittenForms::new(&bytes, &ends);
            let mut head = Head::default();
            head.add(&mut at_once, (process, channel), written).expect("they fit");
            assert!(one_by_one == at_once, "from {process} by {channel}");
        }
    }

    #[test]
    fn of_a_message_that_is_too_large_nothing_is_written() {
        let large = vec![0; MOST];
        let (mut buffer, ends) = (Vec::new(), [1, MOST]);
        let written = WrittenForms::new(&large, &ends);
        let error = Head::default().add(&mut buffer, (1, 1), written).unwrap_err();
        assert!(error.to_string().contains("is larger than any may be"), "{error}");
        let mut first = Vec::new();
        let act = Act::Sends { channel: 1, message: &[0] };
        add(&mut first, &Entry::Acts { process: 1, act }).expect("it fits");
        assert_eq!(buffer, first);
    }
}
