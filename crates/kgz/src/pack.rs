//! One block to bytes, from a fresh state: the same input gives the same bytes on every thread.
//!
//! A compressor that was *reset* does not do: with a dictionary, both zlib-ng and zlib-rs then write other
//! bytes for some blocks, depending on what they compressed before. libdeflate keeps nothing, so its
//! compressors are kept; zlib's and zstd's are made anew for each block.

use crate::Format;
use crate::format::bgzf;
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

    /// Compresses `plain`, which follows `dictionary`, into `packed`; returns its checksum, for formats
    /// in which one stands for all blocks.
    pub(crate) fn pack(&mut self, plain: &[u8], dictionary: &[u8], packed: &mut Vec<u8>) -> u32 {
        packed.clear();
        match (self.format, &mut self.deflate) {
            (Format::Bgzf, Some(compressor)) => pack_bgzf(compressor, plain, packed),
            (Format::Gzip, Some(compressor)) => pack_member(compressor, plain, packed),
            (Format::Zstd, _) => pack_frame(self.level, plain, packed),
            (Format::Bgzf | Format::Gzip, None) => {
                pack_part(self.level, plain, dictionary, packed);
                return libdeflater::crc32(plain);
            }
        }
        0
    }
}

fn pack_bgzf(compressor: &mut Compressor, plain: &[u8], packed: &mut Vec<u8>) {
    let most = bgzf::LARGEST - bgzf::HEADER - bgzf::TRAILER;
    packed.resize(bgzf::HEADER + most, 0);
    let data = compressor.deflate_compress(plain, &mut packed[bgzf::HEADER..]);
    // What does not compress is stored: five bytes more, for which there is room in every block.
    let data = data.unwrap_or_else(|_| {
        Compressor::new(CompressionLvl::fastest())
            .deflate_compress(plain, &mut packed[bgzf::HEADER..])
            .expect("a stored block has room")
    });
    packed.truncate(bgzf::HEADER + data);
    packed[..bgzf::HEADER].copy_from_slice(&bgzf::header(data));
    packed.extend(crate::format::gzip::trailer(libdeflater::crc32(plain), plain.len() as u64));
}

fn pack_member(compressor: &mut Compressor, plain: &[u8], packed: &mut Vec<u8>) {
    let header = crate::format::gzip::header(None, 0);
    packed.extend_from_slice(&header);
    packed.resize(header.len() + compressor.deflate_compress_bound(plain.len()), 0);
    let data =
        compressor.deflate_compress(plain, &mut packed[header.len()..]).expect("there is room");
    packed.truncate(header.len() + data);
    packed.extend(crate::format::gzip::trailer(libdeflater::crc32(plain), plain.len() as u64));
}

fn pack_frame(level: u8, plain: &[u8], packed: &mut Vec<u8>) {
    let mut compressor =
        zstd::bulk::Compressor::new(i32::from(level)).expect("a level that was checked");
    compressor.include_checksum(true).expect("zstd has checksums");
    packed.reserve(zstd_safe::compress_bound(plain.len()));
    compressor.compress_to_buffer(plain, packed).expect("there is room");
}

/// A part of the data of a gzip member: it ends at a byte, and the next part follows.
fn pack_part(level: u8, plain: &[u8], dictionary: &[u8], packed: &mut Vec<u8>) {
    let mut compressor = flate2::Compress::new(Compression::new(u32::from(level)), false);
    if !dictionary.is_empty() {
        compressor.set_dictionary(dictionary).expect("a fresh compressor takes a dictionary");
    }
    // Always the same room, so that what is written cannot depend on a buffer's earlier use.
    packed.resize(bound(Format::Gzip, plain.len()), 0);
    let status = compressor.compress(plain, packed, FlushCompress::Sync);
    let length = usize::try_from(compressor.total_out()).expect("it is in memory");
    let is_whole = compressor.total_in() == plain.len() as u64 && length < packed.len();
    assert!(
        matches!(status, Ok(Status::Ok)) && is_whole,
        "there is room for what does not compress"
    );
    packed.truncate(length);
}
