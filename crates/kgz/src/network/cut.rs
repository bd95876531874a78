//! Cutting a compressed file into pieces that can be decompressed side by side.
//!
//! A BGZF block and a zstd frame with a checksum and a known, moderate size are pieces. Of all else
//! only decompressing tells where it ends, so it is decompressed here, part by part.

use super::piece::{Buffers, Kind, Piece, Place, Trailer};
use crate::format::{Parsed, bgzf, gzip, u32_at, zstd};
use crate::settings::{Decompress, LARGEST_CHECKED_FRAME};
use crate::unpack::zstd_flaw;
use crate::{Error, Flaw};
use flate2::{FlushDecompress, Status};
use kahn::{Receiver, Sender};

/// How much is decompressed before it is sent on.
pub(super) const PART: usize = 128 << 10;

/// Why cutting ended.
enum Ended {
    /// Something is wrong at this place.
    Flawed(Place, Flaw),
    /// The file could not be read further.
    Failed(Error),
    /// What is cut is no longer wanted.
    Unwanted,
}

/// What a member was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Member,
    Block { is_end: bool },
    Frame,
}

/// The process that cuts.
pub(super) struct Cutter<'env> {
    input: Input,
    pieces: Sender<Piece>,
    spare: Receiver<Buffers>,
    settings: &'env Decompress,
    /// Pieces that were sent and have not come back, and what they weigh.
    in_flight: usize,
    weight: u64,
    free: Vec<Buffers>,
    blocks: u64,
    before: Before,
}

impl<'env> Cutter<'env> {
    pub(super) fn new(
        chunks: Receiver<Result<Vec<u8>, Error>>,
        pieces: Sender<Piece>,
        spare: Receiver<Buffers>,
        settings: &'env Decompress,
        offset: u64,
    ) -> Self {
        Self {
            input: Input { chunks, buffer: Vec::new(), used: 0, offset },
            pieces,
            spare,
            settings,
            in_flight: 0,
            weight: 0,
            free: Vec::new(),
            blocks: 0,
            before: Before::Nothing,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            match self.file().await {
                Ok(()) | Err(Ended::Unwanted) => return,
                Err(Ended::Failed(error)) => return self.pieces.send(Piece::Failed(error)).await,
                Err(Ended::Flawed(place, flaw)) => {
                    let buffers = Buffers::default();
                    self.pieces.send(Piece::Flawed { place, flaw, buffers }).await;
                    if !self.settings.keep_going || !self.find_next().await {
                        return;
                    }
                }
            }
        }
    }

    /// Cuts what follows, to the end of the file.
    async fn file(&mut self) -> Result<(), Ended> {
        loop {
            let place = self.place();
            let have = self.fill(4).await?;
            if have == 0 {
                return self.end(place);
            }
            let bytes = self.input.bytes();
            if bytes.starts_with(&gzip::MAGIC) || have < 4 && gzip::MAGIC.starts_with(&bytes[..1]) {
                self.member(place).await?;
            } else if zstd::begins(bytes) {
                self.frame(place).await?;
            } else {
                return self.garbage(place).await;
            }
            self.blocks += 1;
        }
    }

    /// What the end of the file means, behind what came before.
    fn end(&self, place: Place) -> Result<(), Ended> {
        match self.before {
            Before::Nothing => Err(Ended::Flawed(place, Flaw::Cut)),
            Before::Block { is_end: false } => Err(Ended::Flawed(place, Flaw::NoEnd)),
            Before::Block { is_end: true } | Before::Member | Before::Frame => Ok(()),
        }
    }

    /// What follows is no block: damage within a file, and something else behind a complete one.
    async fn garbage(&mut self, place: Place) -> Result<(), Ended> {
        match self.before {
            Before::Nothing | Before::Frame | Before::Block { is_end: false } => {
                Err(Ended::Flawed(place, Flaw::Header))
            }
            Before::Member | Before::Block { is_end: true } => {
                if !self.only_zeros().await? {
                    self.pieces.send(Piece::Garbage { at: place.at }).await;
                }
                Ok(())
            }
        }
    }

    /// Whether nothing but zeros follows, with which tapes and blocks are filled up.
    async fn only_zeros(&mut self) -> Result<bool, Ended> {
        while self.fill(1).await? > 0 {
            let bytes = self.input.bytes();
            if bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            let length = bytes.len();
            self.input.consume(length);
        }
        Ok(true)
    }

    async fn member(&mut self, place: Place) -> Result<(), Ended> {
        let header = loop {
            match gzip::parse(self.input.bytes()) {
                Parsed::Whole(header) => break header,
                Parsed::Needs(bytes) => self.need(place, bytes).await?,
                Parsed::Wrong(flaw) => return Err(Ended::Flawed(place, flaw)),
            }
        };
        match bgzf::size(&header, self.input.bytes()) {
            Some(size) => self.block(place, header.length, size).await,
            None => self.long_member(place, header.length).await,
        }
    }

