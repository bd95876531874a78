//! Bitonic sort: blocks of numbers through a fixed network of comparators, each a process.
//!
//! ```text
//!   numbers ─► step 2/2 ─► step 4/4 ─► step 4/2 ─► step 8/8 ─► step 8/4 ─► step 8/2 ─► sorted
//!
//!   step p/l of n:  n/l numbers side by side ─► l/2 comparators, of numbers that are l/2 apart
//! ```
//!
//! Step *p*/*l* is one of those that sort runs of *p* numbers, up and down by turns; it compares numbers
//! that are *l*/2 apart (Batcher: "Sorting networks and their applications", 1968). StreamIt's benchmark
//! sorts blocks of eight.

mod network;
mod sequential;

use std::io::{self, Write};

use kahn::Network;

use super::files::{Destination, Files};
use crate::checksum::mix;
use crate::random::Random;
use crate::{Answer, Compare, Failure, Pending, Program, Progress, Settings, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
A file has a whole number a line. Each block of --keys lines is sorted by itself: with as many keys as
lines, or more, the output is that of `sort -n`. A comparator is a process: 24 for 8 keys, 28160 for 1024.

Examples:
  kahn run bitonic-sort                              100 blocks of 8 keys
  seq 100 | shuf | kahn run bitonic-sort - --keys 128
  kahn run bitonic-sort --keys 64 --report           672 comparators at work
  kahn graph bitonic-sort --svg sort.svg             what it looks like";

/// What is typed after `bitonic-sort`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    files: Files,

    /// How many numbers are sorted together: a power of two
    #[arg(long, value_name = "N", default_value = "8", value_parser = power_of_two)]
    keys: usize,

    /// Without a file: how many blocks there are
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole(0..=1 << 24))]
    #[arg(conflicts_with = "file")]
    blocks: u32,
}

/// The most keys: 270 336 comparators.
const MOST_KEYS: usize = 1 << 13;

fn power_of_two(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n: &usize| n.is_power_of_two());
    number
        .filter(|number| (2..=MOST_KEYS).contains(number))
        .ok_or_else(|| format!("expected a power of two from 2 to {MOST_KEYS}"))
}

/// A step of the network: all comparisons of numbers that are `apart` from each other.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Runs of so many numbers are sorted when the steps of the same run have been made.
    run: usize,
    apart: usize,
}

/// The steps that sort so many keys, in order.
fn steps(keys: usize) -> impl Iterator<Item = Step> {
    let runs = (1..=keys.ilog2()).map(|log| 1 << log);
    runs.flat_map(|run: usize| (0..run.ilog2()).rev().map(move |log| Step { run, apart: 1 << log }))
}

impl Step {
    /// Whether numbers rise in the run of number `index`; in the last run of all they do.
    fn rises(self, index: usize) -> bool {
        index & self.run == 0
    }
}

/// Blocks of numbers that are to be sorted.
#[derive(Debug)]
pub struct BitonicSort {
    /// A whole number of blocks.
    numbers: Vec<i64>,
    /// How many of them were given: the rest fill up the last block.
    count: usize,
    keys: usize,
    destination: Destination,
    progress: Progress,
}

impl BitonicSort {
    /// Reads or makes the numbers.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if the file is missing or has a line that is no whole number.
    pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        let &Arguments { ref files, keys, blocks } = arguments;
        let mut random = Random::new(settings.seed);
        let mut numbers = files.read(parse)?.unwrap_or_else(|| {
            (0..keys * blocks as usize).map(|_| random.below(1_000_000).cast_signed()).collect()
        });
        let count = numbers.len();
        // They are the last of their block when it is sorted.
        numbers.resize(count.next_multiple_of(keys), i64::MAX);
        let progress = Progress::new("numbers", Some(numbers.len() as u64));
        Ok(Self { numbers, count, keys, destination: files.destination()?, progress })
    }

    fn answer(&self, mut numbers: Vec<i64>) -> Answer<'_> {
        numbers.truncate(self.count);
        let checksum = numbers.iter().fold(0, |sum, number| mix(sum, number.cast_unsigned()));
        let blocks = self.numbers.len() / self.keys;
        let line = format!("{blocks} blocks of {} keys, checksum {checksum:016x}", self.keys);
        self.destination.answer(line, move |out| write_lines(out, &numbers))
    }
}

fn parse(name: &str, bytes: &[u8]) -> Result<Vec<i64>, Failure> {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
    let lines = lines.filter(|_| !bytes.is_empty()).zip(1_u64..);
    let number = |(line, number): (&[u8], u64)| {
        let text = str::from_utf8(line).ok().and_then(|text| text.trim().parse().ok());
        text.ok_or_else(|| {
            let line = String::from_utf8_lossy(line);
            Failure::input(format!(
                "{name}: line {number}: expected a whole number, found `{line}`"
            ))
        })
    };
    lines.map(number).collect()
}

fn write_lines(out: &mut dyn Write, numbers: &[i64]) -> io::Result<()> {
    let mut digits = itoa::Buffer::new();
    numbers.iter().try_for_each(|number| {
        out.write_all(digits.format(*number).as_bytes())?;
        out.write_all(b"\n")
    })
}

impl Program for BitonicSort {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let sorted = self.network(network, compare);
        Box::new(move || sorted.take().map(|sorted| self.answer(sorted)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.sort()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_sorted() {
        for keys in [2, 4, 8, 64, 512] {
            let arguments = Arguments { files: Files::default(), keys, blocks: 20 };
            let program =
                BitonicSort::prepare(&arguments, &Settings { parts: 1, seed: 2 }).unwrap();
            let mut expected = program.numbers.clone();
            expected.chunks_mut(keys).for_each(<[i64]>::sort_unstable);
            assert_eq!(program.sort(), expected);
        }
    }

    #[test]
    fn lines_are_numbers_or_refused() {
        assert_eq!(parse("memory", b"3\n-4\r\n 5").unwrap(), [3, -4, 5]);
        assert!(parse("memory", b"").unwrap().is_empty());
        let refused = parse("memory", b"3\n\n5\n").unwrap_err();
        assert_eq!(refused.to_string(), "memory: line 2: expected a whole number, found ``");
        assert_eq!(power_of_two("3"), Err("expected a power of two from 2 to 8192".into()));
    }
}
