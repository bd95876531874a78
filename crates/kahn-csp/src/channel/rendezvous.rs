//! The place where a sender and a receiver meet, without the type of their messages.
//!
//! ```text
//!   word · network · messages so far · the last user of each end
//!   the waiter: its slot, its offer          name, or the buffer with its name      one cache line
//! ```
//!
//! | flag | means |
//! |---|---|
//! | `SENDER_WAITS`, `RECEIVER_WAITS` | the side is entered; it may be an offer that was taken elsewhere |
//! | `SENDER_HELD` | the sender's message is taken, and the receiver acts before it lets the sender go |
//! | `SENDER_RUNS` | … and the sender has not come back to wait for that; its slot is known |
//! | `RETURNED`, `RETURNED_POISON` | … and got its message back before it came: the receiver has failed |
//! | `SENDER_GONE`, `RECEIVER_GONE` | that end was dropped |
//! | `SENDER_POISON`, `RECEIVER_POISON` | … with poison |
//! | `MESSAGES`, `ROOM` | of a buffer |
//! | `EXCHANGE` | both give and both take; for the report |
//! | `SENDER_KEPT`, `RECEIVER_KEPT` | that end was there when the run was over; likewise |
//!
//! **The second to come does the work.** The first enters itself after it has left its poll
//! ([`Rendezvous::enter`]); the second, running, finds it, moves the message straight from slot to
//! slot, marks the first one's slot `Done`, makes it ready and goes on. So there is one change of
//! process for each communication, and no memory but the two slots in the futures.
//!
//! *The usual case.* Both wait for nothing else: the first leaves the whole channel to the second, see
//! [`word`](crate::channel::word). Its slot stands in its header then, and all that follows is for
//! whatever is entered in another way, and for those that look.
//!
//! *What may be touched when.* Everything is in plain cells behind the gate, which is the word. Which process used an
//! end is written by that end's process alone, when it begins to use it. The slot of a side that is
//! entered belongs to the one that holds the gate and owns the waiting process: for a plain entry that
//! is the one that finds it under the gate, for an offer the one that took it (see `wait::select`). Its owner
//! touches it again when it is resumed, or after it has left, which needs the gate.
//!
//! *At most one side is entered*, so there is room for one. The one that enters has found none at the other
//! side behind the same gate, or an offer that was taken elsewhere, and has struck that out. A
//! sender that is held enters while its receiver acts; a receiver that comes back first lets it go,
//! and so does one that is dropped.
//! A process that leaves knows its own entry by its slot. One that looks is not entered: if its side's
//! flag is up, an alternation was forgotten there, and the flag comes down.
//!
//! *No process runs twice at once.* A process is entered when it has left its poll. Finding it under
//! the gate comes after its entry under the gate, so all that it did is visible.
//!
//! *No wake-up is lost.* The one that enters looks, under the same gate, whether there is something to
//! do; if there is, the process is polled again, and does it.
//!
//! *Memory.* A rendezvous is a block of type-stable memory (see `blocks`). Each end marks itself gone under the gate;
//! the one that is second gives the block back.

use crate::channel::blocks::{self, Unread};
use crate::channel::word::{LEFT, Word};
use crate::language::common::Common;
use crate::language::csp::Worker;
use crate::language::header::Communicates;
use crate::wait::place;
use crate::wait::select::{self, Taken, Ticket};
use crate::wait::waiter::{How, Waiter, Wake};
use kahn_engine::TaskRef;
#[cfg(loom)]
use kahn_engine::sync::Arc;
use kahn_engine::sync::{Access, AtomicPtr, Cell, Ordering::*, PlainAtomicU64, fence};
use kahn_engine::task::Task;
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

/// Flags of a meeting's gate.
pub(crate) mod flag {
    use crate::channel::word::FIRST_FLAG as FIRST;

    pub(crate) const RECEIVER_WAITS: u32 = FIRST;
    pub(crate) const SENDER_WAITS: u32 = FIRST << 1;
    pub(crate) const SENDER_GONE: u32 = FIRST << 2;
    pub(crate) const RECEIVER_GONE: u32 = FIRST << 3;
    pub(crate) const SENDER_POISON: u32 = FIRST << 4;
    pub(crate) const RECEIVER_POISON: u32 = FIRST << 5;
    pub(crate) const SENDER_HELD: u32 = FIRST << 6;
    pub(crate) const ROOM: u32 = FIRST << 7;
    pub(crate) const MESSAGES: u32 = FIRST << 8;
    pub(crate) const EXCHANGE: u32 = FIRST << 9;
    pub(crate) const SENDER_KEPT: u32 = FIRST << 10;
    pub(crate) const RECEIVER_KEPT: u32 = FIRST << 11;
    pub(crate) const SENDER_RUNS: u32 = FIRST << 12;
    pub(crate) const RETURNED: u32 = FIRST << 13;
    pub(crate) const RETURNED_POISON: u32 = FIRST << 14;
}

