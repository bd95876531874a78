//! A process that waits: how it is entered, what an attempt comes to, how it is made ready.

use crate::language::csp::Worker;
use crate::wait::place::Place;
use crate::wait::select::{self, Taken, Ticket};
use kahn_engine::sync::Arc;
use kahn_engine::task::foreign::Foreign;
use kahn_engine::{Origin, Reason, Scheduler, TaskRef};

/// How a process is entered at a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum How {
    /// It waits for this alone: the one that finds it owns it.
    #[default]
    Plain,
    /// It offers this among others, or may be ended meanwhile.
    Offer { ticket: Ticket, guard: u32 },
}

/// A process that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) task: TaskRef,
    pub(crate) how: How,
}

impl Waiter {
    /// Takes the process out of its wait, behind the gate where it is entered; `None` if it has something
    /// else by now, or is being ended.
    pub(crate) fn take(self) -> Option<Wake> {
        match self.how {
            How::Plain => Some(Wake::Plain(self.task)),
            How::Offer { ticket, guard } => match select::take(self.task, ticket, guard, None) {
                Taken::Yes(wake) => Some(wake),
                Taken::No | Taken::WeWere => None,
            },
        }
    }
}

/// What came of one look at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that was taken is to be run again"]
pub enum Attempt {
    /// The outcome stands in the slot.
    Done,
    /// None is there; the process is entered, if it asked for that.
    Nothing,
    /// The process's own offer was taken meanwhile.
    WeWere,
}

/// The process's own offer, kept `BUSY` while it looks at a channel where it wants to be entered.
pub(crate) struct Own(Option<(TaskRef, u32)>);

impl Own {
    pub(crate) fn of(waiter: Option<Waiter>) -> Self {
        Self(waiter.and_then(|waiter| match waiter.how {
            How::Plain => None,
            How::Offer { guard, .. } => Some((waiter.task, guard)),
        }))
    }

    pub(crate) fn task(&self) -> Option<TaskRef> {
        self.0.map(|(task, _)| task)
    }

    /// `false` if it was taken already.
    pub(crate) fn keep(&self) -> bool {
        self.0.is_none_or(|(task, _)| select::make_busy(task))
    }

    pub(crate) fn chosen(&self) {
        if let Some((task, guard)) = self.0 {
            select::leave_busy(task, select::Leave::Taken(guard));
        }
    }

    pub(crate) fn open(&self) {
        if let Some((task, _)) = self.0 {
            select::leave_busy(task, select::Leave::Open);
        }
    }
}

/// A process that was taken and is to be made ready, once the gate is open again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that was taken and is not woken is lost"]
pub(crate) enum Wake {
    /// It waited for this alone.
    Plain(TaskRef),
    /// Its offer was taken.
    Asleep(TaskRef),
    /// It is left to its foreign waker too, of which this is a counted reference.
    Foreign(*const Foreign),
    /// Its worker runs it again by itself.
    Nobody,
}

impl Wake {
    #[inline]
    pub(crate) fn up(self, worker: &Worker) {
        match self {
            // SAFETY: it was taken where it waited, which one thread can do.
            Self::Plain(task) | Self::Asleep(task) => worker.wake(unsafe { task.claim() }),
            Self::Foreign(foreign) => wake_foreign(foreign),
            Self::Nobody => {}
        }
    }

    /// The same, of a process that waited for a claim, for another's end or in a bucket: what looks at it from
    /// outside sees that it waits no more.
    pub(crate) fn up_again(self, worker: &Worker) {
        if let Self::Plain(task) | Self::Asleep(task) = self {
            Place::leave(task);
        }
        self.up(worker);
    }

    /// The same, by a thread that is no worker.
    pub(crate) fn up_from_outside(self, scheduler: &Scheduler) {
        match self {
            Self::Plain(task) | Self::Asleep(task) => {
                // SAFETY: as for `up`.
                let ready = unsafe { task.claim() };
                scheduler.make_ready(Origin::Outside, ready, Reason::Woken);
            }
            Self::Foreign(foreign) => wake_foreign(foreign),
            Self::Nobody => {}
        }
    }

    /// Leaves a process to its foreign waker. The process must pass a gate that the caller has, so
    /// it has not ended yet.
    #[cold]
    pub(crate) fn foreign(task: TaskRef) -> Self {
        Self::Foreign(Arc::into_raw(task.foreign()))
    }
}

#[cold]
fn wake_foreign(foreign: *const Foreign) {
    // SAFETY: `Wake::foreign` counted this reference, and a wake is used up once.
    unsafe { Arc::from_raw(foreign) }.wake();
}
