//! What channels keep of how the processes at their ends ended: a report tells nothing of failures that
//! no process could observe (`network/observed.rs`).

use super::raw::{ChannelRef, End, flag};
use kahn_report::Identity;

/// A sender that its process held last, or that ended with a failure mark, and which process saw its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastSender {
    pub(crate) writer: Identity,
    /// The receiver's process, if it saw the end, or received what the writer sent last, when that
    /// could not be pruned any more.
    pub(crate) reader: Option<Identity>,
    /// The receiver's process saw the end.
    pub(crate) was_seen: bool,
    /// Another process saw the end and handed the receiver on: it may create others.
    pub(crate) was_handed_on: bool,
    /// Another process received what the writer sent last, when that could not be pruned any more, and
    /// handed the receiver on.
    pub(crate) was_received_before: bool,
    /// The writer had both ends of a channel until then.
    pub(crate) was_kept: bool,
    pub(crate) is_mark: bool,
}

impl ChannelRef {
    /// Whether its sender was one that its process held last, and which process saw its end; the receiver was
    /// handed on at this count.
    pub(super) fn last_sender(self, handed_on_at: Option<u64>) -> Option<LastSender> {
        let identity = |end| self.owner(end).map(|task| task.info().identity);
        let is_mark = self.has_flag(flag::FAILED);
        let writer = identity(End::Sender).filter(|_| is_mark || self.was_last())?;
        let was_seen = self.has_flag(flag::SEEN);
        let sent = self.count(End::Sender);
        let is_last_received = self.was_just_sent() && self.count(End::Receiver) == sent;
        Some(LastSender {
            writer,
            reader: identity(End::Receiver).filter(|_| was_seen || is_last_received),
            was_seen,
            was_handed_on: self.was_handed_on(),
            was_received_before: is_last_received && handed_on_at == Some(sent),
            was_kept: self.was_kept(),
            is_mark,
        })
    }
}