/// How far the flag of a buffer stands above that of the side which waits at it.
const BUFFER: u32 = 7;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// The side that has this flag.
    #[inline]
    pub(crate) fn of_waits(waits: u32) -> Self {
        const {
            assert!(flag::RECEIVER_WAITS as usize == place::RECEIVE << place::SIDE_BELOW_FLAG);
            assert!(flag::SENDER_WAITS as usize == place::SEND << place::SIDE_BELOW_FLAG);
        }
        if waits == flag::SENDER_WAITS { Self::Sender } else { Self::Receiver }
    }

    pub(crate) fn waits(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_WAITS,
            Self::Receiver => flag::RECEIVER_WAITS,
        }
    }

    /// The flags that leave this side something to do.
    #[inline]
    pub(crate) fn ready(self) -> u32 {
        match self {
            Self::Sender => flag::RECEIVER_WAITS | flag::RECEIVER_GONE | flag::ROOM,
            Self::Receiver => {
                flag::SENDER_WAITS | flag::SENDER_HELD | flag::SENDER_GONE | flag::MESSAGES
            }
        }
    }

    /// The flag of a buffer that leaves this side nothing to do.
    #[inline(always)]
    pub(crate) fn blocked(self) -> u32 {
        // The flags stand so that it takes one instruction.
        const {
            assert!(flag::MESSAGES == flag::SENDER_WAITS << BUFFER, "a full buffer");
            assert!(flag::ROOM == flag::RECEIVER_WAITS << BUFFER, "an empty buffer");
        }
        self.waits() << BUFFER
    }

    pub(crate) fn gone(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_GONE,
            Self::Receiver => flag::RECEIVER_GONE,
        }
    }

    pub(crate) fn kept(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_KEPT,
            Self::Receiver => flag::RECEIVER_KEPT,
        }
    }

    pub(crate) fn poison(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_POISON,
            Self::Receiver => flag::RECEIVER_POISON,
        }
    }
}

/// The flags of a sender whose message was taken and which is not released.
pub(crate) const HELD: u32 =
    flag::SENDER_HELD | flag::SENDER_RUNS | flag::RETURNED | flag::RETURNED_POISON;

/// A process waits at one side or the other.
pub(crate) const BOTH_WAIT: u32 = flag::SENDER_WAITS | flag::RECEIVER_WAITS;

/// What waits at a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) task: TaskRef,
    pub(crate) how: How,
    /// Its slot, of the type that both ends know.
    pub(crate) slot: *const (),
    /// It receives, and acts before it lets the sender go.
    pub(crate) extended: bool,
}

impl Entry {
    /// Which process waits, and how.
    pub(crate) fn waiter(self) -> Waiter {
        Waiter { task: self.task, how: self.how }
    }
}

/// What came of looking for a partner.
#[derive(Clone, Copy, Debug)]
#[must_use = "a partner that was taken and is not woken is lost"]
pub(crate) enum Partner {
    /// Its slot and its process are ours; `wake` it unless it is not asleep yet.
    Found { entry: Entry, wake: Wake },
    /// No process is there.
    None,
    /// We were taken ourselves meanwhile.
    WeWere,
}

/// What an entry has beside its process and its slot, in two words of 32 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    ticket: Ticket,
    /// The number of the guard, and `OFFER` if it has one; `EXTENDED`.
    guard: u32,
}

const OFFER: u32 = 1 << 31;
const EXTENDED: u32 = 1 << 30;

impl Terms {
    const NONE: Self = Self { ticket: 0, guard: 0 };

    #[inline(always)]
    pub(super) fn of(entry: Entry) -> Self {
        let extended = if entry.extended { EXTENDED } else { 0 };
        match entry.how {
            How::Plain => Self { ticket: 0, guard: extended },
            How::Offer { ticket, guard } => Self { ticket, guard: guard | OFFER | extended },
        }
    }

    #[inline]
    fn is_plain(self) -> bool {
        self.guard & OFFER == 0
    }

    #[inline]
    fn is_extended(self) -> bool {
        self.guard & EXTENDED != 0
    }

