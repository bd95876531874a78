//! The offer of a process that waits for one of several things: which process gets it?
//!
//! One word in the header of each process, in type-stable memory:
//!
//! ```text
//!   63              32 31               8    4         3       2       1 0
//!   ┌─────────────────┬──────────────────┬──────────┬──────┬─────────┬───────┐
//!   │ ticket          │ guard            │ ENTERING │ KILL │ FOREIGN │ state │
//!   └─────────────────┴──────────────────┴──────────┴──────┴─────────┴───────┘
//! ```
//!
//! | state | means | leaves by |
//! |---|---|---|
//! | `IDLE` | it offers nothing | the process's worker → `OPEN`, with the next ticket |
//! | `OPEN` | the one that comes first may have it | a partner → `TAKEN` with its guard; the worker → `BUSY`; a killer → `IDLE` |
//! | `BUSY` | a thread keeps others off for a moment: its worker, still entering it at its guards, that has found a partner there; the one that completes a barrier; the one that explains | the one that made it so → `TAKEN` or back to `OPEN` |
//! | `TAKEN` | a guard was chosen | the process, resumed → `IDLE` |
//!
//! **The one that moves `OPEN` to `TAKEN` owns the process** and must make it ready, unless it is still
//! `ENTERING`: then its worker, which takes that bit away at the end, finds `TAKEN` and runs it again.
//! The owner completes the communication while it holds the gate of the channel, so the process,
//! which must lock that gate to leave, cannot be gone.
//!
//! *No message is lost or doubled.* Each offer is taken once, for a compare-and-swap decides; the
//! ticket makes an entry that was left behind somewhere worthless.
//!
//! *Two offers that want each other.* A process that is not entered anywhere is *active*: none
//! can take it, so it may take any `OPEN` partner. One that is being entered is visible already. If
//! it finds a partner it first moves itself to `BUSY`, so that none takes it meanwhile, and then
//! takes the partner, or goes back to `OPEN`. Two that find each other `BUSY` would wait for ever;
//! so the one with the greater address goes back to `OPEN` and lets itself be taken. Waiting for a
//! `BUSY` partner is bounded: the one that waits has the smaller address, so chains of waits are finite,
//! and the last of a chain moves on by itself. `BUSY` is left without locking any further gate.
//!
//! *Many offers, all or none.* A barrier needs every offer at it. The one that completes it makes them
//! `BUSY` in the order of their addresses ([`hold`]), and all of them `TAKEN` when it has the last.
//! If one is gone it lets go of those that it holds. It too waits for greater addresses than it
//! holds, and for no gate: the chains stay finite, whichever of the two kinds they are made of.
//!
//! *No partner is missed.* Of two that are entered at the same channel one locks its gate second,
//! and finds the other there. If the other is `BUSY`, the second waits or gives way; if it is
//! `TAKEN`, it is about to leave and will do so through the same gate.

use crate::language::header::{Communicates, own};

use crate::wait::waiter::Wake;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Ordering::*, pause};

const STATE: u64 = 3;
const IDLE: u64 = 0;
const OPEN: u64 = 1;
const BUSY: u64 = 2;
const TAKEN: u64 = 3;
/// A waker of another library may resume the process too: it is woken through its foreign waker.
const FOREIGN: u64 = 4;
/// The process is to end.
const KILL: u64 = 8;
/// Its worker has not entered it everywhere yet: the one that takes it leaves waking to that worker.
const ENTERING: u64 = 16;
const GUARD_SHIFT: u32 = 8;
const GUARD: u64 = 0x00ff_ffff << GUARD_SHIFT;
const TICKET_SHIFT: u32 = 32;

/// What identifies one wait of a process.
pub(crate) type Ticket = u32;

/// What came of an attempt to take an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process that was taken and is not woken is lost"]
pub(crate) enum Taken {
    /// The process is ours, to be made ready so.
    Yes(Wake),
    /// Another has it, or it offers something else by now.
    No,
    /// We were taken ourselves meanwhile.
    WeWere,
}

fn ticket_of(offer: u64) -> Ticket {
    (offer >> TICKET_SHIFT) as u32
}

