//! The order in which messages take the slots of a channel that has grown.
//!
//! When the sender of a full channel is told to grow, it allocates a further segment and puts it into
//! the order of slots *where it is*: before the slot of the oldest message. That order is a *cycle*
//! of *runs*, which are parts of segments; the cycle before stays as it was, and is the receiver's
//! until it comes to the first message of the new one.
//!
//! ```text
//!   before    a  b  c  d  e  f        full: the next message, A, would come to c, where the
//!                   ^ A               receiver is
//!   after     N  N  N  c  d  e  f  a  b
//!             ^ A      ^ the oldest message, which the receiver reads as before
//! ```
//!
//! So every slot is used again and again, whatever the channel holds and however it slides through
//! them: what is allocated is the capacity. Nothing is copied, nothing is locked, and no slot is freed
//! before the channel is.
//!
//! # Which side does what, and when
//!
//! | state | what is so | which side leaves it, and how |
//! |---|---|---|
//! | plain | one segment of a power of two; both rows wrap by their masks; no `Growth` | the sender, when told to grow: makes the `Growth`, whose first cycle is that segment |
//! | one cycle | both sides go through the runs of the same cycle | the sender, when told to grow: `grow` |
//! | followed | the sender is in the newest cycle, the receiver in an older one, each followed by the next | the receiver, when it comes to `switch_at`: frees its cycle, enters the next |
//!
//! | field | written by | when |
//! |---|---|---|
//! | `asked`, `slots` | the resolver, under its lock: the capacity to grow to, and all slots there are to be | while the sender is parked at the full channel |
//! | a cycle | the sender | before it links it; never after |
//! | `switch_at`, then `next` | the sender, once | before it publishes message `switch_at` |
//! | the sender's row and place, `segments` | the sender | |
//! | the receiver's row and place | the receiver | in a look, so never while it uses a slot in place |
//! | a slot | the sender, until it publishes; then the receiver, until it publishes | |
//!
//! # Why it is right
//!
//! *No side comes to a slot too early.* Let the cycle before have `T` slots, all full or free for the
//! sender alone when message `A` is to be sent, and the new segment `s`. Messages `A` to `A + s - 1`
//! take the new slots. Message `A + s + k` takes the slot of `A - T + k`, the `k`-th oldest, and is
//! sent only if fewer than the capacity, at most `T + s`, are on their way: then `A - T + k` has been
//! received, and that was published. From there on the cycle repeats itself.
//!
//! *The receiver takes every message where it was put.* It goes through a cycle that does not change,
//! as the sender did that put the messages there. It leaves it at `switch_at`, and knows of that in
//! time: `next` is written before message `switch_at` is published, so a receiver that sees that
//! message, or a later one, sees `next`. It asks at every look and takes no credit beyond.
//!
//! *A cycle that is left is the receiver's alone*: the sender went on when it linked the next, and
//! nothing else looks at cycles.
//!
//! *By exactly one.* The centralised form raises the capacity by one each time; the slots of a segment
//! are there before the capacity counts them. A segment is linked only when all are counted.
//!
//! # Rows
//!
//! A side's row is one run, as long as it is in it: the slot of message `n` is `slots + n` messages,
//! with the lower 32 bits of `n`. So `slots` points to where message 0 would be, which is nowhere, and
//! a row ends where those bits begin anew, if not before.

use super::raw::{ChannelRef, End, FEW, ROOMY, Side, kind};
use super::ring::MessageType;
use kahn_engine::sync::{AtomicPtr, Cell, Ordering::*};
use std::ptr::{self, NonNull};

/// What a channel has more than a plain one.
#[derive(Debug)]
pub(super) struct Growth {
    sender: Place,
    receiver: Place,
    began_with: u32,
    /// Every segment with its slots, but for one that is part of the channel. The sender's.
    segments: Cell<*mut Segment>,
}

/// Where a side is.
#[derive(Debug)]
struct Place {
    cycle: Cell<*mut Cycle>,
    /// The message that its row has no slot for.
    end: Cell<u64>,
}

/// A segment, and the one allocated before it.
#[derive(Debug)]
struct Segment {
    start: *mut u8,
    slots: u32,
    before: *mut Segment,
}

/// Slots in the order in which messages take them, round and round.
#[derive(Debug)]
struct Cycle {
    next: AtomicPtr<Cycle>,
    switch_at: Cell<u64>,
    /// A message whose slot is the first.
    from: u64,
    slots: u64,
    runs: Vec<Run>,
}

