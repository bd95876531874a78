//! Compressing: read, pack side by side, write in order.

use super::Run;
use super::write::{self, Memory, Put};
use super::written::{self, Written};
use crate::error::Error;
use crate::format::{bgzf, gzip};
use crate::index::Index;
use crate::pack::{self, DICTIONARY, Packer};
use crate::settings::{Compress, Format};
use kahn::{BoxError, Channel, Network, Options, Process};
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
    let Run { options, prepare, .. } = Run::new(options);
    let network = network(input, output, settings, prepare, tell);
    super::run(network, options, &outcome)
}

/// Compresses on this thread; `tell` has the outcome before the run ends.
pub(crate) fn compress_telling(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Compress,
    Run { options, prepare, .. }: Run,
    tell: mpsc::Sender<Result<Packed, Error>>,
) {
    let failed = tell.clone();
    let ran = network(input, output, settings, prepare, tell).run_with(options);
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

impl Written for Block {
    fn write(&self, into: &mut Vec<u8>) {
        // What follows has a known block before it.
        into.extend_from_slice(&(self.dictionary.len() as u64).to_le_bytes());
        into.extend_from_slice(&self.dictionary);
        into.extend_from_slice(&self.plain);
    }

    fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        let (length, rest) = bytes.split_first_chunk().ok_or("it ends within a number")?;
        let length = usize::try_from(u64::from_le_bytes(*length))?;
        let (dictionary, plain) = rest.split_at_checked(length).ok_or("it ends early")?;
        if dictionary.len() > DICTIONARY {
            return Err("more than may be referred to stands before it".into());
        }
        let (dictionary, plain) = (dictionary.to_vec(), plain.to_vec());
        Ok(Self { plain, dictionary, ..Self::default() })
    }
}

impl Memory for Block {
    fn bytes(&self) -> &[u8] {
        &self.packed
    }
}

fn network<'env>(
    mut input: impl Read + Send + 'env,
    output: impl Write + Send + 'env,
    settings: &'env Compress,
    prepare: impl FnOnce(&mut Network<'_>),
    tell: mpsc::Sender<Result<Packed, Error>>,
) -> Network<'env> {
    settings.check().unwrap_or_else(|error| panic!("{error}"));
    let mut network = Network::new();
    prepare(&mut network);
    let in_flight = settings.in_flight();
    let spare = (0..in_flight).map(|_| Block::default());
    // Of memory that goes back nothing is known but that it does.
    let spare = Channel::named("spare").initial(spare);
    let spare = spare
        .wire_with(|_, into| ().write(into), |bytes| <()>::read(bytes).map(|()| Block::default()));
    let (spare_out, spare) = network.channel_with(spare);
    let (blocks_out, blocks) =
        network.channel_with(written::channel::<Result<Block, Error>>("blocks"));

    // It receives, and yet what it sends comes from outside.
    let read = Process::named("read").effects();
    network.blocking_with(read, (spare, blocks_out), move |(mut spare, mut blocks)| {
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

    let (puts_out, puts) = network.channel("puts");
    let (verdict_out, verdict) = network.channel("verdict");
    let ports = (packed, puts_out, verdict_out);
    network.process("frame", ports, async move |(mut packed, mut puts, mut verdict)| {
        let mut framer = Framer::new(settings);
        if let Some(header) = framer.begin() {
            puts.send(Put::Bytes(header)).await;
        }
        while let Some(block) = packed.recv().await {
            match block {
                Ok(block) => puts.send(framer.block(block)).await,
                Err(error) => {
                    puts.send(Put::Nothing).await;
                    return verdict.send(Err(error)).await;
                }
            }
        }
        for bytes in framer.end() {
            puts.send(Put::Bytes(bytes)).await;
        }
        verdict.send(Ok(framer.done)).await;
    });
    write::write(&mut network, output, (puts, spare_out), verdict, tell);
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

/// Says what stands behind each other: blocks, and what the format has around them.
struct Framer<'env> {
    settings: &'env Compress,
    /// Of all that was read, if one checksum stands for all blocks.
    checksum: crc32fast::Hasher,
    done: Packed,
}

impl<'env> Framer<'env> {
    fn new(settings: &'env Compress) -> Self {
        Self { settings, checksum: crc32fast::Hasher::new(), done: Packed::default() }
    }

    /// Counts bytes that are written.
    fn count(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        self.done.written += bytes.len() as u64;
        bytes
    }

    fn begin(&mut self) -> Option<Vec<u8>> {
        let settings = self.settings;
        let header = || gzip::header(settings.name.as_deref(), settings.modified);
        settings.has_dictionaries().then(|| self.count(header()))
    }

    fn block(&mut self, block: Block) -> Put<Block> {
        let (length, packed) = (block.plain.len() as u64, block.done.length);
        if self.settings.has_dictionaries() {
            let checksum = crc32fast::Hasher::new_with_initial_len(block.done.checksum, length);
            self.checksum.combine(&checksum);
        }
        self.done.read += length;
        self.done.written += packed as u64;
        self.done.blocks += 1;
        self.done.index.push(packed as u64, length);
        Put::Part { memory: block, range: 0..packed }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        let mut end = Vec::new();
        match self.settings.format {
            Format::Bgzf => {
                end.push(self.count(bgzf::END.to_vec()));
                self.done.index.push(bgzf::END.len() as u64, 0);
            }
            Format::Gzip if self.settings.has_dictionaries() => {
                end.push(self.count(pack::END_OF_DATA.to_vec()));
                let trailer = gzip::trailer(self.checksum.clone().finalize(), self.done.read);
                end.push(self.count(trailer.to_vec()));
            }
            Format::Gzip | Format::Zstd if self.done.blocks == 0 => {
                end.push(self.count(empty(self.settings)));
            }
            Format::Gzip | Format::Zstd => {}
        }
        if self.settings.seekable {
            let mut table = Vec::new();
            self.done.index.write_table(&mut table);
            end.push(self.count(table));
        }
        end
    }
}

/// The file that an empty input becomes, where each block stands for itself.
fn empty(settings: &Compress) -> Vec<u8> {
    let mut packed = Vec::new();
    let block = Packer::new(settings).pack(&[], &[], &mut packed);
    packed.truncate(block.length);
    packed
}
