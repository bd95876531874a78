//! gzip: the header and the trailer of a member.
//!
//! Source: RFC 1952.

use super::Parsed;
use crate::Flaw;
use std::ops::Range;

/// How a member begins.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The checksum and the length behind the compressed data.
pub(crate) const TRAILER: usize = 8;

/// A header is refused that is longer than this: names and comments have no length of their own.
const LONGEST: usize = 1 << 20;

const HAS_CRC: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// What the header of a member tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// How many bytes it has.
    pub(crate) length: usize,
    /// Where its extra fields stand.
    pub(crate) extra: Range<usize>,
    /// Where the name of the file stands.
    pub(crate) name: Range<usize>,
    /// When the file was modified, in seconds since 1970; 0 if it does not tell.
    pub(crate) modified: u32,
}

/// Reads the header at the beginning of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed<Header> {
    let magic = bytes.len().min(MAGIC.len());
    if bytes[..magic] != MAGIC[..magic] {
        return Parsed::Wrong(Flaw::Header);
    }
    if bytes.len() < 10 {
        return Parsed::Needs(10);
    }
    let flags = bytes[3];
    if bytes[2] != 8 || flags & RESERVED != 0 {
        return Parsed::Wrong(Flaw::Method);
    }
    let mut at = 10;
    let mut extra = at..at;
    if flags & HAS_EXTRA != 0 {
        if bytes.len() < at + 2 {
            return Parsed::Needs(at + 2);
        }
        extra = at + 2..at + 2 + usize::from(super::u16_at(bytes, at));
        at = extra.end;
    }
    let mut name = at..at;
    for flag in [HAS_NAME, HAS_COMMENT] {
        if flags & flag != 0 {
            let Some(length) =
                bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0))
            else {
                let longest = bytes.len().max(at) >= LONGEST;
                return if longest {
                    Parsed::Wrong(Flaw::Header)
                } else {
                    Parsed::Needs(bytes.len().max(at) + 1)
                };
            };
            if flag == HAS_NAME {
                name = at..at + length;
            }
            at += length + 1;
        }
    }
    if flags & HAS_CRC != 0 {
        if bytes.len() < at + 2 {
            return Parsed::Needs(at + 2);
        }
        if u32::from(super::u16_at(bytes, at)) != libdeflater::crc32(&bytes[..at]) & 0xffff {
            return Parsed::Wrong(Flaw::Checksum);
        }
        at += 2;
    }
    if bytes.len() < at {
        return Parsed::Needs(at);
    }
    Parsed::Whole(Header { length: at, extra, name, modified: super::u32_at(bytes, 4) })
}

/// Writes a header. It tells nothing of the machine, and nothing of the file unless it is given.
pub(crate) fn header(name: Option<&[u8]>, modified: u32) -> Vec<u8> {
    let mut header = vec![MAGIC[0], MAGIC[1], 8, 0];
    header.extend(modified.to_le_bytes());
    header.extend([0, 0xff]);
    if let Some(name) = name {
        header[3] = HAS_NAME;
        header.extend(name);
        header.push(0);
    }
    header
}

/// Writes what stands behind the compressed data: the checksum and the length, modulo 2^32.
pub(crate) fn trailer(checksum: u32, length: u64) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..4].copy_from_slice(&checksum.to_le_bytes());
    trailer[4..].copy_from_slice(&length.to_le_bytes()[..4]);
    trailer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = header(Some(b"name"), 17);
        let header = parse(&bytes).whole();
        assert_eq!(header.length, bytes.len());
        assert_eq!((&bytes[header.name.clone()], header.modified), (&b"name"[..], 17));
    }

    #[test]
    fn a_header_that_is_not_there_yet_says_how_much_is_needed() {
        let mut bytes = header(Some(b"name"), 0);
        bytes[3] |= HAS_EXTRA | HAS_CRC | HAS_COMMENT;
        bytes.splice(10..10, [3, 0, 1, 2, 3]);
        bytes.extend(b"comment\0");
        let checksum = libdeflater::crc32(&bytes) & 0xffff;
        bytes.extend(u16::try_from(checksum).expect("two bytes").to_le_bytes());
        for length in 0..bytes.len() {
            assert!(
                matches!(parse(&bytes[..length]), Parsed::Needs(more) if more > length),
                "{length}"
            );
        }
        assert_eq!(parse(&bytes).whole().length, bytes.len());
        bytes[13] = 9;
        assert_eq!(parse(&bytes), Parsed::Wrong(Flaw::Checksum));
    }

    #[test]
    fn a_name_without_end_is_refused() {
        let mut bytes = header(None, 0);
        bytes[3] = HAS_NAME;
        bytes.resize(LONGEST, b'x');
        assert_eq!(parse(&bytes), Parsed::Wrong(Flaw::Header));
    }
}
