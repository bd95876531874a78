//! What one rank has of a cut channel: what is on the way, and what has come.
//!
//! Messages are numbered from 0; initial ones lie on both sides and are not among them. Counted in messages:
//!
//! | | the sender's rank | the receiver's rank |
//! |---|---|---|
//! | `sent` | gave to the transport | |
//! | `arrived` | | came, and are queued or taken |
//! | `taken` | | are in the channel here |
//! | `asks`, `asked` | is to be told when so many are taken | the same, of each that was asked of |
//! | `told` | were taken, as it knows | were taken, as it has told |
//!
//! Messages go in batches: what is in the channel when its link looks, as far as there is room on the way, and no more
//! than its capacity. A batch is one frame. On the other side it is put into the channel as there is room for it.
//!
//! *Room on the way* is what may be sent and not told of: as many messages as the channel's capacity, which every rank
//! knows alike; and if that is not less than [`USUAL`], messages of [`BYTES`] as well, if these are more. A message that
//! goes to another rank is taken thousands of instructions later; through room for 64 numbers, few would be under way.
//!
//! *The sender asks.* The last frame that fits asks to be told when it is taken; so does one before it, as soon as half of the
//! room is used and nothing else is asked. The receiver's rank tells when all that was asked of is taken.
//!
//! *What a rank keeps for a channel is bounded.* The sender's rank sends a batch while there is room, so
//! `sent` − `told` is less than a capacity and what `BYTES` can hold, of four bytes at least. `told` travels one way and only
//! grows, so `arrived` − `told` on the receiver's rank is no more; a message beyond is refused before it is kept, with its
//! batch, and so is one that is not the next.
//!
//! *No sender waits for ever.* It has no room after it has sent, for to be told gives room; so the last frame has asked.
//! If that has come and was taken, the receiver's rank has told of all that was sent, and nothing is on the way. If it was
//! not taken, the receiver's process has not taken what the channel here holds, and the sender waits for it rightly.
//!
//! A blocked channel holds up no other: each has its queue, and the transport's bytes are always taken.

use crate::chase::Counts;
use kahn::Network;
use kahn::ranks::{Arrival, Batch};
use std::collections::VecDeque;
use std::task::Waker;

/// What a rank was sent that is not right, or could not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) channel: Option<u32>,
    pub(crate) what: String,
}

/// What this rank has of a channel.
pub(crate) enum Way {
    /// Nothing: it is not cut, or joins two other ranks.
    None,
    To(Sending),
    From(Receiving),
}

/// The capacity of a channel of which nothing is said. With a smaller one, few messages are wanted under way.
const USUAL: u64 = Network::DEFAULT_CAPACITY as u64;

/// So many bytes of messages are under way, if they are more than a capacity: 5461 numbers of eight bytes.
const BYTES: u64 = 64 << 10;

/// A message has so many bytes in its written form at least: those of its length.
const LEAST: u64 = 4;

/// The sender is here.
pub(crate) struct Sending {
    pub(crate) to: usize,
    capacity: u64,
    pub(crate) sent: u64,
    /// What these messages came to.
    pub(crate) bytes: u64,
    told: u64,
    /// When so many are taken, this rank is to be told.
    asked: u64,
    /// What is on the way: where each batch ends, and its bytes; if the capacity is not less than [`USUAL`].
    under_way: VecDeque<(u64, u64)>,
    /// Of all of these.
    bytes_under_way: u64,
    pub(crate) has_closed: bool,
    /// Nothing receives any more.
    pub(crate) has_left: bool,
    pub(crate) waker: Option<Waker>,
}

/// The receiver is here.
pub(crate) struct Receiving {
    pub(crate) from: usize,
    capacity: u64,
    /// What has come and was not handed to the channel's link.
    pub(crate) queue: Batch,
    arrived: u64,
    taken: u64,
    told: u64,
    /// The sender's rank is to be told when so many are taken: two at most.
    asks: VecDeque<u64>,
    /// How the channel has ended, behind what is queued.
    pub(crate) end: Option<Arrival>,
    pub(crate) has_left: bool,
    pub(crate) waker: Option<Waker>,
}

