//! What travels between the processes of decompressing.

use crate::{Error, Flaw};

/// Where a block, a frame or a member stands in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Its number, from 0.
    pub(super) block: u64,
    /// The byte at which it begins.
    pub(super) at: u64,
}

/// Memory that goes round.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) packed: Vec<u8>,
    pub(super) plain: Vec<u8>,
    /// How many bytes count as in flight for it.
    pub(super) weight: u64,
}

/// What is packed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A BGZF block, whose header has so many bytes.
    Block { header: usize },
    /// A zstd frame that must decompress to so many bytes.
    Frame { length: usize },
}

/// What the file is cut into, in its order.
pub(super) enum Piece {
    /// A block that stands for itself, compressed.
    Packed { place: Place, kind: Kind, buffers: Buffers },
    /// A block that stands for itself, decompressed and checked.
    Whole { buffers: Buffers },
    /// A part of a longer member, decompressed, with its checksum.
    Part { buffers: Buffers, checksum: u32 },
    /// The end of a longer member: what its trailer tells, if it has one.
    End { place: Place, trailer: Option<Trailer> },
    /// Something is wrong here.
    Flawed { place: Place, flaw: Flaw, buffers: Buffers },
    /// What follows is no block, and can be left alone.
    Garbage { at: u64 },
    /// The file could not be read further.
    Failed(Error),
}

/// What stands behind the data of a gzip member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trailer {
    pub(super) checksum: u32,
    /// Modulo 2^32.
    pub(super) length: u32,
}
