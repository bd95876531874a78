//! The bytes around a block: headers, trailers, frames. No compression, no files.

pub(crate) mod bgzf;
pub(crate) mod gzip;
pub(crate) mod zstd;

/// What a parser makes of the bytes that it has so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed<T> {
    /// It is complete.
    Whole(T),
    /// It goes on behind what is there: at least this many bytes are needed to tell more.
    Needs(usize),
    /// It cannot be right.
    Wrong(crate::Flaw),
}

impl<T> Parsed<T> {
    #[cfg(test)]
    pub(crate) fn whole(self) -> T {
        match self {
            Self::Whole(value) => value,
            Self::Needs(bytes) => panic!("{bytes} bytes are needed"),
            Self::Wrong(flaw) => panic!("{flaw}"),
        }
    }
}

/// A little-endian number of two bytes at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

/// A little-endian number of four bytes at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A little-endian number of eight bytes at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