impl Way {
    /// What rank `own` has of a channel of this capacity from one rank to another.
    pub(crate) fn between(from: usize, to: usize, own: usize, capacity: u64) -> Self {
        if from == to {
            Self::None
        } else if from == own {
            Self::To(Sending {
                to,
                capacity,
                sent: 0,
                bytes: 0,
                told: 0,
                asked: 0,
                under_way: VecDeque::new(),
                bytes_under_way: 0,
                has_closed: false,
                has_left: false,
                waker: None,
            })
        } else if to == own {
            Self::From(Receiving {
                from,
                capacity,
                queue: Batch::new(),
                arrived: 0,
                taken: 0,
                told: 0,
                asks: VecDeque::new(),
                end: None,
                has_left: false,
                waker: None,
            })
        } else {
            Self::None
        }
    }

    /// What the link has counted, if the channel goes on.
    pub(crate) fn counts(&self) -> Option<Counts> {
        match self {
            Self::To(way) if !way.has_closed && !way.has_left => {
                Some(Counts::Up { sent: way.sent, told: way.told, is_full: way.room() == 0 })
            }
            &Self::From(Receiving { arrived, taken, told, end: None, has_left: false, .. }) => {
                Some(Counts::Down { arrived, taken, told })
            }
            Self::To(_) | Self::From(_) | Self::None => None,
        }
    }
}

/// The channel of this number, on which `from` sends to this rank.
pub(crate) fn receiving(
    ways: &mut [Way],
    channel: u32,
    from: usize,
) -> Result<&mut Receiving, Refusal> {
    match ways.get_mut(channel as usize) {
        Some(Way::From(way)) if way.from == from => Ok(way),
        Some(_) => Err(wrong(channel, format!("what rank {from} does not send"))),
        None => Err(not_there(channel)),
    }
}

/// The channel of this number, on which `from` receives from this rank.
pub(crate) fn sending(
    ways: &mut [Way],
    channel: u32,
    from: usize,
) -> Result<&mut Sending, Refusal> {
    match ways.get_mut(channel as usize) {
        Some(Way::To(way)) if way.to == from => Ok(way),
        Some(_) => Err(wrong(channel, format!("what rank {from} does not receive"))),
        None => Err(not_there(channel)),
    }
}

fn wrong(channel: u32, what: String) -> Refusal {
    Refusal { channel: Some(channel), what }
}

fn not_there(channel: u32) -> Refusal {
    Refusal { channel: None, what: format!("a channel that is not there: {channel}") }
}

impl Sending {
    /// How many messages may be sent together.
    pub(crate) fn room(&self) -> u64 {
        if self.has_left {
            // Nothing receives, and the process that asks is to end.
            1
        } else if self.capacity >= USUAL && self.bytes_under_way < BYTES {
            self.capacity
        } else {
            self.capacity.saturating_sub(self.sent - self.told)
        }
    }

    /// So many messages go, of so many bytes; whether the other rank is to tell when they are taken.
    pub(crate) fn send(&mut self, messages: u64, bytes: u64) -> bool {
        self.sent += messages;
        self.bytes += bytes;
        if self.capacity >= USUAL {
            self.under_way.push_back((self.sent, bytes));
            self.bytes_under_way += bytes;
        }
        let is_half = 2 * (self.sent - self.told) >= self.capacity
            && (self.capacity < USUAL || 2 * self.bytes_under_way >= BYTES);
        let asks = self.room() == 0 || is_half && self.asked <= self.told;
        if asks {
            self.asked = self.sent;
        }
        asks
    }

