//! One block to bytes, from a fresh state: the same input gives the same bytes on every thread.
//!
//! A compressor that was *reset* does not do: with a dictionary, both zlib-ng and zlib-rs then write other
//! bytes for some blocks, depending on what they compressed before. libdeflate keeps nothing, so its
//! compressors are kept; zlib's and zstd's are made anew for each block.

use crate::Format;
use crate::format::{bgzf, gzip};
use crate::settings::Compress;
use flate2::{Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};

/// How many bytes before a block of a gzip member its data may refer to.
pub(crate) const DICTIONARY: usize = 32 << 10;

/// Levels above are libdeflate's, whose data cannot go on in another block: each is a member.
pub(crate) const HIGHEST_OF_ONE_MEMBER: u8 = 9;

/// The empty block that ends the data of a gzip member.
pub(crate) const END_OF_DATA: [u8; 2] = [3, 0];

/// How many bytes a block can become at most.
pub(crate) fn bound(format: Format, block: usize) -> usize {
    match format {
        Format::Bgzf => bgzf::LARGEST,
        Format::Gzip => block + (block >> 8) + 64,
        Format::Zstd => zstd_safe::compress_bound(block) + 32,
    }
}

/// What compresses blocks of one format at one level.
pub(crate) struct Packer {
    format: Format,
    level: u8,
    /// For formats whose blocks are libdeflate's.
    deflate: Option<Compressor>,
}

impl Packer {
    pub(crate) fn new(settings: &Compress) -> Self {
        let Compress { format, level, .. } = *settings;
        let is_libdeflates = match format {
            Format::Bgzf => true,
            Format::Gzip => level > HIGHEST_OF_ONE_MEMBER,
            Format::Zstd => false,
        };
        let deflate = is_libdeflates.then(|| {
            Compressor::new(CompressionLvl::new(i32::from(level)).expect("the level was checked"))
        });
        Self { format, level, deflate }
    }

    /// Compresses `plain`, which follows `dictionary`, into the beginning of `packed`.
    ///
    /// What stood there before is overwritten as far as is needed: filling memory with zeros first takes
    /// three instructions of a hundred at level 1.
    pub(crate) fn pack(
        &mut self,
        plain: &[u8],
        dictionary: &[u8],
        packed: &mut Vec<u8>,
    ) -> Compressed {
        let room = bound(self.format, plain.len());
        if packed.len() < room {
            packed.resize(room, 0);
        }
        // Always the same room, so that what is written cannot depend on a buffer's earlier use.
        let packed = &mut packed[..room];
        let (length, checksum) = match (self.format, &mut self.deflate) {
            (Format::Bgzf, Some(compressor)) => (pack_bgzf(compressor, plain, packed), 0),
            (Format::Gzip, Some(compressor)) => (pack_member(compressor, plain, packed), 0),
            (Format::Zstd, _) => (pack_frame(self.level, plain, packed), 0),
            (Format::Bgzf | Format::Gzip, None) => {
                (pack_part(self.level, plain, dictionary, packed), libdeflater::crc32(plain))
            }
        };
        Compressed { length, checksum }
    }
}

/// What a block was compressed to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compressed {
    /// How many bytes it has.
    pub(crate) length: usize,
    /// The checksum of its input, for formats in which one stands for all blocks.
    pub(crate) checksum: u32,
}

fn pack_bgzf(compressor: &mut Compressor, plain: &[u8], packed: &mut [u8]) -> usize {
    let end = bgzf::LARGEST - bgzf::TRAILER;
    let data = compressor.deflate_compress(plain, &mut packed[bgzf::HEADER..end]);
    // What does not compress is stored: five bytes more, for which there is room in every block.
    let data = data.unwrap_or_else(|_| {
        Compressor::new(CompressionLvl::fastest())
            .deflate_compress(plain, &mut packed[bgzf::HEADER..end])
            .expect("a stored block has room")
    });
    packed[..bgzf::HEADER].copy_from_slice(&bgzf::header(data));
    put_trailer(plain, packed, bgzf::HEADER + data)
}

fn pack_member(compressor: &mut Compressor, plain: &[u8], packed: &mut [u8]) -> usize {
    let header = gzip::header(None, 0);
    packed[..header.len()].copy_from_slice(&header);
    let data =
        compressor.deflate_compress(plain, &mut packed[header.len()..]).expect("there is room");
    put_trailer(plain, packed, header.len() + data)
}

/// Puts checksum and length of `plain` at `at`; returns where they end.
fn put_trailer(plain: &[u8], packed: &mut [u8], at: usize) -> usize {
    let trailer = gzip::trailer(libdeflater::crc32(plain), plain.len() as u64);
    packed[at..at + gzip::TRAILER].copy_from_slice(&trailer);
    at + gzip::TRAILER
}

fn pack_frame(level: u8, plain: &[u8], packed: &mut [u8]) -> usize {
    let mut compressor =
        zstd::bulk::Compressor::new(i32::from(level)).expect("a level that was checked");
    compressor.include_checksum(true).expect("zstd has checksums");
    compressor.compress_to_buffer(plain, packed).expect("there is room")
}

/// A part of the data of a gzip member: it ends at a byte, and the next part follows.
fn pack_part(level: u8, plain: &[u8], dictionary: &[u8], packed: &mut [u8]) -> usize {
    let deflated = deflate(level, plain, dictionary, packed);
    // Level 1 writes up to nine bits for a byte. What does not compress is stored, for which there is room.
    deflated
        .or_else(|| deflate(0, plain, &[], packed))
        .expect("there is room for what does not compress")
}

/// Compresses all of `plain`, if there is room for that.
fn deflate(level: u8, plain: &[u8], dictionary: &[u8], packed: &mut [u8]) -> Option<usize> {
    let mut compressor = flate2::Compress::new(Compression::new(u32::from(level)), false);
    if !dictionary.is_empty() {
        compressor.set_dictionary(dictionary).expect("a fresh compressor takes a dictionary");
    }
    let status = compressor.compress(plain, packed, FlushCompress::Sync);
    let length = usize::try_from(compressor.total_out()).expect("it is in memory");
    let is_whole = compressor.total_in() == plain.len() as u64 && length < packed.len();
    (matches!(status, Ok(Status::Ok)) && is_whole).then_some(length)
}
