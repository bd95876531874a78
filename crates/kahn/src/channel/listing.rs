//! Ends that their worker lists: it publishes what they have done, and takes their credit away.

use super::language::Worker;
use super::publication::Listed;
use super::raw::{ChannelRef, End, RawChannel};
use std::ptr::NonNull;

impl ChannelRef {
    /// Lists an end with its worker. One that keeps credit must be listed, or it would go on while
    /// another operation waits.
    #[inline]
    pub(super) fn list(self, end: End, worker: &Worker) {
        if self.side(end).listed.replace(true) {
            return;
        }
        let this = self.as_ptr().cast::<()>();
        let publish = match end {
            End::Sender => publish_listed_sender,
            End::Receiver => publish_listed_receiver,
        };
        // The tag tells the two sides of one channel apart, for a process may have both.
        let end_tag = this.map_addr(|address| address | usize::from(end == End::Receiver));
        worker.of.published.list(Listed { end: end_tag, publish }, worker);
    }

    /// Takes an end off the worker's list, with what it did published.
    #[inline]
    pub(crate) fn settle(self, end: End, worker: &Worker) {
        let side = self.side(end);
        side.credit.set(0);
        if side.listed.get() {
            self.settle_listed(end, worker);
        }
        debug_assert!(
            self.seen(end).is_closed() || self.count(end) == side.local.get(),
            "a side that is not listed has published all"
        );
    }

    #[inline(never)]
    fn settle_listed(self, end: End, worker: &Worker) {
        let side = self.side(end);
        side.listed.set(false);
        let this = self.as_ptr().cast::<()>();
        let tag = usize::from(end == End::Receiver);
        worker.of.published.unlist(this.map_addr(|address| address | tag));
        let seen = self.word(end).load();
        if !seen.is_closed() && seen.count() != side.local.get() {
            self.publish(end, worker);
        }
    }
}

unsafe fn publish_listed_sender(end: *const (), worker: &Worker) {
    // SAFETY: what follows holds for the caller's `end`.
    unsafe { publish_listed(end, End::Sender, worker) }
}

unsafe fn publish_listed_receiver(end: *const (), worker: &Worker) {
    // SAFETY: as above.
    unsafe { publish_listed(end, End::Receiver, worker) }
}

/// # Safety
/// `address` was listed by a live end of the process that `worker` holds.
unsafe fn publish_listed(address: *const (), end: End, worker: &Worker) {
    let raw = address.map_addr(|address| address & !1).cast::<RawChannel>();
    // SAFETY: said by the caller.
    let channel = ChannelRef(unsafe { NonNull::new_unchecked(raw.cast_mut()) });
    let side = channel.side(end);
    side.listed.set(false);
    side.credit.set(0);
    if channel.word(end).load().count() != side.local.get() {
        channel.publish(end, worker);
    }
}
