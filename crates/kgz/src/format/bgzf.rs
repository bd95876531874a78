//! BGZF: gzip members of at most 64 KiB, each with its size in an extra field of its header.
//!
//! Source: the SAM/BAM format specification, section 4.1.

use super::gzip::Header;

/// The bytes of a header before the compressed data.
pub(crate) const HEADER: usize = 18;

/// The bytes of the checksum and the length behind the compressed data.
pub(crate) const TRAILER: usize = 8;

/// The largest block, header and trailer included, and the largest input of one that is read.
pub(crate) const LARGEST: usize = 1 << 16;

/// The empty block that ends a file, so that a file that was cut off can be told.
pub(crate) const END: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

/// Writes the header of a block whose compressed data has `data` bytes.
///
/// # Panics
/// Panics if the block is larger than a block can be.
pub(crate) fn header(data: usize) -> [u8; HEADER] {
    let size = u16::try_from(HEADER + data + TRAILER - 1).expect("a block of at most 64 KiB");
    let mut header = [0; HEADER];
    header[..16].copy_from_slice(&END[..16]);
    header[16..].copy_from_slice(&size.to_le_bytes());
    header
}

/// The size of the whole block that a gzip header begins, if the header is a BGZF block's.
pub(crate) fn size(header: &Header, bytes: &[u8]) -> Option<usize> {
    let mut extra = &bytes[header.extra.clone()];
    while extra.len() >= 4 {
        let length = usize::from(super::u16_at(extra, 2));
        if extra[..2] == *b"BC" && length == 2 && extra.len() >= 6 {
            return Some(usize::from(super::u16_at(extra, 4)) + 1);
        }
        extra = extra.get(4 + length..)?;
    }
    None
}

/// Where the next block may begin in `bytes`, if anywhere: for files with a damaged block.
pub(crate) fn find(bytes: &[u8]) -> Option<usize> {
    bytes.windows(16).position(|window| window[..4] == END[..4] && window[10..16] == END[10..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::gzip;

    #[test]
    fn the_block_that_ends_a_file_tells_its_size() {
        let header = gzip::parse(&END).whole();
        assert_eq!(size(&header, &END), Some(END.len()));
        assert_eq!(super::header(2), END[..HEADER]);
    }

    #[test]
    fn other_extra_fields_may_stand_before_the_size() {
        let mut bytes = END[..10].to_vec();
        bytes.extend([11, 0, b'X', b'Y', 1, 0, 7, b'B', b'C', 2, 0, 0x34, 0x12]);
        let header = gzip::parse(&bytes).whole();
        assert_eq!(size(&header, &bytes), Some(0x1235));
    }

    #[test]
    fn a_next_block_is_found_behind_damaged_bytes() {
        let mut bytes = vec![0x1f; 100];
        bytes.extend(END);
        assert_eq!(find(&bytes), Some(100));
        assert_eq!(find(&bytes[..110]), None);
    }
}
