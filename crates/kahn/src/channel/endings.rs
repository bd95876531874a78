//! What channels keep of how the processes at their ends ended: a report tells nothing of failures that
//! no process could observe (`network/observed.rs`).

use super::raw::{ChannelRef, End, flag};
use kahn_report::Identity;

/// A sender that its process held last, or that ended with a failure mark, and what its reader saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSender {
    pub(crate) writer: Identity,
    /// The process that has the receiver, or had it last.
    pub(crate) reader: Option<Identity>,
    /// That process saw the end.
    pub(crate) was_seen: bool,
    /// That process was ended while it had the receiver.
    pub(crate) was_cut: bool,
    /// All was received, and the writer could not be pruned any more when it sent the last message.
    pub(crate) was_last_received: bool,
    /// Another process saw the end and handed the receiver on: it may create others.
    pub(crate) was_handed_on: bool,
    /// Another process received what the writer sent last, when that could not be pruned any more, and
    /// handed the receiver on.
    pub(crate) was_received_before: bool,
    pub(crate) is_mark: bool,
}

/// A reader that had no sender any more when it left the receiver, and had not seen the end. The writer is the
/// reader itself if that had both ends of a channel until it closed its last senders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlived {
    pub(crate) writer: Identity,
    pub(crate) reader: Identity,
}

impl ChannelRef {
    /// Whether its sender was one that its process held last, and which process saw its end; the receiver was
    /// handed on at this count.
    pub(super) fn last_sender(self, handed_on_at: Option<u64>) -> Option<LastSender> {
        let identity = |end| self.owner(end).map(|task| task.info().identity);
        let is_mark = self.has_flag(flag::FAILED);
        let writer = identity(End::Sender).filter(|_| is_mark || self.was_last())?;
        let sent = self.count(End::Sender);
        let is_last_received = self.was_just_sent() && self.count(End::Receiver) == sent;
        Some(LastSender {
            writer,
            reader: identity(End::Receiver),
            was_seen: self.has_flag(flag::SEEN),
            was_cut: self.was_cut(),
            was_last_received: is_last_received,
            was_handed_on: self.was_handed_on(),
            was_received_before: is_last_received && handed_on_at == Some(sent),
            is_mark,
        })
    }
}
