//! Compresses standard input to BGZF with libdeflate in a plain loop: the floor that `kgz` is measured
//! against.
//!
//! ```text
//! one_thread LEVEL < FILE > FILE.gz
//! ```

use libdeflater::{CompressionLvl, Compressor};
use std::io::{self, BufWriter, Read, Write};

/// The bytes of a header, and of the empty block that ends a file.
const END: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

fn main() -> io::Result<()> {
    let level = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(6);
    let level = CompressionLvl::new(level).map_err(|_| io::Error::other("levels are 0 to 12"))?;
    let mut compressor = Compressor::new(level);
    let (mut input, mut output) =
        (io::stdin().lock(), BufWriter::with_capacity(1 << 17, io::stdout()));
    let (mut plain, mut packed) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        plain.clear();
        if input.by_ref().take(0xff00).read_to_end(&mut plain)? == 0 {
            break;
        }
        let data =
            compressor.deflate_compress(&plain, &mut packed[18..]).map_err(io::Error::other)?;
        packed[..16].copy_from_slice(&END[..16]);
        let size = u16::try_from(18 + data + 8 - 1).map_err(io::Error::other)?;
        packed[16..18].copy_from_slice(&size.to_le_bytes());
        output.write_all(&packed[..18 + data])?;
        output.write_all(&libdeflater::crc32(&plain).to_le_bytes())?;
        output.write_all(&u32::try_from(plain.len()).map_err(io::Error::other)?.to_le_bytes())?;
    }
    output.write_all(&END)?;
    output.flush()
}