/// Slots in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: *mut u8,
    slots: u32,
}

impl Cycle {
    fn new(from: u64, runs: Vec<Run>) -> *mut Self {
        let slots = runs.iter().map(|run| u64::from(run.slots)).sum();
        let (next, switch_at) = (AtomicPtr::new(ptr::null_mut()), Cell::new(0));
        Box::into_raw(Box::new(Self { next, switch_at, from, slots, runs }))
    }

    fn slots(&self) -> u32 {
        u32::try_from(self.slots).expect("no channel has more")
    }

    /// The run in which a message lies, and the slots before its own in it.
    fn find(&self, number: u64) -> (usize, u32) {
        let mut left = (number - self.from) % self.slots;
        let run = self.runs.iter().position(|run| {
            let is_here = left < u64::from(run.slots);
            left -= if is_here { 0 } else { u64::from(run.slots) };
            is_here
        });
        let left = u32::try_from(left).expect("fewer than the slots of a run");
        (run.expect("within the cycle"), left)
    }

    /// The runs from the slot of this message on, round to it: where it cuts a run, as two.
    fn runs_from(&self, number: u64, stride: usize) -> impl Iterator<Item = Run> {
        let (at, before) = self.find(number);
        let cut = self.runs[at];
        let skipped = cut.start.wrapping_byte_add(before as usize * stride);
        let first = Run { start: skipped, slots: cut.slots - before };
        let last = Run { start: cut.start, slots: before };
        let (earlier, later) = (&self.runs[..at], &self.runs[at + 1..]);
        let all = [first].into_iter().chain(later.iter().chain(earlier).copied()).chain([last]);
        all.filter(|run| run.slots > 0)
    }

    /// The cycle after this one, and the first message in it.
    fn following(&self) -> Option<(NonNull<Self>, u64)> {
        // Acquire pairs with the Release in `grow`: what the cycle says is seen.
        let next = NonNull::new(self.next.load(Acquire))?;
        Some((next, self.switch_at.get()))
    }
}

impl Place {
    fn new(cycle: *mut Cycle) -> Self {
        // Ended before it began: the next look enters a run.
        Self { cycle: Cell::new(cycle), end: Cell::new(0) }
    }

    fn cycle(&self) -> &Cycle {
        // SAFETY: a side's cycle lives until the side has left it.
        unsafe { &*self.cycle.get() }
    }

    fn enter(&self, cycle: *mut Cycle) {
        self.cycle.set(cycle);
        self.end.set(0);
    }

    /// How many of `most` messages have slots in the row of this side, which goes on if it must.
    fn reach(&self, side: &Side, most: u64, stride: usize) -> u64 {
        let number = side.local.get();
        if number >= self.end.get() {
            let cycle = self.cycle();
            let (run, before) = cycle.find(number);
            let Run { start, slots } = cycle.runs[run];
            let low = number & u64::from(u32::MAX);
            #[expect(clippy::cast_possible_truncation, reason = "32 bits")]
            let back = (low as usize).wrapping_sub(before as usize).wrapping_mul(stride);
            side.set_row(start.wrapping_byte_sub(back), u32::MAX);
            let end = number + u64::from(slots - before);
            self.end.set(end.min((number | u64::from(u32::MAX)) + 1));
        }
        most.min(self.end.get() - number)
    }
}

impl Growth {
    fn place(&self, end: End) -> &Place {
        match end {
            End::Sender => &self.sender,
            End::Receiver => &self.receiver,
        }
    }

    /// Makes what a channel needs whose slots are one segment, with message `from` in the first slot;
    /// `is_own`: it is a part of the channel.
    fn new(from: u64, start: *mut u8, slots: u32, is_own: bool) -> *mut Self {
        let cycle = Cycle::new(from, vec![Run { start, slots }]);
        let growth = Self {
            sender: Place::new(cycle),
            receiver: Place::new(cycle),
            began_with: slots,
            segments: Cell::new(ptr::null_mut()),
        };
        if !is_own {
            growth.note(start, slots);
        }
        Box::into_raw(Box::new(growth))
    }

    fn note(&self, start: *mut u8, slots: u32) {
        let before = self.segments.get();
        self.segments.set(Box::into_raw(Box::new(Segment { start, slots, before })));
    }

