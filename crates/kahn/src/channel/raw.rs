//! A channel without its type: two sides, each with its word, and what is seldom needed.
//!
//! # Memory
//!
//! ```text
//!   line 0   sender     word · local count · credit · row · owner      the sender's
//!   line 1   receiver   word · local count · credit · row · owner      the receiver's
//!   line 2   cold       name, identity, how it ended; a small slot
//!   line 3   word                                                    the sender's, if it is roomy
//!   line 4   word                                                    the receiver's, likewise
//! ```
//!
//! With a small capacity the two words stand in their sides' lines, and a message touches two lines
//! and its slot. If that is the only one, and small, it is the slot of the third line, and a channel
//! is one piece of memory. A channel that is made before it is given a small capacity has the larger block, and
//! its words stand with the sides as well. From [`ROOMY`] messages on the words stand on two lines of their own: then the two
//! ends may run on two cores, and a side's private fields must not share a line with what its peer
//! reads (worth a factor of four to five at capacity 64). A channel that is recorded is roomy as
//! well: its history stands with the receiver's word. So is one whose messages own memory: their
//! weights are counted there; and one whose messages have a written form.
//!
//! There may be millions of channels, so each field counts: the sixteen bytes that a side leaves of
//! its line hold something that is cold, and the table is found from the block (`kahn_engine::memory`).
//!
//! # Credit
//!
//! `credit` is the number of operations that a side may do before it must look at its peer: the fast
//! path of `send` and `recv` is a slot, `local + 1`, `credit - 1`. It is granted by a look
//! (`slow_path.rs`), at most half a capacity at a time; when it is used up, what was done is *published*.
//! A side with credit left is listed with its worker, which publishes it when the poll ends and takes
//! the credit away. So outside a poll no side has credit, and nothing is unpublished.
//!
//! # Which thread may touch what
//!
//! A side's cells belong to the holder of the process that owns the end (see `kahn_engine::task`).
//! Before the first message is published, the sender sets up the receiver's row; the receiver looks
//! at it only after it has seen a message. When both ends are closed, the second to close frees the
//! channel. `owner` changes hands under the `gate`, as do closings.

use super::cold::ColdPart;
pub(crate) use super::cold::{Label, flag};
use super::digest::History;
use super::ring::MessageType;
use super::weight::Scales;
use super::wire::Wire;
use super::word::{Seen, Word};
use kahn_engine::sync::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Cell, Ordering::*, PlainAtomicU8,
};
use kahn_engine::task::{Task, TaskRef};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::mem;
use std::ptr::{self, NonNull};

/// From this capacity on, words have lines of their own. In a model always: its atomics are no
/// numbers, and a side is larger than a line.
pub(crate) const ROOMY: u32 = if cfg!(loom) { 1 } else { 8 };

/// With fewer slots each look grants one operation.
pub(super) const FEW: u32 = 4;

/// Where the receiver's word is, counted from the sender's. In a model all channels are roomy.
const RECEIVER: usize =
    if cfg!(loom) { size_of::<Line>() } else { mem::offset_of!(RawChannel, receiver) };
/// From the side of a roomy channel to the line that has its word, divided by the bit that says so.
const WORD_APART: usize = mem::offset_of!(RoomyChannel, lines) / kind::ROOMY as usize;

/// Beside the end in the address that says where a process waits: what has ended its wait has found that
/// there is something to do for it.
const SERVED: usize = 2;
/// Beside the receiver: it may be given a message that takes no slot (`given`).
const TAKES: usize = 4;

/// The most workers among which messages are given: [`Side::given_by`] tells them apart.
pub(super) const MOST_GIVING: usize = 1 << u8::BITS;

#[cfg(not(loom))]
const _: () = {
    assert!(mem::offset_of!(RawChannel, receiver) == 64, "each side has a line");
    assert!(mem::offset_of!(RawChannel, cold) == 128, "and what is cold has another");
    assert!(size_of::<RawChannel>() == 192, "and no more");
    assert!(size_of::<Line>() == 64, "a word has a line, and no more");
    assert!(
        mem::offset_of!(RoomyChannel, lines) % kind::ROOMY as usize == 0,
        "as `WORD_APART` says"
    );
};

