//! How a recording is read, of which nothing is known.

use super::{Entry, FRAME, Header, MAGIC, MOST, VERSION, checksum};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Reads a recording, entry by entry.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::{ReadError, Reader};
///
/// let error = Reader::new(&b"words"[..]).expect_err("no recording");
/// assert!(matches!(error, ReadError::NoRecording));
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    header: Header,
    /// Where the next record begins.
    at: u64,
    content: Vec<u8>,
    cut: Option<Cut>,
}

/// Where a recording was cut, and why it is taken to be.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::Cut;
///
/// let cut = Cut { at: 40, why: "its checksum is wrong".to_owned() };
/// assert_eq!(cut.to_string(), "the record at byte 40: its checksum is wrong");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The byte at which the first record begins that is not whole.
    pub at: u64,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record at byte {}: {}", self.at, self.why)
    }
}

/// Why a recording is not read.
///
/// # Examples
///
/// ```
/// use kahn_observe::record::ReadError;
///
/// assert_eq!(ReadError::NoRecording.to_string(), "this is no recording of a run");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins otherwise.
    #[error("this is no recording of a run")]
    NoRecording,
    /// Another version of the format.
    #[error(
        "this is a recording in version {0} of the format: this program reads version {VERSION}"
    )]
    Version(u8),
    /// It tells of messages by their digests.
    #[error("this recording holds digests of messages alone: it cannot be run again")]
    WithoutMessages,
    /// What it begins with is not whole.
    #[error("this recording has no header: {0}")]
    NoHeader(Cut),
}

impl Reader<BufReader<File>> {
    /// Opens a file and reads its header.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, Reader, Writer};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let header = Header { program: "words".into(), ..Header::default() };
    /// Writer::create(&path, &header)?.finish()?;
    /// assert_eq!(Reader::open(&path)?.header().program, "words");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::new(BufReader::new(File::open(path)?))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{ReadError, Reader};
    ///
    /// let error = Reader::new(&b"KAHNREC\x09"[..]).expect_err("of a later version");
    /// assert!(matches!(error, ReadError::Version(9)));
    /// ```
    ///
    /// # Errors
    /// Fails if it is no recording, one of another version, or has no whole header.
    pub fn new(mut input: R) -> Result<Self, ReadError> {
        let mut start = Vec::new();
        input.by_ref().take(MAGIC.len() as u64 + 1).read_to_end(&mut start)?;
        match start.split_last() {
            Some((&VERSION, magic)) if magic == MAGIC => {}
            Some((version, magic)) if magic == MAGIC => return Err(ReadError::Version(*version)),
            _ => return Err(ReadError::NoRecording),
        }
        let (at, content) = (start.len() as u64, Vec::new());
        let mut reader = Self { input, header: Header::default(), at, content, cut: None };
        if reader.read_record()? {
            match postcard::take_from_bytes(&reader.content) {
                Ok((header, [])) => reader.header = header,
                Ok(_) => reader.cut_at(at, "something stands behind it"),
                Err(error) => reader.cut_at(at, &error.to_string()),
            }
        } else if reader.cut.is_none() {
            reader.cut_at(at, "it is missing");
        }
        match reader.cut.take() {
            Some(cut) => Err(ReadError::NoHeader(cut)),
            None => Ok(reader),
        }
    }

    /// Returns what the recording begins with.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Header, Reader, Writer};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let header = Header { seed: 7, ..Header::default() };
    /// Writer::create(&path, &header)?.finish()?;
    /// assert_eq!(*Reader::open(&path)?.header(), header);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads the next entry; none at the end, or where the recording was [cut](Self::cut).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Entry, Header, Reader, Writer};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let writer = Writer::create(&path, &Header::default())?;
    /// writer.append(&Entry::Ended);
    /// writer.finish()?;
    /// let mut reader = Reader::open(&path)?;
    /// assert_eq!(reader.read()?, Some(Entry::Ended));
    /// assert_eq!(reader.read()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the system cannot read.
    pub fn read(&mut self) -> io::Result<Option<Entry<'_>>> {
        let at = self.at;
        if self.cut.is_some() || !self.read_record()? {
            return Ok(None);
        }
        let why = match postcard::take_from_bytes::<Entry<'_>>(&self.content) {
            // Read again below: the borrow would last over the other cases.
            Ok((_, [])) => None,
            Ok(_) => Some("something stands behind its entry".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            self.cut_at(at, &why);
            return Ok(None);
        }
        Ok(postcard::from_bytes(&self.content).ok())
    }

    /// Where the next record begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns where the recording was cut, if that has been read.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_observe::record::{Entry, Header, Reader, Writer};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.rec");
    /// let writer = Writer::create(&path, &Header::default())?;
    /// writer.append(&Entry::Ended);
    /// writer.finish()?;
    /// let mut bytes = std::fs::read(&path)?;
    /// bytes.pop();
    /// let mut reader = Reader::new(&bytes[..])?;
    /// assert_eq!(reader.read()?, None);
    /// assert!(reader.cut().is_some_and(|cut| cut.why.starts_with("it ends after")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    fn cut_at(&mut self, at: u64, why: &str) {
        self.cut = Some(Cut { at, why: why.to_owned() });
    }

    /// Reads the next record; `false` if there is none, or none that is whole.
    fn read_record(&mut self) -> io::Result<bool> {
        let at = self.at;
        let mut frame = [0; FRAME];
        let got = self.take(FRAME)?;
        if got < FRAME {
            if got > 0 {
                self.cut_at(
                    at,
                    &format!("it ends after {got} bytes of {FRAME} before its content"),
                );
            }
            return Ok(false);
        }
        frame.copy_from_slice(&self.content);
        let [a, b, c, d, sum @ ..] = frame;
        let bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        if bytes > MOST {
            self.cut_at(at, &format!("it says that it has {bytes} bytes"));
            return Ok(false);
        }
        let got = self.take(bytes)?;
        if got < bytes {
            self.cut_at(at, &format!("it ends after {got} bytes of {bytes}"));
            return Ok(false);
        }
        if checksum([a, b, c, d], &self.content) != u32::from_le_bytes(sum) {
            self.cut_at(at, "its checksum is wrong");
            return Ok(false);
        }
        self.at += (FRAME + bytes) as u64;
        Ok(true)
    }

    /// Reads as many bytes, or as there are. Memory is taken as they come.
    fn take(&mut self, bytes: usize) -> io::Result<usize> {
        self.content.clear();
        self.input.by_ref().take(bytes as u64).read_to_end(&mut self.content)
    }
}
