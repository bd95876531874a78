//! Recordings of runs: the file, and what it says.
//!
//! What each process receives depends on what came from outside, and on nothing else. So a recording holds
//! what the *recorded* processes did, those whose messages come from outside or that act there, and no
//! schedule. [`Recorder`] is the observer that writes one, [`Replay`] has a network do the same again.
//!
//! ```text
//!   "KAHNREC" version │ record: header │ record: entry │ record: entry │ …
//!   record            = length (u32) · CRC-32 of length and content (u32) · content, in postcard's format
//! ```
//!
//! Numbers of a fixed length are little-endian. A recording is valid up to its last whole record: one that
//! was cut by a crash or a full disk is read until there, and [`Reader::cut`] tells where and why.
//!
//! | file | answers |
//! |---|---|
//! | `content` | what does a recording say? |
//! | `topology` | which network is it of, and is that another? |
//! | `write` | how does it get to the disk, and what waits if that is slow? |
//! | `read` | how is a file read that nothing is known of? |
//! | `recorder` | what is written of a run, and which runs cannot be recorded? |
//! | `replay` | what does each process do again, and is the network the same? |
//! | `resume` | how does a run go on that was cut short? |
//! | `known` | what of a run that is done again is recorded already? |
//! | `until` | what is there before a process receives a message? |
//! | `bundle` | what is kept of a run that failed? |
//! | `whole` | what ends a recording with its run? |
//! | `ranks` | what do other ranks of a run tell of it? |
//! | `carried` | what are messages summed up as? |
//!
//! **A file is not trusted**: no memory is taken on the word of a length, only as bytes come in. It holds
//! what passed through a program, so [`Writer::create`] makes one that its owner alone may read.

mod bundle;
mod carried;
mod content;
mod known;
mod ranks;
mod read;
mod recorder;
mod replay;
mod resume;
mod topology;
mod until;
mod whole;
mod write;

pub use bundle::Bundle;
pub use content::{Act, Entry, Failed, Header, Input};
pub use ranks::{RankSums, ReplayOnRank};
pub use read::{Cut, ReadError, Reader};
pub use recorder::Recorder;
pub use replay::Replay;
pub use resume::Resume;
pub use topology::{Channel, Process, Topology};
pub use until::Left;
pub(crate) use whole::{Bundling, Recording};
pub use write::Writer;

/// What a file begins with, before the version of its format.
const MAGIC: [u8; 7] = *b"KAHNREC";

/// The version of the format that is written.
const VERSION: u8 = 2;

/// The most bytes of a record. One that says more is not read.
const MOST: usize = 1 << 28;

/// The length and the checksum before the content of a record.
const FRAME: usize = 8;

/// The checksum of a record.
fn checksum(length: [u8; 4], content: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&length);
    crc.update(content);
    crc.finalize()
}