/// One end of a channel.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Side {
    /// The word, if it stands here; reached by [`ChannelRef::word`] only.
    word: Word,
    /// Operations done on this side.
    pub(crate) local: Cell<u64>,
    /// Operations that may follow before the next look at the peer.
    pub(crate) credit: Cell<u32>,
    pub(super) mask: Cell<u32>,
    /// Where the slots of its next messages are, which are selected by their numbers and the mask;
    /// null before the first message.
    pub(super) row: Cell<*mut u8>,
    pub(crate) owner: AtomicPtr<Task>,
    /// Whether the worker has this side on its list.
    pub(super) listed: Cell<bool>,
    /// Bits of [`told`].
    pub(super) told: AtomicU8,
    /// Bits of [`kind`]; written by one at a time, and read by detectors as well. Not an atomic of a
    /// model: the bit that others ask for never changes.
    kind: PlainAtomicU8,
    /// The worker that gave the last message that was given (`given`). The receiver's.
    pub(super) given_by: Cell<u8>,
    /// The sender's: [`RawChannel::growths`]. The receiver's: [`RawChannel::most_waiting`].
    pub(super) statistic: AtomicU32,
}

/// Bits of [`Side::kind`].
pub(super) mod kind {
    /// The word stands on a line of its own. Two bits, which are how far that is from the side.
    pub(in crate::channel) const ROOMY: u8 = if cfg!(loom) { 64 } else { 192 };
    /// What is received is recorded. The receiver's.
    pub(in crate::channel) const RECORDED: u8 = 2;
    /// Messages are weighed.
    pub(in crate::channel) const WEIGHED: u8 = 4;
    /// It has fewer slots than [`FEW`](super::FEW), which stand in one row: each look grants one operation; and
    /// it is not recorded. The sender's, which sets it with its slots and strikes it out when it grows.
    pub(in crate::channel) const SMALL: u8 = 8;
    /// It joins the parts of one process: it has the capacity that it was made with, and reports do not
    /// tell of it.
    pub(in crate::channel) const INNER: u8 = 16;
    /// Messages have a written form. The sender's.
    pub(in crate::channel) const WIRED: u8 = 32;
    /// What is dropped of it is not the end: another stands in for it.
    pub(in crate::channel) const STOOD_IN_FOR: u8 = 1;
}

/// Bits of [`Side::told`]: what else than a worker's process is told of a publication. One test of them
/// all chooses the usual publication, which tells nothing else.
pub(crate) mod told {
    /// An end belongs to a thread or a party: every operation is published at once. Or the peer is to
    /// be pruned while it is parked: see `deadlock::prune`.
    pub(crate) const OUTSIDE: u8 = 1;
    /// The observer of the run.
    pub(crate) const OBSERVER: u8 = 2;
}

/// A line that begins with a word.
#[repr(C, align(64))]
#[derive(Debug)]
pub(super) struct Line {
    word: Word,
    /// What was received, if that is recorded. The receiver's.
    history: UnsafeCell<Option<Box<History>>>,
    /// What its end's messages weigh.
    pub(super) scales: Scales,
    /// The written form of messages, if they have one. The sender's.
    pub(super) wire: Cell<Option<Wire>>,
}

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Sender,
    Receiver,
}

/// A channel without its type.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct RawChannel {
    pub(crate) sender: Side,
    pub(crate) types: Cell<&'static MessageType>,
    /// The next sender that its process dropped and that has not ended its channel yet.
    pub(crate) next_close: Cell<*const ()>,
    pub(crate) receiver: Side,
    /// Messages that changed workers on their way. The receiver counts.
    pub(crate) remote: AtomicU64,
    /// The count both words started at: message numbers count from here.
    base: AtomicU64,
    pub(crate) cold: ColdPart,
}

/// A channel whose words have lines of their own.
#[repr(C)]
pub(super) struct RoomyChannel {
    channel: RawChannel,
    lines: [Line; 2],
}