    async fn block(&mut self, place: Place, header: usize, size: usize) -> Result<(), Ended> {
        if size < header + bgzf::TRAILER {
            return Err(Ended::Flawed(place, Flaw::Size));
        }
        self.need(place, size).await?;
        let length = u32_at(self.input.bytes(), size - 4) as usize;
        if length > bgzf::LARGEST {
            return Err(Ended::Flawed(place, Flaw::Size));
        }
        self.before = Before::Block { is_end: self.input.bytes()[..size] == bgzf::END };
        self.packed(place, Kind::Block { header }, size, length).await
    }

    /// Sends the next `size` bytes, which are to become `length`.
    async fn packed(
        &mut self,
        place: Place,
        kind: Kind,
        size: usize,
        length: usize,
    ) -> Result<(), Ended> {
        let mut buffers = self.take((size + length) as u64).await?;
        buffers.packed.clear();
        buffers.packed.extend_from_slice(&self.input.bytes()[..size]);
        self.input.consume(size);
        self.pieces.send(Piece::Packed { place, kind, buffers }).await;
        Ok(())
    }

    /// A member whose end only decompressing tells.
    async fn long_member(&mut self, place: Place, header: usize) -> Result<(), Ended> {
        self.input.consume(header);
        self.before = Before::Member;
        let mut inflate = flate2::Decompress::new(false);
        let mut is_done = false;
        while !is_done {
            let mut buffers = self.take(PART as u64).await?;
            let part = &mut buffers.plain;
            part.clear();
            part.reserve_exact(PART);
            let mut flaw = None;
            while part.len() < PART && !is_done && flaw.is_none() {
                if self.fill(1).await? == 0 {
                    flaw = Some(Flaw::Cut);
                    break;
                }
                let (before, room) = (inflate.total_in(), part.len());
                match inflate.decompress_vec(self.input.bytes(), part, FlushDecompress::None) {
                    Ok(Status::StreamEnd) => is_done = true,
                    Ok(Status::Ok | Status::BufError) => {}
                    Err(_) => flaw = Some(Flaw::Data),
                }
                let taken = usize::try_from(inflate.total_in() - before).expect("it is in memory");
                self.input.consume(taken);
                if taken == 0 && part.len() == room && !is_done {
                    flaw = flaw.or(Some(Flaw::Data));
                }
            }
            self.pieces.send(Piece::Part { buffers, checksum: 0 }).await;
            if let Some(flaw) = flaw {
                return Err(Ended::Flawed(place, flaw));
            }
        }
        self.need(place, gzip::TRAILER).await?;
        let bytes = self.input.bytes();
        let trailer = Trailer { checksum: u32_at(bytes, 0), length: u32_at(bytes, 4) };
        self.input.consume(gzip::TRAILER);
        self.pieces.send(Piece::End { place, trailer: Some(trailer) }).await;
        Ok(())
    }

    async fn frame(&mut self, place: Place) -> Result<(), Ended> {
        let frame = loop {
            match zstd::parse(self.input.bytes()) {
                Parsed::Whole(frame) => break frame,
                Parsed::Needs(bytes) => self.need(place, bytes).await?,
                Parsed::Wrong(flaw) => return Err(Ended::Flawed(place, flaw)),
            }
        };
        self.before = Before::Frame;
        let header = match frame {
            zstd::Frame::Data(header) => header,
            zstd::Frame::Skippable(size) => return self.skip(place, size).await,
        };
        if header.needs_dictionary {
            return Err(Ended::Flawed(place, Flaw::Dictionary));
        }
        let (needs, most) = (header.window, self.settings.window());
        if needs > most {
            return Err(Ended::Flawed(place, Flaw::Window { needs, most }));
        }
        let length = header.content.filter(|length| *length <= LARGEST_CHECKED_FRAME as u64);
        if let (Some(length), true) = (length, header.has_checksum) {
            let length = usize::try_from(length).expect("at most 8 MiB");
            // Blocks without data could make a frame as long as one likes.
            let most = 2 * zstd_safe::compress_bound(length);
            loop {
                match zstd::size(&header, self.input.bytes()) {
                    Parsed::Whole(size) => {
                        return self.packed(place, Kind::Frame { length }, size, length).await;
                    }
                    Parsed::Needs(bytes) if bytes > most => break,
                    Parsed::Needs(bytes) => self.need(place, bytes).await?,
                    Parsed::Wrong(flaw) => return Err(Ended::Flawed(place, flaw)),
                }
            }
        }
        self.long_frame(place).await
    }

