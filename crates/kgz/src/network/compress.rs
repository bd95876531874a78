//! Compressing: read, pack side by side, write in order.

use crate::error::Error;
use crate::format::{bgzf, gzip};
use crate::index::Index;
use crate::pack::{self, DICTIONARY, Packer};
use crate::settings::{Compress, Format};
use kahn::{Channel, Network, Options, Process};
use std::io::{self, Read, Write};
use std::sync::mpsc;

/// What compressing did.
///
/// # Examples
///
/// ```
/// use kgz::Compress;
///
/// let mut packed = Vec::new();
/// let done = kgz::compress(&[1; 100_000][..], &mut packed, &Compress::new())?;
/// assert_eq!((done.read, done.blocks, done.written), (100_000, 2, packed.len() as u64));
/// # Ok::<(), kgz::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// How many bytes were read.
    pub read: u64,
    /// How many bytes were written.
    pub written: u64,
    /// How many blocks they were compressed in.
    pub blocks: u64,
    /// Where the blocks begin. Of a gzip member, which has none, it is of no use.
    pub index: Index,
}

/// Compresses what `input` gives into `output`.
///
/// # Errors
///
/// If the input cannot be read or the output cannot be written. What was written before is the
/// beginning of the compressed form.
///
/// # Panics
///
/// Panics if the settings do not [fit](Compress::check).
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Format};
///
/// let text = b"some words ".repeat(1000);
/// let mut packed = Vec::new();
/// kgz::compress(&text[..], &mut packed, &Compress::new().format(Format::Gzip).level(9))?;
/// assert!(packed.len() < 200);
/// # Ok::<(), kgz::Error>(())
/// ```
pub fn compress(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Compress,
) -> Result<Packed, Error> {
    compress_with(input, output, settings, Options::new().workers(settings.parts))
}

/// Compresses as [`compress`], with options for the run of the network.
///
/// # Errors
///
/// As [`compress`]; also if the run is ended by an option.
///
/// # Panics
///
/// Panics if the settings do not [fit](Compress::check).
///
/// # Examples
///
/// The same bytes on one worker with room for one message:
///
/// ```
/// use kahn::Options;
/// use kgz::Compress;
///
/// let text = b"some words ".repeat(50_000);
/// let (mut one, mut other) = (Vec::new(), Vec::new());
/// kgz::compress(&text[..], &mut one, &Compress::new())?;
/// kgz::compress_with(&text[..], &mut other, &Compress::new(), Options::new().workers(1).capacity(1))?;
/// assert_eq!(one, other);
/// # Ok::<(), kgz::Error>(())
/// ```
pub fn compress_with(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Compress,
    options: Options,
) -> Result<Packed, Error> {
    let (tell, outcome) = mpsc::channel();
    let network = network(input, output, settings, tell);
    super::run(network, options, &outcome)
}

/// Compresses on this thread; `tell` has the outcome before the run ends.
pub(crate) fn compress_telling(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Compress,
    tell: mpsc::Sender<Result<Packed, Error>>,
) {
    let failed = tell.clone();
    let ran =
        network(input, output, settings, tell).run_with(Options::new().workers(settings.parts));
    if let Err(error) = ran {
        // Of no interest if there is an outcome already.
        let _ = failed.send(Err(Error::Run(error.to_string())));
    }
}

/// A block on its way, and the memory that goes round with it.
#[derive(Default)]
struct Block {
    /// What was read.
    plain: Vec<u8>,
    /// What was read before it, if the format refers to it.
    dictionary: Vec<u8>,
    /// What it was compressed to, in the beginning.
    packed: Vec<u8>,
    /// How much of it that is.
    done: pack::Compressed,
}

