//! What happened, by names: a record whose process and channel are found in the list of names.

use kahn_report::log::What;

/// What happened, with places in the list of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) process: u32,
    /// Or the label of a mark.
    pub(super) channel: u32,
    /// When it happened, or began.
    pub(super) at: u64,
    /// When a slice ended, how many messages, or the process that ended a wait.
    pub(super) second: u64,
    /// Ticks of a slice in which the thread ran.
    pub(super) ran: u64,
    pub(super) number: u64,
}

impl Event {
    /// When it was written down.
    pub(super) fn known_at(self) -> u64 {
        if self.what.is_slice() { self.second } else { self.at }
    }
}
