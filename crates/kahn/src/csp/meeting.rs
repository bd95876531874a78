//! The place where a sender and a receiver meet, without the type of their messages.
//!
//! ```text
//!            sides[SENDER]                      sides[RECEIVER]
//!   sender ──► task, slot, how ──┐ gate ┌── task, slot, how ◄── receiver
//!                                 └──────┘
//!                      buffer (none for a rendezvous)
//! ```
//!
//! | flag | means |
//! |---|---|
//! | `SENDER_WAITS`, `RECEIVER_WAITS` | the side is entered; it may be an offer that somebody took elsewhere |
//! | `SENDER_HELD` | the sender's message is taken, and the receiver acts before it lets the sender go |
//! | `SENDER_GONE`, `RECEIVER_GONE` | that end was dropped |
//! | `SENDER_POISON`, `RECEIVER_POISON` | … with poison |
//! | `MESSAGES`, `ROOM` | of a buffer |
//!
//! **The second who comes does the work.** The first enters itself after it has left its poll
//! ([`Meeting::enter_alone`]); the second, running, finds it, moves the message straight from slot to
//! slot, marks the first one's slot `Done`, makes it ready and goes on. So there is one change of
//! process for each communication, and no memory but the two slots in the futures.
//!
//! *Who may touch what.* The sides are plain cells behind the gate. The slot of a side that is
//! entered belongs to whoever holds the gate and owns the waiting process: for a plain entry that
//! is whoever finds it under the gate, for an offer whoever took it (see `offer`). Its owner
//! touches it again when it is resumed, or after it has left, which needs the gate.
//!
//! *A side whose flag is down is read by nobody but who has that end.* So a process that is about to
//! wait for this alone writes its entry while it still runs ([`Meeting::prepare`]), and its worker
//! raises the flag, with one step and without locking, unless there is something to do by now: then
//! the process is polled again, and does it.
//!
//! *Nobody runs a process twice.* A process is entered when it has left its poll. Finding it under
//! the gate comes after its entry under the gate, so all that it did is visible.
//!
//! *No wake-up is lost.* Who enters looks, under the same gate or in the step that raises the flag,
//! whether there is something to do.
//!
//! *Memory.* A meeting is a block of type-stable memory. Each end marks itself gone under the gate;
//! whoever is second gives the block back.

use super::gate::{FIRST_FLAG, Gate};
use super::offer::{self, Taken, Ticket};
use crate::graph::Name;
use crate::scheduler::foreign::Foreign;
use crate::scheduler::task::{Task, own};
use crate::scheduler::word::Park;
use crate::scheduler::{Origin, Reason, Scheduler, TaskRef, Worker};
use crate::sync::{Arc, Cell};
use std::cell::UnsafeCell;
use std::ptr;

/// Flags of a meeting's gate.
pub(super) mod flag {
    use super::FIRST_FLAG;

    pub(crate) const SENDER_WAITS: u32 = FIRST_FLAG << 1;
    pub(crate) const RECEIVER_WAITS: u32 = FIRST_FLAG << 2;
    pub(crate) const SENDER_GONE: u32 = FIRST_FLAG << 3;
    pub(crate) const RECEIVER_GONE: u32 = FIRST_FLAG << 4;
    pub(crate) const SENDER_POISON: u32 = FIRST_FLAG << 5;
    pub(crate) const RECEIVER_POISON: u32 = FIRST_FLAG << 6;
    pub(crate) const SENDER_HELD: u32 = FIRST_FLAG << 7;
    pub(crate) const MESSAGES: u32 = FIRST_FLAG << 8;
    pub(crate) const ROOM: u32 = FIRST_FLAG << 9;
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    pub(super) fn waits(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_WAITS,
            Self::Receiver => flag::RECEIVER_WAITS,
        }
    }

    /// The flags that leave this side something to do.
    #[inline]
    pub(super) fn ready(self) -> u32 {
        match self {
            Self::Sender => flag::RECEIVER_WAITS | flag::RECEIVER_GONE | flag::ROOM,
            Self::Receiver => flag::SENDER_WAITS | flag::SENDER_GONE | flag::MESSAGES,
        }
    }

    pub(super) fn gone(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_GONE,
            Self::Receiver => flag::RECEIVER_GONE,
        }
    }

    pub(super) fn poison(self) -> u32 {
        match self {
            Self::Sender => flag::SENDER_POISON,
            Self::Receiver => flag::RECEIVER_POISON,
        }
    }
}

/// How somebody is entered at a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum How {
    /// It waits for this alone: who finds it owns it.
    #[default]
    Plain,
    /// It offers this among others, or may be ended meanwhile.
    Offer { ticket: Ticket, guard: u32 },
}

