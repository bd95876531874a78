//! Where channels live: blocks of memory that stay a rendezvous as long as their network is there.
//!
//! A look at a running network follows the pointer that a process left behind when it waited. By
//! then the channel may be gone; the block behind the pointer is a rendezvous still, perhaps of
//! another channel, and its gate says which process waits there. So the look finds out, and never reads
//! memory of another type.
//!
//! ```text
//!   a chunk, aligned to its size of 4096 bytes
//!   ┌────────────────────────────────┬────────────┬────────────┬───┐
//!   │ what its network has in common │ rendezvous │ rendezvous │ … │
//!   └────────────────────────────────┴────────────┴────────────┴───┘
//! ```
//!
//! Memory is taken for several chunks at once, for an aligned start costs up to a chunk beside it.
//!
//! | state of a block | reference to the network's [`Common`] | leaves by |
//! |---|---|---|
//! | free, in the list | – | a channel is made there |
//! | a channel, in the run | one | its second end is dropped: its [`Record`] is kept, the block is free |
//! | a channel, after the run | one | the same, without a record |
//!
//! *An end may outlive the run* that it was made in, and finds its block: the chunks go with the
//! `Common`, which each channel keeps. The thread that drops the second end gives up that reference when
//! it has touched the block for the last time; the thread that dropped the first has left the gate by
//! then, for the second locked it afterwards. A look comes while the network runs, which has a reference
//! as well.

use crate::channel::record::Record;
use crate::channel::rendezvous::{BufferHead, Label, Rendezvous};
use crate::language::common::Common;
use kahn_engine::sync::Arc;
use std::ptr::NonNull;

/// Messages that are never received: dropped with it.
pub(crate) struct Unread {
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
pub(crate) struct Ended {
    pub(crate) listed: Vec<Record>,
    /// Number and messages of those that are not listed.
    pub(crate) folded: (u64, u64),
}

#[cfg(not(loom))]
pub(crate) use chunks::{
    Blocks, clear_buffers, common_of, each, forget_users, give_back, left, make, while_they_stay,
};

#[cfg(not(loom))]
mod chunks {
    use super::{Arc, BufferHead, Common, Ended, Label, NonNull, Rendezvous};
    use kahn_engine::sync::StaticMutex;
    use std::array;
    use std::mem::MaybeUninit;

    /// Bytes of a chunk, and what it is aligned to.
    const SIZE: usize = 4096;
    /// Blocks of a chunk: one has the place of the pointer.
    const BLOCKS: usize = SIZE / size_of::<Rendezvous>() - 1;

    /// See the module.
    #[repr(C, align(4096))]
    struct Chunk {
        common: *const Common,
        blocks: [Rendezvous; BLOCKS],
    }

    /// Memory is taken for so many chunks at once, at most.
    const MOST_AT_ONCE: usize = 16;

    const _: () = assert!(size_of::<Chunk>() == SIZE, "blocks find the beginning of their chunk");

    struct State {
        free: Vec<NonNull<Rendezvous>>,
        chunks: Vec<NonNull<Chunk>>,
        memory: Vec<NonNull<[MaybeUninit<Chunk>]>>,
        /// The next chunk that is not one yet, and how many there are from it on.
        spare: (NonNull<Chunk>, usize),
        /// How many channels may be listed.
        limit: usize,
        /// What has ended so far; none when the report is made.
        ended: Option<Ended>,
    }

    // SAFETY: chunks are there as long as this is; what may touch a block is said in `rendezvous`.
    unsafe impl Send for State {}

    /// The memory of a network's channels.
    pub(crate) struct Blocks(StaticMutex<State>);

    impl State {
        fn add_chunk(&mut self, common: &Arc<Common>) {
            let (chunk, left) = match self.spare {
                (_, 0) => self.take_memory(),
                spare => spare,
            };
            // SAFETY: it lies in that memory, or is its end.
            self.spare = (unsafe { chunk.add(1) }, left - 1);
            let blocks = array::from_fn(|_| Rendezvous::nobody());
            // SAFETY: it lies in that memory, and was not used yet.
            unsafe { chunk.write(Chunk { common: Arc::as_ptr(common), blocks }) };
            self.chunks.push(chunk);
            self.free.extend(blocks_of(chunk));
        }

