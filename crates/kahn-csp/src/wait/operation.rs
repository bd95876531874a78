//! How an operation waits: what all of them have in common.
//!
//! | stage | the operation | leaves by |
//! |---|---|---|
//! | `Fresh` | was not polled yet | it finds a partner; it waits; it has had many turns and yields |
//! | `Yielded` | lets others go first | the next poll |
//! | `Waiting` | has asked its worker to enter it | it is resumed with an outcome |
//! | `Left` | has asked its worker to leave a channel to its partner | the same |
//! | `Over` | has given its result | never |
//!
//! A process is entered where it waits after it has left its poll. If it waits for one thing alone
//! and nothing may end it meanwhile, its entry is plain: the one that finds it owns it. Otherwise it is an
//! offer.

use crate::language::csp::{self, Enter, Worker};
use crate::language::header::{Communicates, own};
use crate::wait::place::Place;
use crate::wait::select;
use crate::wait::waiter::{Attempt, How};
use kahn_engine::sync::Ordering::Relaxed;
use kahn_engine::{Park, Request, TaskRef};

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Fresh,
    Yielded,
    Waiting,
    Left,
    Over,
}

/// Whether a process that waits at a channel alone may leave that to its partner: not if it may be ended while
/// it waits, or the end of the run wakes it.
#[inline(always)]
pub(crate) fn may_leave(task: TaskRef) -> bool {
    task.notes() & own::STAYS == 0
}

/// Whether the operation may go on: a process that never has to wait gives way to others every so
/// many operations, and under the policy `seeded` before each one.
#[inline]
pub(crate) fn has_turn(worker: &Worker, task: TaskRef, stage: &mut Stage) -> bool {
    has_turn_at_once(worker, task) || has_given_way(worker, stage)
}

/// The usual case of [`has_turn`].
#[inline]
pub(crate) fn has_turn_at_once(worker: &Worker, task: TaskRef) -> bool {
    has_turn_unless(0, worker, task)
}

/// The same for a process that has none of these notes either.
#[inline]
pub(crate) fn has_turn_unless(notes: u8, worker: &Worker, task: TaskRef) -> bool {
    let patience = worker.patience.get();
    let has_turn = patience > 0 && task.notes() & (own::WAIT_ONCE | notes) == 0;
    if has_turn {
        worker.patience.set(patience - 1);
    }
    has_turn
}

/// Whether the operation has given way to others; it does so now if it has not.
#[inline(never)]
pub(crate) fn has_given_way(worker: &Worker, stage: &mut Stage) -> bool {
    if *stage == Stage::Fresh {
        *stage = Stage::Yielded;
        let is_preempted = worker.is_preempted();
        worker.ask(if is_preempted { Request::GiveWay } else { Request::Yield });
        return false;
    }
    true
}

#[cold]
fn two_at_once(worker: &Worker, task: TaskRef) -> ! {
    worker.take_back();
    panic!(
        "process `{}` waits for two things at once, with `join!` or `select!`: let `csp::alt` \
         choose between them, or do them in two processes",
        task.info().name
    )
}

/// Asks the worker to enter something of the process's own when the process has left its poll.
///
/// # Panics
/// Panics if the process waits for something else in the same poll.
#[inline]
pub(crate) fn ask_to_enter<W>(
    worker: &Worker,
    task: TaskRef,
    place: Place,
    what: *const W,
    commit: Enter,
) {
    waits_at(task, place);
    if !csp::ask_to_enter(worker, what.cast(), commit) {
        two_at_once(worker, task);
    }
}

/// Asks the worker to leave a channel to its partner when the process has left its poll.
///
/// # Panics
/// As [`ask_to_enter`].
#[inline(always)]
pub(crate) fn ask_to_leave(worker: &Worker, task: TaskRef, place: Place) {
    waits_at(task, place);
    if !worker.ask_to_park() {
        two_at_once(worker, task);
    }
}

#[inline(always)]
fn waits_at(task: TaskRef, place: Place) {
    // Relaxed: another thread that reads it makes sure under a gate that the process is there.
    task.waits_at().store(place.pack(), Relaxed);
}

/// Enters a process that waits for one thing alone.
#[inline]
pub(crate) fn enter_alone(task: TaskRef, enter: impl FnOnce(How) -> Attempt) -> Park {
    if task.notes() & own::KILLABLE == 0 {
        return match enter(How::Plain) {
            Attempt::Nothing => Park::Asleep,
            Attempt::Done | Attempt::WeWere => {
                Place::leave(task);
                Park::Moved
            }
        };
    }
    enter_selected(task, enter)
}

/// The same with its select state open: another thread may want it to end while it waits, or takes it
/// out of its wait without being where it waits. A function of its own, so that what waits for one thing alone sets up
/// nothing for it.
#[inline(never)]
pub(crate) fn enter_selected(task: TaskRef, enter: impl FnOnce(How) -> Attempt) -> Park {
    let Some(ticket) = select::open(task, false) else { return Park::Moved };
    match enter(How::Offer { ticket, guard: 0 }) {
        Attempt::Nothing if select::settle(task) => Park::Asleep,
        _ => Park::Moved,
    }
}
