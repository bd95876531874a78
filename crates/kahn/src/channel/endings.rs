//! What channels keep of how the processes at their ends ended: a report tells nothing of failures that
//! no process could observe (`network/observed.rs`).

use super::process::attribute;
use super::raw::{ChannelRef, End, flag};
use kahn_engine::TaskRef;
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
    /// What is known of the two ends apart.
    pub(crate) at: AtEnds,
}

/// What is known of the two ends of a channel apart. If it is cut, one rank knows the one, and one the
/// other (`network/merged.rs`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtEnds {
    pub(crate) channel: Identity,
    /// The sender was one that its process held last.
    pub(crate) is_last: bool,
    /// The writer sent the last message when it could not be pruned any more.
    pub(crate) just_sent: bool,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// The process that has the receiver, or had it last.
    pub(crate) receiver: Option<Identity>,
    /// The receiver was handed on at this count.
    pub(crate) handed_on_at: Option<u64>,
}

impl ChannelRef {
    /// Whether its sender was one that its process held last, and which process saw its end; the receiver was
    /// handed on at this count.
    pub(super) fn last_sender(self, handed_on_at: Option<u64>) -> Option<LastSender> {
        let identity = |end| self.owner(end).map(|task| task.info().identity);
        let is_mark = self.has_flag(flag::FAILED);
        let is_link = |task: TaskRef| task.attributes() & attribute::LINK != 0 && !self.is_inner();
        // The sender of a link is that of a process on another rank, where it is known whether it was the last.
        let is_cut = self.owner(End::Sender).is_some_and(is_link);
        let writer = identity(End::Sender).filter(|_| is_mark || self.was_last() || is_cut)?;
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
            at: AtEnds {
                channel: self.label().identity,
                is_last: self.was_last(),
                just_sent: self.was_just_sent(),
                sent,
                received: self.count(End::Receiver),
                receiver: identity(End::Receiver),
                handed_on_at,
            },
        })
    }
}
