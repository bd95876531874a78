//! Decompressing: read, cut, unpack side by side, check and write in order.

use super::cut::Cutter;
use super::piece::{Kind, Piece, Place, Trailer};
use crate::error::{Error, Flaw};
use crate::settings::Decompress;
use crate::unpack::{Unpacker, unpack_frame};
use kahn::{Channel, Network, Options, Process};
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
    let network = network(input, output, settings, Part::ALL, tell);
    super::run(network, options, &outcome)
}

/// Decompresses a part on this thread; `tell` has the outcome before the run ends.
pub(crate) fn decompress_telling(
    input: impl Read + Send,
    output: impl Write + Send,
    settings: &Decompress,
    part: Part,
    tell: mpsc::Sender<Result<Unpacked, Error>>,
) {
    let failed = tell.clone();
    let network = network(input, output, settings, part, tell);
    if let Err(error) = network.run_with(Options::new().workers(settings.parts)) {
        // Of no interest if there is an outcome already.
        let _ = failed.send(Err(Error::Run(error.to_string())));
    }
}

fn network<'env>(
    mut input: impl Read + Send + 'env,
    output: impl Write + Send + 'env,
    settings: &'env Decompress,
    part: Part,
    tell: mpsc::Sender<Result<Unpacked, Error>>,
) -> Network<'env> {
    settings.check().unwrap_or_else(|error| panic!("{error}"));
    let Part { offset, wanted } = part;
    let mut network = Network::new();
    let (chunks_out, chunks) = network.channel_with(Channel::named("chunks").capacity(CHUNKS));
    let (pieces_out, pieces) = network.channel("pieces");
    let (spare_out, spare) = network.channel("spare");

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

    let write = Process::named("write").effects();
    network.blocking_with(write, (unpacked, spare_out), move |(mut unpacked, mut spare)| {
        let mut writer = Writer::new(output, settings, wanted);
        let written = loop {
            let Some(piece) = unpacked.recv_blocking() else { break writer.end() };
            match writer.piece(piece) {
                Ok(Next::Return(buffers)) => spare.send_blocking(buffers),
                Ok(Next::GoOn) => {}
                Ok(Next::Enough) => break writer.end(),
                Err(error) => break Err(error),
            }
        };
        if written.is_err() {
            // What is right so far is written, if it can be; the first error is the one that is told.
            let _ = writer.output.flush();
        }
        // The caller may have gone.
        let _ = tell.send(written.map(|()| writer.done));
    });
    network
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

/// What is done after a piece.
enum Next {
    /// Its memory goes back.
    Return(super::piece::Buffers),
    /// The next piece.
    GoOn,
    /// All that was wanted is written.
    Enough,
}

/// Checks pieces and writes them.
struct Writer<'env, W> {
    output: W,
    settings: &'env Decompress,
    wanted: Range<u64>,
    /// How many bytes came, whether or not they were wanted.
    came: u64,
    /// Of the member whose parts come.
    checksum: crc32fast::Hasher,
    length: u64,
    /// How many bytes were written of the member whose parts come.
    unchecked: u64,
    done: Unpacked,
}

impl<'env, W: Write> Writer<'env, W> {
    fn new(output: W, settings: &'env Decompress, wanted: Range<u64>) -> Self {
        Self {
            output,
            settings,
            wanted,
            came: 0,
            checksum: crc32fast::Hasher::new(),
            length: 0,
            unchecked: 0,
            done: Unpacked::default(),
        }
    }

    fn piece(&mut self, piece: Piece) -> Result<Next, Error> {
        match piece {
            Piece::Packed { .. } => unreachable!("it was unpacked"),
            Piece::Whole { buffers } => {
                self.done.read += buffers.packed.len() as u64;
                self.put(&buffers.plain)?;
                self.unchecked = 0;
                Ok(self.unless_enough(Next::Return(buffers)))
            }
            Piece::Part { buffers, checksum } => {
                let length = buffers.plain.len() as u64;
                self.checksum.combine(&crc32fast::Hasher::new_with_initial_len(checksum, length));
                self.length += length;
                self.put(&buffers.plain)?;
                Ok(self.unless_enough(Next::Return(buffers)))
            }
            Piece::End { place, trailer } => {
                self.trailer(place, trailer)?;
                self.unchecked = 0;
                Ok(Next::GoOn)
            }
            Piece::Flawed { place, flaw, buffers } => {
                let error = self.flaw(place, flaw);
                if !self.settings.keep_going {
                    return Err(error);
                }
                self.unchecked = 0;
                self.done.damaged.push(error);
                // Memory of no weight never was in flight.
                Ok(if buffers.weight == 0 { Next::GoOn } else { Next::Return(buffers) })
            }
            Piece::Garbage { at } => {
                self.done.garbage = Some(at);
                Ok(Next::GoOn)
            }
            Piece::Failed(error) => Err(error),
        }
    }

    fn flaw(&self, Place { block, at }: Place, flaw: Flaw) -> Error {
        Error::Damaged { block, at, flaw, written: self.done.written, unchecked: self.unchecked }
    }

    fn unless_enough(&self, next: Next) -> Next {
        if self.came >= self.wanted.end { Next::Enough } else { next }
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

    /// Writes what is wanted of the next bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let begin = self.came;
        self.came += bytes.len() as u64;
        let clamp = |at: u64| usize::try_from(at.saturating_sub(begin).min(bytes.len() as u64));
        let from = clamp(self.wanted.start).expect("within the bytes");
        let to = clamp(self.wanted.end).expect("within the bytes").max(from);
        let bytes = &bytes[from..to];
        let written = self.done.written;
        let too_large = |most: &u64| written + bytes.len() as u64 > *most;
        if let Some(most) = self.settings.most_output.filter(too_large) {
            return Err(Error::TooLarge { most });
        }
        self.output.write_all(bytes).map_err(|source| Error::Write { written, source })?;
        self.done.written += bytes.len() as u64;
        self.unchecked += bytes.len() as u64;
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        let written = self.done.written;
        self.output.flush().map_err(|source| Error::Write { written, source })
    }
}
