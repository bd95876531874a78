//! Channels by their type: making them, moving a message, closing, poison.

use crate::channel::attempt::{Caller, Step, gone};
use crate::channel::blocks::{self, Unread};
use crate::channel::gone::{Gone, Outcome};
use crate::channel::rendezvous::{
    BOTH_WAIT, BufferHead, Entry, HELD, Label, Partner, Rendezvous, Side, flag,
};
use crate::channel::slot::Slot;
use crate::channel::word::LEFT;
use crate::language::common::Common;
use crate::language::csp::{Worker, access_of};
use crate::language::deferred::{Deferred, Over};
use crate::wait::place::Place;
use crate::wait::waiter::{Attempt, Wake};
use kahn_engine::TaskRef;
use kahn_engine::sync::Arc;
use kahn_report::Name;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::mem;
use std::ptr::NonNull;

/// The messages of a buffered channel.
#[repr(C)]
struct Buffer<T> {
    head: BufferHead,
    messages: VecDeque<T>,
}

/// A message that goes back to its sender, from a thread that runs no process of the network.
pub(super) struct Returned<T> {
    pub(crate) channel: Channel<T>,
    pub(crate) message: T,
}

/// Which end is to be closed, beside a pointer to its block, which is aligned: the receiver's.
const RECEIVERS: usize = 1;
/// The end is to be closed with poison.
const POISONED: usize = 2;

/// A channel by its type: what both ends point to.
pub(crate) struct Channel<T> {
    meeting: NonNull<Rendezvous>,
    type_of: PhantomData<fn(T) -> T>,
}

impl<T> Clone for Channel<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Channel<T> {}

// SAFETY: a pointer to type-stable memory; `rendezvous` says which thread may touch what.
unsafe impl<T: Send> Send for Channel<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Channel<T> {}

impl<T> Channel<T> {
    pub(crate) fn new(common: &Arc<Common>, name: Name, capacity: usize) -> Self {
        let label = if capacity == 0 {
            Label::Name(name)
        } else {
            let messages: VecDeque<T> = VecDeque::with_capacity(capacity);
            let buffer =
                Buffer { head: BufferHead { name, capacity, empty: Self::empty }, messages };
            Label::Buffer(NonNull::from(Box::leak(Box::new(buffer))).cast())
        };
        Self { meeting: blocks::make(common, label), type_of: PhantomData }
    }

    #[inline]
    pub(crate) fn meeting(&self) -> &Rendezvous {
        // SAFETY: type-stable memory, a meeting as long as an end exists.
        unsafe { self.meeting.as_ref() }
    }

    /// What the parts of its network have in common; for a thread that has an end.
    pub(super) fn common(self) -> Arc<Common> {
        // SAFETY: an end exists, so the channel does.
        unsafe { blocks::common_of(self.meeting) }
    }

    pub(crate) fn place(self) -> *const Rendezvous {
        self.meeting.as_ptr()
    }

    /// Where a process waits at one of its sides.
    #[inline]
    pub(crate) fn waits_at(self, side: Side) -> Place {
        self.meeting().waits_at(side)
    }

    /// Behind the gate: the messages of the buffer and its capacity, if there is one.
    #[expect(clippy::mut_from_ref, reason = "the gate is held, and gives one access at a time")]
    fn buffer(&self) -> Option<(&mut VecDeque<T>, usize)> {
        let buffer = self.meeting().buffer()?.cast::<Buffer<T>>().as_ptr();
        // SAFETY: made by `new` for this type, and does not change.
        let capacity = unsafe { (*buffer).head.capacity };
        // SAFETY: as above; the caller holds the gate. The one that has an end may read the head.
        Some((unsafe { &mut (*buffer).messages }, capacity))
    }

    /// Moves a message into the receiver's `slot`, if there is one.
    #[inline(always)]
    pub(crate) fn receive(
        self,
        worker: &Worker,
        task: TaskRef,
        slot: &Slot<T>,
        extended: bool,
    ) -> Attempt {
        let meeting = self.meeting();
        let flags = meeting.gate.look();
        if flags == LEFT | flag::SENDER_WAITS && !extended {
            meeting.used_by(Side::Receiver, task);
            // SAFETY: it has left the channel to us.
            let message = unsafe { self.receive_left(worker) };
            // Last, so that it stays in registers: the caller reads it at once.
            // SAFETY: ours is empty, for we wait for a message.
            unsafe { slot.fill(message) };
            return Attempt::Done;
        }
        if flags & Side::Receiver.ready() == 0 {
            return Attempt::Nothing;
        }
        self.receive_behind(worker, task, slot, extended, None)
    }

