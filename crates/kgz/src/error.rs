//! What can be wrong with a file, and where.

use std::fmt;
use std::io;

/// Why a file was not compressed or decompressed as a whole.
///
/// What was written before is right: a true beginning of the output, unless
/// [`unchecked`](Error::unchecked) says otherwise.
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Decompress};
///
/// let mut packed = Vec::new();
/// kgz::compress(&b"some text"[..], &mut packed, &Compress::new())?;
/// packed[20] ^= 0xff;
/// let mut text = Vec::new();
/// let error = kgz::decompress(&packed[..], &mut text, &Decompress::new()).expect_err("a damaged block");
/// assert!(error.to_string().starts_with("block 0 at byte 0: "), "{error}");
/// assert!(text.is_empty());
/// # Ok::<(), kgz::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input could not be read.
    #[error("reading failed at byte {}: {source}", Grouped(*.at))]
    Read {
        /// How many bytes were read before.
        at: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The output could not be written.
    #[error("writing failed after {}: {source}", Bytes(*.written))]
    Write {
        /// How many bytes were written before.
        written: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The input is damaged, cut off, or of no format that is known.
    #[error(
        "block {block} at byte {}: {flaw}; {} written{}",
        Grouped(*.at),
        Bytes(*.written),
        Unchecked(*.unchecked)
    )]
    Damaged {
        /// The number of the block, frame or member in the file, from 0.
        block: u64,
        /// The byte of the file at which it begins.
        at: u64,
        /// What is wrong.
        flaw: Flaw,
        /// How many bytes of output were written before.
        written: u64,
        /// How many of them no checksum has confirmed.
        unchecked: u64,
    },
    /// The output would be larger than was allowed.
    #[error("the output is larger than the {} that `--max-output` allows", Bytes(*.most))]
    TooLarge {
        /// How many bytes were allowed.
        most: u64,
    },
    /// The run was ended from outside, or did not end as it should.
    #[error("{0}")]
    Run(String),
}

impl Error {
    /// Returns how many bytes were written that no checksum has confirmed.
    ///
    /// # Examples
    ///
    /// ```
    /// use kgz::{Decompress, Error};
    ///
    /// let error = kgz::decompress(&b"no format"[..], Vec::new(), &Decompress::new()).expect_err("text");
    /// assert_eq!(error.unchecked(), 0);
    /// ```
    pub fn unchecked(&self) -> u64 {
        match self {
            Self::Damaged { unchecked, .. } => *unchecked,
            _ => 0,
        }
    }
}

/// What is wrong with a block.
///
/// # Examples
///
/// ```
/// assert_eq!(kgz::Flaw::Checksum.to_string(), "the checksum differs");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// It begins with no header of BGZF, gzip or zstd.
    Header,
    /// Its header names a method, or a flag, that the format does not have.
    Method,
    /// What was compressed does not decompress.
    Data,
    /// It decompresses to another checksum than the one that it carries.
    Checksum,
    /// It decompresses to another length than the one that it carries.
    Length,
    /// The file ends within it.
    Cut,
    /// The file ends after it, without the empty block that ends a BGZF file.
    NoEnd,
    /// It says that it is larger than a block of the format can be.
    Size,
    /// It needs a window of this many bytes, more than may be taken.
    Window {
        /// The bytes that it needs.
        needs: u64,
        /// The bytes that may be taken.
        most: u64,
    },
    /// It needs a dictionary, which is not in the file.
    Dictionary,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("not in gzip, BGZF or zstd format"),
            Self::Method => f.write_str("the header asks for what the format does not have"),
            Self::Data => f.write_str("the compressed data is damaged"),
            Self::Checksum => f.write_str("the checksum differs"),
            Self::Length => f.write_str("the length differs"),
            Self::Cut => f.write_str("unexpected end of file"),
            Self::NoEnd => {
                f.write_str("unexpected end of file: the block that ends a BGZF file is missing")
            }
            Self::Size => f.write_str("the header states an impossible size"),
            Self::Window { needs, most } => write!(
                f,
                "it needs a window of {}, more than {}: `--memory` allows more",
                Bytes(*needs),
                Bytes(*most)
            ),
            Self::Dictionary => f.write_str("it needs a dictionary, and there is none"),
        }
    }
}

/// A number of bytes in a message: `1 byte`, `3 932 160 bytes`.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Grouped(self.0), if self.0 == 1 { "byte" } else { "bytes" })
    }
}

/// A number in groups of three digits.
pub(crate) struct Grouped(pub(crate) u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(" ")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

struct Unchecked(u64);

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            bytes => write!(f, ", the last {} unchecked", Bytes(bytes)),
        }
    }
}
