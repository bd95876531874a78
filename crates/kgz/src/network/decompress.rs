//! Decompressing: read, cut, unpack side by side, check and write in order.

use super::Run;
use super::cut::Cutter;
use super::piece::{Buffers, Kind, Piece, Place, Trailer};
use super::write::{self, Memory, Put};
use super::written;
use crate::error::{Error, Flaw};
use crate::settings::Decompress;
use crate::unpack::{Unpacker, unpack_frame};
use kahn::{Network, Options};
use std::io::{Read, Write};
use std::ops::Range;
use std::sync::mpsc;

/// How much is read at once.
const CHUNK: usize = 128 << 10;

/// How many chunks are read ahead.
const CHUNKS: u32 = 4;

/// What decompressing did.
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Decompress};
///
/// let mut packed = Vec::new();
/// kgz::compress(&[1; 100_000][..], &mut packed, &Compress::new())?;
/// let done = kgz::decompress(&packed[..], Vec::new(), &Decompress::new())?;
/// assert_eq!(done.written, 100_000);
/// # Ok::<(), kgz::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Unpacked {
    /// How many bytes of blocks were read.
    pub read: u64,
    /// How many bytes were written.
    pub written: u64,
    /// The byte at which something stands behind the blocks that is none, and was left alone.
    pub garbage: Option<u64>,
    /// The blocks that were left out, if the settings allow it.
    pub damaged: Vec<Error>,
}

/// Which part of a file is decompressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where the input begins in the file.
    pub(crate) offset: u64,
    /// Which bytes of what the input decompresses to are written.
    pub(crate) wanted: Range<u64>,
}

impl Part {
    pub(crate) const ALL: Self = Self { offset: 0, wanted: 0..u64::MAX };
}

/// Decompresses what `input` gives into `output`. The input tells its format.
///
/// # Errors
///
/// If the input cannot be read, is damaged or is cut off, or if the output cannot be written or is
/// larger than it may be. What was written before is a true beginning of the output, unless the error
/// says that its end is unchecked.
///
/// # Panics
///
/// Panics if the settings cannot be [carried out](Decompress::check).
///
/// # Examples
///
/// ```
/// use kgz::{Compress, Decompress};
///
/// let mut packed = Vec::new();
/// kgz::compress(&b"some text"[..], &mut packed, &Compress::new())?;
/// let mut text = Vec::new();
/// kgz::decompress(&packed[..], &mut text, &Decompress::new())?;
/// assert_eq!(text, b"some text");
/// # Ok::<(), kgz::Error>(())
/// ```
pub fn decompress(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Decompress,
) -> Result<Unpacked, Error> {
    decompress_with(input, output, settings, Options::new().workers(settings.parts))
}

/// Decompresses as [`decompress`], with options for the run of the network.
///
/// # Errors
///
/// As [`decompress`]; also if the run is ended by an option.
///
/// # Panics
///
/// Panics if the settings cannot be [carried out](Decompress::check).
///
/// # Examples
///
/// ```
/// use kahn::Options;
/// use kgz::{Compress, Decompress};
///
/// let mut packed = Vec::new();
/// kgz::compress(&b"some text"[..], &mut packed, &Compress::new())?;
/// let mut text = Vec::new();
/// let options = Options::new().workers(1).capacity(1);
/// kgz::decompress_with(&packed[..], &mut text, &Decompress::new(), options)?;
/// assert_eq!(text, b"some text");
/// # Ok::<(), kgz::Error>(())
/// ```
pub fn decompress_with(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Decompress,
    options: Options,
) -> Result<Unpacked, Error> {
    let (tell, outcome) = mpsc::channel();
    let Run { options, prepare, .. } = Run::new(options);
    let network = network(input, output, settings, Part::ALL, prepare, tell);
    super::run(network, options, &outcome)
}

/// Decompresses a part on this thread; `tell` has the outcome before the run ends.
pub(crate) fn decompress_telling(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Decompress,
    part: Part,
    Run { options, prepare, .. }: Run,
    tell: mpsc::Sender<Result<Unpacked, Error>>,
) {
    let failed = tell.clone();
    let network = network(input, output, settings, part, prepare, tell);
    if let Err(error) = network.run_with(options) {
        // Of no interest if there is an outcome already.
        let _ = failed.send(Err(Error::Run(error.to_string())));
    }
}

fn network<'env>(
    mut input: impl Read + Send + 'env,
    output: impl Write + Send + 'env,
    settings: &'env Decompress,
    part: Part,
    prepare: impl FnOnce(&mut Network<'_>),
    tell: mpsc::Sender<Result<Unpacked, Error>>,
) -> Network<'env> {
    settings.check().unwrap_or_else(|error| panic!("{error}"));
    let Part { offset, wanted } = part;
    let mut network = Network::new();
    prepare(&mut network);
    let chunks = written::channel::<Result<Vec<u8>, Error>>("chunks").capacity(CHUNKS);
    let (chunks_out, chunks) = network.channel_with(chunks);
    let (pieces_out, pieces) = network.channel("pieces");
    let (spare_out, spare) = network.channel_with(written::channel("spare"));

    network.blocking("read", chunks_out, move |mut chunks| {
        let mut at = offset;
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            match input.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
                Ok(0) => return,
                Ok(length) => at += length as u64,
                Err(source) => return chunks.send_blocking(Err(Error::Read { at, source })),
            }
            chunks.send_blocking(Ok(chunk));
        }
    });

    network.process("cut", (chunks, pieces_out, spare), async move |(chunks, pieces, spare)| {
        Cutter::new(chunks, pieces, spare, settings, offset).run().await;
    });

    let in_flight = settings.in_flight();
    let unpacked = network.ordered_map_with(
        "unpack",
        pieces,
        settings.parts,
        in_flight,
        Unpacker::new,
        unpack,
    );

    let (puts_out, puts) = network.channel("puts");
    let (verdict_out, verdict) = network.channel("verdict");
    let ports = (unpacked, puts_out, verdict_out);
    network.process("check", ports, async move |(mut unpacked, mut puts, mut verdict)| {
        let mut checker = Checker::new(settings, wanted);
        while let Some(piece) = unpacked.recv().await {
            match checker.piece(piece) {
                Ok(Some(put)) => puts.send(put).await,
                Ok(None) => {}
                Err(error) => {
                    puts.send(Put::Nothing).await;
                    return verdict.send(Err(error)).await;
                }
            }
            if checker.has_enough {
                break;
            }
        }
        verdict.send(Ok(checker.done)).await;
    });
    write::write(&mut network, output, (puts, spare_out), verdict, tell);
    network
}