    /// Takes the message of a sender, and has that go on.
    ///
    /// # Safety
    /// The sender has left the channel, which has no buffer, to the caller's process.
    #[inline(always)]
    pub(super) unsafe fn receive_left(self, worker: &Worker) -> T {
        let meeting = self.meeting();
        let (partner, theirs) = meeting.left_at(Side::Sender);
        // SAFETY: the partner's slot is ours: its sender waits with a message in it.
        let theirs = unsafe { &*theirs.cast::<Slot<T>>() };
        // SAFETY: as above.
        let message = unsafe { theirs.read() };
        theirs.outcome.set(Outcome::Done);
        meeting.count();
        meeting.gate.clear(0);
        // SAFETY: it has left the channel to us, and nothing else takes it out of its wait.
        worker.wake_pooled(unsafe { partner.claim() });
        message
    }

    /// The same for a process that is entered here among others: at least it is entered.
    pub(super) fn receive_or_enter(
        self,
        worker: &Worker,
        task: TaskRef,
        slot: &Slot<T>,
        entry: Entry,
    ) -> Attempt {
        self.receive_behind(worker, task, slot, entry.extended, Some(entry))
    }

    /// The same, behind the gate.
    #[inline(never)]
    pub(super) fn receive_behind(
        self,
        worker: &Worker,
        task: TaskRef,
        slot: &Slot<T>,
        extended: bool,
        entry: Option<Entry>,
    ) -> Attempt {
        let meeting = self.meeting();
        let mut flags = meeting.gate.lock(worker.access());
        if flags & flag::SENDER_HELD != 0 {
            // The one that acted has forgotten to let it go, or has left that to another thread.
            meeting.gate.unlock(flags);
            self.let_go(worker);
            flags = meeting.gate.lock(worker.access());
        }
        let look = Caller { side: Side::Receiver, task, entry, outcome: &slot.outcome };
        meeting.attempt(look, flags, worker, |step, flags| match step {
            Step::Before if *flags & flag::MESSAGES != 0 => {
                Some(self.receive_buffered(slot, flags))
            }
            Step::With(partner, wake) => {
                // SAFETY: the partner's slot is ours: its sender waits with a message in it.
                let theirs = unsafe { &*partner.slot.cast::<Slot<T>>() };
                // SAFETY: as above; ours is empty, for we wait for a message.
                unsafe { slot.fill_from(theirs) };
                meeting.count();
                if extended {
                    // The sender stays: it is woken when the receiver lets it go.
                    theirs.outcome.set(Outcome::Held);
                    return Some(self.hold(wake, partner.slot, flags));
                }
                theirs.outcome.set(Outcome::Done);
                Some(wake)
            }
            Step::Before | Step::Without => None,
        })
    }

    /// Takes the first message of the buffer; a sender that waits puts its own in.
    fn receive_buffered(&self, slot: &Slot<T>, flags: &mut u32) -> Wake {
        let meeting = self.meeting();
        let (messages, capacity) = self.buffer().expect("only a buffer holds messages");
        let first = messages.pop_front().expect("the flag says that there is one");
        // SAFETY: ours is empty, for we wait for a message.
        unsafe { slot.fill(first) };
        meeting.count();
        // Never `WeWere`: our own select state is settled, so a partner is not told of it.
        let mut woken = Wake::Nobody;
        if let Partner::Found { entry: partner, wake } = meeting.partner(Side::Sender, flags, None)
        {
            // SAFETY: the partner's slot is ours: its sender waits with a message in it.
            let theirs = unsafe { &*partner.slot.cast::<Slot<T>>() };
            // SAFETY: as above.
            messages.push_back(unsafe { theirs.read() });
            theirs.outcome.set(Outcome::Done);
            woken = wake;
        }
        *flags &= !(flag::MESSAGES | flag::ROOM);
        if !messages.is_empty() {
            *flags |= flag::MESSAGES;
        }
        if messages.len() < capacity {
            *flags |= flag::ROOM;
        }
        woken
    }

