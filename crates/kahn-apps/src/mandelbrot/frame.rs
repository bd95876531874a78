//! A frame: rows that come in any order, then a sum, and perhaps a hash and a picture.

use std::fmt;
use std::io::{self, Write};

use super::kernel;

/// Where the hash FNV-1a starts, as the benchmark has it.
const OFFSET: u64 = 1_469_598_103_934_665_603;

/// What the hash is multiplied with for each byte.
const PRIME: u64 = 1_099_511_628_211;

/// What is kept of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// The sum of its iterations.
    Sum,
    /// The hash of its bytes, too.
    Hash,
    /// Its pixels, too.
    Picture,
}

/// A frame that is complete; shows itself as its number, sum and hash, if that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Which, from 0 on.
    pub number: u32,
    /// The sum of the iteration counts of its pixels.
    pub sum: u64,
    /// FNV-1a over its bytes, row by row, if that is kept.
    pub hash: Option<u64>,
    /// Four bits for each pixel, each row in whole bytes, if they are kept.
    shades: Vec<u8>,
}

/// A frame of which rows are missing.
#[derive(Debug)]
pub(super) struct Open {
    number: u32,
    rows: Vec<Option<Vec<u8>>>,
    missing: usize,
    sum: u64,
}

impl Open {
    pub(super) fn new(number: u32, height: u32) -> Self {
        let rows = vec![None; height as usize];
        Self { number, missing: rows.len(), rows, sum: 0 }
    }

    /// Takes a row.
    pub(super) fn put(&mut self, row: u32, bytes: Vec<u8>, sum: u64) {
        let before = self.rows[row as usize].replace(bytes);
        self.missing -= usize::from(before.is_none());
        self.sum += sum;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Makes a frame of the rows.
    pub(super) fn close(self, keep: Keep) -> Frame {
        let rows = || self.rows.iter().flatten();
        let hash = || {
            let bytes = rows().flatten();
            bytes.fold(OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
        };
        let hash = (keep >= Keep::Hash).then(hash);
        let packed = rows().filter(|_| keep == Keep::Picture).flat_map(|row| {
            // The sign of each pixel; two pixels a byte, the first in the upper half.
            row.chunks(4).map(|pair| {
                let shade =
                    |place: usize| pair.get(place).map_or(0, |&sign| kernel::shade_of(sign));
                shade(1) << 4 | shade(3)
            })
        });
        Frame { number: self.number, sum: self.sum, hash, shades: packed.collect() }
    }
}

impl Frame {
    /// Writes it as a picture, of as many pixels as it has been computed with.
    ///
    /// # Errors
    ///
    /// Returns what the writer says, or that the pixels were not kept.
    pub fn write_png(&self, width: u32, height: u32, out: &mut dyn Write) -> io::Result<()> {
        let mut encoder = png::Encoder::new(out, width, height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Four);
        encoder.set_palette(palette());
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.shades)?;
        writer.finish()?;
        Ok(())
    }
}

/// Sixteen shades: the six colours of the signs, brighter with the iteration count.
fn palette() -> Vec<u8> {
    const COLOURS: [[u16; 3]; 6] = [
        [255, 90, 80],
        [120, 220, 100],
        [250, 220, 90],
        [90, 140, 255],
        [220, 110, 240],
        [90, 220, 230],
    ];
    let shade = |low: u16| {
        COLOURS[usize::from(low % 6)].map(|part| u8::try_from(part * low / 15).unwrap_or(u8::MAX))
    };
    (0..16).flat_map(shade).collect()
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.sum)?;
        self.hash.map_or(Ok(()), |hash| write!(f, " {hash:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_bytes_in_order_whenever_they_came() {
        let frame = |order: [u32; 2]| {
            let mut open = Open::new(7, 2);
            for row in order {
                assert!(!open.is_complete());
                open.put(row, vec![u8::try_from(row).unwrap(), b' '], 3);
            }
            assert!(open.is_complete());
            open.close(Keep::Picture)
        };
        let hash = [0, b' ', 1, b' ']
            .iter()
            .fold(OFFSET, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        assert_eq!((frame([0, 1]).hash, frame([0, 1]).sum), (Some(hash), 6));
        assert_eq!(frame([1, 0]), frame([0, 1]));
    }
}
