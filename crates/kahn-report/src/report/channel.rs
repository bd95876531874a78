//! What a report tells of channels.

use crate::Name;
#[cfg(feature = "json")]
use serde::Serialize;
use std::fmt;

/// What happened on one channel.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct ChannelReport {
    /// Its name.
    pub name: Name,
    /// The process that sent, at the end of the run.
    pub from: Option<Name>,
    /// The process that received, at the end of the run.
    pub to: Option<Name>,
    /// The type of its messages.
    pub message_type: &'static str,
    /// Bytes a message takes in its slot.
    pub message_bytes: usize,
    /// Bytes that a message owned beside those, on average; `None` if that is unknown.
    pub owned_bytes: Option<u64>,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Of those received, how many changed workers on their way.
    pub remote: u64,
    /// The most messages that the receiver found waiting.
    pub most_waiting: u32,
    /// Its capacity at the end.
    pub capacity: u32,
    /// Times it grew.
    pub growths: u32,
}

/// A channel that had to grow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct GrowthReport {
    /// The channel.
    pub channel: Name,
    /// The process that sent, at the end of the run.
    pub from: Option<Name>,
    /// The process that received, at the end of the run.
    pub to: Option<Name>,
    /// The capacity that it began with.
    pub began_with: u32,
    /// The capacity that it came to.
    pub capacity: u32,
    /// Bytes a message takes in its slot.
    pub message_bytes: usize,
    /// Bytes that a message owned beside those, on average; `None` if that is unknown.
    pub owned_bytes: Option<u64>,
}

impl fmt::Display for GrowthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel `{}`", self.channel)?;
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            write!(f, ", from `{from}` to `{to}`,")?;
        }
        let (began, now, bytes) = (self.began_with, self.capacity, self.message_bytes);
        write!(f, " had to grow from a capacity of {began} to {now} messages of {bytes} bytes")?;
        match self.owned_bytes {
            Some(0) => Ok(()),
            Some(owned) => write!(f, ", which own {owned} more on average"),
            None => write!(f, ", which may own more: their weight is unknown"),
        }
    }
}

/// What happened on one channel of communicating processes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct MeetingReport {
    /// Its name.
    pub name: Name,
    /// What it does with messages.
    pub kind: MeetingKind,
    /// Messages that its buffer holds; none without one.
    pub capacity: usize,
    /// The process that dropped the sending end, or had it when the run was over. `None` if that was
    /// none: the end came to another thread, or outlives the run.
    pub from: Option<Name>,
    /// The same of the receiving end.
    pub to: Option<Name>,
    /// Messages received; of an exchange, times that both gave and took.
    pub messages: u64,
    /// What had become of it when the run was over.
    pub state: MeetingState,
}

/// What a channel of communicating processes does with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum MeetingKind {
    /// Sender and receiver meet: `csp::channel`.
    Rendezvous,
    /// It holds messages: `csp::buffered`.
    Buffered,
    /// Both give and both take: `csp::exchange`.
    Exchange,
}

/// What became of a channel of communicating processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum MeetingState {
    /// It had both ends.
    Open,
    /// An end was dropped.
    Closed,
    /// An end was dropped with poison.
    Poisoned,
}
