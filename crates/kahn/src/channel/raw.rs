//! A channel without its type: two sides, each with its word, and what is seldom needed.
//!
//! # Memory
//!
//! ```text
//!   line 0   sender     word · local count · room · ring · owner     the sender's
//!   line 1   receiver   word · local count · room · ring · owner     the receiver's
//!   line 2…  cold       name, counters, how it ended
//! ```
//!
//! With a small capacity the two words stand in their sides' lines, and a message touches two lines
//! and its slot. From [`ROOMY`] messages on the words stand on two lines of their own: then the two
//! ends may run on two cores, and a side's private fields must not share a line with what its peer
//! reads (worth a factor of four to five at capacity 64).
//!
//! # Room
//!
//! `room` is the number of operations that a side may do before it must look at its peer: the fast
//! path of `send` and `recv` is a slot, `local + 1`, `room - 1`. It is granted by a look
//! (`turn.rs`), at most half a capacity at a time; when it is used up, what was done is *published*.
//! A side with room left is listed with its worker, which publishes it when the poll ends and takes
//! the room away. So outside a poll no side has room, and nothing is unpublished.
//!
//! # Who may touch what
//!
//! A side's cells belong to the holder of the process that owns the end (see `scheduler::task`).
//! Before the first message is published, the sender sets up the receiver's ring; the receiver looks
//! at it only after it has seen a message. When both ends are closed, the second to close frees the
//! channel. `owner` changes hands under the `gate`, as do closings.

use super::digest::History;
use super::ring::{MessageType, Ring};
use super::table::ChannelTable;
use super::turn::Turn;
use crate::graph::{Identity, Name};
use crate::scheduler::task::{Task, TaskRef, own};
use crate::scheduler::word::{Moved, Seen, Word};
use crate::scheduler::{Listed, WaitOn, Worker};
use crate::sync::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Cell, Ordering::*, spin_loop,
};
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

/// From this capacity on, words have lines of their own. In a model always: its atomics are no
/// numbers, and a side is larger than a line.
pub(crate) const ROOMY: u32 = if cfg!(loom) { 1 } else { 8 };

#[cfg(not(loom))]
const _: () = assert!(size_of::<Side>() == size_of::<Line>(), "the receiver's word is a line on");

/// One end of a channel.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Side {
    /// The word, if it stands here; reached through `words` only.
    word: Word,
    /// Operations done on this side.
    pub(crate) local: Cell<u64>,
    /// Operations that may follow before the next look at the peer.
    pub(crate) room: Cell<u32>,
    pub(crate) mask: Cell<u32>,
    /// The ring this side works in; null before the first message.
    pub(crate) ring: Cell<*mut Ring>,
    /// The sender's word; the receiver's is a line behind it.
    words: *const Line,
    pub(crate) owner: AtomicPtr<Task>,
    /// Whether the worker has this side on its list.
    listed: Cell<bool>,
    /// An end belongs to a thread or a party: every operation is published at once.
    pub(crate) eager: AtomicBool,
    /// What is received is recorded. The receiver's.
    pub(crate) recorded: Cell<bool>,
    /// What was found at the last look was published by another worker. The receiver's.
    pub(crate) from_afar: Cell<bool>,
    /// The most messages ever found waiting. The receiver's; a hint, so it may be written by it
    /// and read by reports.
    pub(crate) most_waiting: AtomicU32,
}

/// A line that begins with a word.
#[repr(C, align(64))]
#[derive(Debug)]
pub(super) struct Line {
    word: Word,
}