fn network<'env>(
    mut input: impl Read + Send + 'env,
    output: impl Write + Send + 'env,
    settings: &'env Compress,
    tell: mpsc::Sender<Result<Packed, Error>>,
) -> Network<'env> {
    settings.check().unwrap_or_else(|error| panic!("{error}"));
    let mut network = Network::new();
    let in_flight = settings.in_flight();
    let spare = (0..in_flight).map(|_| Block::default());
    let (spare_out, spare) = network.channel_with(Channel::named("spare").initial(spare));
    let (blocks_out, blocks) = network.channel::<Result<Block, Error>>("blocks");

    network.blocking("read", (spare, blocks_out), move |(mut spare, mut blocks)| {
        let mut at = 0;
        let mut dictionary = Vec::new();
        while let Some(mut block) = spare.recv_blocking() {
            match fill(&mut input, &mut block.plain, settings.block_size()) {
                Ok(0) => return,
                Ok(length) => at += length as u64,
                Err(source) => return blocks.send_blocking(Err(Error::Read { at, source })),
            }
            if settings.has_dictionaries() {
                block.dictionary.clear();
                block.dictionary.append(&mut dictionary);
                dictionary.extend_from_slice(
                    &block.plain[block.plain.len().saturating_sub(DICTIONARY)..],
                );
            }
            blocks.send_blocking(Ok(block));
        }
    });

    let packed = network.ordered_map_with(
        "pack",
        blocks,
        settings.parts,
        in_flight,
        || Packer::new(settings),
        |packer, block: Result<Block, Error>| {
            block.map(|mut block| {
                block.done = packer.pack(&block.plain, &block.dictionary, &mut block.packed);
                block
            })
        },
    );

    let write = Process::named("write").effects();
    network.blocking_with(write, (packed, spare_out), move |(mut packed, mut spare)| {
        let mut writer = Writer::new(output, settings);
        let written = writer.begin().and_then(|()| {
            while let Some(block) = packed.recv_blocking() {
                let block = block?;
                writer.block(&block)?;
                spare.send_blocking(block);
            }
            writer.end()
        });
        if written.is_err() {
            // What is right so far is written, if it can be; the first error is the one that is told.
            let _ = writer.output.flush();
        }
        // The caller may have gone.
        let _ = tell.send(written.map(|()| writer.done));
    });
    network
}

impl Compress {
    /// Whether a block refers to the one before it.
    fn has_dictionaries(&self) -> bool {
        self.format == Format::Gzip && self.level <= pack::HIGHEST_OF_ONE_MEMBER
    }
}

/// Reads until `buffer` has `size` bytes or there are no more; returns how many it has.
fn fill(input: &mut impl Read, buffer: &mut Vec<u8>, size: usize) -> io::Result<usize> {
    buffer.clear();
    input.take(size as u64).read_to_end(buffer)
}

/// Puts blocks behind each other, with what the format has around them.
struct Writer<'env, W> {
    output: W,
    settings: &'env Compress,
    /// Of all that was read, if one checksum stands for all blocks.
    checksum: crc32fast::Hasher,
    done: Packed,
}

impl<'env, W: Write> Writer<'env, W> {
    fn new(output: W, settings: &'env Compress) -> Self {
        Self { output, settings, checksum: crc32fast::Hasher::new(), done: Packed::default() }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.done.written;
        self.output.write_all(bytes).map_err(|source| Error::Write { written, source })?;
        self.done.written += bytes.len() as u64;
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        if !self.settings.has_dictionaries() {
            return Ok(());
        }
        self.put(&gzip::header(self.settings.name.as_deref(), self.settings.modified))
    }

    fn block(&mut self, block: &Block) -> Result<(), Error> {
        let length = block.plain.len() as u64;
        self.put(&block.packed[..block.done.length])?;
        if self.settings.has_dictionaries() {
            let checksum = crc32fast::Hasher::new_with_initial_len(block.done.checksum, length);
            self.checksum.combine(&checksum);
        }
        self.done.read += length;
        self.done.blocks += 1;
        self.done.index.push(block.done.length as u64, length);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        match self.settings.format {
            Format::Bgzf => {
                self.put(&bgzf::END)?;
                self.done.index.push(bgzf::END.len() as u64, 0);
            }
            Format::Gzip if self.settings.has_dictionaries() => {
                self.put(&pack::END_OF_DATA)?;
                self.put(&gzip::trailer(self.checksum.clone().finalize(), self.done.read))?;
            }
            Format::Gzip | Format::Zstd if self.done.blocks == 0 => {
                self.put(&empty(self.settings))?;
            }
            Format::Gzip | Format::Zstd => {}
        }
        if self.settings.seekable {
            let mut table = Vec::new();
            self.done.index.write_table(&mut table);
            self.put(&table)?;
        }
        let written = self.done.written;
        self.output.flush().map_err(|source| Error::Write { written, source })
    }
}

/// The file that an empty input becomes, where each block stands for itself.
fn empty(settings: &Compress) -> Vec<u8> {
    let mut packed = Vec::new();
    let block = Packer::new(settings).pack(&[], &[], &mut packed);
    packed.truncate(block.length);
    packed
}
