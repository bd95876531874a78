//! How a process that waits for a channel alone is entered there, and taken out again.
//!
//! | the process | is entered |
//! |---|---|
//! | waits for this alone, and nothing else may end its wait | by leaving the word to its partner, by its worker itself if it used this end last |
//! | may be killed; has a thread of its own; swaps; receives and acts before it lets the sender go; or its partner is coming | behind the gate, unless there is something to do |

use crate::channel::rendezvous::{Entry, Rendezvous, Side, Terms, flag};
use crate::channel::word::LEFT;
use crate::language::csp::Worker;
use crate::language::header::Communicates;
use crate::wait;
use crate::wait::place::Place;
use crate::wait::waiter::Attempt;
use kahn_engine::sync::Access;
use kahn_engine::{Park, TaskRef};

impl Rendezvous {
    /// The running process, which uses this side, waits for this alone and [may leave](wait::may_leave) the channel
    /// to its partner: asks its worker to do so after its poll, unless there is something to do then.
    #[inline(always)]
    pub(crate) fn ask_to_leave(&self, side: Side, worker: &Worker, task: TaskRef, slot: *const ()) {
        // It runs, so its slot is no partner's.
        task.slot().set(slot);
        wait::ask_to_leave(worker, task, self.waits_at(side));
    }

    /// The running process waits for this alone: asks its worker to enter it after its poll, unless there
    /// is something to do then.
    pub(crate) fn ask_to_enter(&self, side: Side, worker: &Worker, task: TaskRef, slot: *const ()) {
        task.slot().set(slot);
        wait::ask_to_enter(worker, task, self.waits_at(side), self, Self::enter_asked);
    }

    /// Where a process waits at one of its sides.
    #[inline(always)]
    pub(crate) fn waits_at(&self, side: Side) -> Place {
        let place = std::ptr::from_ref(self).cast();
        match side {
            Side::Sender => Place::Send(place),
            Side::Receiver => Place::Receive(place),
        }
    }

    /// Leaves the channel where a process waits to its partner, if it has [asked](Self::ask_to_leave) for that.
    ///
    /// # Safety
    /// It has, and has an end of the channel.
    #[inline(always)]
    pub(crate) unsafe fn leave_to_partner(task: TaskRef, worker: &Worker) -> Park {
        let (channel, side) = Place::channel_of(task);
        // SAFETY: said by the caller.
        let this = unsafe { &*channel.cast::<Self>() };
        if this.gate.leave(side, worker.access()) {
            return Park::Asleep;
        }
        // The last thing that is done: so nothing is put aside for the call.
        this.leave_otherwise(side, task, worker)
    }

    /// The same if its partner has come, or messages have, or a buffer has none.
    #[inline(never)]
    fn leave_otherwise(&self, side: u32, task: TaskRef, worker: &Worker) -> Park {
        let side = Side::of_waits(side);
        debug_assert_eq!(self.user(side), task.as_ptr(), "it uses the end");
        if self.gate.leave_if(side.blocked(), side.waits(), worker.access()) {
            return Park::Asleep;
        }
        self.enter_slowly(side, task, worker)
    }

    /// Enters a process that has [asked](Self::ask_to_enter) for it, at the channel where it waits.
    ///
    /// # Safety
    /// It has asked for that, and has an end of the channel.
    unsafe fn enter_asked(_channel: *const (), task: TaskRef, worker: &Worker) -> Park {
        let (channel, side) = Place::channel_of(task);
        // SAFETY: said by the caller.
        let this = unsafe { &*channel.cast::<Self>() };
        let side = Side::of_waits(side);
        // One that may be ended while it waits, or that the end of the run wakes, is not its partner's alone.
        if wait::may_leave(task) {
            this.used_by(side, task);
            let (access, waits) = (worker.access(), side.waits());
            if this.gate.leave(waits, access) || this.gate.leave_if(side.blocked(), waits, access) {
                return Park::Asleep;
            }
        }
        this.enter_slowly(side, task, worker)
    }

    /// The same behind the gate: if the process cannot leave it to its partner, or if that has come.
    #[inline(never)]
    fn enter_slowly(&self, side: Side, task: TaskRef, worker: &Worker) -> Park {
        wait::enter_alone(task, |how| {
            let mut flags = self.gate.lock(worker.access());
            let is_ready = flags & side.ready() != 0;
            if !is_ready {
                let slot = task.slot().get();
                self.enter(side, &mut flags, Entry { task, how, slot, extended: false });
            }
            self.gate.unlock(flags);
            if is_ready { Attempt::Done } else { Attempt::Nothing }
        })
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
                self.gate.clear(flags & !(LEFT | side.waits()));
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