impl Line {
    pub(super) fn pair(count: u64) -> [Self; 2] {
        [Self { word: Word::new(count) }, Self { word: Word::new(count) }]
    }
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// Bits of [`Cold::flags`].
pub(crate) mod flag {
    /// Lies on no cycle of the graph as it was when the run started.
    pub(crate) const BRIDGE: u8 = 1;
    /// The sender failed: a failure mark stands after the last message.
    pub(crate) const FAILED: u8 = 2;
    /// The receiver is dead: no message will ever be taken.
    pub(crate) const DEAD_END: u8 = 4;
}

/// Bits of the gate: which ends are closed, and a lock for a few instructions.
mod gate {
    pub(super) const SENDER: u8 = 1;
    pub(super) const RECEIVER: u8 = 2;
    pub(super) const LOCKED: u8 = 4;
}

/// What is seldom needed.
#[derive(Debug)]
pub(crate) struct Cold {
    pub(crate) types: Cell<&'static MessageType>,
    table: Cell<*const ChannelTable>,
    label: UnsafeCell<Option<Label>>,
    /// The count both words started at: message numbers count from here.
    pub(crate) base: AtomicU64,
    pub(crate) capacity: AtomicU32,
    pub(crate) initial: AtomicU32,
    pub(crate) growths: AtomicU32,
    /// Messages that changed workers on their way.
    pub(crate) remote: AtomicU64,
    gate: AtomicU8,
    pub(crate) flags: AtomicU8,
    /// Where it stands in the table.
    pub(crate) index: AtomicU32,
    /// The next sender that its process dropped and that has not ended its channel yet.
    pub(crate) next_close: Cell<*const ()>,
    /// What was received, if that is recorded. The receiver's.
    pub(crate) history: UnsafeCell<Option<Box<History>>>,
}

/// Who a channel is.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) name: Name,
    pub(crate) identity: Identity,
}

/// A channel without its type.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct RawChannel {
    pub(crate) sender: Side,
    pub(crate) receiver: Side,
    pub(crate) cold: Cold,
}

/// A pointer to a channel that is handed from thread to thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelRef(NonNull<RawChannel>);

// SAFETY: the pointee is type-stable memory, and its fields follow the module's rules.
unsafe impl Send for ChannelRef {}
// SAFETY: as above.
unsafe impl Sync for ChannelRef {}

impl std::ops::Deref for ChannelRef {
    type Target = RawChannel;

    #[inline]
    fn deref(&self) -> &RawChannel {
        // SAFETY: blocks live as long as the table, which outlives every end and every run.
        unsafe { self.0.as_ref() }
    }
}

impl ChannelRef {
    /// Writes a new channel into a block; `roomy` are the lines for its words, if it has any.
    ///
    /// # Safety
    /// `block` has room for a channel and nobody else knows it; `recycled`: it holds an old channel
    /// of the same layout, which keeps its words.
    pub(super) unsafe fn place(
        block: NonNull<u8>,
        recycled: bool,
        roomy: Option<NonNull<[Line; 2]>>,
        types: &'static MessageType,
        label: Label,
        table: *const ChannelTable,
    ) -> Self {
        let place = block.cast::<RawChannel>();
        let channel = Self(place);
        if recycled {
            // A count never goes back: see `scheduler::word`.
            let base = channel.count(End::Sender).max(channel.count(End::Receiver));
            for end in [End::Sender, End::Receiver] {
                channel.word(end).restart(base);
                channel.side(end).restart(base);
            }
            channel.cold.restart(base, types, label);
            return channel;
        }
        let words = roomy.map_or(place.as_ptr().cast_const().cast::<Line>(), |lines| {
            lines.as_ptr().cast_const().cast::<Line>()
        });
        let raw = RawChannel {
            sender: Side::new(words),
            receiver: Side::new(words),
            cold: Cold::new(types, label, table),
        };
        // SAFETY: the block is ours, large enough and aligned to a line.
        unsafe { place.write(raw) };
        channel
    }

    pub(crate) fn as_ptr(self) -> *const RawChannel {
        self.0.as_ptr()
    }

    pub(super) fn non_null(self) -> NonNull<RawChannel> {
        self.0
    }

