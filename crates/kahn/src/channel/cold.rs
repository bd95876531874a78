//! What is seldom needed of a channel: which it is, how it ended, the gate of its closings, how large it
//! is, and a slot.

use super::growth::Growth;
use super::raw::{ChannelRef, End, RawChannel};
use super::ring::SmallSlot;
use kahn_engine::sync::{
    Access, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, Ordering::*, ShortLock8,
};
use kahn_report::{Identity, Name};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// Bits of [`ColdPart::flags`].
pub(crate) mod flag {
    /// Lies on no cycle of the graph as it was when the run started.
    pub(crate) const BRIDGE: u8 = 1;
    /// The sender failed: a failure mark stands after the last message.
    pub(crate) const FAILED: u8 = 2;
    /// The receiver is dead: no message will ever be taken.
    pub(crate) const DEAD_END: u8 = 4;
    /// The sender has reserved slots.
    pub(crate) const RESERVED: u8 = 8;
    /// The receiver was lent messages.
    pub(crate) const LENT: u8 = 16;
    /// The report lists it, with the processes that had its ends.
    pub(crate) const LISTED: u8 = 32;
    /// The receiver has seen its end, clean or not.
    pub(crate) const SEEN: u8 = 64;
    /// What its messages own is not known.
    pub(crate) const WEIGHT_UNKNOWN: u8 = 128;
}

/// Bits of the gate: which ends are closed, whether the sender's process had no other sender then but
/// those that closed with it, whether the process that saw the end has handed the receiver on, whether the sender's
/// process has sent here since it could be pruned last, whether the table knows how much had been received
/// when the receiver was handed on. They stand behind a lock for a few instructions.
mod gate {
    use kahn_engine::sync::ShortLock8;

    pub(super) const SENDER: u8 = ShortLock8::FIRST_FLAG;
    pub(super) const RECEIVER: u8 = 4;
    pub(super) const LAST: u8 = 8;
    pub(super) const HANDED: u8 = 16;
    pub(super) const JUST_SENT: u8 = 32;
    pub(super) const HANDED_WITHIN: u8 = 64;
    pub(super) const KEPT: u8 = 128;
}

/// What is seldom needed.
#[derive(Debug)]
pub(crate) struct ColdPart {
    pub(super) label: UnsafeCell<Option<Label>>,
    /// Messages it may hold. The sender raises it.
    pub(crate) capacity: AtomicU32,
    /// What the resolver wants it raised to, if it is more.
    pub(crate) asked: AtomicU32,
    /// Slots that the budget counts: those there are, and those the sender is asked to make.
    pub(crate) slots: AtomicU32,
    /// The worker that published messages last; see [`RawChannel::was_published_by`].
    pub(super) publisher: AtomicU16,
    gate: ShortLock8,
    pub(crate) flags: AtomicU8,
    /// What a channel has that is not plain; else null.
    pub(super) growth: AtomicPtr<Growth>,
    /// The first slot, if one for a small message is enough.
    pub(super) slot: UnsafeCell<MaybeUninit<SmallSlot>>,
}

/// Which a channel is.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) name: Name,
    pub(crate) identity: Identity,
}

