//! The slow path of every operation: may it go on, must it wait, is it over?
//!
//! | the process | then |
//! |---|---|
//! | is being dropped | the operation does nothing |
//! | has another operation waiting | misuse |
//! | has dropped senders | their channels end now |
//! | is to be pruned or stopped | it ends here |
//! | has run long, or every operation waits once | it waits for its next turn |
//!
//! | the channel | `send` | `recv` |
//! |---|---|---|
//! | has room, or messages | goes on | goes on |
//! | is full, or empty | waits, or grows if told to | waits |
//! | has no other end any more | discards the message | tells the end of the stream, or fails with the sender |

use super::closing;
use super::raw::{ChannelRef, End, flag};
use crate::graph::{Misuse, MisuseKind, Name};
use crate::scheduler::task::{TaskRef, mark, own};
use crate::scheduler::{EndCause, Kind, Request, Worker};
use crate::sync::Ordering::*;

/// What an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// There is room for one operation at least.
    Go,
    /// Return `Pending`: the worker has been asked for what is needed.
    Wait,
    /// The other end is gone, or this process is.
    Over,
}

/// An operation in progress: whether it has waited.
pub(crate) type Waited = bool;

/// The way every operation begins that cannot just go on.
pub(crate) fn turn(
    channel: ChannelRef,
    end: End,
    worker: &Worker,
    task: TaskRef,
    waited: &mut Waited,
) -> Turn {
    let here = channel.waiting_at(end);
    let notes = task.notes();
    let is_resumed = notes == own::WAITING && *waited && task.waits_at.load(Relaxed) == here;
    let is_plain =
        (notes == 0 || is_resumed) && task.marks.load(Relaxed) == 0 && worker.patience.get() > 0;
    if is_plain {
        // The usual case: nothing to attend to, or just what this operation waited for.
        task.forget(own::WAITING);
    } else if let Some(turn) = attend(channel, end, worker, task, waited) {
        return turn;
    }
    if channel.side(end).room.get() > 0 {
        return Turn::Go;
    }
    worker.patience.set(worker.patience.get().saturating_sub(1));
    let turn = match end {
        End::Sender => look_for_room(channel, worker, task),
        End::Receiver => look_for_messages(channel, worker, task),
    };
    if turn == Turn::Wait {
        task.note(own::WAITING);
        // Release: who finds the process parked finds the channel it is parked at.
        task.waits_at.store(here, Release);
        *waited = true;
    }
    turn
}

/// Deals with what the process itself has to attend to first.
#[cold]
fn attend(
    channel: ChannelRef,
    end: End,
    worker: &Worker,
    task: TaskRef,
    waited: &mut Waited,
) -> Option<Turn> {
    let notes = task.notes();
    if notes & own::ENDING != 0 {
        return Some(Turn::Over);
    }
    if notes & own::WAITING != 0 {
        if !*waited || task.waits_at.load(Relaxed) != channel.waiting_at(end) {
            let waiting = waiting_channel(task).unwrap_or_else(|| channel.name().clone());
            let begun = channel.name().clone();
            return Some(misused(worker, task, MisuseKind::Overlap { waiting, begun }));
        }
        task.forget(own::WAITING);
    }
    if notes & own::CLOSES != 0 {
        closing::close_dropped(task, worker, false);
    }
    let marks = task.marks.load(Acquire);
    if marks & (mark::STOP | mark::PRUNE) != 0
        && let Some(cause) = worker.must_end(task)
    {
        return Some(must_end(worker, cause));
    }
    if marks & mark::FLUSH != 0 {
        task.marks.fetch_and(!mark::FLUSH, Relaxed);
        worker.flush();
    }
    let tired = worker.patience.get() == 0 && !worker.is_dedicated();
    if !*waited && (notes & own::WAIT_ONCE != 0 || tired) {
        *waited = true;
        task.note(own::WAITING);
        task.waits_at.store(channel.waiting_at(end), Release);
        worker.ask(Request::Again { cold: tired });
        return Some(Turn::Wait);
    }
    None
}

/// Ends the process here.
pub(super) fn must_end(worker: &Worker, cause: EndCause) -> Turn {
    worker.ask(Request::End(cause));
    Turn::Wait
}

/// Ends the run for misuse, and this process with it.
pub(super) fn misused(worker: &Worker, task: TaskRef, kind: MisuseKind) -> Turn {
    report(task, kind);
    must_end(worker, EndCause::Stopped)
}

/// Ends the run for misuse.
pub(super) fn report(task: TaskRef, kind: MisuseKind) {
    let process = task.info().name.clone();
    task.scheduler().hooks().misuse(task, Misuse { process, kind });
}