/// Somebody who waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) task: TaskRef,
    pub(super) how: How,
}

/// Somebody who waits at a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) task: TaskRef,
    pub(super) how: How,
    /// Its slot, of the type that both ends know.
    pub(super) slot: *const (),
    /// It receives, and acts before it lets the sender go.
    pub(super) extended: bool,
}

/// What came of looking for a partner.
#[derive(Clone, Copy, Debug)]
#[must_use = "a partner that was taken and is not woken is lost"]
pub(super) enum Partner {
    /// Its slot and its process are ours; `wake` it unless it is not asleep yet.
    Found { entry: Entry, wake: Wake },
    /// Nobody is there.
    None,
    /// We were taken ourselves meanwhile.
    WeWere,
}

/// See the module.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Meeting {
    pub(super) gate: Gate,
    /// The network it was made in.
    network: Cell<u32>,
    /// Communications so far.
    pub(super) met: Cell<u64>,
    sides: [Cell<Option<Entry>>; 2],
    /// The process that used each end last, for explanations.
    users: [Cell<*const Task>; 2],
    /// A `Buffer` of the messages' type, or null.
    pub(super) buffer: Cell<*mut ()>,
    /// Written behind the gate, before anyone has an end.
    name: UnsafeCell<Name>,
}

// Two cache lines: no two channels share one.
#[cfg(all(not(loom), target_pointer_width = "64"))]
const _: () = assert!(size_of::<Meeting>() == 128, "a channel grows by a cache line");

impl Meeting {
    pub(super) fn new(network: u32, name: Name, buffer: *mut ()) -> Self {
        Self {
            gate: Gate::new(if buffer.is_null() { 0 } else { flag::ROOM }),
            network: Cell::new(network),
            met: Cell::new(0),
            sides: [Cell::new(None), Cell::new(None)],
            users: [Cell::new(ptr::null()), Cell::new(ptr::null())],
            buffer: Cell::new(buffer),
            name: UnsafeCell::new(name),
        }
    }

    /// Begins another channel in this block.
    #[cfg(not(loom))]
    pub(super) fn begin(&self, network: u32, name: Name, buffer: *mut ()) {
        self.gate.lock(false);
        self.network.set(network);
        self.met.set(0);
        self.buffer.set(buffer);
        self.users.iter().for_each(|user| user.set(ptr::null()));
        // SAFETY: behind the gate, and nobody has an end yet.
        unsafe { *self.name.get() = name };
        self.gate.unlock(if buffer.is_null() { 0 } else { flag::ROOM });
    }

    /// Ends the channel: what looks at the block finds nobody.
    #[cfg(not(loom))]
    pub(super) fn end(&self) {
        self.gate.lock(false);
        // SAFETY: behind the gate, and nobody has an end any more.
        unsafe { *self.name.get() = Name::from("") };
        self.gate.unlock(0);
    }

    /// The network it was made in; for who has an end.
    #[inline]
    pub(super) fn network(&self) -> u32 {
        self.network.get()
    }

    /// Its name; for who has an end or holds the gate.
    pub(super) fn name(&self) -> &Name {
        // SAFETY: changes only while nobody has an end, behind the gate.
        unsafe { &*self.name.get() }
    }

    /// Behind the gate, or for who has that end: who is entered at a side.
    pub(super) fn entry(&self, side: Side) -> Option<Entry> {
        self.sides[side as usize].get()
    }

    /// Behind the gate: notes who uses an end.
    #[inline]
    pub(super) fn used_by(&self, side: Side, task: TaskRef) {
        self.users[side as usize].set(task.as_ptr());
    }

    /// Behind the gate: the process that used an end last; it may have ended.
    pub(super) fn user(&self, side: Side) -> *const Task {
        self.users[side as usize].get()
    }

    /// Behind the gate: counts a communication.
    #[inline]
    pub(super) fn count(&self) {
        self.met.set(self.met.get() + 1);
    }

