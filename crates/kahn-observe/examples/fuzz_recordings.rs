//! Changes recordings in all ways that come to mind, and reads them.
//!
//! ```text
//! fuzz_recordings SECONDS [SEED]
//! ```
//!
//! Half of the changed records get the checksum that fits, so that what decodes them is reached as well.
//! Ends with a panic if the reader does, if it reads more entries than a file has room for, or if it tells a
//! cut outside of the file.

#![expect(clippy::disallowed_methods, reason = "it runs for some seconds")]

use kahn_observe::record::{Act, Entry, Failed, Header, Reader, Writer};
use std::io::{self, Read, Seek};
use std::time::{Duration, Instant};

/// Numbers that look random: xorshift.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % most.max(1)
    }
}

fn recording(draw: &mut Draw) -> io::Result<Vec<u8>> {
    let mut file = tempfile::tempfile()?;
    let arguments = (0..draw.below(4)).map(|n| format!("argument {n}")).collect();
    let header = Header { program: "fuzz".into(), arguments, ..Header::default() };
    let writer = Writer::new(file.try_clone()?, &header)?;
    for _ in 0..draw.below(12) {
        let (process, channel) = (draw.below(9) as u64, draw.below(1 << 20) as u64);
        let message = &vec![7; draw.below(100)][..];
        let act = match draw.below(4) {
            0 => Act::Sends { channel, message },
            1 => Act::Receives { channel, messages: process << 50 },
            2 => Act::Ends {
                failure: Some(Failed { message: "no luck", panicked: true, at: None, input: None }),
            },
            _ => Act::Closes { channel },
        };
        writer.append(&Entry::Acts { process, act });
    }
    writer.finish()?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn change(file: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..=draw.below(4) {
        if file.len() < 2 {
            return;
        }
        let at = draw.below(file.len());
        match draw.below(5) {
            0 => file[at] ^= 1 << draw.below(8),
            1 => file[at] = [0, 0xff, 0x7f, 0x80][draw.below(4)],
            2 => file.truncate(at),
            3 => drop(file.drain(at..at + draw.below(file.len() - at))),
            _ => {
                let part = file[at..at + draw.below(file.len() - at)].to_vec();
                file.splice(at..at, part);
            }
        }
    }
}

/// Gives each record the checksum of what it has become.
fn mend(file: &mut [u8]) {
    let mut at = 8;
    while let Some(rest) = file.get_mut(at..).filter(|rest| rest.len() >= 8) {
        let length = [rest[0], rest[1], rest[2], rest[3]];
        let bytes = u32::from_le_bytes(length) as usize;
        let Some(content) = rest.get(8..8 + bytes) else { return };
        let mut crc = crc32fast::Hasher::new();
        crc.update(&length);
        crc.update(content);
        rest[4..8].copy_from_slice(&crc.finalize().to_le_bytes());
        at += 8 + bytes;
    }
}

#[expect(clippy::print_stdout, reason = "it is a program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut draw = Draw(u64::max(seed, 1));
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut files, mut entries, mut cuts) = (0_u64, 0_u64, 0_u64);
    while Instant::now() < until {
        let whole = recording(&mut draw)?;
        for _ in 0..100 {
            let mut file = whole.clone();
            change(&mut file, &mut draw);
            if draw.below(2) == 0 {
                mend(&mut file);
            }
            files += 1;
            let Ok(mut reader) = Reader::new(&file[..]) else { continue };
            let mut read = 0;
            while reader.read()?.is_some() {
                read += 1;
            }
            assert!(read * 9 <= file.len(), "{read} entries of {} bytes", file.len());
            entries += read as u64;
            if let Some(cut) = reader.cut() {
                assert!(cut.at < file.len() as u64, "{cut} of {} bytes", file.len());
                cuts += 1;
            }
        }
    }
    println!("{files} changed recordings: {entries} entries read, {cuts} cut");
    Ok(())
}