    /// Sender: puts a segment before the slot of its next message, the oldest's.
    fn grow(&self, sender: &Side, start: *mut u8, slots: u32, stride: usize) {
        let (old, at) = (self.sender.cycle(), sender.local.get());
        self.note(start, slots);
        let mut runs = vec![Run { start, slots }];
        runs.extend(old.runs_from(at, stride));
        let new = Cycle::new(at, runs);
        old.switch_at.set(at);
        // Release pairs with the Acquire in `following`.
        old.next.store(new, Release);
        self.sender.enter(new);
    }

    /// Frees the segments. All messages are gone, and the channel is not used any more.
    unsafe fn free(this: *mut Self, types: &MessageType) {
        // SAFETY: made by `new`; the caller gives it up.
        let this = unsafe { Box::from_raw(this) };
        let mut cycle = this.receiver.cycle.get();
        while let Some(whole) = NonNull::new(cycle) {
            // SAFETY: made by `Cycle::new`; the receiver's is the oldest that is left.
            let whole = unsafe { Box::from_raw(whole.as_ptr()) };
            cycle = whole.next.load(Acquire);
        }
        let mut segment = this.segments.get();
        while let Some(whole) = NonNull::new(segment) {
            // SAFETY: made by `note`.
            let Segment { start, slots, before } = *unsafe { Box::from_raw(whole.as_ptr()) };
            // SAFETY: allocated for messages of this type; the rest is said by the caller.
            unsafe { (types.free_segment)(start, slots) };
            segment = before;
        }
    }
}

impl ChannelRef {
    fn growth(&self) -> Option<&Growth> {
        // Relaxed: the word that showed a message orders it, as `next` of a cycle.
        let growth = self.cold.growth.load(Relaxed);
        // SAFETY: made by `Growth::new`, and alive until the channel's slots are freed.
        unsafe { growth.as_ref() }
    }

    /// Whether the slots are one segment: then a side goes on without looking where they are.
    #[inline(always)]
    pub(super) fn is_one_segment(self) -> bool {
        // Relaxed: whether there is more is all that is read.
        self.cold.growth.load(Relaxed).is_null()
    }

    /// How many of `most` messages that there is credit for a side may put, or take, one after the
    /// other. The receiver has seen that there are so many.
    #[inline]
    pub(super) fn reach(self, end: End, most: u64) -> u64 {
        if self.is_one_segment() { most } else { self.reach_in_runs(end, most) }
    }

    #[inline(never)]
    fn reach_in_runs(self, end: End, mut most: u64) -> u64 {
        // Acquire pairs with the Release of the thread that made it.
        // SAFETY: as in `growth`.
        let growth = unsafe { &*self.cold.growth.load(Acquire) };
        let (side, place) = (self.side(end), growth.place(end));
        while let Some((next, switch_at)) = place.cycle().following() {
            let number = side.local.get();
            if number < switch_at {
                most = most.min(switch_at - number);
                break;
            }
            let old = place.cycle.get();
            place.enter(next.as_ptr());
            // SAFETY: the sender, whose cycle is never followed, left it when it linked the next.
            drop(unsafe { Box::from_raw(old) });
        }
        place.reach(side, most, self.types.get().stride)
    }

    /// The capacity before it grew.
    pub(super) fn began_with(self) -> u32 {
        let capacity = self.cold.capacity.load(Relaxed);
        self.growth().map_or(capacity, |growth| growth.began_with)
    }

    /// Makes the slots of a channel that has none, whose next message is `from`.
    pub(super) fn set_up(self, from: u64) {
        let (types, capacity) = (self.types.get(), self.cold.capacity.load(Relaxed));
        let is_own = capacity == 1 && types.is_small;
        let start = if is_own { self.own_slot() } else { (types.new_segment)(capacity) };
        let mask = capacity - 1;
        for side in [&self.sender, &self.receiver] {
            // The receiver looks there only after it has seen a message.
            side.set_row(start, mask);
        }
        if !capacity.is_power_of_two() {
            // Relaxed: as above.
            self.cold.growth.store(Growth::new(from, start, capacity, false), Relaxed);
        } else if capacity < FEW && !self.receiver.is_recorded() {
            self.sender.set_kind(kind::SMALL, true);
        }
    }