impl ColdPart {
    pub(super) fn new(label: Label) -> Self {
        Self {
            label: UnsafeCell::new(Some(label)),
            capacity: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            slots: AtomicU32::new(0),
            publisher: AtomicU16::new(0),
            gate: ShortLock8::new(0),
            flags: AtomicU8::new(0),
            growth: AtomicPtr::new(ptr::null_mut()),
            slot: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Frees what it owns, when both ends are closed.
    pub(super) fn clear(&self) {
        // SAFETY: the process that asks for it has an end, and none is left; explanations look only at channels
        // of the table, which this one is leaving.
        unsafe { *self.label.get() = None };
    }

    /// Has so many slots, before it is used.
    pub(super) fn set_capacity(&self, capacity: u32) {
        self.capacity.store(capacity, Relaxed);
        self.asked.store(capacity, Relaxed);
        self.slots.store(capacity, Relaxed);
    }

    pub(super) fn restart(&self, label: Label) {
        // SAFETY: the old channel is gone, and no process knows the new one.
        unsafe { *self.label.get() = Some(label) };
        self.set_capacity(0);
        self.publisher.store(0, Relaxed);
        self.gate.unlock(0);
        self.flags.store(0, Relaxed);
    }
}

impl RawChannel {
    /// The most messages ever found waiting. A hint: the receiver writes it, and reports read it.
    pub(crate) fn most_waiting(&self) -> &AtomicU32 {
        &self.receiver.statistic
    }

    /// How often a resolver has let it grow.
    pub(crate) fn growths(&self) -> &AtomicU32 {
        &self.sender.statistic
    }

    /// Whether this worker published messages last; for counting local and remote messages.
    pub(super) fn was_published_by(&self, worker: u32) -> bool {
        // Relaxed: read after the word, whose Acquire orders it; only counted.
        self.cold.publisher.load(Relaxed) == short(worker)
    }

    /// Sender: this worker publishes messages now.
    #[inline]
    pub(super) fn publish_by(&self, worker: u32) {
        // Seldom another, and a line that is not written is not taken from the peer's worker.
        // Relaxed: the word that is published next orders it.
        if !self.was_published_by(worker) {
            self.cold.publisher.store(short(worker), Relaxed);
        }
    }

    /// Whether the thread that closed an end is done with that.
    pub(super) fn is_closed_for_good(&self, end: End) -> bool {
        Gate { bits: self.cold.gate.peek_after() }.is_closed(end)
    }

    /// Whether the sender was among the last that its process held. No end is closed meanwhile.
    pub(crate) fn was_last(&self) -> bool {
        self.cold.gate.peek_after() & gate::LAST != 0
    }

    /// Whether the sender's process could not be pruned any more when it sent the last message. No
    /// process closes an end meanwhile.
    pub(super) fn was_just_sent(&self) -> bool {
        self.cold.gate.peek_after() & gate::JUST_SENT != 0
    }

    /// Whether the sender's process had both ends of a channel, so that it could not be pruned, until it
    /// closed its last senders, of which this is one. No end is closed meanwhile.
    pub(super) fn was_kept(&self) -> bool {
        self.cold.gate.peek_after() & gate::KEPT != 0
    }

    /// Whether the process that saw its end has handed the receiver on. None is handed on meanwhile.
    pub(super) fn was_handed_on(&self) -> bool {
        self.cold.gate.peek_after() & gate::HANDED != 0
    }

    /// Whether the receiver was handed on after messages had been received: the table knows how many.
    /// None is handed on meanwhile.
    pub(super) fn was_handed_on_within(&self) -> bool {
        self.cold.gate.peek_after() & gate::HANDED_WITHIN != 0
    }

    /// Runs `f` while no other thread closes an end or hands one on.
    pub(super) fn with_gate<R>(&self, access: Access, f: impl FnOnce(&mut Gate) -> R) -> R {
        let mut gate = Gate { bits: self.cold.gate.lock(access) };
        let result = f(&mut gate);
        self.cold.gate.unlock(gate.bits);
        result
    }
}

impl ChannelRef {
    /// Notes that a slot is used in place, now and perhaps until its end is closed.
    #[inline]
    pub(super) fn lend(self, bit: u8) {
        // Mostly so, and then a plain load.
        if !self.has_flag(bit) {
            self.set_flag(bit);
        }
    }

    /// Whether a process may have hidden a guard of a slot, with the end that it borrows; asked when
    /// nothing runs. What lies in the channel stays then, for good: it may be in use.
    pub(super) fn may_lend(self) -> bool {
        let may = |bit, end| self.has_flag(bit) && !self.seen(end).is_closed();
        may(flag::RESERVED, End::Sender) || may(flag::LENT, End::Receiver)
    }
}

/// The number of a worker as channels keep it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "there are never 2^16 workers; the rest is a party's"
)]
fn short(worker: u32) -> u16 {
    worker as u16
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

    /// The receiver changes hands after the end was seen.
    pub(super) fn note_handed_on(&mut self) {
        self.bits |= gate::HANDED;
    }

    /// The receiver changes hands after messages were received.
    pub(super) fn note_handed_on_within(&mut self) {
        self.bits |= gate::HANDED_WITHIN;
    }

    /// The sender closes, among the last of its process, which could not be pruned any more when it sent
    /// the last message, or has had both ends of a channel since it could be pruned.
    pub(super) fn note_last(&mut self, just_sent: bool, is_kept: bool) {
        let and = |is: bool, bit: u8| if is { bit } else { 0 };
        self.bits |= gate::LAST | and(just_sent, gate::JUST_SENT) | and(is_kept, gate::KEPT);
    }
}