/// A pointer to a channel that is handed from thread to thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelRef(pub(super) NonNull<RawChannel>);

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
    /// Wraps the address of a channel.
    ///
    /// # Safety
    /// It was written by [`place`](Self::place), and its table is alive.
    pub(super) unsafe fn new(channel: NonNull<RawChannel>) -> Self {
        Self(channel)
    }

    /// Writes a new channel into a block.
    ///
    /// # Safety
    /// `block` has room for such a channel and nothing else knows it; `recycled`: it holds an old
    /// channel of the same layout, whose words count on.
    pub(super) unsafe fn place(
        block: NonNull<u8>,
        recycled: bool,
        is_roomy: bool,
        types: &'static MessageType,
        label: Label,
    ) -> Self {
        let place = block.cast::<RawChannel>();
        let channel = Self(place);
        if recycled {
            // A new count, so that no wait here is taken for an old one: see `channel::word`.
            let base = channel.count(End::Sender).max(channel.count(End::Receiver)) + 1;
            for end in [End::Sender, End::Receiver] {
                // The words of the old one may have been brought home.
                channel.side(end).set_kind(kind::ROOMY, is_roomy);
                channel.word(end).restart(base);
                channel.side(end).restart(base);
            }
            channel.types.set(types);
            channel.next_close.set(ptr::null());
            channel.remote.store(0, Relaxed);
            channel.base.store(base, Relaxed);
            channel.cold.restart(label);
            return channel;
        }
        let kind = if is_roomy { kind::ROOMY } else { 0 };
        let raw = RawChannel {
            sender: Side::new(kind),
            types: Cell::new(types),
            next_close: Cell::new(ptr::null()),
            receiver: Side::new(kind),
            remote: AtomicU64::new(0),
            base: AtomicU64::new(0),
            cold: ColdPart::new(label),
        };
        if is_roomy {
            let roomy = RoomyChannel { channel: raw, lines: [Line::new(), Line::new()] };
            // SAFETY: the block is ours, large enough and aligned to a line.
            unsafe { block.cast::<RoomyChannel>().write(roomy) };
        } else {
            // SAFETY: as above.
            unsafe { place.write(raw) };
        }
        channel
    }

    /// Frees what a channel owns when its table goes.
    ///
    /// # Safety
    /// The channel is not used any more, nor ever will be.
    pub(super) unsafe fn drop_in_place(self) {
        if self.sender.is_kind(kind::ROOMY) {
            // SAFETY: such a channel was written by `place`; the rest is said by the caller.
            unsafe { self.0.cast::<RoomyChannel>().drop_in_place() };
        } else {
            // SAFETY: said by the caller.
            unsafe { self.0.drop_in_place() };
        }
    }

    pub(crate) fn as_ptr(self) -> *const RawChannel {
        self.0.as_ptr()
    }

    pub(super) fn non_null(self) -> NonNull<RawChannel> {
        self.0
    }

    /// The address that says "waits at this end of this channel".
    #[inline(always)]
    pub(crate) fn waiting_at(self, end: End) -> *mut () {
        // A channel begins with a line, so the tag is added to zeros.
        self.0.as_ptr().cast::<()>().wrapping_byte_add(end as usize)
    }

    /// The same of one whose wait was ended by what is to be done there.
    #[inline(always)]
    pub(super) fn served_at(self, end: End) -> *mut () {
        self.waiting_at(end).wrapping_byte_add(SERVED)
    }

    /// The address that says "waits for a message here, and takes what it is given".
    #[inline(always)]
    pub(super) fn taking_at(self) -> *mut () {
        self.waiting_at(End::Receiver).wrapping_byte_add(TAKES)
    }

    /// The same of one that was given a message.
    #[inline(always)]
    pub(super) fn given_at(self) -> *mut () {
        self.taking_at().wrapping_byte_add(SERVED)
    }

    /// Whether a process that waits there waits to send.
    #[inline(always)]
    pub(super) fn waits_to_send(waits_at: *mut ()) -> bool {
        waits_at.addr() & End::Receiver as usize == 0
    }

    /// What an address says that was made by [`waiting_at`](Self::waiting_at) or one of those that add to it.
    ///
    /// # Safety
    /// `address` was made so from a channel of a living table, or is null.
    pub(crate) unsafe fn from_waiting(address: *mut ()) -> Option<(Self, End)> {
        let end = if address.addr() & 1 == 1 { End::Receiver } else { End::Sender };
        let channel = without_tags(address).map_addr(|address| address & !1);
        let raw = NonNull::new(channel.cast::<RawChannel>())?;
        Some((Self(raw), end))
    }

    /// The channel at an address that [`as_ptr`](Self::as_ptr) gave.
    ///
    /// # Safety
    /// The table of that channel is alive.
    pub(crate) unsafe fn from_ptr(raw: *const ()) -> Option<Self> {
        NonNull::new(raw.cast_mut().cast::<RawChannel>()).map(Self)
    }

    /// Tells of what either end publishes: see [`told`].
    pub(crate) fn tell_of_both_ends(self, what: u8) {
        self.sender.tell(what);
        self.receiver.tell(what);
    }

    /// The line of a roomy channel that has the word of `end`.
    #[inline]
    pub(super) fn line(&self, end: End) -> &Line {
        debug_assert!(self.side(end).is_kind(kind::ROOMY));
        let word = ptr::from_ref(self.word(end)).addr() - self.0.as_ptr().addr();
        // SAFETY: a roomy channel has two lines there, each of which begins with its word.
        unsafe { &*self.0.as_ptr().wrapping_byte_add(word).cast::<Line>() }
    }

    /// The word that `end` publishes.
    #[inline]
    pub(crate) fn word(&self, end: End) -> &Word {
        self.word_of_kind(end, self.side(end).kind.load(Relaxed))
    }

    /// The word that `end` publishes, whose side is of this kind.
    #[inline(always)]
    pub(super) fn word_of_kind(&self, end: End, kind: u8) -> &Word {
        // No branch: channels of either kind are met in turn.
        let apart = (usize::from(kind) & usize::from(kind::ROOMY)) * WORD_APART;
        let of_side = if end == End::Receiver { RECEIVER } else { 0 };
        let word = self.0.as_ptr().wrapping_byte_add(of_side + apart).cast::<Word>();
        // SAFETY: a side begins with its word, and of a roomy channel so does the line.
        unsafe { &*word }
    }

    /// Has the words stand with their sides after all, so that a message touches two lines less, unless
    /// something else needs the lines that they have. Nothing uses the channel yet, nor waits there.
    pub(super) fn bring_words_home(self) {
        let kinds = self.sender.kind() | self.receiver.kind();
        if kinds & (kind::RECORDED | kind::WEIGHED | kind::WIRED) != 0 || kinds & kind::ROOMY == 0 {
            return;
        }
        for end in [End::Sender, End::Receiver] {
            let count = self.count(end);
            self.side(end).set_kind(kind::ROOMY, false);
            self.word(end).begin(count);
        }
    }

    /// Where the history of a channel stands that is recorded. The receiver's, while that is open.
    pub(super) fn history(&self) -> Option<&UnsafeCell<Option<Box<History>>>> {
        self.receiver.is_recorded().then(|| &self.line(End::Receiver).history)
    }

    /// Records what is received from now on. No process knows the channel yet.
    pub(super) fn record_in(&self, history: History) {
        self.receiver.set_kind(kind::RECORDED, true);
        // Each of its messages is received by way of the slow path, which records it.
        self.sender.set_kind(kind::SMALL, false);
        // SAFETY: nothing else knows the channel.
        unsafe { *self.line(End::Receiver).history.get() = Some(Box::new(history)) };
    }

    /// Records nothing any more; the history, if there is one.
    ///
    /// # Safety
    /// The receiver is closed, or nothing runs.
    pub(super) unsafe fn take_history(&self) -> Option<Box<History>> {
        // SAFETY: said by the caller.
        let history = unsafe { (*self.history()?.get()).take() };
        self.receiver.set_kind(kind::RECORDED, false);
        history
    }

    /// Whether it joins the parts of one process.
    pub(crate) fn is_inner(self) -> bool {
        self.sender.is_kind(kind::INNER)
    }

    /// Joins the parts of one process, or not. No process knows the channel yet.
    pub(super) fn set_inner(self, is_inner: bool) {
        self.sender.set_kind(kind::INNER, is_inner);
    }

    pub(crate) fn count(self, end: End) -> u64 {
        self.word(end).load().count()
    }

    /// Messages sent, as far as published, or received.
    pub(crate) fn messages(self, end: End) -> u64 {
        self.before(self.count(end))
    }

    /// How many messages went before the one of this number.
    pub(crate) fn before(self, number: u64) -> u64 {
        number.saturating_sub(self.base.load(Relaxed))
    }

    /// Messages that it was created with; asked before it is used.
    pub(crate) fn initial(self) -> u32 {
        u32::try_from(self.messages(End::Sender)).unwrap_or(u32::MAX)
    }

    /// Whether the peer of `end` waits for it; and if the channel is as `seen` then.
    pub(crate) fn seen(self, end: End) -> Seen {
        self.word(end).load()
    }
}

