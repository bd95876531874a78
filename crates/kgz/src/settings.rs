//! What a caller may choose.

use std::fmt;
use std::str::FromStr;

/// A format of compressed files.
///
/// # Examples
///
/// ```
/// use kgz::Format;
///
/// assert_eq!("bgzf".parse(), Ok(Format::Bgzf));
/// assert_eq!(Format::Zstd.suffix(), "zst");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Blocked gzip: members of at most 64 KiB, each with its size in its header. Every gzip reads it;
    /// blocks are decompressed side by side, and an index of them allows to seek. Source: the SAM/BAM
    /// specification, section 4.1.
    Bgzf,
    /// One gzip member, in which blocks follow one another as if there was one (levels 0 to 9), or one
    /// member a block (levels 10 to 12). Source: RFC 1952.
    Gzip,
    /// A zstd frame a block, each with its size and checksum. Source: RFC 8878.
    Zstd,
}

impl Format {
    /// All formats.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kgz::Format::ALL.map(|format| format.to_string()), ["bgzf", "gzip", "zstd"]);
    /// ```
    pub const ALL: [Self; 3] = [Self::Bgzf, Self::Gzip, Self::Zstd];

    /// Returns what a file of this format is called at its end, without the dot.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kgz::Format::Gzip.suffix(), "gz");
    /// ```
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Bgzf | Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }

    /// Returns the highest level.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(kgz::Format::Bgzf.highest_level(), 12);
    /// ```
    pub fn highest_level(self) -> u8 {
        match self {
            Self::Bgzf | Self::Gzip => 12,
            Self::Zstd => 19,
        }
    }

    fn default_block(self) -> usize {
        match self {
            Self::Bgzf => BGZF_BLOCK,
            Self::Gzip => 128 << 10,
            Self::Zstd => 1 << 20,
        }
    }

    fn largest_block(self) -> usize {
        match self {
            Self::Bgzf => BGZF_BLOCK,
            Self::Gzip | Self::Zstd => LARGEST_CHECKED_FRAME,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bgzf => "bgzf",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

impl FromStr for Format {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let found = Self::ALL.into_iter().find(|format| format.to_string() == text);
        found.ok_or_else(|| {
            SettingError(format!("there is no format `{text}`; formats are bgzf, gzip and zstd"))
        })
    }
}

/// How much input goes into a block of BGZF at most, so that it stays below 64 KiB if it does not compress.
pub(crate) const BGZF_BLOCK: usize = 0xff00;

/// Frames of this size at most are checked before any of their bytes is written.
pub(crate) const LARGEST_CHECKED_FRAME: usize = 8 << 20;

/// The least input of a block.
const SMALLEST_BLOCK: usize = 1 << 10;

/// The window that a zstd frame may ask for unless more is allowed.
pub(crate) const USUAL_WINDOW: u64 = 128 << 20;

/// A choice that cannot be carried out, and why.
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Format};
///
/// let error = Compress::new().format(Format::Gzip).level(15).check().expect_err("no such level");
/// assert_eq!(error.to_string(), "gzip has the levels 0 to 12, not 15");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub(crate) String);

/// How to compress.
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Format};
///
/// let settings = Compress::new().format(Format::Zstd).level(3).parts(4);
/// let mut packed = Vec::new();
/// let done = kgz::compress(&b"text"[..], &mut packed, &settings)?;
/// assert_eq!(done.read, 4);
/// # Ok::<(), kgz::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "settings do nothing by themselves"]
pub struct Compress {
    pub(crate) format: Format,
    pub(crate) level: u8,
    pub(crate) block: Option<usize>,
    pub(crate) parts: usize,
    pub(crate) name: Option<Vec<u8>>,
    pub(crate) modified: u32,
    pub(crate) seekable: bool,
}

impl Default for Compress {
    fn default() -> Self {
        Self::new()
    }
}

impl Compress {
    /// Makes the usual settings: BGZF, level 6, a part for each core.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kgz::Compress::new().check().is_ok());
    /// ```
    pub fn new() -> Self {
        Self {
            format: Format::Bgzf,
            level: 6,
            block: None,
            parts: cores(),
            name: None,
            modified: 0,
            seekable: false,
        }
    }