    /// The address that says "waits at this end of this channel".
    pub(crate) fn waiting_at(self, end: End) -> *mut () {
        let tag = usize::from(end == End::Receiver);
        self.0.as_ptr().cast::<()>().map_addr(|address| address | tag)
    }

    /// What an address made by [`waiting_at`](Self::waiting_at) says.
    ///
    /// # Safety
    /// `address` was made by it, from a channel of a living table, or is null.
    pub(crate) unsafe fn from_waiting(address: *mut ()) -> Option<(Self, End)> {
        let end = if address.addr() & 1 == 1 { End::Receiver } else { End::Sender };
        let raw = NonNull::new(address.map_addr(|address| address & !1).cast::<RawChannel>())?;
        Some((Self(raw), end))
    }

    /// The channel at an address that [`as_ptr`](Self::as_ptr) gave.
    ///
    /// # Safety
    /// The table of that channel is alive.
    pub(crate) unsafe fn from_ptr(raw: *const ()) -> Option<Self> {
        NonNull::new(raw.cast_mut().cast::<RawChannel>()).map(Self)
    }
}

impl End {
    pub(crate) fn peer(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

impl RawChannel {
    #[inline]
    pub(crate) fn side(&self, end: End) -> &Side {
        match end {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }

    /// The word that `end` publishes.
    #[inline]
    pub(crate) fn word(&self, end: End) -> &Word {
        let line = match end {
            End::Sender => self.sender.words,
            // SAFETY: two lines stand one behind the other, in the channel or on their own.
            End::Receiver => unsafe { self.receiver.words.add(1) },
        };
        // SAFETY: `words` was set when the block was first used and never changes; a line begins
        // with its word.
        unsafe { &(*line).word }
    }

    pub(crate) fn count(&self, end: End) -> u64 {
        self.word(end).load().count()
    }

    /// The process at an end; `None` before the end was given to one.
    pub(crate) fn owner(&self, end: End) -> Option<TaskRef> {
        // SAFETY: owners are processes of this network, whose memory outlives its channels.
        unsafe { TaskRef::from_ptr(self.side(end).owner.load(Acquire)) }
    }

    pub(crate) fn label(&self) -> &Label {
        // SAFETY: set before anyone else knew the channel, and until its block is recycled.
        let label = unsafe { &*self.cold.label.get() };
        label.as_ref().expect("a channel that is known has a label")
    }

    pub(crate) fn name(&self) -> &Name {
        &self.label().name
    }

    pub(crate) fn table(&self) -> &ChannelTable {
        // SAFETY: the table owns the block.
        unsafe { &*self.cold.table.get() }
    }

    pub(crate) fn has_flag(&self, bit: u8) -> bool {
        self.cold.flags.load(Relaxed) & bit != 0
    }

    pub(crate) fn set_flag(&self, bit: u8) {
        // Release: what led to the flag is visible to who acts on it.
        self.cold.flags.fetch_or(bit, Release);
    }

    /// Messages sent, as far as published, or received.
    pub(crate) fn messages(&self, end: End) -> u64 {
        self.count(end).saturating_sub(self.cold.base.load(Relaxed))
    }

    /// Whether the peer of `end` waits for it; and if the channel is as `seen` then.
    pub(crate) fn seen(&self, end: End) -> Seen {
        self.word(end).load()
    }

    /// Where `end` has to wait when its peer's word was `seen`.
    pub(crate) fn wait_on(&self, end: End, seen: Seen) -> WaitOn {
        WaitOn { word: self.word(end.peer()), seen, full: end == End::Sender }
    }

    /// Publishes what `end` has done, and wakes its peer if that waits.
    #[inline]
    pub(crate) fn publish(&self, end: End, worker: &Worker) {
        match end {
            End::Sender => self.publish_sender(worker),
            End::Receiver => self.publish_receiver(worker),
        }
    }

    #[inline(never)]
    fn publish_sender(&self, worker: &Worker) {
        self.publish_end(End::Sender, worker);
    }

    #[inline(never)]
    fn publish_receiver(&self, worker: &Worker) {
        self.publish_end(End::Receiver, worker);
    }

    #[inline(always)]
    fn publish_end(&self, end: End, worker: &Worker) {
        let side = self.side(end);
        let (word, count) = (self.word(end), side.local.get());
        if end == End::Receiver && side.from_afar.get() {
            let remote = &self.cold.remote;
            let taken = count - word.load().count();
            // Relaxed, and no read-modify-write: only the receiver writes.
            remote.store(remote.load(Relaxed) + taken, Relaxed);
        }
        // Relaxed: set when an end is handed to a party, before anything runs.
        let moved = if side.eager.load(Relaxed) {
            word.publish_outside(count, worker.number())
        } else {
            word.publish(count, worker.number(), worker.solo)
        };
        if moved == Moved::Wake {
            self.wake_owner(end.peer(), worker);
        }
    }

    #[inline]
    fn wake_owner(&self, end: End, worker: &Worker) {
        if let Some(owner) = self.owner(end) {
            worker.wake(owner);
        }
    }

    /// Grants room for at most `most` operations before the next look.
    #[inline]
    pub(super) fn grant(
        &self,
        end: End,
        most: u64,
        capacity: u64,
        task: TaskRef,
        worker: &Worker,
    ) -> Turn {
        let side = self.side(end);
        let is_eager = side.eager.load(Relaxed)
            || task.notes() & own::WAIT_ONCE != 0
            || end == End::Receiver && side.recorded.get();
        if capacity < 4 || is_eager {
            side.room.set(1);
            Turn::Go
        } else {
            self.grant_more(end, most, capacity, worker)
        }
    }

    #[inline(never)]
    fn grant_more(&self, end: End, most: u64, capacity: u64, worker: &Worker) -> Turn {
        let half = capacity / 2;
        let period = if half > HUNGRY_PERIOD && worker.scheduler().is_hungry() {
            HUNGRY_PERIOD
        } else {
            half
        };
        let room = u32::try_from(most.min(period)).unwrap_or(u32::MAX);
        let side = self.side(end);
        side.room.set(room);
        if room > 1 && !side.listed.replace(true) {
            let this = ptr::from_ref(self).cast::<()>();
            let publish = match end {
                End::Sender => publish_listed_sender,
                End::Receiver => publish_listed_receiver,
            };
            // The tag tells the two sides of one channel apart, for a process may have both.
            let end_tag = this.map_addr(|address| address | usize::from(end == End::Receiver));
            worker.list(Listed { end: end_tag, publish });
        }
        Turn::Go
    }

    /// Takes an end off the worker's list, with what it did published.
    pub(crate) fn settle(&self, end: End, worker: &Worker) {
        let side = self.side(end);
        side.room.set(0);
        if side.listed.replace(false) {
            let this = ptr::from_ref(self).cast::<()>();
            let tag = usize::from(end == End::Receiver);
            worker.unlist(this.map_addr(|address| address | tag));
        }
        let seen = self.word(end).load();
        if !seen.is_closed() && seen.count() != side.local.get() {
            self.publish(end, worker);
        }
    }

    /// Runs `f` while no other thread closes an end or hands one on.
    pub(super) fn with_gate<R>(&self, f: impl FnOnce(&mut Gate) -> R) -> R {
        let mut bits = self.cold.gate.load(Relaxed);
        loop {
            if bits & gate::LOCKED != 0 {
                spin_loop();
                bits = self.cold.gate.load(Relaxed);
                continue;
            }
            // Acquire pairs with the Release below: whoever is second sees what the first did.
            match self.cold.gate.compare_exchange_weak(bits, bits | gate::LOCKED, Acquire, Relaxed)
            {
                Ok(_) => break,
                Err(now) => bits = now,
            }
        }
        let mut gate = Gate { bits };
        let result = f(&mut gate);
        self.cold.gate.store(gate.bits, Release);
        result
    }
}

/// Which ends of a channel are closed, while one holds its gate.
pub(super) struct Gate {
    bits: u8,
}

impl Gate {
    fn bit(end: End) -> u8 {
        match end {
            End::Sender => gate::SENDER,
            End::Receiver => gate::RECEIVER,
        }
    }

    pub(super) fn is_closed(&self, end: End) -> bool {
        self.bits & Self::bit(end) != 0
    }

    pub(super) fn close(&mut self, end: End) {
        self.bits |= Self::bit(end);
    }
}

/// How many operations stay unpublished at most while some worker has nothing to do.
const HUNGRY_PERIOD: u64 = 8;

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
    let channel = unsafe { &*raw };
    let side = channel.side(end);
    side.listed.set(false);
    side.room.set(0);
    if channel.word(end).load().count() != side.local.get() {
        channel.publish(end, worker);
    }
}

impl Side {
    fn new(words: *const Line) -> Self {
        Self {
            word: Word::new(0),
            local: Cell::new(0),
            room: Cell::new(0),
            mask: Cell::new(0),
            ring: Cell::new(ptr::null_mut()),
            words,
            owner: AtomicPtr::new(ptr::null_mut()),
            listed: Cell::new(false),
            eager: AtomicBool::new(false),
            recorded: Cell::new(false),
            from_afar: Cell::new(false),
            most_waiting: AtomicU32::new(0),
        }
    }

    fn restart(&self, base: u64) {
        self.local.set(base);
        self.room.set(0);
        self.mask.set(0);
        self.ring.set(ptr::null_mut());
        self.owner.store(ptr::null_mut(), Relaxed);
        self.listed.set(false);
        self.eager.store(false, Relaxed);
        self.recorded.set(false);
        self.from_afar.set(false);
        self.most_waiting.store(0, Relaxed);
    }

    /// Uses this ring from now on.
    pub(crate) fn enter(&self, ring: *mut Ring) {
        self.ring.set(ring);
        // SAFETY: a ring that a side is given is alive until the side leaves it.
        self.mask.set(unsafe { (*ring).mask() });
    }
}

impl Cold {
    fn new(types: &'static MessageType, label: Label, table: *const ChannelTable) -> Self {
        Self {
            types: Cell::new(types),
            table: Cell::new(table),
            label: UnsafeCell::new(Some(label)),
            base: AtomicU64::new(0),
            capacity: AtomicU32::new(0),
            initial: AtomicU32::new(0),
            growths: AtomicU32::new(0),
            remote: AtomicU64::new(0),
            gate: AtomicU8::new(0),
            flags: AtomicU8::new(0),
            index: AtomicU32::new(0),
            next_close: Cell::new(ptr::null()),
            history: UnsafeCell::new(None),
        }
    }

    /// Frees what a channel owns beside its messages, when both ends are closed.
    pub(super) fn clear(&self) {
        // SAFETY: who asks for it has an end, and none is left; explanations look only at channels
        // of the table, which this one is leaving.
        unsafe { *self.label.get() = None };
        // SAFETY: both ends are closed: nobody records any more.
        unsafe { *self.history.get() = None };
    }

    fn restart(&self, base: u64, types: &'static MessageType, label: Label) {
        self.types.set(types);
        // SAFETY: the old channel is gone, and nobody knows the new one.
        unsafe { *self.label.get() = Some(label) };
        self.base.store(base, Relaxed);
        self.capacity.store(0, Relaxed);
        self.initial.store(0, Relaxed);
        self.growths.store(0, Relaxed);
        self.remote.store(0, Relaxed);
        self.gate.store(0, Relaxed);
        self.flags.store(0, Relaxed);
        self.next_close.set(ptr::null());
        // SAFETY: as above.
        unsafe { *self.history.get() = None };
    }
}
