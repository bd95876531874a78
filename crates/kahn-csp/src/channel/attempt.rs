//! One attempt at a channel: the steps that sending, receiving and swapping have in common.
//!
//! | step | the process | then |
//! |---|---|---|
//! | look | comes behind the gate; no process waits at its own side | nothing to do: enter |
//! | keep | keeps its own offer `BUSY`, if it is entered elsewhere | it was taken meanwhile: that counts |
//! | act | takes what is buffered, or a partner, or learns the end, or fills the buffer | nothing after all: the offer is open again, enter |
//! | settle | says in its offer that it has chosen | opens the gate, wakes the partner |
//! | enter | enters itself, if it asked for that | opens the gate |

use crate::channel::gone::Outcome;
use crate::channel::rendezvous::{Entry, Partner, Rendezvous, Side};
use crate::language::csp::Worker;
use crate::wait::waiter::{Attempt, Own, Wake};
use kahn_engine::TaskRef;
use kahn_engine::sync::Cell;

/// A process that looks at its side of a channel.
pub(crate) struct Caller<'a> {
    pub(crate) side: Side,
    pub(crate) task: TaskRef,
    /// How it is to be entered if there is nothing to do; it is among others then.
    pub(crate) entry: Option<Entry>,
    /// Of its own slot.
    pub(crate) outcome: &'a Cell<Outcome>,
}

/// Where a process may find something to do, in this order.
pub(crate) enum Step {
    /// Before any partner.
    Before,
    /// With a partner, whose slot is the caller's.
    With(Entry, Wake),
    /// There is no partner, and there may be one yet.
    Without,
}

impl Rendezvous {
    /// Behind the gate, which this opens: does what there is to do, by `act`, which tells what to
    /// wake if it has done something.
    #[inline(always)]
    pub(crate) fn attempt(
        &self,
        Caller { side, task, entry, outcome }: Caller<'_>,
        mut flags: u32,
        worker: &Worker,
        mut act: impl FnMut(Step, &mut u32) -> Option<Wake>,
    ) -> Attempt {
        self.looks(side, &mut flags, task);
        if flags & side.ready() != 0 {
            let own = Own::of(entry.map(Entry::waiter));
            if !own.keep() {
                self.gate.unlock(flags);
                return Attempt::WeWere;
            }
            let other = side.other();
            let mut done = act(Step::Before, &mut flags);
            if done.is_none() {
                done = match self.partner(other, &mut flags, own.task()) {
                    Partner::Found { entry, wake } => act(Step::With(entry, wake), &mut flags),
                    Partner::WeWere => {
                        self.gate.unlock(flags);
                        return Attempt::WeWere;
                    }
                    Partner::None if flags & other.gone() != 0 => {
                        outcome.set(gone(flags, other));
                        Some(Wake::Nobody)
                    }
                    Partner::None => act(Step::Without, &mut flags),
                };
            }
            if let Some(wake) = done {
                own.chosen();
                self.gate.unlock(flags);
                wake.up(worker);
                return Attempt::Done;
            }
            own.open();
        }
        if let Some(entry) = entry {
            self.enter(side, &mut flags, entry);
        }
        self.gate.unlock(flags);
        Attempt::Nothing
    }
}

/// What the end of a side comes to for the other.
pub(crate) fn gone(flags: u32, side: Side) -> Outcome {
    if flags & side.poison() != 0 { Outcome::Poisoned } else { Outcome::Closed }
}
