//! Changes recordings in all ways that come to mind, and reads them.
//!
//! ```text
//! fuzz_recordings SECONDS [SEED]
//! ```
//!
//! They hold entries of all kinds. Half of the changed records get the checksum that fits, so that what decodes them is
//! reached as well; some are opened to be replayed, and each process does what they say. Ends with a panic if the reader
//! does, if it reads more entries than a file has room for, if it tells a cut outside of the file, or if processes do more
//! than was read.

#![expect(clippy::disallowed_methods, reason = "it runs for some seconds")]

use kahn_observe::record::{
    Act, Channel, Entry, Failed, Header, Input, Process, Reader, Replay, Topology, Writer,
};
use kahn_report::observe::Script;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

/// So many processes act in a recording.
const PROCESSES: usize = 9;

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

/// The lengths of lists are drawn, and what stands in them is of all kinds that a reader may meet.
fn header(draw: &mut Draw) -> Header {
    let count = |draw: &mut Draw| 0..draw.below(4);
    let process = |n| Process { id: n << 40, name: format!("process {n}"), is_recorded: n == 1 };
    let channel =
        |n| Channel { id: n, name: format!("channel {n}"), from: 0, to: 1, is_wired: n > 0 };
    let input = |n| Input { path: "text".into(), bytes: n, modified: Some(-1), sha256: [7; 32] };
    Header {
        program: "fuzz".into(),
        arguments: count(draw).map(|n| format!("argument {n}")).collect(),
        network: Topology {
            processes: count(draw).map(|n| process(n as u64)).collect(),
            channels: count(draw).map(|n| channel(n as u64)).collect(),
        },
        inputs: count(draw).map(|n| input(n as u64)).collect(),
        ..Header::default()
    }
}

fn recording(draw: &mut Draw) -> io::Result<Vec<u8>> {
    let mut file = tempfile::tempfile()?;
    let writer = Writer::new(file.try_clone()?, &header(draw))?;
    for _ in 0..draw.below(16) {
        let (process, channel) = (draw.below(PROCESSES) as u64, draw.below(1 << 20) as u64);
        let message = &vec![7; draw.below(100)][..];
        let at = Some("main.rs:7:5").filter(|_| draw.below(2) == 0);
        let failed = Failed { message: "no luck", panicked: true, at, input: Some(("words", 7)) };
        let act = match draw.below(14) {
            0 => Act::Sends { channel, message },
            1 => Act::Receives { channel, messages: process << 50 },
            2 => Act::SeesEnd { channel },
            3 => Act::Closes { channel },
            4 => Act::Departs { channel },
            5 => Act::Ends { failure: Some(failed).filter(|_| draw.below(2) == 0) },
            6 => Act::Waits { channel, to_send: draw.below(2) == 0 },
            // One such, and it cannot be replayed.
            7 if draw.below(8) == 0 => Act::Sent { channel, digest: 7 },
            kind => {
                writer.append(&match kind {
                    7 | 8 => Entry::Passed { channel, first: process, digests: message },
                    9 => Entry::Carried { channel, messages: process, digest: channel },
                    10 => Entry::Saved {
                        process,
                        part: "out.part",
                        messages: channel,
                        bytes: channel << 8,
                        sha256: [7; 32],
                    },
                    11 => Entry::Stopped,
                    12 => Entry::Begun { program: u32::MAX },
                    _ => Entry::Ended,
                });
                continue;
            }
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

/// Opens a file to be replayed, if it can be, and has each process do all that it says; returns how much that is.
fn replayed(path: &Path) -> Option<usize> {
    let replay = Replay::open(path).ok()?;
    let (mut steps, mut message) = (0, Vec::new());
    for process in 0..PROCESSES {
        while replay.next(process as u64, &mut message).is_some() {
            steps += 1;
            message.clear();
        }
    }
    Some(steps)
}

#[expect(clippy::print_stdout, reason = "it is a program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut draw = Draw(u64::max(seed, 1));
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut files, mut entries, mut cuts, mut steps) = (0_u64, 0_u64, 0_u64, 0_u64);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("run.rec");
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
            if draw.below(8) == 0 {
                fs::write(&path, &file)?;
                let done = replayed(&path).unwrap_or(0);
                assert!(done <= read, "{done} steps of {read} entries");
                steps += done as u64;
            }
            if let Some(cut) = reader.cut() {
                assert!(cut.at < file.len() as u64, "{cut} of {} bytes", file.len());
                cuts += 1;
            }
        }
    }
    println!(
        "{files} changed recordings: {entries} entries read, {cuts} cut; {steps} steps done again"
    );
    Ok(())
}
