//! zstd: what the header of a frame tells, and where a frame ends, without decompressing anything.
//!
//! Source: RFC 8878; the seekable format of the zstd project for the table.

use super::Parsed;
use crate::Flaw;

/// How a frame begins.
pub(crate) const MAGIC: u32 = 0xfd2f_b528;

/// How a frame begins that carries no data; the last four bits may be anything.
const SKIPPABLE: u32 = 0x184d_2a50;

/// How the skippable frame of a seekable table begins.
pub(crate) const TABLE: u32 = 0x184d_2a5e;

/// How a seekable table ends.
pub(crate) const TABLE_END: u32 = 0x8f92_eab1;

/// The bytes of the end of a seekable table: number of frames, flags, magic number.
pub(crate) const TABLE_FOOTER: u8 = 9;

const LARGEST_BLOCK: u32 = 128 << 10;

/// What begins at a place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Data, compressed.
    Data(Header),
    /// This many bytes without data, header included.
    Skippable(u64),
}

/// What the header of a frame with data tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// How many bytes it has.
    pub(crate) length: usize,
    /// How many bytes the frame decompresses to, if it tells.
    pub(crate) content: Option<u64>,
    /// How many bytes back its data may refer to.
    pub(crate) window: u64,
    /// Whether a checksum follows the last block.
    pub(crate) has_checksum: bool,
    /// Whether it needs a dictionary.
    pub(crate) needs_dictionary: bool,
}

/// Whether a frame, or one that is skipped, may begin here.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    bytes.len() >= 4 && {
        let magic = super::u32_at(bytes, 0);
        magic == MAGIC || magic & !0xf == SKIPPABLE
    }
}

/// Reads the header of a frame at the beginning of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed<Frame> {
    if bytes.len() < 4 {
        return Parsed::Needs(4);
    }
    match super::u32_at(bytes, 0) {
        MAGIC => {}
        magic if magic & !0xf == SKIPPABLE => {
            return match bytes.get(..8) {
                Some(bytes) => {
                    Parsed::Whole(Frame::Skippable(8 + u64::from(super::u32_at(bytes, 4))))
                }
                None => Parsed::Needs(8),
            };
        }
        _ => return Parsed::Wrong(Flaw::Header),
    }
    let Some(&descriptor) = bytes.get(4) else { return Parsed::Needs(5) };
    let single_segment = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = match descriptor >> 6 {
        0 => usize::from(single_segment),
        more => 1 << more,
    };
    if descriptor & 0x08 != 0 {
        return Parsed::Wrong(Flaw::Method);
    }
    let length = 5 + usize::from(!single_segment) + dictionary + content;
    if bytes.len() < length {
        return Parsed::Needs(length);
    }
    let at = length - content;
    let content = match content {
        0 => None,
        1 => Some(u64::from(bytes[at])),
        2 => Some(u64::from(super::u16_at(bytes, at)) + 256),
        4 => Some(u64::from(super::u32_at(bytes, at))),
        _ => Some(super::u64_at(bytes, at)),
    };
    let window = if single_segment {
        content.unwrap_or(0)
    } else {
        let base = 1_u64 << (10 + (bytes[5] >> 3));
        base + base / 8 * u64::from(bytes[5] & 7)
    };
    let id = &bytes[at - dictionary..at];
    Parsed::Whole(Frame::Data(Header {
        length,
        content,
        window,
        has_checksum: descriptor & 4 != 0,
        needs_dictionary: id.iter().any(|byte| *byte != 0),
    }))
}

/// How many bytes a frame has, once all its blocks' headers are there.
pub(crate) fn size(header: &Header, bytes: &[u8]) -> Parsed<usize> {
    let mut at = header.length;
    loop {
        let Some(block) = bytes.get(at..at + 3) else { return Parsed::Needs(at + 3) };
        let block = u32::from_le_bytes([block[0], block[1], block[2], 0]);
        let (is_last, kind, size) = (block & 1 != 0, block >> 1 & 3, block >> 3);
        if kind == 3 || size > LARGEST_BLOCK {
            return Parsed::Wrong(Flaw::Size);
        }
        at += 3 + if kind == 1 { 1 } else { size as usize };
        if is_last {
            let end = at + 4 * usize::from(header.has_checksum);
            return if bytes.len() < end { Parsed::Needs(end) } else { Parsed::Whole(end) };
        }
    }
}

/// The beginning of the table of a seekable file of so many frames, eight bytes for each of which follow.
pub(crate) fn table_header(frames: u32) -> [u8; 8] {
    let size = 8 * frames + u32::from(TABLE_FOOTER);
    let mut header = [0; 8];
    header[..4].copy_from_slice(&TABLE.to_le_bytes());
    header[4..].copy_from_slice(&size.to_le_bytes());
    header
}

/// The end of the table of a seekable file.
pub(crate) fn table_footer(frames: u32) -> [u8; TABLE_FOOTER as usize] {
    let mut footer = [0; TABLE_FOOTER as usize];
    footer[..4].copy_from_slice(&frames.to_le_bytes());
    footer[5..].copy_from_slice(&TABLE_END.to_le_bytes());
    footer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_frame_is_found_by_its_blocks() {
        let text = b"some words and more words ".repeat(20_000);
        let mut compressor = ::zstd::bulk::Compressor::new(3).expect("a compressor");
        compressor.include_checksum(true).expect("a parameter");
        let frame = compressor.compress(&text).expect("it compresses");
        let Frame::Data(header) = parse(&frame).whole() else { panic!("a frame with data") };
        assert_eq!(header.content, Some(text.len() as u64));
        assert!(header.has_checksum);
        for length in 0..frame.len() {
            let told = match parse(&frame[..length]) {
                Parsed::Needs(more) => more > length,
                Parsed::Whole(_) => {
                    matches!(size(&header, &frame[..length]), Parsed::Needs(more) if more > length)
                }
                Parsed::Wrong(_) => false,
            };
            assert!(told, "{length}");
        }
        assert_eq!(size(&header, &frame).whole(), frame.len());
    }

    #[test]
    fn a_frame_without_data_is_skipped() {
        assert_eq!(parse(&table_header(3)).whole(), Frame::Skippable(8 + 24 + 9));
    }
}