    /// So many messages were taken, in all.
    pub(crate) fn hear(&mut self, channel: u32, taken: u64) -> Result<(), Refusal> {
        if taken <= self.told || taken > self.sent {
            return Err(wrong(
                channel,
                format!("that {taken} messages of {} are taken", self.sent),
            ));
        }
        self.told = taken;
        while let Some(&(end, bytes)) = self.under_way.front()
            && end <= taken
        {
            self.under_way.pop_front();
            self.bytes_under_way -= bytes;
        }
        Ok(())
    }

    /// Nothing receives any more.
    pub(crate) fn leave(&mut self, channel: u32) -> Result<(), Refusal> {
        if std::mem::replace(&mut self.has_left, true) {
            return Err(wrong(channel, "that its reader has left, twice".to_owned()));
        }
        Ok(())
    }
}

impl Receiving {
    /// So many messages have come, from this number on; whether it is to be told when they are taken.
    pub(crate) fn take(
        &mut self,
        channel: u32,
        number: u64,
        (count, asks): (u64, bool),
        messages: &[u8],
    ) -> Result<(), Refusal> {
        let Self { arrived, told, capacity, .. } = *self;
        if number != arrived || self.end.is_some() {
            return Err(wrong(channel, format!("message {number}, and the next is {arrived}")));
        }
        let most = told + capacity + if capacity < USUAL { 0 } else { BYTES / LEAST };
        if count > most - arrived {
            return Err(wrong(channel, format!("message {most}, for which there is no room")));
        }
        if count == 0 || !self.queue.append(messages, count) {
            let bytes = messages.len();
            return Err(wrong(channel, format!("{bytes} bytes that are not {count} messages")));
        }
        self.arrived += count;
        if asks {
            self.asks.push_back(self.arrived);
        }
        if self.has_left {
            self.queue.clear();
        }
        Ok(())
    }

    /// The channel has ended after so many messages.
    pub(crate) fn take_end(
        &mut self,
        channel: u32,
        messages: u64,
        has_failed: bool,
    ) -> Result<(), Refusal> {
        let arrived = self.arrived;
        if self.end.is_some() || messages != arrived {
            return Err(wrong(channel, format!("an end after {messages} messages of {arrived}")));
        }
        self.end = Some(if has_failed { Arrival::Failure } else { Arrival::End });
        Ok(())
    }

