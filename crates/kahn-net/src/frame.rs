//! What ranks say to each other, as bytes.
//!
//! A frame is a [`Frame`] in postcard's format behind three numbers of four bytes each, the least byte first: its
//! length, the same with all bits changed, and the CRC-32 of the rest. What comes is checked before memory is taken
//! for it: the length by the second number and against [`MOST`], what is in it by postcard, which takes no
//! more than there is, and channel, number, count and credit by `way` before a message is kept.

use crate::files::{Input, Sum};
use kahn::ranks::{self, CutEnd};
use serde::{Deserialize, Serialize, Serializer};

/// What ranks say to each other has this form.
pub(crate) const VERSION: u32 = 9;

/// The most bytes that a frame has.
pub(crate) const MOST: usize = 1 << 30;

/// The bytes before a frame.
const HEAD: usize = 12;

/// What one rank says to another.
///
/// The first four are *counted*, for by them processes go on that wait; the others are between the rank and the
/// coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Frame<'a> {
    /// So many messages of a channel, as those of a [`Batch`](ranks::Batch), from this number on, and whether it is to be told
    /// when they are taken. The first is number 0.
    Messages {
        channel: u32,
        number: u64,
        count: u64,
        asks: bool,
        #[serde(borrow, serialize_with = "at_once")]
        messages: &'a [u8],
    },
    /// The end of a channel, after so many messages.
    Close { channel: u32, messages: u64, has_failed: bool },
    /// So many messages of a channel were taken, in all: there is room on the way for others.
    Room { channel: u32, taken: u64 },
    /// Nothing receives from a channel any more.
    Left { channel: u32 },
    /// Which network a rank has built: a number for each process and each channel, and the files it depends on.
    Hello { version: u32, processes: Vec<u32>, channels: Vec<u32>, inputs: Vec<Input> },
    /// A rank is to sum up its files.
    Sum,
    /// The answer: a sum for each.
    Sums { sums: Vec<Sum> },
    /// A rank that has files may begin: rank 0 has the same.
    Begin,
    /// Where a rank stands.
    Stand(Stand),
    /// Asks where a rank stands now.
    Ask { round: u64 },
    /// The answer.
    Answer { round: u64, stand: Stand },
    /// Nothing moves on any rank: asks what waits for what.
    Look,
    /// The answer.
    Seen(Sight),
    /// What is to be done after a look, and the number of the time that begins then.
    Act { time: u64, grow: Vec<At>, dead: Vec<At> },
    /// These chains of waits have stood for a while.
    Stands { chains: Vec<KnownChain> },
    /// Asks which of these chains stand, by their numbers.
    Confirm { round: u64, chains: Vec<u64> },
    /// The answer; these are held.
    Confirmed { round: u64, stood: Vec<u64> },
    /// What is to be done about the rings that these chains are parts of, and the number of the time that begins then.
    Free { time: u64, grow: Vec<u64>, dead: Vec<u64> },
    /// No chain is held any more, and the number of the time that begins then.
    Release { time: u64 },
    /// No root is left on a rank; see `roots`.
    NoRoot,
    /// Asks whether it has been so since.
    AskRoot { round: u64 },
    /// The answer.
    Root { round: u64, stays: bool },
    /// No root is left on any rank: what is alive is to be pruned. The number of the time that begins then. No chain is
    /// held any more.
    Prune { time: u64 },
    /// A rank was sent something that is not right.
    Refuse { channel: Option<u32>, what: &'a str },
    /// The run is over.
    End(End),
    /// What ran on a rank, when the run is over; see [`kahn::RankRun::write`].
    Ran {
        #[serde(serialize_with = "at_once")]
        part: &'a [u8],
    },
    /// Nothing ran on a rank.
    NotRun { why: &'a str },
    /// Asks what time it is on a rank, and whether it is to tell what is to be seen there.
    Watch { number: u64, tells: bool },
    /// The answer.
    Watched { number: u64, clock: u64, told: &'a [u8] },
    /// A piece of what is to be seen of a rank when the run is over.
    Last { part: &'a [u8] },
    /// Asks what waits on a rank.
    AskWaits { number: u64 },
    /// The answer; see [`ranks::Local::waits`].
    Waits { number: u64, told: &'a [u8] },
}

/// Writes bytes as what they are: a slice is written one by one.
fn at_once<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// Where a rank stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Stand {
    /// Acts that the rank has done.
    pub(crate) time: u64,
    pub(crate) state: State,
    /// Counted frames that it has sent.
    pub(crate) sent: u64,
    /// Counted frames that it has received.
    pub(crate) received: u64,
}

/// What a rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum State {
    Runs,
    Waits,
    Rests,
    Finished,
    Ended,
}

/// What a rank sees while nothing moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Sight {
    pub(crate) goes_on: bool,
    pub(crate) over_budget: Option<String>,
    pub(crate) leads: Vec<(At, Lead)>,
}

/// An end of a cut channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct At {
    pub(crate) channel: u32,
    pub(crate) is_sender: bool,
}

impl At {
    pub(crate) fn peer(self) -> Self {
        Self { is_sender: !self.is_sender, ..self }
    }
}

impl From<CutEnd> for At {
    fn from(end: CutEnd) -> Self {
        let channel = u32::try_from(end.channel).expect("a network has fewer than 2^32 channels");
        Self { channel, is_sender: end.is_sender }
    }
}

/// Where waits lead to; see [`kahn::ranks::Lead`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Lead {
    Dead,
    To { end: At, smallest: Option<Full> },
}

