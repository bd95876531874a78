//! The pipeline: stages in a row, each of which spends work on every message.
//!
//! ```text
//!   source ──► stage 1 ──► stage 2 ──► … ──► stage S ──► sink
//! ```
//!
//! It shows what the size of a message costs, and from how little work on the messages are dearer
//! than what is done with them (Vrba and others: the Nornir run-time system, section 5.3.4, with
//! S = 50, messages of 8 to 2048 bytes, and d messages of 1/d seconds of work).
//!
//! A message is either the bytes themselves, which are copied into the channel and out of it (or, in
//! place, from channel to channel), or a pointer to them; see [`Message`].

mod batches;
mod in_place;
mod network;
mod sequential;

use std::time::Duration;

use kahn::{BoxError, Digest, Network};

pub use self::sequential::{pass, sum};
use crate::work::{Work, WorkArguments};
use crate::{
    Answer, Compare, Failure, MOST_PROCESSES, Pending, Program, Progress, at_least_one, whole,
};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
A stage spends 100ns on a message unless --work or --iterations says otherwise.

Examples:
  kahn run pipeline --messages 100000 --work 10us --report     as in the paper: d = 100000
  kahn run pipeline --bytes 2048 --messages 100000             large messages, copied
  kahn run pipeline --bytes 2048 --messages 100000 --boxed     the same, as pointers
  kahn run pipeline --capacity 1 --iterations 100              little room";

/// What is typed after `pipeline`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many stages stand between the source and the sink
    #[arg(long, value_name = "S", default_value_t = 50)]
    #[arg(value_parser = whole(0..=MOST_PROCESSES))]
    stages: u32,

    /// How many messages pass them all
    #[arg(long, value_name = "D", default_value_t = 1000)]
    messages: u64,

    /// How large a message is: 8, 16, 32, ... 2048; with --boxed any multiple of 8 up to 1048576
    #[arg(long, value_name = "B", default_value_t = 8, value_parser = at_least_one::<usize>)]
    bytes: usize,

    /// Sends a pointer to each message instead of the bytes themselves
    #[arg(long)]
    boxed: bool,

    #[command(flatten)]
    work: WorkArguments,
}

/// The work on a message in a stage unless the caller says otherwise.
const DEFAULT_WORK: Duration = Duration::from_nanos(100);

/// The largest message behind a pointer. All that are on their way are in memory.
const MOST_BYTES: usize = 1 << 20;

/// What passes a pipeline: some words, by value or behind a pointer.
pub trait Message: Sized + Send + Digest + 'static {
    /// Makes the message of so many words whose number in the row is this.
    fn new(number: u64, words: usize) -> Self;

    /// Shows the words, of which there is one at least.
    fn words(&mut self) -> &mut [u64];

    /// Appends the words as bytes.
    fn write(&self, into: &mut Vec<u8>);

    /// Reads what was written of one.
    ///
    /// # Errors
    ///
    /// Refuses bytes that are not as many as it takes.
    fn read(bytes: &[u8]) -> Result<Self, BoxError>;
}

fn write_words(words: &[u64], into: &mut Vec<u8>) {
    for word in words {
        into.extend_from_slice(&word.to_le_bytes());
    }
}

fn read_words(bytes: &[u8]) -> Result<Box<[u64]>, BoxError> {
    let (words, []) = bytes.as_chunks() else { return Err("a word is cut off".into()) };
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// By value: `N` words, one or more.
impl<const N: usize> Message for [u64; N] {
    fn new(number: u64, words: usize) -> Self {
        debug_assert_eq!(words, N, "the type says how large a message is");
        std::array::from_fn(|place| word(number, place))
    }

    fn words(&mut self) -> &mut [u64] {
        self
    }

    fn write(&self, into: &mut Vec<u8>) {
        write_words(self, into);
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        Ok(Self::try_from(&read_words(bytes)?[..])?)
    }
}

/// Behind a pointer.
impl Message for Box<[u64]> {
    fn new(number: u64, words: usize) -> Self {
        (0..words).map(|place| word(number, place)).collect()
    }

    fn words(&mut self) -> &mut [u64] {
        self
    }

    fn write(&self, into: &mut Vec<u8>) {
        write_words(self, into);
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        read_words(bytes)
    }
}

fn word(number: u64, place: usize) -> u64 {
    number.wrapping_add(place as u64)
}

/// What a pipeline is made of.
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_apps::{Compare, pipeline::Pipeline, work::Work};
///
/// let shape = Pipeline { stages: 3, messages: 100, words: 2, work: Work::iterations(10) };
/// let mut network = Network::new();
/// let checksum = shape.network::<[u64; 2]>(&mut network, Compare::Numbers, |_number| {});
/// let report = network.run_with(Options::new().workers(2).capacity(8))?;
/// assert_eq!(checksum.take(), Some(shape.sequential::<Box<[u64]>>()));
/// assert_eq!(report.messages(), 100 * 4);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// The stages between the source and the sink.
    pub stages: u32,
    /// The messages that pass them all.
    pub messages: u64,
    /// How many words of 8 bytes a message has: one or more.
    pub words: usize,
    /// What each stage spends on a message.
    pub work: Work,
}