        /// Takes memory for as many chunks as there are, within the limit.
        fn take_memory(&mut self) -> (NonNull<Chunk>, usize) {
            let count = self.chunks.len().clamp(1, MOST_AT_ONCE);
            let memory = NonNull::from(Box::leak(Box::new_uninit_slice(count)));
            self.memory.push(memory);
            (memory.cast(), count)
        }

        fn keep(&mut self, meeting: &Rendezvous) {
            let Some(ended) = &mut self.ended else { return };
            if ended.listed.len() < self.limit {
                ended.listed.push(meeting.record());
            } else {
                ended.folded.0 += 1;
                ended.folded.1 += meeting.met();
            }
        }

        /// The blocks that are channels now.
        fn channels(&self, network: u32) -> Vec<NonNull<Rendezvous>> {
            let all = self.chunks.iter().flat_map(|&chunk| blocks_of(chunk));
            // SAFETY: the chunks are there, and blocks become channels under the lock.
            all.filter(|block| unsafe { block.as_ref() }.network() == network).collect()
        }
    }

    impl Drop for State {
        fn drop(&mut self) {
            for chunk in self.chunks.drain(..) {
                // SAFETY: made by `add_chunk`; no channel is there any more, for each keeps us.
                unsafe { chunk.drop_in_place() };
            }
            for memory in self.memory.drain(..) {
                // SAFETY: taken as a box, and nothing is there any more.
                drop(unsafe { Box::from_raw(memory.as_ptr()) });
            }
        }
    }

    /// The blocks of a chunk, by pointers that may go to its beginning.
    fn blocks_of(chunk: NonNull<Chunk>) -> impl Iterator<Item = NonNull<Rendezvous>> {
        (0..BLOCKS).filter_map(move |index| {
            // SAFETY: within the chunk; nothing is read.
            NonNull::new(unsafe { &raw mut (*chunk.as_ptr()).blocks[index] })
        })
    }

    impl Blocks {
        /// No channel yet; so many are listed in the report.
        pub(crate) fn new(limit: usize) -> Self {
            Self(StaticMutex::new(State {
                free: Vec::new(),
                chunks: Vec::new(),
                memory: Vec::new(),
                spare: (NonNull::dangling(), 0),
                limit,
                ended: Some(Ended::default()),
            }))
        }
    }

    /// Makes a channel, in a block that may have been one before.
    pub(crate) fn make(common: &Arc<Common>, label: Label) -> NonNull<Rendezvous> {
        let mut blocks = common.memory::<Blocks>().0.lock();
        if blocks.free.is_empty() {
            blocks.add_chunk(common);
        }
        let place = blocks.free.pop().expect("filled just now");
        // SAFETY: a rendezvous stands there, and is used by nothing but looks through its gate.
        unsafe { place.as_ref() }.begin(common.number, label);
        // The channel's reference.
        let _ = Arc::into_raw(Arc::clone(common));
        place
    }

    /// How often memory was taken for chunks.
    #[cfg(test)]
    pub(super) fn times_taken(common: &Common) -> usize {
        common.memory::<Blocks>().0.lock().memory.len()
    }

    /// What the network of a channel has in common.
    ///
    /// # Safety
    /// The block was made by [`make`], and the caller has one of its ends.
    pub(crate) unsafe fn common_of(place: NonNull<Rendezvous>) -> Arc<Common> {
        let common = common_at(place);
        // SAFETY: said by the caller: the channel has a reference.
        unsafe { Arc::increment_strong_count(common) };
        // SAFETY: counted just now.
        unsafe { Arc::from_raw(common) }
    }