    #[inline]
    fn how(self) -> How {
        if self.is_plain() {
            return How::Plain;
        }
        How::Offer { ticket: self.ticket, guard: self.guard & !(OFFER | EXTENDED) }
    }
}

/// What stands first in the buffer of a channel, whatever its messages.
#[derive(Debug)]
pub(crate) struct BufferHead {
    pub(crate) name: Name,
    pub(crate) capacity: usize,
    /// Takes the messages out, for a caller that has locked the gate.
    pub(super) empty: unsafe fn(NonNull<Self>) -> Unread,
}

/// A name, or a buffer that has it.
#[derive(Debug)]
pub(crate) enum Label {
    Name(Name),
    Buffer(NonNull<BufferHead>),
}

/// See the module.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Rendezvous {
    pub(crate) gate: Word,
    /// The network it was made in.
    network: Cell<u32>,
    /// Communications so far.
    met: PlainAtomicU64,
    /// The process that used each end last; of a side that is entered, the one that waits there. Of an end
    /// that was dropped an odd number, which is no process: the digest of the one that dropped it.
    pub(super) users: [AtomicPtr<Task>; 2],
    /// Where the message of the one that is entered behind the lock stands, or is to stand; null
    /// without one.
    pub(super) slot: Cell<*const ()>,
    pub(super) terms: Cell<Terms>,
    /// Written behind the gate, before anyone has an end.
    label: UnsafeCell<Label>,
    /// What its network has in common; else it stands in front of its chunk.
    #[cfg(loom)]
    common: Option<Arc<Common>>,
}

// One cache line, its own.
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Rendezvous>() == 64, "a channel grows by a cache line");

/// No network has this number.
const NO_NETWORK: u32 = 0;

impl Rendezvous {
    /// A block that is no channel.
    #[cfg(not(loom))]
    pub(crate) fn nobody() -> Self {
        Self::new(NO_NETWORK, Label::Name(Name::from("")))
    }