    /// So many more are in the channel; how many are in all, if that is to be told.
    pub(crate) fn taken(&mut self, messages: u64) -> Option<u64> {
        self.taken += messages;
        let asked = self.asks.len();
        self.asks.retain(|&asked| asked > self.taken);
        if self.asks.len() == asked || self.end.is_some() || self.has_left {
            return None;
        }
        self.told = self.taken;
        Some(self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(capacity: u64) -> (Sending, Receiving) {
        let way = |own| Way::between(0, 1, own, capacity);
        let (Way::To(sending), Way::From(receiving)) = (way(0), way(1)) else {
            panic!("it is cut");
        };
        (sending, receiving)
    }

    /// Sends messages of so many bytes until there is no room; how many went, and how often they asked.
    fn fill(sending: &mut Sending, most: u64, bytes: u64) -> (u64, usize) {
        let (mut sent, mut asks) = (0, 0);
        while sending.room() > 0 {
            let count = sending.room().min(most);
            asks += usize::from(sending.send(count, count * (LEAST + bytes)));
            sent += count;
        }
        (sent, asks)
    }

    #[test]
    fn small_messages_go_by_their_bytes_and_large_ones_by_the_capacity() {
        // Numbers, and tiles.
        assert_eq!(fill(&mut ends(64).0, 32, 8), (5472, 2));
        assert_eq!(fill(&mut ends(64).0, 32, 32 << 10), (64, 2));
        assert_eq!(fill(&mut ends(8192).0, 4096, 8), (8192, 2));
        // Who wants few has few.
        assert_eq!(fill(&mut ends(63).0, 32, 8), (63, 2));
        assert_eq!(fill(&mut ends(1).0, 32, 8), (1, 1));
    }

    #[test]
    fn after_large_messages_there_is_room_for_small_ones_and_the_other_way_round() {
        let (mut sending, _) = ends(64);
        fill(&mut sending, 32, 32 << 10);
        assert_eq!(sending.hear(0, 63), Ok(()));
        // A batch is told of when all of it is taken: 32 of 32 KiB are under way, as far as is known.
        assert_eq!(sending.room(), 63);
        assert_eq!(sending.hear(0, 64), Ok(()));
        assert_eq!(fill(&mut sending, 64, 0).0, 16_384);
        assert_eq!(sending.hear(0, 16_448), Ok(()));
        // What large ones take beyond is a batch at most.
        assert_eq!(fill(&mut sending, 64, 1 << 20).0, 64);
    }

    #[test]
    fn what_was_not_sent_was_not_taken() {
        let (mut sending, _) = ends(2);
        sending.send(2, 10);
        for wrong in [0, 3] {
            assert!(sending.hear(0, wrong).is_err());
        }
        assert_eq!(sending.hear(0, 2), Ok(()));
        assert!(sending.hear(0, 2).is_err());
    }

    proptest! {
        /// Whatever is sent and taken when, no more is on the way than may be, and all comes.
        #[test]
        fn all_comes_and_little_is_on_the_way(
            capacity in prop_oneof![1_u64..70, Just(200)],
            lengths in prop::collection::vec((1_usize..300, 0_usize..5000), 1..40),
            turns in prop::collection::vec((0_u8..4, 1_u64..100), 1..400),
        ) {
            let (mut sending, mut receiving) = ends(capacity);
            // Messages of the same length, so many after each other.
            let mut lengths: VecDeque<usize> =
                lengths.into_iter().flat_map(|(count, bytes)| vec![bytes; count]).collect();
            let all = lengths.len() as u64;
            let (mut frames, mut told) = (VecDeque::new(), VecDeque::new());
            let mut turns = turns.into_iter();
            let mut idle = 0;
            // When nothing is drawn any more, all are as fast as they can be.
            while idle < 4 {
                let drawn = turns.next();
                let (turn, most) = drawn.unwrap_or((idle, u64::MAX));
                let is_done = match turn {
                    0 => {
                        let most = sending.room().min(most);
                        let mut batch = Batch::new();
                        while batch.len() < most && let Some(bytes) = lengths.pop_front() {
                            batch.push(&vec![7; bytes]);
                        }
                        let (count, bytes) = (batch.len(), batch.bytes().len() as u64);
                        if count > 0 {
                            let number = sending.sent;
                            prop_assert!(count <= capacity);
                            let asks = sending.send(count, bytes);
                            frames.push_back((number, count, asks, batch));
                        }
                        count > 0
                    }
                    1 => frames.pop_front().is_some_and(|(number, count, asks, batch): (_, _, _, Batch)| {
                        let taken = receiving.take(0, number, (count, asks), batch.bytes());
                        assert_eq!(taken, Ok(()));
                        true
                    }),
                    2 => {
                        let count = (receiving.arrived - receiving.taken).min(most);
                        if count > 0 {
                            told.extend(receiving.taken(count));
                        }
                        count > 0
                    }
                    _ => told.pop_front().is_some_and(|taken| {
                        assert_eq!(sending.hear(0, taken), Ok(()));
                        true
                    }),
                };
                idle = if is_done || drawn.is_some() { 0 } else { idle + 1 };
                let under_way = sending.sent - sending.told;
                if capacity < USUAL {
                    prop_assert!(under_way <= capacity);
                }
                prop_assert!(under_way <= capacity + BYTES / LEAST);
                prop_assert!(receiving.asks.len() <= 2);
            }
            prop_assert_eq!((receiving.taken, lengths.len()), (all, 0));
        }
    }
}