    fn common_at(place: NonNull<Rendezvous>) -> *const Common {
        // It stands first in the chunk.
        let at = place.as_ptr().map_addr(|address| address & !(SIZE - 1)).cast::<*const Common>();
        // SAFETY: all blocks stand in chunks, and their pointers may go to the beginning; it does not
        // change.
        unsafe { at.read() }
    }

    /// Takes back the block of a channel whose ends are both gone; its buffer is left.
    ///
    /// # Safety
    /// The block was made by [`make`], and is not touched any more.
    pub(crate) unsafe fn give_back(place: NonNull<Rendezvous>) -> Option<NonNull<BufferHead>> {
        // SAFETY: the channel's reference, which ends here. It is given up last.
        let common = unsafe { Arc::from_raw(common_at(place)) };
        // SAFETY: as above.
        let meeting = unsafe { place.as_ref() };
        let mut blocks = common.memory::<Blocks>().0.lock();
        blocks.keep(meeting);
        blocks.free.push(place);
        meeting.end()
    }

    /// Calls `f` while every channel of a network stays in its block, and every block is free or stays
    /// the same channel.
    pub(crate) fn while_they_stay<R>(common: &Common, f: impl FnOnce() -> R) -> R {
        let _blocks = common.memory::<Blocks>().0.lock();
        f()
    }

    /// Calls `see` for each channel of a network, which stays in its block meanwhile, with its number among them
    /// and an identity that its block gives it: odd, and the same in every run on one worker. Returns how many
    /// there are.
    pub(crate) fn each(common: &Common, mut see: impl FnMut(usize, u64, &Rendezvous)) -> usize {
        let blocks = common.memory::<Blocks>().0.lock();
        let all = blocks.chunks.iter().flat_map(|&chunk| blocks_of(chunk)).zip(0_u64..);
        // SAFETY: the chunks are there, and blocks become channels under the lock.
        let all = all.map(|(block, place)| (unsafe { block.as_ref() }, place));
        let channels = all.filter(|(block, _)| block.network() == common.number);
        channels.enumerate().map(|(nth, (channel, place))| see(nth, place * 2 + 1, channel)).count()
    }

    /// A network has ended: drops what stands in the buffers of its channels, for nothing can receive
    /// it. It may be the end of a channel that is kept by nothing else, its own receiver even.
    pub(crate) fn clear_buffers(common: &Common) {
        let channels = common.memory::<Blocks>().0.lock().channels(common.number);
        for place in channels {
            // SAFETY: the chunks are there as long as what the caller has, and every look goes through
            // the gate.
            drop(unsafe { place.as_ref() }.take_unread(common.number));
        }
    }

    /// A network of which nothing runs any more: its channels forget which processes used them, for the
    /// memory of these goes before theirs.
    pub(crate) fn forget_users(common: &Common) {
        let blocks = common.memory::<Blocks>().0.lock();
        for place in blocks.channels(common.number) {
            // SAFETY: the chunks are there.
            unsafe { place.as_ref() }.forget_users();
        }
    }