    /// Moves the message out of the sender's `slot`, if a receiver or the buffer takes it.
    #[inline(always)]
    pub(crate) fn send(self, worker: &Worker, task: TaskRef, slot: &Slot<T>) -> Attempt {
        let meeting = self.meeting();
        let flags = meeting.gate.look();
        if let Some(buffer) = Rendezvous::left_by_receiver(flags) {
            meeting.used_by(Side::Sender, task);
            // SAFETY: it has left the channel to us, and ours holds the message that we are to send.
            unsafe { self.send_left(worker, slot, buffer) };
            slot.outcome.set(Outcome::Done);
            return Attempt::Done;
        }
        if flags & Side::Sender.ready() == 0 {
            return Attempt::Nothing;
        }
        self.send_behind(worker, task, slot, None)
    }

    /// Gives the message of a slot to a receiver, and has that go on.
    ///
    /// # Safety
    /// The receiver has left the channel to the caller's process, with this flag of its buffer. The slot is
    /// the caller's and holds a message.
    #[inline(always)]
    pub(super) unsafe fn send_left(self, worker: &Worker, slot: &Slot<T>, buffer: u32) {
        let meeting = self.meeting();
        let (partner, theirs) = meeting.left_at(Side::Receiver);
        // SAFETY: the partner's slot is ours: its receiver waits for a message.
        let theirs = unsafe { &*theirs.cast::<Slot<T>>() };
        // SAFETY: as above; said by the caller of the other.
        unsafe { theirs.fill_from(slot) };
        meeting.count();
        meeting.gate.clear(buffer);
        // SAFETY: it has left the channel to us, and nothing else takes it out of its wait.
        worker.wake_pooled(unsafe { partner.claim() });
    }

    /// The same for a process that is entered here among others: at least it is entered.
    pub(super) fn send_or_enter(
        self,
        worker: &Worker,
        task: TaskRef,
        slot: &Slot<T>,
        entry: Entry,
    ) -> Attempt {
        self.send_behind(worker, task, slot, Some(entry))
    }

    /// The same, behind the gate.
    #[inline(never)]
    pub(super) fn send_behind(
        self,
        worker: &Worker,
        task: TaskRef,
        slot: &Slot<T>,
        entry: Option<Entry>,
    ) -> Attempt {
        let meeting = self.meeting();
        let flags = meeting.gate.lock(worker.access());
        let look = Caller { side: Side::Sender, task, entry, outcome: &slot.outcome };
        meeting.attempt(look, flags, worker, |step, flags| match step {
            Step::With(partner, wake) => {
                // SAFETY: the partner's slot is ours: its receiver waits for a message.
                let theirs = unsafe { &*partner.slot.cast::<Slot<T>>() };
                // SAFETY: as above; ours holds the message that we are to send.
                unsafe { theirs.fill_from(slot) };
                slot.outcome.set(if partner.extended { Outcome::Held } else { Outcome::Done });
                if partner.extended {
                    meeting.hold_running(flags, std::ptr::from_ref(slot).cast());
                }
                meeting.count();
                Some(wake)
            }
            Step::Without if *flags & flag::ROOM != 0 => {
                self.send_buffered(slot, flags);
                Some(Wake::Nobody)
            }
            Step::Before | Step::Without => None,
        })
    }

    /// Puts the message into the buffer, which has room and where no receiver waits.
    fn send_buffered(self, slot: &Slot<T>, flags: &mut u32) {
        let (messages, capacity) = self.buffer().expect("only a buffer has room");
        // SAFETY: ours holds the message that we are to send.
        messages.push_back(unsafe { slot.read() });
        slot.outcome.set(Outcome::Done);
        *flags |= flag::MESSAGES;
        if messages.len() == capacity {
            *flags &= !flag::ROOM;
        }
    }

    // --- extended rendezvous ----------------------------------------------------------------------

    /// Behind the gate: a sender whose message was taken stays. Returns what is to be woken now.
    fn hold(self, wake: Wake, slot: *const (), flags: &mut u32) -> Wake {
        match wake {
            // It sleeps on in its entry, which is no longer found by its flag.
            Wake::Plain(_) => {
                *flags |= flag::SENDER_HELD;
                Wake::Nobody
            }
            // It waited for other things too: it runs, leaves those, and comes back to wait here.
            Wake::Asleep(_) | Wake::Foreign(_) | Wake::Nobody => {
                self.meeting().hold_running(flags, slot);
                wake
            }
        }
    }

