//! Compresses a file on all cores: block by block, and in order.
//!
//! ```text
//!   read ──blocks──► compress (8 at once) ──members──► begin ──► write
//! ```
//!
//! Each block becomes a gzip file of its own, a *member*; what `gzip -d` reads is any number of them, one
//! after the other. Results leave in the order of their blocks, whichever worker is done first. An empty member
//! goes first, so that an empty file becomes a gzip file, too. What is written appears once it is whole.
//!
//! `cargo run --example ordered_compressor -- FILE FILE.gz`; without arguments it compresses a file of its own.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use flate2::{Compression, write::GzEncoder};
use kahn::{Network, Report, RunError, process};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, error::Error, fs};

/// Bytes of a block.
const BLOCK: usize = 128 << 10;

fn compress(from: &Path, to: &Path) -> Result<Report, RunError> {
    let mut network = Network::new();
    let blocks = network.blocks("read", process::open(from), BLOCK);
    let members = network.try_ordered_map("compress", blocks, 8, 32, |block| Ok(member(&block)?));
    let members = network.delay("begin", members, member(b"").ok());
    network.write_file("write", members, to);
    network.run()
}

fn member(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(block)?;
    encoder.finish()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut paths = env::args_os().skip(1).map(PathBuf::from);
    let (from, to) = match (paths.next(), paths.next()) {
        (Some(from), Some(to)) => (from, to),
        (None, _) => {
            let from = folder.path().join("numbers.txt");
            let numbers: Vec<String> = (0..100_000).map(|number| format!("{number}\n")).collect();
            fs::write(&from, numbers.concat())?;
            (from, folder.path().join("numbers.txt.gz"))
        }
        (Some(_), None) => return Err("expected FILE and FILE.gz".into()),
    };
    let report = compress(&from, &to)?;
    println!("{} bytes are {} now", fs::metadata(&from)?.len(), fs::metadata(&to)?.len());
    println!("{report}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::MultiGzDecoder;
    use std::io::Read;

    #[test]
    fn what_is_compressed_is_read_again() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("from"), folder.path().join("to.gz"));
        for length in [0, 1, BLOCK, BLOCK + 1, 5 * BLOCK + 17] {
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            fs::write(&from, &bytes)?;
            compress(&from, &to)?;
            let compressed = fs::read(&to)?;
            let mut again = Vec::new();
            MultiGzDecoder::new(&*compressed).read_to_end(&mut again)?;
            assert!(again == bytes, "{length} bytes");
            // In order, each by itself: the same as one after the other.
            let one_by_one = bytes.chunks(BLOCK).map(member).collect::<io::Result<Vec<_>>>()?;
            assert!(compressed == [member(b"")?, one_by_one.concat()].concat(), "{length} bytes");
        }
        Ok(())
    }

    #[test]
    fn a_missing_file_is_told_and_leaves_nothing() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let to = folder.path().join("to.gz");
        let error = compress(Path::new("no such file"), &to).expect_err("there is none");
        assert!(error.to_string().contains("cannot open `no such file`"), "{error}");
        assert_eq!(fs::read_dir(&folder)?.count(), 0);
        Ok(())
    }
}
