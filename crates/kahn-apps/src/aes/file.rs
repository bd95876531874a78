//! A file, encrypted or decrypted, so that `openssl enc` understands it.
//!
//! The file is cut into chunks of one size. Its ends are special in ECB, which knows only whole
//! blocks: 1 to 16 bytes are added, each of which says how many they are (PKCS #7, RFC 5652 section
//! 6.3), and taken away again.

use std::path::PathBuf;

use kahn::Network;

use super::{BLOCK, Block, Cipher, Direction, Mode, network};
use crate::{Answer, Compare, Failure, Input, Pending, Program, Progress};

/// How many bytes a message stands for. They and their copy fit into a core's cache, and the copy is
/// small enough to come from memory that was used before.
const CHUNK: usize = 64 * 1024;

/// What is to be done to a file.
pub(super) struct Task {
    pub(super) key: Block,
    pub(super) mode: Mode,
    pub(super) direction: Direction,
    /// Whether text that is not made of whole blocks is filled up.
    pub(super) padding: bool,
    pub(super) workers: usize,
    pub(super) output: Option<PathBuf>,
}

/// A file that is open, and known to be right.
#[derive(Debug)]
pub(super) struct FileProgram {
    input: Input,
    cipher: Cipher,
    end: End,
    workers: usize,
    output: Option<PathBuf>,
    progress: Progress,
}

/// What happens at the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Nothing.
    AsItIs,
    /// So many bytes are added before it is encrypted.
    Fill(usize),
    /// So many bytes are taken away after it is decrypted.
    Cut(usize),
}

impl FileProgram {
    /// Checks the length, and if it is to be decrypted, the padding: so that what can go wrong has
    /// gone wrong before anything runs.
    pub(super) fn prepare(path: &std::path::Path, task: Task) -> Result<Self, Failure> {
        let Task { key, mode, direction, padding, workers, output } = task;
        let input = Input::open(path)?;
        let cipher = Cipher::new(key, mode, direction);
        let end = match (mode, direction) {
            (Mode::Ecb, Direction::Encrypt) if padding => End::Fill(BLOCK - input.len() % BLOCK),
            (Mode::Ecb, _) if !input.len().is_multiple_of(BLOCK) => {
                let refused = format!("has {} bytes, expected a multiple of {BLOCK}", input.len());
                return Err(Failure::file(path, refused).with_help(match direction {
                    Direction::Encrypt => "without --no-padding it is filled up",
                    Direction::Decrypt => "was it encrypted in another mode, or cut off?",
                }));
            }
            (Mode::Ecb, Direction::Decrypt) if padding => {
                End::Cut(padding_of(&input, &cipher).ok_or_else(|| {
                    Failure::file(path, "does not end with padding when decrypted").with_help(
                        "the key may be another, or there is none: then say --no-padding",
                    )
                })?)
            }
            (Mode::Ecb | Mode::Ctr(_), _) => End::AsItIs,
        };
        let progress = Progress::new("bytes", Some(input.len() as u64));
        Ok(Self { input, cipher, end, workers, output, progress })
    }

    /// The chunks; if the end is filled up, there is always one that is not full.
    fn chunks(&self) -> impl Iterator<Item = &[u8]> + Send {
        let empty = matches!(self.end, End::Fill(_)) && self.input.len().is_multiple_of(CHUNK);
        self.input.chunks(CHUNK).chain(empty.then_some(&[][..]))
    }

    /// Encrypts or decrypts a chunk into memory of its own.
    fn convert(&self, number: usize, chunk: &[u8]) -> Box<[u8]> {
        let start = number * CHUNK;
        let is_last = match self.end {
            End::Fill(_) => chunk.len() < CHUNK,
            _ => start + chunk.len() == self.input.len(),
        };
        let bytes = self.apply(start, chunk, is_last);
        self.progress.add(chunk.len() as u64);
        bytes.into()
    }

    fn apply(&self, start: usize, text: &[u8], is_last: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len() + BLOCK);
        bytes.extend_from_slice(text);
        if let (End::Fill(count), true) = (self.end, is_last) {
            bytes.resize(text.len() + count, u8::try_from(count).unwrap_or(0));
        }
        self.cipher.apply(start as u64, &mut bytes);
        if let (End::Cut(count), true) = (self.end, is_last) {
            bytes.truncate(text.len() - count);
        }
        bytes
    }

    fn answer(&self, chunks: Vec<Box<[u8]>>) -> Answer<'_> {
        let write = move |out: &mut dyn std::io::Write| {
            chunks.iter().try_for_each(|chunk| out.write_all(chunk))
        };
        Answer::new(write).to(self.output.as_deref())
    }
}

/// Says how many bytes at the end of a text that is to be decrypted are padding.
fn padding_of(input: &[u8], cipher: &Cipher) -> Option<usize> {
    let mut last: Block = *input.last_chunk()?;
    cipher.apply(0, &mut last);
    let count = usize::from(last[BLOCK - 1]);
    let padding = last.get(BLOCK.checked_sub(count)?..).filter(|padding| !padding.is_empty())?;
    padding.iter().all(|byte| usize::from(*byte) == count).then_some(count)
}

impl Program for FileProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        self.input.tell(network);
        let convert = |number: usize, chunk: &'env [u8]| self.convert(number, chunk);
        let how = (compare, &self.input[..]);
        let done = network::in_turn(network, how, self.workers, self.chunks(), convert);
        Box::new(move || done.take().map(|chunks| self.answer(chunks)))
    }

    /// Converts the whole file at once.
    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(vec![self.apply(0, &self.input, true).into()]))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