    /// The sender, whose message was taken: waits for the receiver to let it go. `false` if it has.
    pub(super) fn wait_held(self, worker: &Worker, slot: &Slot<T>, entry: Entry) -> bool {
        let meeting = self.meeting();
        let mut flags = meeting.gate.lock(worker.access());
        let held = flags & flag::SENDER_HELD != 0;
        if held {
            meeting.enter(Side::Sender, &mut flags, entry);
            flags &= !(Side::Sender.waits() | flag::SENDER_RUNS);
        } else {
            slot.outcome.set(match flags & (flag::RETURNED | flag::RETURNED_POISON) {
                0 => Outcome::Done,
                flag::RETURNED => Outcome::Closed,
                _ => Outcome::Poisoned,
            });
            flags &= !HELD;
        }
        meeting.gate.unlock(flags);
        held
    }

    /// The sender does not wait to be let go, and has taken its entry out: the one that sends next was
    /// not held.
    pub(super) fn leave_held(self, slot: &Slot<T>) {
        let meeting = self.meeting();
        let worker = Worker::running_in(meeting.network()).map(|(worker, _)| worker);
        let flags = meeting.gate.lock(access_of(worker));
        if flags & flag::SENDER_RUNS != 0 {
            meeting.forget();
        }
        meeting.gate.unlock(flags & !HELD);
        if flags & flag::RETURNED != 0 {
            // SAFETY: the receiver has put it back, behind the gate.
            drop(unsafe { slot.read() });
        }
    }

    /// The receiver has acted: lets the sender go.
    pub(crate) fn release(self, worker: &Worker) {
        let meeting = self.meeting();
        let mut flags = meeting.gate.lock(worker.access());
        let woken = self.release_behind(&mut flags, |_| Outcome::Done);
        meeting.gate.unlock(flags);
        woken.up(worker);
    }

    /// The receiver comes back, or goes, and has not said what became of its message: unless that
    /// was said where the network does not run, the sender has sent it.
    #[cold]
    pub(crate) fn let_go(self, worker: &Worker) {
        worker.language().common().calls.finish_releases(worker.scheduler());
        self.release(worker);
    }

    pub(super) fn holds_sender(self) -> bool {
        self.meeting().gate.peek() & flag::SENDER_HELD != 0
    }

    /// The receiver has failed before it had acted: the sender gets its message back. Returns it if
    /// no sender waits for it any more.
    #[must_use = "what is left of a message is dropped where users' code may run"]
    pub(crate) fn give_back(self, worker: &Worker, message: T, why: Gone) -> Option<T> {
        let meeting = self.meeting();
        let mut flags = meeting.gate.lock(worker.access());
        let is_running = flags & flag::SENDER_RUNS != 0;
        let mut message = Some(message);
        let put_back = |slot: &Slot<T>| {
            if let Some(message) = message.take() {
                // SAFETY: the message was taken out of it, and its sender looks behind the gate.
                unsafe { slot.put_back(message) };
            }
            why.into_outcome()
        };
        let woken = self.release_behind(&mut flags, put_back);
        if is_running {
            flags |= flag::RETURNED;
            flags |= if why == Gone::Poisoned { flag::RETURNED_POISON } else { 0 };
        }
        meeting.gate.unlock(flags);
        woken.up(worker);
        message
    }

    /// Behind the gate: releases the sender that is held, if one is, with this in its slot. The
    /// outcome of one that runs is its own to write.
    fn release_behind(self, flags: &mut u32, end: impl FnOnce(&Slot<T>) -> Outcome) -> Wake {
        if *flags & flag::SENDER_HELD == 0 {
            return Wake::Nobody;
        }
        let is_running = *flags & flag::SENDER_RUNS != 0;
        *flags &= !HELD;
        let meeting = self.meeting();
        let mut woken = Wake::Nobody;
        if is_running {
            // SAFETY: pinned, and its owner drops it only after it has taken down the flags.
            end(unsafe { &*meeting.held_slot().cast::<Slot<T>>() });
        } else {
            *flags |= Side::Sender.waits();
            if let Partner::Found { entry: held, wake } = meeting.partner(Side::Sender, flags, None)
            {
                // SAFETY: the partner's slot is ours: its sender waits for us.
                let theirs = unsafe { &*held.slot.cast::<Slot<T>>() };
                theirs.outcome.set(end(theirs));
                woken = wake;
            }
        }
        meeting.forget();
        woken
    }

    /// Lets the sender go outside of a process of the network.
    ///
    /// # Safety
    /// The meeting is that of a channel of this type, which has ends.
    pub(crate) unsafe fn release_at(
        meeting: *const (),
        worker: Option<&Worker>,
        is_over: Over<'_>,
    ) {
        if let (Some(meeting), Some(worker)) = (NonNull::new(meeting.cast_mut().cast()), worker) {
            Self { meeting, type_of: PhantomData }.release(worker);
        }
        is_over();
    }