    pub(crate) fn new(network: u32, label: Label) -> Self {
        Self {
            gate: Word::new(label.flags()),
            network: Cell::new(network),
            met: PlainAtomicU64::new(0),
            users: [AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut())],
            slot: Cell::new(ptr::null()),
            terms: Cell::new(Terms::NONE),
            label: UnsafeCell::new(label),
            #[cfg(loom)]
            common: None,
        }
    }

    /// A channel of a model.
    #[cfg(loom)]
    pub(super) fn in_model(common: &Arc<Common>, label: Label) -> Self {
        Self { common: Some(Arc::clone(common)), ..Self::new(common.number, label) }
    }

    /// What its network has in common.
    #[cfg(loom)]
    pub(super) fn common(&self) -> &Arc<Common> {
        self.common.as_ref().expect("a channel of a model has it")
    }

    /// Begins another channel in this block.
    #[cfg(not(loom))]
    pub(crate) fn begin(&self, network: u32, label: Label) {
        let flags = label.flags();
        self.gate.lock(Access::SHARED);
        self.network.set(network);
        self.met.store(0, Relaxed);
        self.users.iter().for_each(|user| user.store(ptr::null_mut(), Relaxed));
        // SAFETY: behind the gate, and no end exists yet.
        unsafe { *self.label.get() = label };
        self.gate.unlock(flags);
    }

    /// Ends the channel: what looks at the block finds no process. Its buffer is left.
    pub(crate) fn end(&self) -> Option<NonNull<BufferHead>> {
        self.gate.lock(Access::SHARED);
        let buffer = self.buffer();
        self.network.set(NO_NETWORK);
        // SAFETY: behind the gate, and no end exists any more.
        unsafe { *self.label.get() = Label::Name(Name::from("")) };
        self.gate.unlock(0);
        buffer
    }

    /// The network it was made in; for the holder of an end.
    #[inline]
    pub(crate) fn network(&self) -> u32 {
        self.network.get()
    }

    /// For the holder of an end or of the gate.
    fn label(&self) -> &Label {
        // SAFETY: changes only while no end exists, behind the gate.
        unsafe { &*self.label.get() }
    }

    /// Its name; for the holder of an end or of the gate.
    pub(crate) fn name(&self) -> &Name {
        match self.label() {
            Label::Name(name) => name,
            // SAFETY: there while the label says so; this part of it does not change.
            Label::Buffer(buffer) => unsafe { &(*buffer.as_ptr()).name },
        }
    }

    /// Its buffer, if it has one; likewise.
    pub(crate) fn buffer(&self) -> Option<NonNull<BufferHead>> {
        match *self.label() {
            Label::Name(_) => None,
            Label::Buffer(buffer) => Some(buffer),
        }
    }

    /// Its flags: a hint, for one that only looks.
    pub(crate) fn flags(&self) -> u32 {
        self.gate.look()
    }

    /// How many messages its buffer holds at most; 0 without one. Likewise as for its buffer.
    pub(crate) fn capacity(&self) -> usize {
        // SAFETY: there while the label says so, and does not change.
        self.buffer().map_or(0, |buffer| unsafe { (*buffer.as_ptr()).capacity })
    }

    /// Whether a process is entered at a side, or held there: behind the gate, or as a hint.
    pub(crate) fn has(&self, side: Side, flags: u32, task: TaskRef) -> bool {
        let held = if side == Side::Sender { flag::SENDER_HELD } else { 0 };
        let is_entered = flags & (side.waits() | held) != 0 && flags & flag::SENDER_RUNS == 0;
        is_entered && self.user(side) == task.as_ptr()
    }

    /// Behind the gate, with `SENDER_HELD` up: the slot of the sender.
    pub(super) fn held_slot(&self) -> *const () {
        self.slot.get()
    }

    /// Behind the gate: holds a sender that runs, and notes where its message goes if it comes back.
    pub(super) fn hold_running(&self, flags: &mut u32, slot: *const ()) {
        *flags |= flag::SENDER_HELD | flag::SENDER_RUNS;
        self.slot.set(slot);
    }

    /// Behind the gate: a process that runs uses an end, so none waits there.
    #[inline]
    pub(crate) fn looks(&self, side: Side, flags: &mut u32, task: TaskRef) {
        debug_assert_ne!(*flags & (LEFT | side.waits()), LEFT | side.waits(), "it would sleep");
        *flags &= !side.waits();
        self.used_by(side, task);
    }

    /// Behind the gate: the process that used an end last, if the end is still there; it may have
    /// ended, unless it waits.
    #[inline]
    pub(crate) fn user(&self, side: Side) -> *const Task {
        // Relaxed: the word hands it over.
        self.users[side as usize].load(Relaxed)
    }

    /// Behind the gate: notes that an end is dropped, by which process, and whether the run is over. No
    /// process waits there.
    pub(crate) fn dropped(&self, side: Side, flags: &mut u32, by: Option<&Worker>) {
        let held = if side == Side::Sender { HELD } else { 0 };
        // The run is over, and the operation was forgotten that waits there.
        let left = if *flags & side.waits() != 0 { LEFT } else { 0 };
        *flags = *flags & !(side.waits() | held | left) | side.gone();
        if by.is_none_or(|worker| worker.scheduler().is_ending()) {
            *flags |= side.kept();
        }
        let task = by.and_then(|worker| worker.current());
        let digest = task.map_or(ptr::null_mut(), |task| {
            ptr::without_provenance_mut(task.info().identity.digest())
        });
        self.users[side as usize].store(digest, Relaxed);
    }

    /// Behind the gate: counts a communication.
    #[inline]
    pub(crate) fn count(&self) {
        self.met.store(self.met.load(Relaxed) + 1, Relaxed);
    }

    /// Communications so far.
    /// The same of the channel at an address.
    ///
    /// # Safety
    /// The caller acts for a process that has an end of it.
    pub(crate) unsafe fn met_at(channel: *const ()) -> u64 {
        // SAFETY: said by the caller.
        unsafe { &*channel.cast::<Self>() }.met()
    }

    /// What the channel at an address is called.
    ///
    /// # Safety
    /// As for [`met_at`](Self::met_at), as long as the name is used.
    pub(crate) unsafe fn name_at<'a>(channel: *const ()) -> &'a Name {
        // SAFETY: said by the caller.
        unsafe { &*channel.cast::<Self>() }.name()
    }

    /// How often processes have met here.
    pub(crate) fn met(&self) -> u64 {
        self.met.load(Relaxed)
    }

    /// Behind the gate: takes the one that waits at `side`, if one does. `by` is the process that asks,
    /// if it is itself entered elsewhere and `BUSY`.
    #[inline]
    pub(crate) fn partner(&self, side: Side, flags: &mut u32, by: Option<TaskRef>) -> Partner {
        if *flags & side.waits() == 0 {
            return Partner::None;
        }
        if *flags & LEFT != 0 {
            self.take_over(side);
            *flags &= !LEFT;
        }
        let entry = self.entry(side);
        if by == Some(entry.task) {
            // It chooses between both ends of a channel: it does not meet itself.
            return Partner::None;
        }
        let wake = match entry.how {
            How::Plain => Wake::Plain(entry.task),
            How::Offer { ticket, guard } => {
                match select::take(entry.task, ticket, guard, by) {
                    Taken::Yes(wake) => wake,
                    // It was taken elsewhere, and will find that it is not entered any more.
                    Taken::No => {
                        *flags &= !side.waits();
                        return Partner::None;
                    }
                    Taken::WeWere => return Partner::WeWere,
                }
            }
        };
        *flags &= !side.waits();
        Partner::Found { entry, wake }
    }

    /// Behind the gate, with the flag of `side` up: the one that waits there.
    #[inline]
    fn entry(&self, side: Side) -> Entry {
        // SAFETY: it waits, so it has not ended; or its block has a header all the same.
        let task = unsafe { TaskRef::from_ptr_unchecked(self.user(side).cast_mut()) };
        let terms = self.terms.get();
        Entry { task, how: terms.how(), slot: self.slot.get(), extended: terms.is_extended() }
    }

    /// The partner of one that has left the word at `side`: enters it as if it had come behind the lock.
    fn take_over(&self, side: Side) {
        let (_, slot) = self.left_at(side);
        self.slot.set(slot);
        self.terms.set(Terms::NONE);
    }

    /// The partner of one that has left the word at `side`: that one, and its slot. They are the
    /// caller's, which clears the word.
    #[inline(always)]
    pub(super) fn left_at(&self, side: Side) -> (TaskRef, *const ()) {
        // SAFETY: it sleeps, so it has not ended.
        let task = unsafe { TaskRef::from_ptr_unchecked(self.user(side).cast_mut()) };
        (task, task.slot().get())
    }

    /// The flag of the buffer, if a receiver has left the channel with these flags to its sender. One that
    /// waits at a buffer has found it empty: nothing comes before the sender's message.
    #[inline(always)]
    pub(super) fn left_by_receiver(flags: u32) -> Option<u32> {
        let buffer = flags ^ (LEFT | flag::RECEIVER_WAITS);
        (buffer & !flag::ROOM == 0).then_some(buffer)
    }

    /// Whether there may be something to do for a side: a hint.
    #[inline]
    pub(super) fn may_be_ready(&self, side: Side) -> bool {
        self.gate.look() & side.ready() != 0
    }

    /// Behind the gate: none is entered any more.
    pub(crate) fn forget(&self) {
        self.slot.set(ptr::null());
    }

    /// The run is over: takes what will not be received any more out of the buffer of a channel of
    /// that network, if it is still one.
    #[cfg_attr(loom, expect(dead_code, reason = "no model looks at channels from outside"))]
    pub(super) fn take_unread(&self, network: u32) -> Option<Unread> {
        let flags = self.gate.lock_after_the_run(BOTH_WAIT);
        let buffer = self.buffer().filter(|_| self.network.get() == network);
        let unread = buffer.map(|buffer| {
            // SAFETY: there while the label says so; this part of it does not change.
            let empty = unsafe { (*buffer.as_ptr()).empty };
            // SAFETY: behind the gate, and made for the type of its messages.
            unsafe { empty(buffer) }
        });
        let cleared = if unread.is_some() { flag::MESSAGES | flag::ROOM } else { 0 };
        self.gate.unlock(flags & !cleared);
        unread
    }

    /// Looks at a channel, for a thread that may have no end of it: calls `see` with the flags, while
    /// all of it stays as it is. `None` if it changed meanwhile.
    pub(crate) fn inspect<R>(&self, common: &Common, see: impl FnOnce(u32) -> R) -> Option<R> {
        // A channel that is left cannot be locked; its name stays as long as its block is not given back.
        blocks::while_they_stay(common, || {
            if let Some(flags) = self.gate.lock_to_look() {
                let seen = see(flags);
                self.gate.unlock(flags);
                return Some(seen);
            }
            let flags = self.gate.look();
            let seen = (flags & LEFT != 0).then(|| see(flags));
            // What was read is not older than the flags, and they are looked at once more after it.
            fence(Acquire);
            seen.filter(|_| self.gate.peek() == flags)
        })
    }
}

impl Label {
    /// What a channel begins with.
    fn flags(&self) -> u32 {
        match self {
            Self::Name(_) => 0,
            Self::Buffer(_) => flag::ROOM,
        }
    }
}
