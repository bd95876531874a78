//! Changes compressed files in all ways that come to mind, and decompresses them.
//!
//! ```text
//! fuzz_files SECONDS [SEED]
//! ```
//!
//! Ends with 1 at a panic, at one file that takes more than five seconds, and if memory grows beyond
//! 300 MB: no header may have more taken than it should.

use kgz::{Compress, Decompress, Error, Format};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Draw, text};

/// How many files were done: a watcher looks at it.
static DONE: AtomicU64 = AtomicU64::new(0);

fn file(draw: &mut Draw) -> Vec<u8> {
    let mut packed = Vec::new();
    for _ in 0..=draw.below(3) {
        let format = Format::ALL[draw.below(3)];
        let length = draw.below(40_000);
        let settings = Compress::new()
            .format(format)
            .level(draw.level(format.highest_level()))
            .block(1024 + draw.below(30_000))
            .seekable(format == Format::Zstd && draw.below(2) == 0);
        let text = match draw.below(4) {
            0 => (0..length).map(|_| draw.byte()).collect(),
            _ => text(draw.below(1000) as u64, length),
        };
        kgz::compress(&text[..], &mut packed, &settings).expect("memory is read and written");
    }
    packed
}

fn change(file: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..=draw.below(4) {
        if file.is_empty() {
            return;
        }
        // Headers stand at the beginning, and are worth more changes than data.
        let reach = if draw.below(2) == 0 { file.len().min(40) } else { file.len() };
        let at = draw.below(reach);
        match draw.below(7) {
            0 => file[at] ^= 1 << draw.below(8),
            1 => file[at] = draw.byte(),
            2 => file[at] = [0, 0xff, 0x7f, 0x80][draw.below(4)],
            3 => file.truncate(at),
            4 => {
                let end = at + draw.below(file.len() - at);
                file.drain(at..end);
            }
            5 => {
                let part = file[at..at + draw.below(file.len() - at)].to_vec();
                let to = draw.below(file.len());
                file.splice(to..to, part);
            }
            _ => {
                let noise: Vec<_> = (0..draw.below(100)).map(|_| draw.byte()).collect();
                file.splice(at..at, noise);
            }
        }
    }
}

/// The most memory that this process ever had, in kilobytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    clippy::print_stderr,
    reason = "it watches the clock, from a thread of its own"
)]
fn watch() {
    std::thread::spawn(|| {
        loop {
            let before = DONE.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(5));
            if DONE.load(Ordering::Relaxed) == before {
                eprintln!("file {before} takes more than 5 seconds");
                std::process::exit(1);
            }
        }
    });
}

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it works for so many seconds, and tells"
)]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let seed = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let (begun, limit) = (Instant::now(), Duration::from_secs(seconds));
    let mut draw = Draw::new(seed);
    let (mut right, mut damaged) = (0, 0);
    watch();
    while begun.elapsed() < limit {
        let mut file = file(&mut draw);
        change(&mut file, &mut draw);
        let settings = Decompress::new()
            .parts(1 + draw.below(3))
            .max_output(64 << 20)
            .keep_going(draw.below(2) == 0);
        match kgz::decompress(&file[..], std::io::sink(), &settings) {
            Ok(_) => right += 1,
            Err(Error::Run(text)) => panic!("file {}: {text}", DONE.load(Ordering::Relaxed)),
            Err(_) => damaged += 1,
        }
        DONE.fetch_add(1, Ordering::Relaxed);
    }
    let memory = most_memory();
    println!(
        "seed {seed}: {right} files decompressed, {damaged} were errors, at most {} MB",
        memory / 1000
    );
    assert!(memory < 300_000, "{memory} kB of memory");
}
