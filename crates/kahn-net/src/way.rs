//! What one rank has of a cut channel: credit, and what has come.
//!
//! The window of a channel is its capacity, which every rank knows alike. Messages are numbered from 0; initial
//! ones lie on both sides and are not among them. Counted in messages:
//!
//! | | the sender's rank | the receiver's rank |
//! |---|---|---|
//! | `sent` | gave to the transport | |
//! | `arrived` | | came, and are queued or taken |
//! | `taken` | | are in the channel here |
//! | `granted` | may be sent | may come; at most `taken` + window |
//!
//! Messages go in batches: what is in the channel when its link looks, as far as there is room on the way. A batch is
//! one frame. On the other side it is put into the channel as there is room for it, and what is put is told of
//! together.
//!
//! *What a rank keeps for a channel is bounded.* `sent` ≤ `granted` on the sender's rank ≤ `granted` on the
//! receiver's, for it travels one way and only grows. So `arrived` − `taken` ≤ window; a message beyond is refused
//! before it is kept, with its batch, and so is one that is not the next.
//!
//! *No grant is withheld that a sender waits for.* Room is granted again when half a window is taken, and when all
//! that has come is taken. If the sender's rank has sent all that it may, and all of it has come and was taken,
//! the second has granted more. If it was not taken, the receiver's process has not taken what the channel here
//! holds, and the sender waits for it rightly.
//!
//! A blocked channel holds up no other: each has its queue, and the transport's bytes are always taken.

use crate::chase::Counts;
use kahn::ranks::{Arrival, Batch};
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

/// The sender is here.
pub(crate) struct Sending {
    pub(crate) to: usize,
    window: u64,
    pub(crate) sent: u64,
    /// What these messages came to.
    pub(crate) bytes: u64,
    granted: u64,
    pub(crate) has_closed: bool,
    /// Nothing receives any more.
    pub(crate) has_left: bool,
    pub(crate) waker: Option<Waker>,
}

/// The receiver is here.
pub(crate) struct Receiving {
    pub(crate) from: usize,
    window: u64,
    /// What has come and was not handed to the channel's link.
    pub(crate) queue: Batch,
    arrived: u64,
    taken: u64,
    granted: u64,
    /// How the channel has ended, behind what is queued.
    pub(crate) end: Option<Arrival>,
    pub(crate) has_left: bool,
    pub(crate) waker: Option<Waker>,
}

impl Way {
    /// What rank `own` has of a channel from one rank to another that holds so many messages.
    pub(crate) fn between(from: usize, to: usize, own: usize, window: u64) -> Self {
        if from == to {
            Self::None
        } else if from == own {
            Self::To(Sending {
                to,
                window,
                sent: 0,
                bytes: 0,
                granted: window,
                has_closed: false,
                has_left: false,
                waker: None,
            })
        } else if to == own {
            Self::From(Receiving {
                from,
                window,
                queue: Batch::new(),
                arrived: 0,
                taken: 0,
                granted: window,
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
        match *self {
            Self::To(Sending { sent, granted, has_closed: false, has_left: false, .. }) => {
                Some(Counts::Up { sent, granted })
            }
            Self::From(Receiving {
                arrived, taken, granted, end: None, has_left: false, ..
            }) => Some(Counts::Down { arrived, taken, granted }),
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
    /// How many messages may be sent.
    pub(crate) fn room(&self) -> u64 {
        // If nothing receives, the process that asks is to end.
        if self.has_left { 1 } else { self.granted - self.sent }
    }

    /// So many messages may be sent, in all.
    pub(crate) fn grant(&mut self, channel: u32, messages: u64) -> Result<(), Refusal> {
        if messages <= self.granted || messages > self.sent + self.window {
            return Err(wrong(channel, format!("room for {messages} messages")));
        }
        self.granted = messages;
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
    /// So many messages have come, from this number on.
    pub(crate) fn take(
        &mut self,
        channel: u32,
        number: u64,
        count: u64,
        messages: &[u8],
    ) -> Result<(), Refusal> {
        let Self { arrived, granted, .. } = *self;
        if number != arrived || self.end.is_some() {
            return Err(wrong(channel, format!("message {number}, and the next is {arrived}")));
        }
        if count > granted - arrived {
            return Err(wrong(channel, format!("message {granted}, for which there is no room")));
        }
        if count == 0 || !self.queue.append(messages, count) {
            let bytes = messages.len();
            return Err(wrong(channel, format!("{bytes} bytes that are not {count} messages")));
        }
        self.arrived += count;
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

    /// So many more are in the channel; how many may be sent in all, if that is to be told.
    pub(crate) fn taken(&mut self, messages: u64) -> Option<u64> {
        self.taken += messages;
        let more = self.taken + self.window - self.granted;
        let is_due = self.taken == self.arrived || more >= self.window.div_ceil(2);
        if !is_due || self.end.is_some() || self.has_left {
            return None;
        }
        self.granted += more;
        Some(self.granted)
    }
}
