//! What happened on a channel, in figures.

use super::raw::{ChannelRef, End};
use kahn_engine::sync::Ordering::*;
use kahn_report::ranks::Carried;

/// What happened on a channel; also the sum over several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelCounts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) remote: u64,
    /// From rank to rank; not counted here, but by what carries it.
    pub(crate) carried: Carried,
    pub(crate) most_waiting: u32,
    pub(crate) growths: u32,
}

impl ChannelCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.remote += other.remote;
        self.carried.messages += other.carried.messages;
        self.carried.bytes += other.carried.bytes;
        self.most_waiting = self.most_waiting.max(other.most_waiting);
        self.growths += other.growths;
    }
}

impl ChannelRef {
    pub(super) fn counts(self) -> ChannelCounts {
        let received = self.messages(End::Receiver);
        // What is received has waited, if only for its receiver's turn. Noted is what was found by a look.
        let waited = u32::from(received > 0 && self.table().counts());
        ChannelCounts {
            sent: self.messages(End::Sender),
            received,
            remote: self.remote.load(Relaxed),
            carried: Carried::default(),
            most_waiting: self.most_waiting().load(Relaxed).max(waited),
            growths: self.growths().load(Relaxed),
        }
    }
}