    /// A network of which nothing runs any more: what is left of the channels that it made, `created`
    /// in all, whether they have ended or not.
    pub(crate) fn left(common: &Common, created: u64) -> Ended {
        let mut blocks = common.memory::<Blocks>().0.lock();
        let have_ended =
            blocks.ended.as_ref().map_or(0, |ended| ended.listed.len() as u64 + ended.folded.0);
        let missing = usize::try_from(created.saturating_sub(have_ended)).unwrap_or(usize::MAX);
        for place in blocks.channels(common.number).into_iter().take(missing) {
            // SAFETY: as above.
            blocks.keep(unsafe { place.as_ref() });
        }
        blocks.ended.take().unwrap_or_default()
    }
}

/// In a model each channel has memory of its own: no other thread looks, and no report is made.
#[cfg(loom)]
pub(crate) struct Blocks;

#[cfg(loom)]
impl Blocks {
    pub(crate) fn new(_limit: usize) -> Self {
        Self
    }
}

/// Makes a channel.
#[cfg(loom)]
pub(crate) fn make(common: &Arc<Common>, label: Label) -> NonNull<Rendezvous> {
    NonNull::from(Box::leak(Box::new(Rendezvous::in_model(common, label))))
}

/// What the network of a channel has in common.
///
/// # Safety
/// The caller has one of its ends.
#[cfg(loom)]
pub(crate) unsafe fn common_of(place: NonNull<Rendezvous>) -> Arc<Common> {
    // SAFETY: said by the caller.
    Arc::clone(unsafe { place.as_ref() }.common())
}

/// Frees a channel whose ends are both gone; its buffer is left.
///
/// # Safety
/// It was made by [`make`], and is not touched any more.
#[cfg(loom)]
pub(crate) unsafe fn give_back(place: NonNull<Rendezvous>) -> Option<NonNull<BufferHead>> {
    // SAFETY: said by the caller.
    unsafe { Box::from_raw(place.as_ptr()) }.end()
}

#[cfg(loom)]
pub(crate) fn while_they_stay<R>(_common: &Common, f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(loom)]
pub(crate) fn each(_common: &Common, _see: impl FnMut(usize, u64, &Rendezvous)) -> usize {
    0
}

#[cfg(loom)]
pub(crate) fn clear_buffers(_common: &Common) {}

#[cfg(loom)]
pub(crate) fn forget_users(_common: &Common) {}

#[cfg(loom)]
pub(crate) fn left(_common: &Common, _created: u64) -> Ended {
    Ended::default()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_channel_keeps_what_its_network_has_in_common() {
        let common = Common::new(7, 0, Blocks::new(0));
        let left = Arc::downgrade(&common);
        let places = ["a", "b"].map(|name| make(&common, Label::Name(name.into())));
        assert_eq!(Arc::strong_count(&common), 3, "each has a reference");
        drop(common);
        for place in places {
            // SAFETY: made just now, and not given back.
            let common = unsafe { common_of(place) };
            assert_eq!(common.number, 7);
            drop(common);
            // SAFETY: as above; it is not used again.
            assert!(unsafe { give_back(place) }.is_none(), "it has no buffer");
        }
        assert!(left.upgrade().is_none(), "nothing refers to it any more");
    }

    #[test]
    fn blocks_are_recycled_and_find_their_network() {
        let commons = [1, 2].map(|number| Common::new(number, 0, Blocks::new(0)));
        let make_some = || -> Vec<_> {
            let all = (0..200).map(|nth| make(&commons[nth % 2], Label::Name("some".into())));
            all.collect()
        };
        let first = make_some();
        for (nth, &place) in first.iter().enumerate() {
            // SAFETY: made just now, and not given back.
            assert!(Arc::ptr_eq(&unsafe { common_of(place) }, &commons[nth % 2]));
        }
        for &place in &first {
            // SAFETY: as above; it is not used again before it is made again.
            assert!(unsafe { give_back(place) }.is_none(), "it has no buffer");
        }
        let addresses = |places: &[NonNull<Rendezvous>]| -> BTreeSet<_> {
            places.iter().map(|place| place.addr()).collect()
        };
        let second = make_some();
        assert_eq!(addresses(&first), addresses(&second));
        for place in second {
            // SAFETY: as above.
            assert!(unsafe { give_back(place) }.is_none(), "it has no buffer");
        }
    }

    #[test]
    fn memory_is_taken_for_more_chunks_the_more_there_are() {
        let common = Common::new(1, 0, Blocks::new(0));
        // 63 channels stand in a chunk.
        let places: Vec<_> =
            (0..63 * 40).map(|_| make(&common, Label::Name("some".into()))).collect();
        let chunks: BTreeSet<_> = places.iter().map(|place| place.addr().get() / 4096).collect();
        assert_eq!(chunks.len(), 40);
        // 1, 1, 2, 4, 8, 16, and 16 of which 8 are left.
        assert_eq!(chunks::times_taken(&common), 7);
        for place in places {
            // SAFETY: made just now, and not used again.
            assert!(unsafe { give_back(place) }.is_none(), "it has no buffer");
        }
    }
}