    /// Sender: grows the full channel, if the resolver has told it to.
    pub(super) fn grow_if_asked(self) -> bool {
        let (cold, types) = (&self.cold, self.types.get());
        let (capacity, asked) = (cold.capacity.load(Relaxed), cold.asked.load(Relaxed));
        if asked <= capacity {
            return false;
        }
        let allocated = self.growth().map_or(capacity, |growth| growth.sender.cycle().slots());
        let more = cold.slots.load(Relaxed) - allocated;
        if more > 0 {
            if cold.growth.load(Relaxed).is_null() {
                let (start, is_own) = (self.sender.row.get(), self.has_own_slot());
                let growth = Growth::new(0, start, capacity, is_own);
                // Release pairs with the Acquire in `reach_in_runs`.
                cold.growth.store(growth, Release);
            }
            let growth = self.growth().expect("made above");
            growth.grow(&self.sender, (types.new_segment)(more), more, types.stride);
        }
        cold.capacity.store(asked, Relaxed);
        self.sender.set_kind(kind::SMALL, false);
        true
    }

    fn has_own_slot(self) -> bool {
        ptr::eq(self.sender.row.get(), self.own_slot())
    }

    fn own_slot(self) -> *mut u8 {
        self.cold.slot.get().cast()
    }

    /// Calls `f` with the number and the slot of each message that is in the channel, which is not in use.
    pub(super) fn for_each_slot(self, mut f: impl FnMut(u64, *mut u8)) {
        let stride = self.types.get().stride;
        let (side, end) = (&self.receiver, self.sender.local.get());
        let begin = side.local.get();
        while side.local.get() < end {
            let number = side.local.get();
            let some = self.reach(End::Receiver, end - number);
            for number in number..number + some {
                #[expect(clippy::cast_possible_truncation, reason = "masked to 32 bits")]
                let index = (number as u32 & side.mask.get()) as usize;
                f(number, side.row.get().wrapping_byte_add(index * stride));
            }
            side.local.set(number + some);
        }
        side.local.set(begin);
    }

    /// Frees the slots, which are empty. There may be none.
    ///
    /// # Safety
    /// The channel is not in use.
    pub(super) unsafe fn free_slots(self) {
        // SAFETY: said by the caller.
        unsafe { self.take_slots().free(self.types.get()) };
    }

    /// The channel has no slots any more.
    fn take_slots(self) -> Slots {
        // No read-modify-write: no other thread touches what is not in use.
        let growth = self.cold.growth.load(Relaxed);
        self.cold.growth.store(ptr::null_mut(), Relaxed);
        let slots = Slots {
            growth,
            start: if self.has_own_slot() { ptr::null_mut() } else { self.sender.row.get() },
            capacity: self.cold.capacity.load(Relaxed),
        };
        for side in [&self.sender, &self.receiver] {
            side.set_row(ptr::null_mut(), 0);
        }
        self.sender.set_kind(kind::SMALL, false);
        slots
    }

    /// Gives the channel another capacity, with room for the messages in it. It is not in use yet.
    pub(super) fn resize(self, capacity: u32) {
        let (types, begin) = (self.types.get(), self.receiver.local.get());
        let mut from = Vec::new();
        self.for_each_slot(|_, slot| from.push(slot));
        let slots = self.take_slots();
        self.cold.set_capacity(capacity);
        if !from.is_empty() {
            self.set_up(begin);
            let mut from = from.into_iter();
            self.for_each_slot(|_, to| {
                let from = from.next().expect("as many as there were");
                // SAFETY: the one slot has a message, which is given up, and the other none.
                unsafe { ptr::copy_nonoverlapping(from, to, types.size) };
            });
            // The sides begin again.
            if let Some(growth) = self.growth() {
                growth.receiver.end.set(0);
            }
        }
        // SAFETY: emptied, and not in use.
        unsafe { slots.free(types) };
        if capacity < ROOMY {
            self.bring_words_home();
        }
    }
}

/// The slots of a channel, taken from it.
struct Slots {
    growth: *mut Growth,
    /// The only segment, if there is no growth; null if there is none, or it is part of the channel.
    start: *mut u8,
    capacity: u32,
}

impl Slots {
    /// # Safety
    /// They are those of a channel with such messages, empty, and not in use.
    unsafe fn free(self, types: &MessageType) {
        if !self.growth.is_null() {
            // SAFETY: said by the caller.
            unsafe { Growth::free(self.growth, types) };
        } else if !self.start.is_null() {
            // SAFETY: as above: the segment that the channel began with.
            unsafe { (types.free_segment)(self.start, self.capacity) };
        }
    }
}