/// The address that says where a process waits, whether it takes what it is given or not, and was served or not.
#[inline(always)]
pub(super) fn without_tags(waits_at: *mut ()) -> *mut () {
    waits_at.map_addr(|address| address & !(SERVED | TAKES))
}

/// Whether a process that waits there was given a message.
pub(super) fn is_given(waits_at: *mut ()) -> bool {
    waits_at.addr() & (SERVED | TAKES) == SERVED | TAKES
}

impl End {
    #[inline(always)]
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

    pub(crate) fn has_flag(&self, bit: u8) -> bool {
        self.cold.flags.load(Relaxed) & bit != 0
    }

    pub(crate) fn set_flag(&self, bit: u8) {
        // Release: what led to the flag is visible to the thread that acts on it.
        self.cold.flags.fetch_or(bit, Release);
    }
}

impl Line {
    fn new() -> Self {
        Self {
            word: Word::new(0),
            history: UnsafeCell::new(None),
            scales: Scales::default(),
            wire: Cell::new(None),
        }
    }
}

impl Side {
    fn new(kind: u8) -> Self {
        Self {
            word: Word::new(0),
            local: Cell::new(0),
            credit: Cell::new(0),
            mask: Cell::new(0),
            row: Cell::new(ptr::null_mut()),
            owner: AtomicPtr::new(ptr::null_mut()),
            listed: Cell::new(false),
            told: AtomicU8::new(0),
            kind: kind.into(),
            given_by: Cell::new(0),
            statistic: AtomicU32::new(0),
        }
    }

