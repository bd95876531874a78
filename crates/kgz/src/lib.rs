//! Compresses and decompresses files on all cores, with the same bytes for any number of them.
//!
//! Three formats: BGZF (gzip in blocks of at most 64 KiB, which genomics tools seek in), gzip, and zstd
//! in frames. What is written follows from the input, the format, the level and the size of blocks, and
//! from nothing else: each block is compressed from a fresh state, so it does not matter which thread
//! gets it, nor when.
//!
//! | folder or file | what |
//! |---|---|
//! | `format` | the bytes around a block: headers, trailers, frames |
//! | `pack`, `unpack` | one block to bytes, and back |
//! | `network` | compressing and decompressing as networks of processes |
//! | `index` | where blocks begin: `.gzi` files, seekable tables, ranges |
//! | `settings` | what a caller may choose |
//! | `error` | what can be wrong with a file, and where |
//! | `command` | the program `kgz`: arguments, files, messages |
//!
//! # Examples
//!
//! ```
//! use kgz::{Compress, Decompress};
//!
//! let text = b"one two three ".repeat(10_000);
//! let mut packed = Vec::new();
//! kgz::compress(&text[..], &mut packed, &Compress::new())?;
//! let mut again = Vec::new();
//! kgz::decompress(&packed[..], &mut again, &Decompress::new())?;
//! assert_eq!(again, text);
//! # Ok::<(), kgz::Error>(())
//! ```

pub mod command;
mod error;
mod format;
mod index;
mod network;
mod pack;
mod settings;
mod unpack;

// The page for users is compiled and run with the examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/kgz.md")]
mod page {}

pub use error::{Error, Flaw};
pub use index::{Entry, Index};
pub use network::{Packed, Unpacked, compress, compress_with, decompress, decompress_with};
pub use settings::{Compress, Decompress, Format, SettingError};
