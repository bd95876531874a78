//! How an operation waits: what all of them have in common.
//!
//! | stage | the operation | leaves by |
//! |---|---|---|
//! | `Fresh` | was not polled yet | it finds a partner; it waits; it has had many turns and yields |
//! | `Yielded` | lets others go first | the next poll |
//! | `Waiting` | has asked its worker to enter it | it is resumed with an outcome |
//! | `Over` | has given its result | never |
//!
//! A process is entered where it waits after it has left its poll. If it waits for one thing alone
//! and nobody may end it meanwhile, its entry is plain: who finds it owns it. Otherwise it is an
//! offer.

use super::language::Communicates;
use super::language::{self, Commit};
use super::language::{Worker, own};
use super::look::Awaited;
use super::meeting::How;
use super::offer;
use kahn_engine::{Park, Request, TaskRef};

use super::attempt::Attempt;

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Fresh,
    Yielded,
    Waiting,
    Over,
}

/// The worker and the process that run an operation, if both are where the operation belongs.
///
/// # Panics
/// Panics otherwise, with what to do instead.
#[inline]
pub(super) fn here<'a>(network: u32, what: &str) -> (&'a Worker, TaskRef) {
    Worker::running_in(network).unwrap_or_else(|| elsewhere(what))
}

/// Makes sure that something belongs to the network of this worker.
///
/// # Panics
/// Panics if it does not.
#[inline]
pub(super) fn check_network(worker: &Worker, network: u32, what: &str) {
    if worker.network != network {
        elsewhere(what);
    }
}

#[cold]
fn elsewhere(what: &str) -> ! {
    panic!(
        "{what} was used outside of its network: channels and barriers of `kahn::csp` work in the \
         processes of the `csp::run` that they were made in"
    )
}

/// Whether the operation may go on: a process that never has to wait gives way to others every so
/// many operations, and under the policy `seeded` before each one.
#[inline]
pub(super) fn has_turn(worker: &Worker, task: TaskRef, stage: &mut Stage) -> bool {
    has_turn_at_once(worker, task) || gives_way(worker, stage)
}

/// The usual case of [`has_turn`].
#[inline]
pub(super) fn has_turn_at_once(worker: &Worker, task: TaskRef) -> bool {
    let patience = worker.patience.get();
    let has_turn = patience > 0 && task.notes() & own::WAIT_ONCE == 0;
    if has_turn {
        worker.patience.set(patience - 1);
    }
    has_turn
}

#[cold]
fn gives_way(worker: &Worker, stage: &mut Stage) -> bool {
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
pub(super) fn ask_to_enter<W>(
    worker: &Worker,
    task: TaskRef,
    place: Place,
    what: *const W,
    commit: unsafe fn(*const (), TaskRef, &Worker) -> Park,
) {
    // Relaxed: whoever reads it makes sure under a gate that the process is there.
    task.waits_at().store(place.pack(), kahn_engine::sync::Ordering::Relaxed);
    if !language::ask_to_commit(worker, Commit { what: what.cast(), commit }) {
        two_at_once(worker, task);
    }
}

/// Enters a process that waits for one thing alone.
#[inline]
pub(super) fn enter_alone(task: TaskRef, enter: impl FnOnce(How) -> Attempt) -> Park {
    if task.notes() & own::KILLABLE == 0 {
        return match enter(How::Plain) {
            Attempt::Nothing => Park::Asleep,
            Attempt::Done | Attempt::WeWere => Park::Moved,
        };
    }
    // Somebody may want it to end while it waits.
    let Some(ticket) = offer::open(task, false, 1) else { return Park::Moved };
    match enter(How::Offer { ticket, guard: 0 }) {
        Attempt::Nothing if offer::settle(task) => Park::Asleep,
        _ => Park::Moved,
    }
}

/// A process that waited alone runs again; `true` if its slot must be asked for under the gate.
#[inline]
pub(super) fn resumed(task: TaskRef) -> bool {
    if task.notes() & own::KILLABLE == 0 {
        return false;
    }
    offer::close(task);
    true
}

/// Where a process waits, as it leaves it behind for explanations.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Send(*const ()),
    Receive(*const ()),
    Alternation(*const ()),
    Claim(*const ()),
    Barrier(*const ()),
    Join(*const ()),
    Bucket(*const ()),
    Sleep,
}

/// What a place points to is aligned, so that its kind fits in beside it.
const KIND: usize = 7;

/// What an alternation waits for, in its own memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub(super) what: *const (),
    pub(super) describe: unsafe fn(*const (), &mut dyn FnMut(Awaited)),
}

// SAFETY: it is followed only while the process stands still whose memory it points to.
unsafe impl Send for About {}
// SAFETY: as above.
unsafe impl Sync for About {}

impl Place {
    #[inline]
    fn pack(self) -> *mut () {
        let (pointer, kind) = match self {
            Self::Send(pointer) => (pointer, 1),
            Self::Receive(pointer) => (pointer, 2),
            Self::Alternation(pointer) => (pointer, 3),
            Self::Claim(pointer) => (pointer, 4),
            Self::Barrier(pointer) => (pointer, 5),
            Self::Join(pointer) => (pointer, 6),
            Self::Bucket(pointer) => (pointer, 7),
            // No place is at the address of nothing.
            Self::Sleep => (std::ptr::null(), 7),
        };
        pointer.map_addr(|address| address | kind).cast_mut()
    }

    /// Where a process waits or waited last.
    pub(super) fn of(task: TaskRef) -> Option<Self> {
        let packed = task.waits_at().load(kahn_engine::sync::Ordering::Acquire).cast_const();
        let pointer = packed.map_addr(|address| address & !KIND);
        Some(match packed.addr() & KIND {
            1 => Self::Send(pointer),
            2 => Self::Receive(pointer),
            3 => Self::Alternation(pointer),
            4 => Self::Claim(pointer),
            5 => Self::Barrier(pointer),
            6 => Self::Join(pointer),
            7 if pointer.is_null() => Self::Sleep,
            7 => Self::Bucket(pointer),
            _ => return None,
        })
    }
}