/// A chain of waits on a rank, as rank 0 knows it; see [`kahn::ranks::Chain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct KnownChain {
    /// Tells it from others of the rank.
    pub(crate) number: u64,
    pub(crate) from: At,
    /// What the link there has told to be taken, if the channel is full, or sent.
    pub(crate) from_count: u64,
    pub(crate) to: At,
    /// What the link there was told to be taken, if the channel is full, or what has come.
    pub(crate) to_count: u64,
    pub(crate) smallest: Option<Full>,
}

/// A full channel: inner or not, its capacity, and its number.
pub(crate) type Full = (bool, u32, u64);

pub(crate) fn full(full: ranks::Full) -> Full {
    (full.is_inner, full.capacity, full.channel)
}

/// Why the run is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum End {
    /// All processes have ended.
    Finished,
    /// Nothing can go on.
    Stuck,
    /// This channel had to grow, and must not.
    OverBudget(String),
    /// It was ended on a rank.
    Elsewhere,
}

impl Frame<'_> {
    /// Writes the frame behind `into`.
    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        let start = into.len();
        into.extend([0; HEAD]);
        let written = postcard::to_extend(self, std::mem::take(into));
        *into = written.expect("it goes to memory, and what it is made of can be written");
        let body = &into[start + HEAD..];
        let length = u32::try_from(body.len()).expect("a message is shorter than 4 GiB");
        let head = [length, !length, crc32fast::hash(body)];
        for (place, number) in into[start..].chunks_exact_mut(4).zip(head) {
            place.copy_from_slice(&number.to_le_bytes());
        }
    }

    /// Whether it is counted.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(
            self,
            Self::Messages { .. } | Self::Close { .. } | Self::Room { .. } | Self::Left { .. }
        )
    }
}

/// The frames that stand in what has come from a rank, one after the other.
#[derive(Debug)]
pub(crate) struct Frames<'a> {
    left: &'a [u8],
}

impl<'a> Frames<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// How many bytes were not taken.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// Takes the next frame, if all of it has come.
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'a>>, String> {
        let Some((head, rest)) = self.left.split_first_chunk::<HEAD>() else { return Ok(None) };
        let number = |at: usize| {
            u32::from_le_bytes(*head[at..].first_chunk().expect("there are four bytes left"))
        };
        let length = number(0) as usize;
        if number(4) != !number(0) || length > MOST {
            return Err(format!("a frame that begins with no length: {head:?}"));
        }
        let Some((body, left)) = rest.split_at_checked(length) else { return Ok(None) };
        if crc32fast::hash(body) != number(8) {
            return Err("a frame whose checksum differs".to_owned());
        }
        self.left = left;
        match postcard::take_from_bytes(body) {
            Ok((frame, [])) => Ok(Some(frame)),
            Ok((_, more)) => Err(format!("{} bytes are left over behind a frame", more.len())),
            Err(error) => Err(format!("a frame that is none: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn taken(bytes: &[u8], pieces: usize) -> Result<usize, String> {
        let (mut incoming, mut count) = (Vec::new(), 0);
        for piece in bytes.chunks(pieces.max(1)) {
            incoming.extend(piece);
            let mut frames = Frames::of(&incoming);
            while frames.next()?.is_some() {
                count += 1;
            }
            let taken = incoming.len() - frames.left();
            incoming.drain(..taken);
        }
        Ok(count)
    }

    #[test]
    fn frames_are_read_as_they_were_written_however_they_are_cut() {
        let all = [
            Frame::Messages {
                channel: 3,
                number: 7,
                count: 1,
                asks: true,
                messages: b"\x05\0\0\0seven",
            },
            Frame::Close { channel: 3, messages: 8, has_failed: true },
            Frame::Room { channel: 1, taken: u64::MAX },
            Frame::Left { channel: 0 },
            Frame::Look,
            Frame::End(End::OverBudget("numbers".into())),
            Frame::Free { time: 3, grow: vec![7], dead: vec![] },
        ];
        let mut bytes = Vec::new();
        for frame in &all {
            frame.write(&mut bytes);
        }
        for pieces in 1..bytes.len() {
            let (mut incoming, mut number) = (Vec::new(), 0);
            for piece in bytes.chunks(pieces) {
                incoming.extend(piece);
                let mut frames = Frames::of(&incoming);
                while let Some(frame) = frames.next().expect("it was written so") {
                    assert_eq!(frame, all[number]);
                    number += 1;
                }
                let taken = incoming.len() - frames.left();
                incoming.drain(..taken);
            }
            assert_eq!(number, all.len());
        }
    }

    #[test]
    fn a_length_that_is_too_large_takes_no_memory() {
        let head = [u32::MAX, 0, 0].map(u32::to_le_bytes).concat();
        assert!(Frames::of(&head).next().is_err());
        // A list that says it has many, and has none.
        let body = [4, 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert!(taken(&framed(&body), 100).is_err());
    }

    /// These bytes as if they were a frame.
    fn framed(body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("it is short");
        let head = [length, !length, crc32fast::hash(body)].map(u32::to_le_bytes).concat();
        [&head, body].concat()
    }

    #[test]
    fn a_byte_that_is_another_is_noticed_and_what_comes_after_it_is_not_read() {
        let mut bytes = Vec::new();
        Frame::Messages { channel: 3, number: 7, count: 1, asks: false, messages: b"seven" }
            .write(&mut bytes);
        Frame::Look.write(&mut bytes);
        let first = bytes.len() - HEAD - 1;
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            let mut frames = Frames::of(&damaged);
            let read = frames.next().map(|frame| frame.is_some());
            let second = (at >= first).then(|| frames.next().map(|frame| frame.is_some()));
            assert!(read.is_err() || second.is_some_and(|read| read.is_err()), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), pieces in 1_usize..9) {
            let _ = taken(&bytes, pieces);
            // As the body of a frame, so that it is looked at.
            let _ = taken(&framed(&bytes), pieces);
        }
    }
}