    fn restart(&self, base: u64) {
        self.local.set(base);
        self.credit.set(0);
        self.set_row(ptr::null_mut(), 0);
        self.owner.store(ptr::null_mut(), Relaxed);
        self.listed.set(false);
        self.told.store(0, Relaxed);
        self.set_kind(kind::SMALL, false);
        self.statistic.store(0, Relaxed);
    }

    /// Tells of publications from now on what the bits of [`told`] name.
    ///
    /// Relaxed, as is [`tells`](Self::tells): said before anything runs, or its effect is waited for.
    pub(crate) fn tell(&self, what: u8) {
        self.told.fetch_or(what, Relaxed);
    }

    /// Whether that is told.
    #[inline]
    pub(crate) fn tells(&self, what: u8) -> bool {
        self.told.load(Relaxed) & what != 0
    }

    /// Whether nothing else than a worker's process is told of its publications.
    #[inline(always)]
    pub(super) fn tells_nothing(&self) -> bool {
        self.told.load(Relaxed) == 0
    }

    /// Whether what is received is recorded.
    #[inline(always)]
    pub(crate) fn is_recorded(&self) -> bool {
        self.is_kind(kind::RECORDED)
    }

    /// Bits of [`kind`].
    #[inline(always)]
    pub(super) fn kind(&self) -> u8 {
        self.kind.load(Relaxed)
    }

    #[inline]
    pub(super) fn is_kind(&self, bit: u8) -> bool {
        self.kind.load(Relaxed) & bit != 0
    }

    pub(super) fn set_kind(&self, bit: u8, is_set: bool) {
        let others = self.kind.load(Relaxed) & !bit;
        self.kind.store(others | if is_set { bit } else { 0 }, Relaxed);
    }

    /// Finds its slots there from now on.
    pub(super) fn set_row(&self, row: *mut u8, mask: u32) {
        self.row.set(row);
        self.mask.set(mask);
    }

    /// Whether there are slots.
    #[inline]
    pub(super) fn is_set_up(&self) -> bool {
        !self.row.get().is_null()
    }
}
