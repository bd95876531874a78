//! Word count: how often each word stands in some files.
//!
//! A word is a maximal run of the letters `A-Z` and `a-z`, folded to upper case; every other byte
//! separates words, and so does the end of a file. The result is a line `WORD<TAB>COUNT` for each
//! distinct word, by decreasing count, and among equal counts by word in byte order. These are the words of
//! the papers; `--words unicode` has those of any script, see the file `unicode`.
//!
//! The network is the one that Vrba et al. call KPN-FLEX ("Kahn process networks are a flexible
//! alternative to `MapReduce`", 2009, section 5.1):
//!
//! ```text
//!           ┌─► count 0 ─┬─► sum 0 ─┐         count i counts its share of the chunks,
//!   split ──┤            ╳          ├─► merge  sum j adds up and sorts the words that
//!           └─► count 1 ─┴─► sum 1 ─┘         hash to it, merge merges the sorted lists
//! ```
//!
//! The variant `mapreduce` is what they call KPN-MR: see its file, `mapreduce`.

mod counts;
mod mapreduce;
mod network;
mod sequential;
mod unicode;
mod words;

use std::io::{self, Write};
use std::path::PathBuf;

use kahn::Network;

pub use self::counts::{Counts, Entry};
pub use self::words::{Word, for_each_word};
use crate::{Answer, Compare, Failure, Input, Pending, Program, Progress, Settings, output};

/// How many counting and how many summing processes there are, unless the caller says otherwise.
///
/// Measured on two cores with two workers, 100 MB, 260 000 and 20 000 words, median of 11 runs in
/// turn, in seconds:
///
/// | parts         | 1    | 2    | 4    | 8    | 16   | 32   |
/// |---------------|------|------|------|------|------|------|
/// | 260 000 words | 0.55 | 0.40 | 0.35 | 0.36 | 0.40 | 0.41 |
/// | 20 000 words  | 0.17 | 0.12 | 0.12 | 0.11 | 0.14 | 0.17 |
///
/// Every counter has a table of its own, so more parts are more tables to fill. Four and eight are
/// the same within the noise, and eight keep more cores busy.
pub(crate) const DEFAULT_PARTS: usize = 8;

/// Every counter has a channel to every summer, so the channels grow with the square of this.
pub(crate) const MOST_PARTS: usize = 1024;

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run wordcount book.txt                       count the words of a file
  kahn run wordcount *.txt --workers 2 --report     of many, on two workers; say what it cost
  zcat book.gz | kahn run wordcount -               what comes by standard input
  kahn run wordcount book.txt -o counts.txt         into a file
  kahn run wordcount book.txt --words unicode       letters of any script, not A-Z alone
  kahn run wordcount book.txt --variant sequential  the same bytes without a network
  kahn run wordcount book.txt --variant mapreduce   the same bytes from two MapReduce jobs";

/// What is typed after `wordcount`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The files whose words are counted together, `-` is standard input; no word crosses the end of
    /// a file
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// For the variant `mapreduce`: adds up equal words before they are sent and sorted
    #[arg(long)]
    combine: bool,

    /// For the variant `mapreduce`: sends each word in a message of its own, as the unoptimised network of
    /// the papers did, to measure what that costs
    #[arg(long)]
    one_by_one: bool,

    /// What a word is made of: `ascii`, the letters A to Z, as in the papers; `unicode`, those of any
    /// script. All else separates
    #[arg(long, value_name = "ascii|unicode", default_value = "ascii", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    words: Letters,

    /// Writes to OUT, and not to standard output: whole, or not at all
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Letters {
    Ascii,
    Unicode,
}

/// Opens the files.
///
/// # Errors
///
/// Returns [`Failure::Input`] if one of them is missing, unreadable or a directory, and if an option has no
/// effect.
pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Box<dyn Program>, Failure> {
    if let Some(path) = &arguments.output {
        output::check_writable(path)?;
    }
    let counted = WordCount::open(&arguments.files, settings.parts)?;
    let output = arguments.output.clone();
    if arguments.words == Letters::Ascii {
        let Arguments { combine, one_by_one, .. } = *arguments;
        return Ok(Box::new(WordCount { combine, one_by_one, output, ..counted }));
    }
    let of_mapreduce = [(arguments.combine, "--combine"), (arguments.one_by_one, "--one-by-one")];
    if let Some((_, option)) = of_mapreduce.into_iter().find(|(is_given, _)| *is_given) {
        let what = "is for the variant `mapreduce`, which --words unicode is not for";
        return Err(Failure::input(format!("{option} {what}")).with_help("leave one of both out"));
    }
    let WordCount { files, parts, progress, .. } = counted;
    Ok(Box::new(unicode::UnicodeCount { files, parts, output, progress }))
}

/// The files, ready to be counted.
#[derive(Debug)]
pub struct WordCount {
    files: Vec<Input>,
    parts: usize,
    combine: bool,
    one_by_one: bool,
    output: Option<PathBuf>,
    progress: Progress,
}

impl WordCount {
    /// Opens files to be counted by so many processes.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if one of them is missing, unreadable or a directory.
    pub fn open(files: &[PathBuf], parts: usize) -> Result<Self, Failure> {
        let files = files.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>, _>>()?;
        let bytes = files.iter().map(|file| file.len() as u64).sum();
        let progress = Progress::new("bytes", Some(bytes));
        Ok(Self { files, parts, combine: false, one_by_one: false, output: None, progress })
    }

    /// Gives the pieces of all files, cut between words, in order.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let size = piece_size(&self.files, self.parts);
        self.files.iter().flat_map(move |file| words::chunks(file, size))
    }
}

/// How many bytes a piece of a file has, at least; the word at its end is not cut.
///
/// Large enough that a message costs nothing beside the counting, small enough that a small file
/// keeps all counters busy.
fn piece_size(files: &[Input], parts: usize) -> usize {
    let bytes = files.iter().map(|file| file.len()).sum::<usize>();
    (bytes / (PIECES * parts)).clamp(LEAST, MOST)
}

/// How many pieces there are for each counter, if pieces of that size are no waste.
const PIECES: usize = 4;
const LEAST: usize = 512;
const MOST: usize = 256 * 1024;

impl Program for WordCount {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        self.files.iter().for_each(|file| file.tell(network));
        network::build(self, network, compare)
    }

    fn mapreduce<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Result<Pending<'env>, Failure> {
        self.files.iter().for_each(|file| file.tell(network));
        Ok(mapreduce::build(self, network, compare))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        let ranked = sequential::count(self);
        let answer =
            Answer::new(move |out| ranked.iter().try_for_each(|entry| write_line(out, entry)));
        Ok(answer.to(self.output.as_deref()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Writes `WORD<TAB>COUNT`.
///
/// # Errors
///
/// Returns what `out` returns.
pub fn write_line(out: &mut dyn Write, entry: &Entry<'_>) -> io::Result<()> {
    entry.word.write(out)?;
    out.write_all(b"\t")?;
    out.write_all(itoa::Buffer::new().format(entry.count).as_bytes())?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_has_work_for_every_counter_and_a_large_one_has_large_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for (bytes, pieces) in [(11_000, 19..=22), (16 << 20, 63..=65)] {
            std::fs::write(&path, b"to be or not ".repeat(bytes / 13)).unwrap();
            let counted = WordCount::open(std::slice::from_ref(&path), 8).unwrap();
            let count = counted.chunks().count();
            assert!(pieces.contains(&count), "{bytes} bytes in {count} pieces");
        }
    }
}
