//! How a process that waits for a channel alone is entered there, and taken out again.
//!
//! | the process | is entered |
//! |---|---|
//! | waits for this alone, and nothing else may end its wait | by leaving the word to its partner |
//! | may be killed; has a thread of its own; receives and acts before it lets the sender go; the channel has a buffer, or its partner is coming | behind the gate, unless there is something to do |

use crate::channel::rendezvous::{Entry, Rendezvous, Side, Terms, flag};
use crate::channel::word::LEFT;
use crate::language::csp::Worker;
use crate::language::header::{Communicates, own};
use crate::wait;
use crate::wait::place::Place;
use crate::wait::waiter::{Attempt, How};
use kahn_engine::sync::Access;
use kahn_engine::task::Kind;
use kahn_engine::{Park, TaskRef};

/// What a worker is told beside a pointer to the channel, which is aligned.
const RECEIVES: usize = 1;
const EXTENDS: usize = 2;

impl Rendezvous {
    /// The running process waits for this alone: asks its worker to enter it after its poll, unless there
    /// is something to do then.
    #[inline(always)]
    pub(crate) fn ask_to_enter(
        &self,
        side: Side,
        worker: &Worker,
        task: TaskRef,
        slot: *const (),
        extended: bool,
    ) {
        // It runs, so its slot is no partner's.
        task.slot().set(slot);
        let what: *const Self = self;
        let (place, side_bit) = match side {
            Side::Sender => (Place::Send(what.cast()), 0),
            Side::Receiver => (Place::Receive(what.cast()), RECEIVES),
        };
        let bits = side_bit | if extended { EXTENDS } else { 0 };
        wait::ask_to_enter_channel(worker, task, place, what.map_addr(|at| at | bits).cast());
    }

    /// Enters a process that has [asked](Self::ask_to_enter) for it.
    ///
    /// # Safety
    /// `what` is what it has asked for, and it has an end of the channel.
    #[inline(always)]
    pub(crate) unsafe fn enter_asked(what: *const (), task: TaskRef, worker: &Worker) -> Park {
        let bits = what.addr() & (RECEIVES | EXTENDS);
        // SAFETY: said by the caller.
        let this = unsafe { &*what.map_addr(|at| at & !bits).cast::<Self>() };
        let side = if bits & RECEIVES == 0 { Side::Sender } else { Side::Receiver };
        this.enter_alone(side, task, task.slot().get(), bits & EXTENDS != 0, worker)
    }

    /// Enters a process that waits for this alone, after its poll, unless there is something to do.
    #[inline(always)]
    pub(crate) fn enter_alone(
        &self,
        side: Side,
        task: TaskRef,
        slot: *const (),
        extended: bool,
        worker: &Worker,
    ) -> Park {
        // One that may be ended while it waits, or that the end of the run wakes, is not its partner's alone.
        if task.notes() & own::KILLABLE == 0 && task.kind() == Kind::Pooled && !extended {
            self.used_by(side, task);
            task.slot().set(slot);
            if self.gate.leave(side.waits(), worker.access()) {
                return Park::Asleep;
            }
        }
        // The last thing that is done: so nothing is put aside for the call.
        self.enter_slowly(side, Entry { task, how: How::Plain, slot, extended }, worker)
    }

    /// The same behind the gate: if the process cannot leave it to its partner, or if that has come.
    #[inline(never)]
    fn enter_slowly(&self, side: Side, entry: Entry, worker: &Worker) -> Park {
        wait::enter_alone(entry.task, |how| {
            let flags = self.gate.lock(worker.access());
            match self.enter_unless_ready(side, flags, Entry { how, ..entry }) {
                Park::Asleep => Attempt::Nothing,
                Park::Moved => Attempt::Done,
            }
        })
    }

    /// Behind the gate, which this opens.
    fn enter_unless_ready(&self, side: Side, mut flags: u32, entry: Entry) -> Park {
        if flags & side.ready() != 0 {
            self.gate.unlock(flags);
            return Park::Moved;
        }
        self.enter(side, &mut flags, entry);
        self.gate.unlock(flags);
        Park::Asleep
    }

    /// Behind the gate: enters a process that waits. There is room for one: a process that waits at
    /// both ends is entered at the first, for no other can come.
    pub(crate) fn enter(&self, side: Side, flags: &mut u32, entry: Entry) {
        debug_assert_eq!(*flags & LEFT, 0, "a partner is there");
        if *flags & side.other().waits() != 0 {
            return;
        }
        self.used_by(side, entry.task);
        self.slot.set(entry.slot);
        self.terms.set(Terms::of(entry));
        *flags |= side.waits();
    }

    /// Takes an entry back, if it still stands there.
    pub(crate) fn leave(&self, side: Side, slot: *const (), access: Access) {
        let mut flags = self.gate.lock(access);
        if flags & LEFT != 0 {
            // The run is over, or the partner has come again.
            if flags & side.waits() != 0 {
                self.gate.clear();
            }
            return;
        }
        // Of a sender that is held the slot is wanted yet.
        if self.slot.get() == slot && flags & flag::SENDER_RUNS == 0 {
            flags &= !side.waits();
            self.forget();
        }
        self.gate.unlock(flags);
    }
}