/// A pipeline with its result, as a program.
#[derive(Debug)]
pub struct PipelineProgram {
    shape: Pipeline,
    size: Size,
    progress: Progress,
}

/// The types of message that there are.
#[derive(Debug, Clone, Copy)]
enum Size {
    Bytes8,
    Bytes16,
    Bytes32,
    Bytes64,
    Bytes128,
    Bytes256,
    Bytes512,
    Bytes1024,
    Bytes2048,
    Boxed,
}

impl PipelineProgram {
    /// Checks the size of the messages, and measures the machine if the work is a time.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if there are no messages of that size.
    pub fn prepare(arguments: &Arguments) -> Result<Self, Failure> {
        let &Arguments { stages, messages, bytes, boxed, ref work } = arguments;
        let size = Size::of(bytes, boxed)?;
        let shape = Pipeline { stages, messages, words: bytes / 8, work: work.or(DEFAULT_WORK) };
        Ok(Self { shape, size, progress: Progress::new("messages", Some(messages)) })
    }

    fn answer(&self, checksum: u64) -> Answer<'_> {
        let messages = self.shape.messages;
        Answer::new(move |out| writeln!(out, "{messages} messages, checksum {checksum:016x}"))
    }

    fn build_with<'env, M: Message>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Pending<'env> {
        let checksum = self.shape.network::<M>(network, compare, |_| self.progress.add(1));
        Box::new(move || checksum.take().map(|checksum| self.answer(checksum)))
    }
}

impl Size {
    fn of(bytes: usize, boxed: bool) -> Result<Self, Failure> {
        if boxed {
            let is_right = bytes.is_multiple_of(8) && (8..=MOST_BYTES).contains(&bytes);
            return is_right.then_some(Self::Boxed).ok_or_else(|| {
                Failure::input(format!(
                    "--bytes {bytes}: expected a multiple of 8, at most {MOST_BYTES}"
                ))
            });
        }
        Ok(match bytes {
            8 => Self::Bytes8,
            16 => Self::Bytes16,
            32 => Self::Bytes32,
            64 => Self::Bytes64,
            128 => Self::Bytes128,
            256 => Self::Bytes256,
            512 => Self::Bytes512,
            1024 => Self::Bytes1024,
            2048 => Self::Bytes2048,
            _ => {
                return Err(Failure::input(format!(
                    "--bytes {bytes}: expected a power of two from 8 to 2048"
                ))
                .with_help("with --boxed any multiple of 8 is possible"));
            }
        })
    }
}

impl Program for PipelineProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        match self.size {
            Size::Bytes8 => self.build_with::<[u64; 1]>(network, compare),
            Size::Bytes16 => self.build_with::<[u64; 2]>(network, compare),
            Size::Bytes32 => self.build_with::<[u64; 4]>(network, compare),
            Size::Bytes64 => self.build_with::<[u64; 8]>(network, compare),
            Size::Bytes128 => self.build_with::<[u64; 16]>(network, compare),
            Size::Bytes256 => self.build_with::<[u64; 32]>(network, compare),
            Size::Bytes512 => self.build_with::<[u64; 64]>(network, compare),
            Size::Bytes1024 => self.build_with::<[u64; 128]>(network, compare),
            Size::Bytes2048 => self.build_with::<[u64; 256]>(network, compare),
            Size::Boxed => self.build_with::<Box<[u64]>>(network, compare),
        }
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.shape.sequential::<Box<[u64]>>()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_its_type() {
        for shift in 3..=11 {
            assert!(Size::of(1 << shift, false).is_ok());
        }
        for (bytes, boxed) in [(4, false), (24, false), (4096, false), (12, true), (0, true)] {
            assert!(Size::of(bytes, boxed).is_err(), "{bytes} {boxed}");
        }
        assert!(Size::of(24, true).is_ok());
        assert!(Size::of(MOST_BYTES + 8, true).is_err());
    }

    #[test]
    fn the_checksum_depends_on_every_word_and_every_stage() {
        let shape = Pipeline { stages: 3, messages: 5, words: 4, work: Work::none() };
        let sum = |shape: Pipeline| shape.sequential::<Box<[u64]>>();
        assert_eq!(sum(shape), shape.sequential::<[u64; 4]>());
        assert_ne!(sum(shape), sum(Pipeline { stages: 4, ..shape }));
        assert_ne!(sum(shape), sum(Pipeline { words: 5, ..shape }));
        assert_ne!(sum(shape), sum(Pipeline { messages: 6, ..shape }));
        assert_ne!(sum(shape), sum(Pipeline { work: Work::iterations(1), ..shape }));
    }
}