/// The process's worker: opens an offer, before it is entered anywhere. `None` if the process is
/// to be ended.
pub(crate) fn open(task: TaskRef, foreign: bool) -> Option<Ticket> {
    // Whether a process that waits for a foreign waker too is asleep is said by that waker's state.
    let flags = if foreign { OPEN | FOREIGN } else { OPEN | ENTERING };
    let seen = task.offer().load(Relaxed);
    debug_assert_eq!(seen & STATE, IDLE, "one offer at a time");
    let ticket = ticket_of(seen).wrapping_add(1);
    let next = u64::from(ticket) << TICKET_SHIFT | flags;
    if task.notes() & own::KILLABLE == 0 {
        // No other thread writes while it is `IDLE`. Release is not needed for the slots, which are
        // handed over by the gates, but for one that reads the ticket without a gate.
        task.offer().store(next, Release);
        return Some(ticket);
    }
    // A killer may write its bit at any time: it must not be overwritten.
    (seen & KILL == 0 && task.offer().compare_exchange(seen, next, AcqRel, Acquire).is_ok())
        .then_some(ticket)
}

/// The process, resumed: the guard that was chosen, if one was. It offers nothing from now on.
pub(crate) fn close(task: TaskRef) -> Option<usize> {
    let mut seen = wait_while_busy(task);
    loop {
        let next = seen & !(STATE | GUARD | FOREIGN | ENTERING);
        // Also if `OPEN`: a foreign waker has resumed the process, and others may still come.
        match task.offer().compare_exchange(seen, next, AcqRel, Acquire) {
            Ok(_) if seen & STATE == TAKEN => {
                return usize::try_from((seen & GUARD) >> GUARD_SHIFT).ok();
            }
            Ok(_) => return None,
            Err(now) => seen = now,
        }
        if seen & STATE == BUSY {
            seen = wait_while_busy(task);
        }
    }
}

/// Waits until the one that keeps others off does so no more.
fn wait_while_busy(task: TaskRef) -> u64 {
    let mut spins = 0;
    loop {
        let seen = task.offer().load(Acquire);
        if seen & STATE != BUSY {
            return seen;
        }
        pause(&mut spins);
    }
}

/// The worker: the process is entered everywhere. `false` if it was taken meanwhile, or is to end:
/// it runs again.
pub(crate) fn settle(task: TaskRef) -> bool {
    let mut seen = task.offer().load(Relaxed);
    loop {
        match seen & STATE {
            // Release: the process is handed over to the one that takes it. Acquire: what was given to it.
            OPEN => match task.offer().compare_exchange(seen, seen & !ENTERING, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            },
            BUSY => seen = wait_while_busy(task),
            _ => return false,
        }
    }
}

/// The worker that enters the process: keeps others off for a moment; `false` if it is too late.
pub(super) fn make_busy(task: TaskRef) -> bool {
    let mut seen = task.offer().load(Relaxed);
    loop {
        match seen & STATE {
            OPEN => {
                match task.offer().compare_exchange(seen, seen & !STATE | BUSY, AcqRel, Relaxed) {
                    Ok(_) => return true,
                    Err(now) => seen = now,
                }
            }
            BUSY => seen = wait_while_busy(task),
            _ => return false,
        }
    }
}

/// Keeps others off an offer that may be another's; `false` if it is not open with this ticket any
/// more. A holder of several has taken them in the order of their addresses.
pub(crate) fn hold(task: TaskRef, ticket: Ticket) -> bool {
    let mut seen = task.offer().load(Acquire);
    loop {
        match seen & STATE {
            _ if ticket_of(seen) != ticket => return false,
            // Acquire: the process's memory is looked at.
            OPEN => {
                match task.offer().compare_exchange(seen, seen & !STATE | BUSY, AcqRel, Acquire) {
                    Ok(_) => return true,
                    Err(now) => seen = now,
                }
            }
            BUSY => seen = wait_while_busy(task),
            _ => return false,
        }
    }
}

/// Lets go of an offer that was [held](hold).
pub(crate) fn let_go(task: TaskRef) {
    leave_busy(task, Leave::Open);
}