    /// Behind the gate: takes whoever waits at `side`, if anyone does. `by` is who asks, if it is
    /// itself entered elsewhere and `BUSY`.
    #[inline]
    pub(super) fn partner(&self, side: Side, flags: &mut u32, by: Option<TaskRef>) -> Partner {
        if *flags & side.waits() == 0 {
            return Partner::None;
        }
        let Some(entry) = self.sides[side as usize].get() else { return Partner::None };
        let wake = match entry.how {
            How::Plain => Wake::Plain(entry.task),
            How::Offer { ticket, guard } => {
                match offer::take(entry.task, ticket, guard, by) {
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
        self.used_by(side, entry.task);
        Partner::Found { entry, wake }
    }

    /// Behind the gate, with the flag of `side` up: who waits there for this alone, the usual case of
    /// a [`partner`](Self::partner). It is the caller's once the flag is down.
    #[inline]
    pub(super) fn plain_partner(&self, side: Side) -> Option<Entry> {
        let entry = self.sides[side as usize].get()?;
        if entry.how != How::Plain {
            return None;
        }
        self.used_by(side, entry.task);
        Some(entry)
    }

    /// Who has the end, and runs: says where its process is about to wait for this alone.
    #[inline]
    pub(super) fn prepare(&self, side: Side, task: TaskRef, slot: *const (), extended: bool) {
        let entry = Entry { task, how: How::Plain, slot, extended };
        self.sides[side as usize].set(Some(entry));
    }

    /// Enters a process, after its poll, as it was prepared.
    #[inline]
    fn enter_alone(&self, side: Side, task: TaskRef, worker: &Worker) -> Park {
        if task.notes() & own::KILLABLE != 0 {
            return self.enter_killable(side, task, worker);
        }
        if self.gate.raise(side.waits(), side.ready(), worker.solo()) {
            Park::Asleep
        } else {
            Park::Moved
        }
    }

    /// Somebody may want the process to end while it waits: its entry is an offer.
    #[cold]
    fn enter_killable(&self, side: Side, task: TaskRef, worker: &Worker) -> Park {
        let Some(ticket) = offer::open(task, false, 1) else { return Park::Moved };
        let prepared = self.entry(side).map(|mut entry| {
            entry.how = How::Offer { ticket, guard: 0 };
            entry
        });
        self.sides[side as usize].set(prepared);
        let is_entered = self.gate.raise(side.waits(), side.ready(), worker.solo());
        if is_entered && offer::settle(task) { Park::Asleep } else { Park::Moved }
    }

    /// What a worker does for a process that is to wait as a sender.
    pub(super) unsafe fn enter_sender(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: type-stable memory, and the process has an end.
        unsafe { &*this.cast::<Self>() }.enter_alone(Side::Sender, task, worker)
    }

    /// The same as a receiver.
    pub(super) unsafe fn enter_receiver(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: as above.
        unsafe { &*this.cast::<Self>() }.enter_alone(Side::Receiver, task, worker)
    }

    /// Behind the gate: enters somebody who waits.
    #[inline]
    pub(super) fn enter(&self, side: Side, flags: &mut u32, entry: Entry) {
        self.sides[side as usize].set(Some(entry));
        *flags |= side.waits();
    }

    /// Behind the gate: nobody is entered at a side any more.
    pub(super) fn forget(&self, side: Side) {
        self.sides[side as usize].set(None);
    }

    /// Takes an entry back, if it still stands there.
    pub(super) fn leave(&self, side: Side, slot: *const (), alone: bool) {
        let mut flags = self.gate.lock(alone);
        if self.entry(side).is_some_and(|entry| entry.slot == slot) {
            flags &= !side.waits();
            self.forget(side);
        }
        self.gate.unlock(flags);
    }
}

/// A process that was taken and is to be made ready, once the gate is open again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that was taken and is not woken is lost"]
pub(super) enum Wake {
    /// It waited for this alone.
    Plain(TaskRef),
    /// Its offer was taken.
    Asleep(TaskRef),
    /// The same, and others are to run before it.
    Patient(TaskRef),
    /// It is left to its foreign waker too, of which this is a counted reference.
    Foreign(*const Foreign),
    /// Its worker runs it again by itself.
    Nobody,
}

impl Wake {
    #[inline]
    pub(super) fn up(self, worker: &Worker) {
        match self {
            Self::Plain(task) | Self::Asleep(task) => worker.wake(task),
            Self::Patient(task) => worker.make_ready(task, Reason::Yielded),
            Self::Foreign(foreign) => wake_foreign(foreign),
            Self::Nobody => {}
        }
    }

    /// The same, by somebody who is no worker.
    pub(super) fn up_from_outside(self, scheduler: &Scheduler) {
        match self {
            Self::Plain(task) | Self::Asleep(task) | Self::Patient(task) => {
                scheduler.make_ready(Origin::Outside, task, Reason::Woken);
            }
            Self::Foreign(foreign) => wake_foreign(foreign),
            Self::Nobody => {}
        }
    }

    /// Leaves a process to its foreign waker. The process must pass a gate that the caller has, so
    /// it has not ended yet.
    #[cold]
    pub(super) fn foreign(task: TaskRef) -> Self {
        Self::Foreign(Arc::into_raw(task.foreign(task)))
    }
}

#[cold]
fn wake_foreign(foreign: *const Foreign) {
    // SAFETY: `Wake::foreign` counted this reference, and a wake is used up once.
    unsafe { Arc::from_raw(foreign) }.wake();
}