    /// A frame that is not checked before it is written, or is too large for it.
    async fn long_frame(&mut self, place: Place) -> Result<(), Ended> {
        let mut context = zstd_safe::DCtx::create();
        let window = self.settings.window().ilog2().clamp(10, 31);
        context
            .set_parameter(zstd_safe::DParameter::WindowLogMax(window))
            .map_err(|code| Ended::Flawed(place, zstd_flaw(code)))?;
        let mut is_done = false;
        while !is_done {
            let mut buffers = self.take(PART as u64).await?;
            let part = &mut buffers.plain;
            part.clear();
            part.resize(PART, 0);
            let (mut length, mut flaw) = (0, None);
            while length < PART && !is_done && flaw.is_none() {
                if self.fill(1).await? == 0 {
                    flaw = Some(Flaw::Cut);
                    break;
                }
                let mut output = zstd_safe::OutBuffer::around_pos(&mut part[..], length);
                let mut input = zstd_safe::InBuffer::around(self.input.bytes());
                match context.decompress_stream(&mut output, &mut input) {
                    Ok(0) => is_done = true,
                    Ok(_) => {}
                    Err(code) => flaw = Some(zstd_flaw(code)),
                }
                length = output.pos();
                let taken = input.pos();
                self.input.consume(taken);
            }
            part.truncate(length);
            self.pieces.send(Piece::Part { buffers, checksum: 0 }).await;
            if let Some(flaw) = flaw {
                return Err(Ended::Flawed(place, flaw));
            }
        }
        self.pieces.send(Piece::End { place, trailer: None }).await;
        Ok(())
    }

    async fn skip(&mut self, place: Place, mut size: u64) -> Result<(), Ended> {
        while size > 0 {
            let have = self.fill(1).await? as u64;
            if have == 0 {
                return Err(Ended::Flawed(place, Flaw::Cut));
            }
            let skipped = have.min(size);
            self.input.consume(usize::try_from(skipped).expect("it is in memory"));
            size -= skipped;
        }
        Ok(())
    }

    /// Goes to where the next block may begin, behind damage; returns whether there is one.
    async fn find_next(&mut self) -> bool {
        if !matches!(self.before, Before::Nothing | Before::Block { .. }) {
            return false;
        }
        self.blocks += 1;
        let mut skip = 1;
        loop {
            let Ok(have) = self.fill(skip + 2 * bgzf::LARGEST).await else { return false };
            if have <= skip {
                return false;
            }
            if let Some(at) = bgzf::find(&self.input.bytes()[skip..]) {
                self.input.consume(skip + at);
                return true;
            }
            // The beginning of a block may stand at the end.
            let looked_at = have.saturating_sub(bgzf::HEADER).max(1);
            self.input.consume(looked_at);
            skip = 0;
            if have < 2 * bgzf::LARGEST {
                return false;
            }
        }
    }

    fn place(&self) -> Place {
        Place { block: self.blocks, at: self.input.offset }
    }

    /// Waits for buffers for a piece of this weight, so that no more is in flight than may be.
    async fn take(&mut self, weight: u64) -> Result<Buffers, Ended> {
        let most = self.settings.in_flight_bytes();
        while self.in_flight == self.settings.in_flight()
            || self.in_flight > 0 && self.weight + weight > most
        {
            let buffers = self.spare.recv().await.ok_or(Ended::Unwanted)?;
            self.in_flight -= 1;
            // One that a replay sends may be any.
            self.weight = self.weight.saturating_sub(buffers.weight);
            self.free.push(buffers);
        }
        self.in_flight += 1;
        self.weight += weight;
        let mut buffers = self.free.pop().unwrap_or_default();
        buffers.weight = weight;
        Ok(buffers)
    }

    async fn fill(&mut self, count: usize) -> Result<usize, Ended> {
        self.input.fill(count).await.map_err(Ended::Failed)
    }

    /// Makes `count` bytes available; the file must have them.
    async fn need(&mut self, place: Place, count: usize) -> Result<(), Ended> {
        let have = self.fill(count).await?;
        if have < count { Err(Ended::Flawed(place, Flaw::Cut)) } else { Ok(()) }
    }
}

/// A file that comes in chunks.
struct Input {
    chunks: Receiver<Result<Vec<u8>, Error>>,
    /// What has come; the first `used` bytes are done with.
    buffer: Vec<u8>,
    used: usize,
    /// Where the rest begins in the file.
    offset: u64,
}

impl Input {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    fn consume(&mut self, count: usize) {
        self.used += count;
        self.offset += count as u64;
    }

    /// Waits until there are `count` bytes, or the file has ended; returns how many there are.
    async fn fill(&mut self, count: usize) -> Result<usize, Error> {
        while self.bytes().len() < count {
            let Some(chunk) = self.chunks.recv().await else { break };
            self.buffer.drain(..self.used);
            self.used = 0;
            self.buffer.extend_from_slice(&chunk?);
        }
        Ok(self.bytes().len())
    }
}

impl Decompress {
    /// How many bytes may be in flight, compressed and decompressed, unless one piece alone has more.
    pub(super) fn in_flight_bytes(&self) -> u64 {
        self.memory.unwrap_or(2 * LARGEST_CHECKED_FRAME as u64 * (self.parts as u64 + 1))
    }
}