    /// Chooses the format.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Format};
    ///
    /// let mut packed = Vec::new();
    /// kgz::compress(&b"text"[..], &mut packed, &Compress::new().format(Format::Gzip))?;
    /// assert_eq!(packed[..4], [0x1f, 0x8b, 8, 0]);
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Chooses the level: 0 stores, 1 is fast, the highest is small.
    ///
    /// # Examples
    ///
    /// ```
    /// let text = b"abc".repeat(1000);
    /// let mut packed = Vec::new();
    /// kgz::compress(&text[..], &mut packed, &kgz::Compress::new().level(0))?;
    /// assert!(packed.len() > text.len());
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Chooses how many bytes of input go into a block.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::Compress;
    ///
    /// let done = kgz::compress(&[0; 10_000][..], Vec::new(), &Compress::new().block(4096))?;
    /// assert_eq!(done.blocks, 3);
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn block(mut self, bytes: usize) -> Self {
        self.block = Some(bytes);
        self
    }

    /// Chooses how many blocks are worked on at once. The bytes that are written do not depend on it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::Compress;
    ///
    /// let text = b"some words ".repeat(50_000);
    /// let packed = [1, 2, 3, 8].map(|parts| {
    ///     let mut packed = Vec::new();
    ///     kgz::compress(&text[..], &mut packed, &Compress::new().parts(parts)).expect("it compresses");
    ///     packed
    /// });
    /// assert!(packed.iter().all(|other| *other == packed[0]));
    /// ```
    pub fn parts(mut self, parts: usize) -> Self {
        self.parts = parts;
        self
    }

    /// Has a gzip header tell the name of the file and when it was modified, in seconds since 1970.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Format};
    ///
    /// let mut packed = Vec::new();
    /// let settings = Compress::new().format(Format::Gzip).name(b"words", 0);
    /// kgz::compress(&b"text"[..], &mut packed, &settings)?;
    /// assert_eq!(&packed[10..16], b"words\0");
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn name(mut self, name: impl Into<Vec<u8>>, modified: u32) -> Self {
        self.name = Some(name.into());
        self.modified = modified;
        self
    }

    /// Has a zstd file end with a table of its frames, the seekable format.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Format};
    ///
    /// let mut packed = Vec::new();
    /// let settings = Compress::new().format(Format::Zstd).seekable(true);
    /// kgz::compress(&b"text"[..], &mut packed, &settings)?;
    /// assert!(packed.ends_with(&0x8f92_eab1_u32.to_le_bytes()));
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn seekable(mut self, seekable: bool) -> Self {
        self.seekable = seekable;
        self
    }

    /// Checks that all choices fit each other.
    ///
    /// # Errors
    ///
    /// Says what does not fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::Compress;
    ///
    /// assert!(Compress::new().parts(0).check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { format, level, block, parts, name, seekable, .. } = self;
        let refuse = |text: String| Err(SettingError(text));
        if *level > format.highest_level() {
            return refuse(format!(
                "{format} has the levels 0 to {}, not {level}",
                format.highest_level()
            ));
        }
        if *format == Format::Zstd && *level == 0 {
            return refuse("zstd has the levels 1 to 19, not 0".into());
        }
        if let Some(block) = block {
            let most = format.largest_block();
            if !(SMALLEST_BLOCK..=most).contains(block) {
                return refuse(format!(
                    "blocks of {format} have {SMALLEST_BLOCK} to {most} bytes of input, not {block}"
                ));
            }
        }
        if *parts == 0 {
            return refuse("at least one block is worked on at once, not 0".into());
        }
        if *parts > MOST_PARTS {
            return refuse(format!(
                "at most {MOST_PARTS} blocks are worked on at once, not {parts}"
            ));
        }
        if name.is_some() && *format != Format::Gzip {
            return refuse(format!(
                "a block of {format} has no place for a name: use `--format gzip`"
            ));
        }
        if name.as_ref().is_some_and(|name| name.contains(&0)) {
            return refuse("a name with a zero byte has no place in a gzip header".into());
        }
        if *seekable && *format != Format::Zstd {
            return refuse(format!(
                "{format} has no seekable table; BGZF has an index in a file of its own"
            ));
        }
        Ok(())
    }

    pub(crate) fn block_size(&self) -> usize {
        self.block.unwrap_or_else(|| self.format.default_block())
    }

    /// How many blocks are read and not yet written at most.
    pub(crate) fn in_flight(&self) -> usize {
        2 * self.parts + 2
    }

    /// Returns how much memory the blocks take that are read and not yet written, at most.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::Compress;
    ///
    /// assert!(Compress::new().parts(4).memory() < 2_000_000);
    /// ```
    pub fn memory(&self) -> u64 {
        let block = self.block_size();
        (self.in_flight()
            * (block + crate::pack::bound(self.format, block) + crate::pack::DICTIONARY))
            as u64
    }
}

