//! One attempt at a channel: the steps that sending, receiving and swapping have in common.
//!
//! | step | the process | then |
//! |---|---|---|
//! | look | comes behind the gate; nobody waits at its own side | nothing to do: enter |
//! | keep | keeps its own offer `BUSY`, if it is entered elsewhere | it was taken meanwhile: that counts |
//! | act | takes what is buffered, or a partner, or learns the end, or fills the buffer | nothing after all: the offer is open again, enter |
//! | settle | says in its offer that it has chosen | opens the gate, wakes the partner |
//! | enter | enters itself, if it asked for that | opens the gate |

use super::language::Worker;
use super::meeting::{Entry, How, Meeting, Partner, Side, Waiter, Wake};
use super::offer;
use kahn_engine::TaskRef;
use kahn_engine::sync::Cell;

/// What came of an operation that was entered at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing yet.
    Open,
    /// The message has moved.
    Done,
    /// The receiver has the message and acts; the sender is not let go yet.
    Held,
    /// The other end was dropped.
    Closed,
    /// The other end was dropped with poison.
    Poisoned,
    /// The result was given to the process.
    Over,
}

/// What came of one look at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that was taken is to be run again"]
pub enum Attempt {
    /// The outcome stands in the slot.
    Done,
    /// Nobody is there; the process is entered, if it asked for that.
    Nothing,
    /// The process's own offer was taken meanwhile.
    WeWere,
}

/// A process that looks at its side of a channel.
pub(super) struct Look<'a> {
    pub(super) side: Side,
    pub(super) task: TaskRef,
    /// How it is to be entered if there is nothing to do; it is among others then.
    pub(super) entry: Option<Entry>,
    /// Of its own slot.
    pub(super) outcome: &'a Cell<Outcome>,
}

/// Where a process may find something to do, in this order.
pub(super) enum Step {
    /// Before any partner.
    Before,
    /// With a partner, whose slot is the caller's.
    With(Entry, Wake),
    /// There is no partner, and there may be one yet.
    Without,
}

/// The process's own offer, kept `BUSY` while it looks at a channel where it wants to be entered.
pub(super) struct Own(Option<(TaskRef, u32)>);

impl Own {
    pub(super) fn of(entry: Option<Entry>) -> Self {
        Self::who(entry.map(|Entry { task, how, .. }| Waiter { task, how }))
    }

    pub(super) fn who(waiter: Option<Waiter>) -> Self {
        Self(waiter.and_then(|waiter| match waiter.how {
            How::Plain => None,
            How::Offer { guard, .. } => Some((waiter.task, guard)),
        }))
    }

    pub(super) fn task(&self) -> Option<TaskRef> {
        self.0.map(|(task, _)| task)
    }

    /// `false` if it was taken already.
    pub(super) fn keep(&self) -> bool {
        self.0.is_none_or(|(task, _)| offer::make_busy(task))
    }

    pub(super) fn chosen(&self) {
        if let Some((task, guard)) = self.0 {
            offer::leave_busy(task, offer::Leave::Taken(guard));
        }
    }

    pub(super) fn open(&self) {
        if let Some((task, _)) = self.0 {
            offer::leave_busy(task, offer::Leave::Open);
        }
    }
}

impl Meeting {
    /// Behind the gate, which this opens: does what there is to do, by `act`, which tells whom to
    /// wake if it has done something.
    #[inline(always)]
    pub(super) fn attempt(
        &self,
        Look { side, task, entry, outcome }: Look<'_>,
        mut flags: u32,
        worker: &Worker,
        mut act: impl FnMut(Step, &mut u32) -> Option<Wake>,
    ) -> Attempt {
        self.looks(side, &mut flags, task);
        if flags & side.ready() != 0 {
            let own = Own::of(entry);
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
pub(super) fn gone(flags: u32, side: Side) -> Outcome {
    if flags & side.poison() != 0 { Outcome::Poisoned } else { Outcome::Closed }
}