    /// Gives a message back outside of a process of the network.
    ///
    /// # Safety
    /// The message is a [`Returned`] of this type, in a box, and the caller's.
    pub(super) unsafe fn give_back_at(
        returned: *const (),
        worker: Option<&Worker>,
        is_over: Over<'_>,
    ) {
        // SAFETY: said by the caller.
        let returned = unsafe { Box::from_raw(returned.cast_mut().cast::<Returned<T>>()) };
        let Returned { channel, message } = *returned;
        let left = match worker {
            Some(worker) => channel.give_back(worker, message, Gone::Poisoned),
            None => Some(message),
        };
        is_over();
        drop(left);
    }

    // --- the end ----------------------------------------------------------------------------------

    /// Ends one side, whose end is dropped.
    pub(crate) fn close(self, side: Side, poison: bool, worker: Option<&Worker>) {
        let meeting = self.meeting();
        let mut flags = match worker {
            Some(worker) => meeting.gate.lock(worker.access()),
            None => meeting.gate.lock_after_the_run(BOTH_WAIT),
        };
        meeting.dropped(side, &mut flags, worker);
        if poison {
            flags |= side.poison();
        }
        // Of a sender that is held the message is here, whatever became of it.
        let mut woken = match side {
            Side::Receiver => self.release_behind(&mut flags, |_| Outcome::Done),
            Side::Sender => Wake::Nobody,
        };
        if let Partner::Found { entry, wake } = meeting.partner(side.other(), &mut flags, None) {
            // SAFETY: the partner's slot is ours; whatever its message, the outcome stands in one place.
            let theirs = unsafe { &*entry.slot.cast::<Slot<T>>() };
            theirs.outcome.set(gone(flags, side));
            woken = wake;
        }
        let mut unread = VecDeque::new();
        if side == Side::Receiver
            && let Some((messages, _)) = self.buffer()
        {
            // They may hold ends that others wait at.
            mem::swap(&mut unread, messages);
            flags &= !(flag::MESSAGES | flag::ROOM);
        }
        let is_last = flags & side.other().gone() != 0;
        meeting.gate.unlock(flags);
        if let Some(worker) = worker {
            woken.up(worker);
        }
        if is_last {
            self.free();
        }
        drop(unread);
    }

    /// Takes all messages out of a buffer.
    ///
    /// # Safety
    /// It is one of a channel of this type, whose gate the caller has locked.
    unsafe fn empty(buffer: NonNull<BufferHead>) -> Unread {
        // SAFETY: said by the caller.
        let messages = unsafe { &mut (*buffer.cast::<Buffer<T>>().as_ptr()).messages };
        let messages = Box::into_raw(Box::new(mem::take(messages))).cast();
        // SAFETY: `Unread` calls it once, with these messages.
        Unread { messages, drop: |all| drop(unsafe { Box::from_raw(all.cast::<VecDeque<T>>()) }) }
    }

    /// Leaves closing an end to the network, on a thread that runs no process of it.
    pub(super) fn defer_close(self, side: Side, poison: bool) {
        let bits = if side == Side::Receiver { RECEIVERS } else { 0 };
        let bits = if poison { bits | POISONED } else { bits };
        let what = self.meeting.as_ptr().map_addr(|address| address | bits);
        let close = Deferred::call(what.cast_const().cast(), Self::close_at);
        self.common().defer(close);
    }

    /// Closes an end that was dropped where its network does not run.
    ///
    /// # Safety
    /// The meeting is that of a channel of this type, with the bits that say which end; the end is the
    /// caller's.
    unsafe fn close_at(what: *const (), worker: Option<&Worker>, _is_over: Over<'_>) {
        let bits = what.addr() & (RECEIVERS | POISONED);
        let meeting = what.map_addr(|address| address & !bits).cast_mut().cast();
        let side = if bits & RECEIVERS == 0 { Side::Sender } else { Side::Receiver };
        if let Some(meeting) = NonNull::new(meeting) {
            Self { meeting, type_of: PhantomData }.close(side, bits & POISONED != 0, worker);
        }
    }

    fn free(self) {
        // SAFETY: both ends are gone, and this was the last that touches it.
        if let Some(buffer) = unsafe { blocks::give_back(self.meeting) } {
            // SAFETY: made by `new` for this type, and both ends are gone.
            drop(unsafe { Box::from_raw(buffer.cast::<Buffer<T>>().as_ptr()) });
        }
    }
}
