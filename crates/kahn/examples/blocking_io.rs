//! Files: processes that block their thread, with the same ports as all others.
//!
//! ```text
//!   read (blocking) ──lines──► number ──numbered──► write (blocking)
//! ```
//!
//! A blocking process gets a thread of its own, so the workers go on with the others while it waits
//! for the disk. `write` writes beside its file and renames it at the end of the stream. If anything
//! before it fails, `write` ends at the failure mark and not at the end: a file that is there is
//! whole.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Report, RunError};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

fn number_lines(from: &Path, to: &Path) -> Result<Report, RunError> {
    let part = to.with_extension("part");
    let mut network = Network::new();
    let (lines_out, lines) = network.channel::<String>("lines");
    let (numbered_out, numbered) = network.channel::<String>("numbered");

    network.blocking("read", lines_out, |mut lines| {
        for line in BufReader::new(File::open(from)?).lines() {
            lines.send_blocking(line?);
        }
        Ok::<(), io::Error>(())
    });
    network.process("number", (lines, numbered_out), async |(mut lines, mut numbered)| {
        let mut number = 0;
        while let Some(line) = lines.recv().await {
            number += 1;
            numbered.send(format!("{number:>4}  {line}\n")).await;
        }
    });
    network.blocking("write", numbered, |mut numbered| {
        let mut file = BufWriter::new(File::create(&part)?);
        while let Some(line) = numbered.recv_blocking() {
            file.write_all(line.as_bytes())?;
        }
        file.into_inner()?.sync_all()?;
        fs::rename(&part, to)
    });
    network.run()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let to = folder.path().join("numbered.txt");
    let report = number_lines(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")), &to)?;
    for line in fs::read_to_string(&to)?.lines().take(5) {
        println!("{line}");
    }
    println!("   …\n\n{report}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_arrives_whole() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("from.txt"), folder.path().join("to.txt"));
        fs::write(&from, "one\ntwo\n")?;
        number_lines(&from, &to).expect("both files can be opened");
        assert_eq!(fs::read_to_string(&to)?, "   1  one\n   2  two\n");
        Ok(())
    }

    #[test]
    fn a_bad_line_leaves_no_file_that_looks_whole() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("from.txt"), folder.path().join("to.txt"));
        fs::write(&from, b"one\n\xff\xff\n")?;
        let error = number_lines(&from, &to).expect_err("the second line is not text");
        assert!(error.to_string().contains("process `read` failed"), "{error}");
        assert!(!to.exists());
        Ok(())
    }
}
