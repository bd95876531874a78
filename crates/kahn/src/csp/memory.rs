//! Where meetings live: blocks that are recycled and never returned.
//!
//! A look at a running network follows the pointer that a process left behind when it waited. By
//! then the channel may be gone; the block behind the pointer is a meeting still, perhaps of
//! another channel, and its gate says who waits there. So the look finds out, and never reads
//! memory of another type. The blocks belong to the program and not to a network, for an end may
//! outlive the run that it was made in.
//!
//! Under the lock that takes a block back, the [`Record`] of its channel is kept for the report of
//! the run, if there are not too many.

use super::meeting::{BufferHead, Label, Meeting};
use super::tally::Record;
use std::ptr::NonNull;

/// Messages that nobody receives: dropped with it.
pub(super) struct Unread {
    pub(super) messages: *mut (),
    pub(super) drop: unsafe fn(*mut ()),
}

impl Drop for Unread {
    fn drop(&mut self) {
        // SAFETY: made for this type, and dropped once.
        unsafe { (self.drop)(self.messages) }
    }
}

/// What is left of the channels of a network.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) listed: Vec<Record>,
    /// Number and messages of those that are not listed.
    pub(super) folded: (u64, u64),
}

#[cfg(not(loom))]
pub(super) use blocks::{begin, clear_buffers, give_back, left, make};

#[cfg(not(loom))]
mod blocks {
    use super::{BufferHead, Ended, Label, Meeting, NonNull};
    use kahn_engine::sync::StaticMutex;
    /// Blocks that are made at once.
    const CHUNK: usize = 64;

    struct Blocks {
        free: Vec<NonNull<Meeting>>,
        chunks: Vec<NonNull<[Meeting]>>,
        /// The networks that run, few at a time.
        networks: Vec<Network>,
    }

    struct Network {
        number: u32,
        /// How many of its channels may be listed.
        limit: usize,
        ended: Ended,
    }

    // SAFETY: blocks are there for ever; who may touch what is said in `meeting`.
    unsafe impl Send for Blocks {}

    static BLOCKS: StaticMutex<Blocks> =
        StaticMutex::new(Blocks { free: Vec::new(), chunks: Vec::new(), networks: Vec::new() });

    impl Network {
        fn keep(&mut self, meeting: &Meeting) {
            if self.ended.listed.len() < self.limit {
                self.ended.listed.push(meeting.record());
            } else {
                self.ended.folded.0 += 1;
                self.ended.folded.1 += meeting.met.get();
            }
        }
    }

    /// Makes a meeting, in a block that may have been one before.
    pub(crate) fn make(network: u32, label: Label) -> NonNull<Meeting> {
        let mut blocks = BLOCKS.lock();
        if blocks.free.is_empty() {
            let chunk: Box<[Meeting]> =
                std::iter::repeat_with(Meeting::nobody).take(CHUNK).collect();
            let chunk = Box::leak(chunk);
            blocks.chunks.push(NonNull::from(&*chunk));
            blocks.free.extend(chunk.iter().map(NonNull::from));
        }
        let place = blocks.free.pop().expect("filled just now");
        // SAFETY: a meeting stands there, and nobody uses it but looks that go through its gate.
        unsafe { place.as_ref() }.begin(network, label);
        place
    }

    /// Takes back the block of a meeting whose ends are both gone; its buffer is left.
    pub(crate) fn give_back(place: NonNull<Meeting>) -> Option<NonNull<BufferHead>> {
        // SAFETY: as above.
        let meeting = unsafe { place.as_ref() };
        let mut blocks = BLOCKS.lock();
        let mut networks = blocks.networks.iter_mut();
        if let Some(network) = networks.find(|network| network.number == meeting.network()) {
            network.keep(meeting);
        }
        blocks.free.push(place);
        meeting.end()
    }

    /// A network runs from now on, and wants to know of so many of its channels.
    pub(crate) fn begin(network: u32, limit: usize) {
        BLOCKS.lock().networks.push(Network { number: network, limit, ended: Ended::default() });
    }

    /// A network has ended: drops what stands in the buffers of its channels, for nobody can receive
    /// it. It may be the end of a channel that is kept by nothing else, its own receiver even.
    pub(crate) fn clear_buffers(network: u32) {
        let places: Vec<_> = {
            let blocks = BLOCKS.lock();
            // SAFETY: the blocks are there for ever, and their networks change under the lock.
            let all = blocks.chunks.iter().flat_map(|chunk| unsafe { chunk.as_ref() });
            all.filter(|meeting| meeting.network() == network).map(NonNull::from).collect()
        };
        for place in places {
            // SAFETY: the blocks are there for ever, and every look goes through the gate.
            drop(unsafe { place.as_ref() }.take_unread(network));
        }
    }

    /// A network of which nothing runs any more: what is left of the channels that it made, `created`
    /// in all, whether they have ended or not.
    pub(crate) fn left(network: u32, created: u64) -> Ended {
        let mut blocks = BLOCKS.lock();
        let Some(place) = blocks.networks.iter().position(|known| known.number == network) else {
            return Ended::default();
        };
        let mut kept = blocks.networks.swap_remove(place);
        let have_ended = kept.ended.listed.len() as u64 + kept.ended.folded.0;
        // SAFETY: the blocks are there for ever, and their networks change under the lock.
        let all = blocks.chunks.iter().flat_map(|chunk| unsafe { chunk.as_ref() });
        let left = all.filter(|meeting| meeting.network() == network);
        let missing = usize::try_from(created.saturating_sub(have_ended)).unwrap_or(usize::MAX);
        left.take(missing).for_each(|meeting| kept.keep(meeting));
        kept.ended
    }
}

/// Makes a meeting. In a model nobody looks from outside, and nobody wants a report.
#[cfg(loom)]
pub(super) fn make(network: u32, label: Label) -> NonNull<Meeting> {
    NonNull::from(Box::leak(Box::new(Meeting::new(network, label))))
}

/// Frees a meeting whose ends are both gone; its buffer is left.
#[cfg(loom)]
pub(super) fn give_back(place: NonNull<Meeting>) -> Option<NonNull<BufferHead>> {
    // SAFETY: leaked by `make`, and both ends are gone.
    unsafe { Box::from_raw(place.as_ptr()) }.end()
}

#[cfg(loom)]
pub(super) fn begin(_network: u32, _limit: usize) {}

#[cfg(loom)]
pub(super) fn clear_buffers(_network: u32) {}

#[cfg(loom)]
pub(super) fn left(_network: u32, _created: u64) -> Ended {
    Ended::default()
}