/// The channel that the process's waiting operation is on.
pub(super) fn waiting_channel(task: TaskRef) -> Option<Name> {
    // SAFETY: `waits_at` is set by `waiting_at` alone.
    let waiting = unsafe { ChannelRef::from_waiting(task.waits_at.load(Relaxed)) };
    waiting.map(|(channel, _)| channel.name().clone())
}

fn is_eager(channel: ChannelRef, end: End, task: TaskRef) -> bool {
    task.notes() & own::WAIT_ONCE != 0 || channel.side(end).eager.load(Relaxed)
}

fn look_for_room(channel: ChannelRef, worker: &Worker, task: TaskRef) -> Turn {
    let side = &channel.sender;
    let seen = channel.seen(End::Receiver);
    if seen.is_closed() {
        // As below: a reader that was stopped has not left.
        if task.scheduler().is_ending() {
            return must_end(worker, EndCause::Stopped);
        }
        return Turn::Over;
    }
    if side.ring.get().is_null() {
        let ring = (channel.cold.types.get().new_ring)(channel.cold.capacity.load(Relaxed));
        side.enter(ring);
        // The receiver looks here only after it has seen a message.
        channel.receiver.enter(ring);
    }
    let used = side.local.get() - seen.count();
    loop {
        // SAFETY: the sender's ring lives until the sender has left it and the receiver too.
        let ring = unsafe { &*side.ring.get() };
        let capacity = ring.capacity();
        if used < capacity {
            let eager = is_eager(channel, End::Sender, task);
            channel.grant(End::Sender, capacity - used, capacity, eager, worker);
            return Turn::Go;
        }
        let Some(larger) = ring.asked_to_grow() else { break };
        let new = (channel.cold.types.get().new_ring)(larger);
        ring.link(new, side.local.get());
        side.enter(new);
        channel.cold.capacity.store(larger, Relaxed);
    }
    if channel.has_flag(flag::DEAD_END) {
        return Turn::Over;
    }
    worker.ask(Request::Wait(channel.wait_on(End::Sender, seen)));
    Turn::Wait
}

fn look_for_messages(channel: ChannelRef, worker: &Worker, task: TaskRef) -> Turn {
    let side = &channel.receiver;
    let word = channel.word(End::Sender);
    let seen = word.load();
    let waiting = seen.count() - side.local.get();
    if waiting == 0 {
        if !seen.is_closed() {
            worker.ask(Request::Wait(channel.wait_on(End::Receiver, seen)));
            return Turn::Wait;
        }
        // After the word: whoever was stopped and so closed this end was stopped before it did.
        if task.scheduler().is_ending() {
            return must_end(worker, EndCause::Stopped);
        }
        if channel.has_flag(flag::FAILED) {
            return must_end(worker, EndCause::FailedBy(channel.as_ptr().cast()));
        }
        return Turn::Over;
    }
    let mut in_ring = waiting;
    // SAFETY: there is a message, so the sender has set up the ring, and nobody frees it but us.
    let mut ring = unsafe { &*side.ring.get() };
    while let Some((next, switch_at)) = ring.following() {
        if side.local.get() < switch_at {
            in_ring = in_ring.min(switch_at - side.local.get());
            break;
        }
        leave_ring(channel, next.as_ptr());
        // SAFETY: linked by the sender, and ours to free.
        ring = unsafe { next.as_ref() };
    }
    if worker.counts {
        note_waiting(channel, waiting);
    }
    let eager = is_eager(channel, End::Receiver, task) || side.recorded.get();
    channel.grant(End::Receiver, in_ring, ring.capacity(), eager, worker);
    if worker.counts && word.publisher() != worker.number() {
        let remote = &channel.cold.remote;
        remote.store(remote.load(Relaxed) + u64::from(side.room.get()), Relaxed);
    }
    Turn::Go
}

fn note_waiting(channel: ChannelRef, waiting: u64) {
    let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
    let most = &channel.receiver.most_waiting;
    if waiting > most.load(Relaxed) {
        most.store(waiting, Relaxed);
    }
}

/// Receiver: frees the ring that it has emptied, and goes on in the next.
fn leave_ring(channel: ChannelRef, next: *mut super::ring::Ring) {
    let old = channel.receiver.ring.get();
    let types = channel.cold.types.get();
    // SAFETY: the sender has left this ring when it linked the next; ours alone.
    let capacity = unsafe { (*old).capacity() };
    channel.table().give_back(capacity, types.size);
    channel.receiver.enter(next);
    // SAFETY: empty, and nobody uses it any more.
    unsafe { (types.free_ring)(old) };
}

/// Whether a process that a thread runs may wait here in the form it chose.
pub(super) fn blocks(task: TaskRef) -> bool {
    task.kind() == Kind::Threaded && task.body().is_some_and(|body| body.blocking)
}