/// Takes an offer that was [held](hold).
pub(crate) fn take_held(task: TaskRef, guard: u32) -> Wake {
    wake_of(task, leave_busy(task, Leave::Taken(guard)))
}

/// Moves `BUSY` on: only the one that made it so may. A killer's bit stays. Returns what the offer was.
pub(crate) fn leave_busy(task: TaskRef, to: Leave) -> u64 {
    let mut seen = task.offer().load(Relaxed);
    debug_assert_eq!(seen & STATE, BUSY, "only the one that made it busy ends that");
    loop {
        let next = seen & !(STATE | GUARD)
            | match to {
                Leave::Open => OPEN,
                Leave::Taken(guard) => TAKEN | u64::from(guard) << GUARD_SHIFT,
            };
        match task.offer().compare_exchange(seen, next, AcqRel, Relaxed) {
            Ok(_) => return seen,
            Err(now) => seen = now,
        }
    }
}

/// How a process is made ready whose offer was taken just now; the taker still has the gate that
/// the process must pass.
///
/// This is found out from what the offer *was*: a foreign waker may resume the process at once, and
/// then its offer says so no more.
fn wake_of(task: TaskRef, seen: u64) -> Wake {
    if seen & FOREIGN != 0 {
        // It is left to its foreign waker too: that one decides which makes it ready.
        return Wake::foreign(task);
    }
    if seen & ENTERING == 0 { Wake::Asleep(task) } else { Wake::Nobody }
}

/// What `BUSY` becomes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leave {
    Open,
    Taken(u32),
}

/// Takes the offer of `task` if it is still the one with this ticket. `by` is the process that wants
/// it, if that process is itself `BUSY`: entered elsewhere.
pub(crate) fn take(task: TaskRef, ticket: Ticket, guard: u32, by: Option<TaskRef>) -> Taken {
    let mut spins = 0;
    loop {
        let seen = task.offer().load(Acquire);
        if ticket_of(seen) != ticket {
            return Taken::No;
        }
        match seen & STATE {
            OPEN => {
                let next = seen & !(STATE | GUARD) | TAKEN | u64::from(guard) << GUARD_SHIFT;
                // AcqRel: the process is handed over, and what its taker did to it.
                if task.offer().compare_exchange(seen, next, AcqRel, Relaxed).is_ok() {
                    return Taken::Yes(wake_of(task, seen));
                }
            }
            BUSY => {
                if let Some(by) = by
                    && by.as_ptr() > task.as_ptr()
                {
                    leave_busy(by, Leave::Open);
                    pause(&mut spins);
                    if !make_busy(by) {
                        return Taken::WeWere;
                    }
                } else {
                    pause(&mut spins);
                }
            }
            _ => return Taken::No,
        }
    }
}

/// Wants the process to end: `true` if it was asleep with an open offer, and is ours now. One that
/// is left to its foreign waker too is not ours: that waker is to be called.
pub(crate) fn kill(task: TaskRef) -> bool {
    let mut seen = task.offer().fetch_or(KILL, AcqRel) | KILL;
    loop {
        match seen & STATE {
            OPEN => match task.offer().compare_exchange(seen, seen & !STATE, AcqRel, Acquire) {
                Ok(_) => return seen & (ENTERING | FOREIGN) == 0,
                Err(now) => seen = now,
            },
            BUSY => seen = wait_while_busy(task),
            _ => return false,
        }
    }
}

/// The ticket of a process that is asleep, or left to a foreign waker, with an open offer. A hint
/// until that is [held](hold).
pub(crate) fn open_ticket(task: TaskRef) -> Option<Ticket> {
    let seen = task.offer().load(Acquire);
    (seen & STATE == OPEN && seen & ENTERING == 0).then(|| ticket_of(seen))
}

/// Whether a process is asleep with an offer, be it kept by another thread for a moment: for one that only looks.
pub(crate) fn offers(task: TaskRef) -> bool {
    matches!(task.offer().load(Acquire) & STATE, OPEN | BUSY)
}

/// Whether a foreign waker may resume the process, too. A hint as well.
pub(crate) fn is_foreign(task: TaskRef) -> bool {
    task.offer().load(Acquire) & FOREIGN != 0
}