/// How to decompress. The format is told by the file.
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Decompress};
///
/// let mut packed = Vec::new();
/// kgz::compress(&b"text"[..], &mut packed, &Compress::new())?;
/// let mut text = Vec::new();
/// let done = kgz::decompress(&packed[..], &mut text, &Decompress::new().parts(2))?;
/// assert_eq!((text.as_slice(), done.written), (&b"text"[..], 4));
/// # Ok::<(), kgz::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "settings do nothing by themselves"]
pub struct Decompress {
    pub(crate) parts: usize,
    pub(crate) most_output: Option<u64>,
    pub(crate) memory: Option<u64>,
    pub(crate) keep_going: bool,
}

impl Default for Decompress {
    fn default() -> Self {
        Self::new()
    }
}

impl Decompress {
    /// Makes the usual settings: a part for each core, output of any size.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kgz::Decompress::new().check().is_ok());
    /// ```
    pub fn new() -> Self {
        Self { parts: cores(), most_output: None, memory: None, keep_going: false }
    }

    /// Chooses how many blocks are worked on at once.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kgz::Decompress::new().parts(0).check().is_err());
    /// ```
    pub fn parts(mut self, parts: usize) -> Self {
        self.parts = parts;
        self
    }

    /// Ends with an error before more than this many bytes are written.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Decompress, Error};
    ///
    /// let mut packed = Vec::new();
    /// kgz::compress(&[0; 1_000_000][..], &mut packed, &Compress::new())?;
    /// let error = kgz::decompress(&packed[..], Vec::new(), &Decompress::new().max_output(1000));
    /// assert!(matches!(error, Err(Error::TooLarge { most: 1000 })));
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn max_output(mut self, bytes: u64) -> Self {
        self.most_output = Some(bytes);
        self
    }

    /// Allows this much memory for windows, and for blocks that are read and not yet written.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kgz::Decompress::new().memory(1).check().is_err());
    /// ```
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Leaves damaged blocks out and goes on behind them, where the format allows to find the next one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Compress, Decompress};
    ///
    /// let mut packed = Vec::new();
    /// kgz::compress(&[7; 20_000][..], &mut packed, &Compress::new().block(10_000))?;
    /// packed[20] ^= 0xff;
    /// let mut rest = Vec::new();
    /// let done = kgz::decompress(&packed[..], &mut rest, &Decompress::new().keep_going(true))?;
    /// assert_eq!((rest.len(), done.damaged.len()), (10_000, 1));
    /// # Ok::<(), kgz::Error>(())
    /// ```
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Checks that all choices can be carried out.
    ///
    /// # Errors
    ///
    /// Says what cannot.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(kgz::Decompress::new().check().is_ok());
    /// ```
    pub fn check(&self) -> Result<(), SettingError> {
        if self.parts == 0 || self.parts > MOST_PARTS {
            return Err(SettingError(format!(
                "1 to {MOST_PARTS} blocks are worked on at once, not {}",
                self.parts
            )));
        }
        if self.memory.is_some_and(|memory| memory < LEAST_MEMORY) {
            return Err(SettingError(format!(
                "decompressing needs {LEAST_MEMORY} bytes of memory at least"
            )));
        }
        Ok(())
    }

    /// The window that a frame may ask for.
    pub(crate) fn window(&self) -> u64 {
        self.memory.map_or(USUAL_WINDOW, |memory| memory.max(8 << 20))
    }

    pub(crate) fn in_flight(&self) -> usize {
        2 * self.parts + 2
    }
}

/// More blocks at once than any machine has cores.
const MOST_PARTS: usize = 1024;

/// Two frames of the largest size that is checked before it is written.
const LEAST_MEMORY: u64 = 4 * LARGEST_CHECKED_FRAME as u64;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