impl Memory for Buffers {
    fn bytes(&self) -> &[u8] {
        &self.plain
    }
}

/// Decompresses what stands for itself, and sums up what is decompressed already.
fn unpack(unpacker: &mut Unpacker, piece: Piece) -> Piece {
    match piece {
        Piece::Packed { place, kind, mut buffers } => {
            let done = match kind {
                Kind::Block { header } => {
                    unpacker.block(&buffers.packed, header, &mut buffers.plain)
                }
                Kind::Frame { length } => unpack_frame(&buffers.packed, length, &mut buffers.plain),
            };
            match done {
                Ok(()) => Piece::Whole { buffers },
                Err(flaw) => Piece::Flawed { place, flaw, buffers },
            }
        }
        Piece::Part { buffers, .. } => {
            let checksum = libdeflater::crc32(&buffers.plain);
            Piece::Part { buffers, checksum }
        }
        other => other,
    }
}

/// Checks pieces, and says what is written of them.
struct Checker<'env> {
    settings: &'env Decompress,
    wanted: Range<u64>,
    /// How many bytes came, whether or not they were wanted.
    came: u64,
    /// Whether all that was wanted has come.
    has_enough: bool,
    /// Of the member whose parts come.
    checksum: crc32fast::Hasher,
    length: u64,
    /// How many bytes are written of the member whose parts come.
    unchecked: u64,
    done: Unpacked,
}

impl<'env> Checker<'env> {
    fn new(settings: &'env Decompress, wanted: Range<u64>) -> Self {
        Self {
            settings,
            wanted,
            came: 0,
            has_enough: false,
            checksum: crc32fast::Hasher::new(),
            length: 0,
            unchecked: 0,
            done: Unpacked::default(),
        }
    }

    fn piece(&mut self, piece: Piece) -> Result<Option<Put<Buffers>>, Error> {
        match piece {
            Piece::Packed { .. } => unreachable!("it was unpacked"),
            Piece::Whole { buffers } => {
                self.done.read += buffers.packed.len() as u64;
                let put = self.put(buffers)?;
                self.unchecked = 0;
                Ok(Some(put))
            }
            Piece::Part { buffers, checksum } => {
                let length = buffers.plain.len() as u64;
                self.checksum.combine(&crc32fast::Hasher::new_with_initial_len(checksum, length));
                self.length += length;
                self.put(buffers).map(Some)
            }
            Piece::End { place, trailer } => {
                self.trailer(place, trailer)?;
                self.unchecked = 0;
                Ok(None)
            }
            Piece::Flawed { place, flaw, buffers } => {
                let error = self.flaw(place, flaw);
                if !self.settings.keep_going {
                    return Err(error);
                }
                self.unchecked = 0;
                self.done.damaged.push(error);
                // Memory of no weight never was in flight.
                Ok((buffers.weight > 0).then_some(Put::Part { memory: buffers, range: 0..0 }))
            }
            Piece::Garbage { at } => {
                self.done.garbage = Some(at);
                Ok(None)
            }
            Piece::Failed(error) => Err(error),
        }
    }

    fn flaw(&self, Place { block, at }: Place, flaw: Flaw) -> Error {
        Error::Damaged { block, at, flaw, written: self.done.written, unchecked: self.unchecked }
    }

    fn trailer(&mut self, place: Place, trailer: Option<Trailer>) -> Result<(), Error> {
        let checksum = std::mem::replace(&mut self.checksum, crc32fast::Hasher::new()).finalize();
        let length = std::mem::take(&mut self.length);
        let Some(trailer) = trailer else { return Ok(()) };
        let flaw = if trailer.checksum != checksum {
            Flaw::Checksum
        } else if u64::from(trailer.length) != length & u64::from(u32::MAX) {
            Flaw::Length
        } else {
            return Ok(());
        };
        let error = self.flaw(place, flaw);
        if self.settings.keep_going {
            self.done.damaged.push(error);
            return Ok(());
        }
        Err(error)
    }

    /// Has written what is wanted of the next bytes.
    fn put(&mut self, memory: Buffers) -> Result<Put<Buffers>, Error> {
        let (begin, length) = (self.came, memory.plain.len() as u64);
        self.came += length;
        let clamp = |at: u64| usize::try_from(at.saturating_sub(begin).min(length));
        let from = clamp(self.wanted.start).expect("within the bytes");
        let to = clamp(self.wanted.end).expect("within the bytes").max(from);
        let count = (to - from) as u64;
        let too_large = |most: &u64| self.done.written + count > *most;
        if let Some(most) = self.settings.most_output.filter(too_large) {
            return Err(Error::TooLarge { most });
        }
        self.done.written += count;
        self.unchecked += count;
        self.has_enough = self.came >= self.wanted.end;
        Ok(Put::Part { memory, range: from..to })
    }
}
