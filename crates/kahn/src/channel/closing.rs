//! How ends change hands and how channels end.
//!
//! | event | the word | then |
//! |---|---|---|
//! | a sender's end takes effect | CLOSED after the last message | the receiver reads on, then sees the end |
//! | the process failed | the same, with the failure flag set before | the receiver reads on, then fails too |
//! | a receiver departs | CLOSED | the sender's messages are discarded; it may be pruned |
//! | a receiver dies | flag `DEAD_END` | the same, though the end is still there |
//!
//! The first of the two ends to close takes the channel off the sender's count of observers; the
//! second frees the channel. Both are decided under the channel's gate.
//!
//! *How a process ends is seen* by the readers of the senders it held last, if they see those end, or
//! receive what it sent after it could be pruned last; and by the process itself, if it had both ends of a
//! channel then. All this is noted with the channel, for the report tells of nothing that could not be seen
//! (`network/observed.rs`). A reader may hand the receiver on. Then
//! it may create processes, and is never pruned itself: what it saw counts whichever process has the receiver after
//! it. How much it had received is compared with what was sent when both are known, in the end; the table
//! keeps it, for few receivers are handed on that were used.
//!
//! *What is named.* An end that is open names a process that has not ended, or that has left the end
//! behind and keeps its memory. So the one at the open end may be woken and counted down. One that
//! closes its end while the other is open is named no more, and goes without a process having to come
//! back to it; unless a report or a failure mark is to tell its name, for which the channel then has
//! a reference.

use super::fast_path::abandoned;
use super::language::{self, Kahn};
use super::language::{Worker, mark, own};
use super::observer;
use super::process::{InNetwork, attribute};
use super::prune;
use super::raw::{ChannelRef, End, flag, told};
use super::slow_path::report;
use super::table::ChannelTable;
use super::word::Moved;
use kahn_engine::sync::Access;
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::TaskRef;
use kahn_engine::{Kind, Reason, Request, Scheduler};
use kahn_report::observe::Act;
use kahn_report::{Ending, MisuseKind};
use std::future;
use std::ptr;
use std::task::{Poll, Waker};

/// Gives both ends of a new channel to the process that makes it.
///
/// Nothing else names the channel, so no end is handed on or closed: no gate. What makes
/// channels is never pruned: no observer.
pub(crate) fn own_both(channel: ChannelRef, maker: TaskRef) {
    debug_assert!(maker.creates(), "asked when it began to create");
    for end in [End::Sender, End::Receiver] {
        maker.gain_end(end == End::Sender);
        channel.side(end).owner.store(maker.as_ptr().cast_mut(), Release);
        channel.observe_acts_of(end, maker);
    }
    publish_at_once_for(channel, maker);
}

/// Gives an end to a process; `from` is the process that had it, which the caller holds, and which
/// has left nothing unpublished there.
pub(crate) fn hand_over(
    channel: ChannelRef,
    end: End,
    from: Option<(TaskRef, &Worker)>,
    to: TaskRef,
) {
    let is_sender = end == End::Sender;
    let access = from.map_or(Access::SHARED, |(_, worker)| worker.access());
    // No other process closes an end or hands one on if both are the giver's, which runs and is not dead.
    let has_both = from.is_some_and(|(from, _)| channel.owner(end.peer()) == Some(from));
    let of_gate = if has_both { Access::ALONE } else { access };
    let is_within = !is_sender && channel.before(channel.receiver.local.get()) > 0;
    if is_within {
        // The channel stays on the table, for its receiver is the giver's.
        channel.table().note_handed_on(channel);
    }
    channel.with_gate(of_gate, |gate| {
        let is_observed =
            is_sender && !gate.is_closed(End::Receiver) && !channel.has_flag(flag::DEAD_END);
        if !is_sender && channel.has_flag(flag::SEEN) {
            gate.note_handed_on();
        }
        if is_within {
            gate.note_handed_on_within();
        }
        to.gain_end(is_sender);
        if is_sender {
            // It does not run yet.
            to.note_sent(ptr::null());
        }
        if is_observed {
            to.add_observer(access);
        }
        channel.side(end).owner.store(to.as_ptr().cast_mut(), Release);
        if let Some((from, _)) = from {
            from.lose_end(is_sender);
            if is_observed {
                prune::lose_observer(from, access);
            }
        }
    });
    channel.observe_acts_of(end, to);
    publish_at_once_for(channel, to);
}

/// Has both ends publish every operation if a thread or a party has one of them.
fn publish_at_once_for(channel: ChannelRef, owner: TaskRef) {
    if owner.kind() != Kind::Pooled {
        channel.tell_of_both_ends(told::OUTSIDE);
    }
}

/// A sender or receiver was dropped, and with it the memory that names the channel.
pub(super) fn dropped(channel: ChannelRef, end: End) {
    if channel.is_stood_in_for(end) {
        return;
    }
    if !give_up(channel, end) {
        channel.table().end_gone();
    }
}

/// The process that owns an end has it no more; whether the end is closed, now or when that process
/// comes to its next operation or its end.
pub(super) fn give_up(channel: ChannelRef, end: End) -> bool {
    let Some(owner) = channel.owner(end) else {
        // Never given to a process: the check before the run names it.
        return false;
    };
    let holder = Worker::holding(owner.as_ptr());
    if holder.is_some() && owner.waits_at() == channel.waiting_at(end) {
        owner.stop_waiting();
        // Nor does it say any more what it was given.
        owner.note_sent(ptr::null());
        // The operation is gone or forgotten, which is told while there is a channel to name. A
        // thread that unwinds out of its operation is being ended.
        if owner.body().is_some_and(|body| !body.blocking) {
            abandoned(channel, end);
        }
    }
    let Some(worker) = holder else {
        ChannelTable::dropped_elsewhere(channel, owner);
        return false;
    };
    channel.settle(end, worker);
    if owner.kind() == Kind::Outside {
        channel.table().kept_end_closes();
    }
    let is_to_be_noted = end == End::Sender
        && (owner.has_just_sent(channel.as_ptr().cast()) || owner.has_just_kept());
    if channel.is_closed_for_good(end.peer()) && !is_to_be_noted {
        // There is no process to be told how it ends.
        owner.lose_end(end == End::Sender);
        free(channel, end, worker.access());
    } else {
        match end {
            End::Sender => {
                // Takes effect at the next operation, or with the process's end, when it is known
                // whether that is a failure.
                // Takes all credit away, so that the next operation comes to see it.
                Kahn::flush(worker);
                channel.next_close.set(owner.local().closes.get());
                owner.local().closes.set(channel.as_ptr().cast());
                owner.note(own::CLOSES);
                worker.has_something_left();
            }
            End::Receiver => depart(channel, owner, worker),
        }
    }
    true
}

/// Ends the channels of the senders that the process has dropped.
pub(crate) fn close_dropped(task: TaskRef, worker: &Worker, failed: bool) {
    task.forget(own::CLOSES);
    let first = task.local().closes.replace(ptr::null());
    let mut count = 0;
    let mut next = first;
    // SAFETY: linked by `dropped`, and each channel lives until its sender is closed, below.
    while let Some(channel) = unsafe { ChannelRef::from_ptr(next) } {
        next = channel.next_close.get();
        count += 1;
    }
    let are_last = count == task.local().senders.get();
    if are_last && task.notes() & own::ENDING == 0 {
        prune::note_last_sender(task);
    }
    next = first;
    // SAFETY: as above.
    while let Some(channel) = unsafe { ChannelRef::from_ptr(next) } {
        next = channel.next_close.replace(ptr::null());
        close(channel, task, worker, failed, are_last);
    }
}

/// Makes all that a process has done visible, if it is the one that asks. It is an operation: what
/// was dropped takes effect, a process that is not observed any more ends here, and one that has run
/// long yields.
pub(crate) async fn flush(task: TaskRef) {
    match Worker::holding(task.as_ptr()) {
        Some(worker) if task.notes() & own::ENDING == 0 => {
            if task.notes() & own::CLOSES != 0 {
                close_dropped(task, worker, false);
            }
            task.note_sent(ptr::null());
            Kahn::flush(worker);
        }
        _ => return,
    }
    let mut has_yielded = false;
    future::poll_fn(|context| {
        let Some(worker) = Worker::holding(task.as_ptr()) else { return Poll::Ready(()) };
        if let Some(ending) = ends_here(task, worker, context.waker()) {
            worker.ask_to_end(ending);
            return Poll::Pending;
        }
        if has_yielded || worker.spend(1) || worker.is_dedicated() {
            return Poll::Ready(());
        }
        has_yielded = true;
        worker.ask(Request::Yield);
        Poll::Pending
    })
    .await;
}

/// What a process without channels does now and then: it ends here if it is stopped, and yields if it has
/// run long or `gives_way`.
pub(crate) async fn rest(gives_way: bool) {
    let running = Worker::running().map(|(worker, task)| {
        if gives_way {
            worker.spend(u32::MAX);
        }
        task
    });
    if let Some(task) = running {
        flush(task).await;
    }
}

/// How a process ends that flushes. One that blocks, or has another executor poll the operation, is not
/// ended here: its thread or that executor would wait for ever.
fn ends_here(task: TaskRef, worker: &Worker, waker: &Waker) -> Option<Ending> {
    let is_marked = task.marks.load(Acquire) & (mark::STOP | mark::PRUNE) != 0;
    let is_polled_here = ptr::eq(waker.data(), task.as_ptr().cast());
    if is_marked && is_polled_here { worker.must_end(task) } else { None }
}

/// The sender's end of a channel takes effect; `is_last`: with it the process has no sender any more. All that it has
/// sent is published, and so told, since the sender was given up.
fn close(channel: ChannelRef, task: TaskRef, worker: &Worker, failed: bool, is_last: bool) {
    if failed {
        channel.set_flag(flag::FAILED);
    }
    let side = &channel.sender;
    if side.tells(told::OBSERVER) && !failed && goes_on(task) {
        channel.tell_of_act(End::Sender, |channel| Act::Closes { channel });
    }
    let moved = channel.word(End::Sender).close(side.local.get(), worker.access());
    wake_peer(channel, End::Sender, moved, worker);
    task.lose_end(true);
    let last = is_last.then(|| Last {
        just_sent: task.has_just_sent(channel.as_ptr().cast()),
        just_kept: task.has_just_kept(),
    });
    shut(channel, End::Sender, task, worker.access(), last);
    // Its other receivers may all have departed; but a process that ends is not cut short.
    if task.notes() & own::ENDING == 0 && task.local().senders.get() > 0 && task.is_prunable() {
        task.marks.fetch_or(mark::PRUNE, Relaxed);
    }
}

/// A receiver leaves: what is sent to it from now on is discarded.
fn depart(channel: ChannelRef, task: TaskRef, worker: &Worker) {
    let side = &channel.receiver;
    if side.tells(told::OBSERVER) && goes_on(task) {
        channel.tell_of_act(End::Receiver, |channel| Act::Departs { channel });
    }
    let moved = channel.word(End::Receiver).close(side.local.get(), worker.access());
    wake_peer(channel, End::Receiver, moved, worker);
    task.lose_end(false);
    if channel.owner(End::Sender) == Some(task) && !channel.seen(End::Sender).is_closed() {
        task.note_kept();
    }
    shut(channel, End::Receiver, task, worker.access(), None);
}

/// Whether a process gives up an end by itself, and not because it ends or the run does.
pub(super) fn goes_on(task: TaskRef) -> bool {
    task.notes() & own::ENDING == 0 && !Scheduler::of(task).is_ending()
}

fn wake_peer(channel: ChannelRef, end: End, moved: Moved, worker: &Worker) {
    if moved == Moved::Wake
        && let Some(peer) = channel.owner(end.peer())
    {
        // SAFETY: closing has taken PARKED out of the word where the peer waits.
        unsafe { language::wake(worker, peer) };
    }
}

/// One of the last senders of a process, since that could be pruned last.
#[derive(Clone, Copy)]
struct Last {
    /// It has sent there.
    just_sent: bool,
    /// It has had both ends of a channel.
    just_kept: bool,
}

/// Marks an end of this process as closed; the second to close frees the channel. `last`: it is one of
/// the last senders.
fn shut(channel: ChannelRef, end: End, task: TaskRef, access: Access, last: Option<Last>) {
    let is_last = channel.with_gate(access, |gate| {
        let is_last = gate.is_closed(end.peer());
        gate.close(end);
        if let Some(last) = last {
            let is_kept = !is_last && channel.owner(End::Receiver) == Some(task);
            gate.note_last(last.just_sent, is_kept || last.just_kept);
        }
        if is_last {
            return true;
        }
        if !channel.has_flag(flag::DEAD_END)
            && let Some(sender) = channel.owner(End::Sender)
        {
            match end {
                End::Sender => sender.close_observer(access),
                End::Receiver => prune::lose_observer(sender, access),
            }
        }
        if is_to_be_told(channel, end) {
            task.add_references(1, access);
        } else {
            // Relaxed: a thread that reads the old value finds no wait there, as in any stale header.
            channel.side(end).owner.store(ptr::null_mut(), Relaxed);
        }
        false
    });
    if is_last {
        free(channel, end, access);
    }
}

/// The receiver of a channel is dead: the sender need not wait for it, and is not observed by it.
/// Called by the resolver, under its lock, for receivers that are parked for good.
pub(crate) fn mark_dead_end(channel: ChannelRef, scheduler: &Scheduler) {
    let lost = channel.with_gate(Access::SHARED, |gate| {
        if channel.has_flag(flag::DEAD_END) || gate.is_closed(End::Receiver) {
            return false;
        }
        channel.set_flag(flag::DEAD_END);
        if !gate.is_closed(End::Sender)
            && let Some(sender) = channel.owner(End::Sender)
        {
            if sender.attributes() & attribute::LINK == 0 {
                prune::lose_observer(sender, Access::SHARED);
            } else if let Some(foreign) = sender.foreign_if_any() {
                // It tells the writer's rank, and stays: its end is that of a process that has not left.
                foreign.wake();
            }
        }
        true
    });
    if lost {
        wake_sender(channel, scheduler);
    }
}

/// Takes the sender of a channel out of its wait for a receiver that is dead, if it waits there.
pub(crate) fn wake_sender(channel: ChannelRef, scheduler: &Scheduler) -> bool {
    let seen = channel.seen(End::Receiver);
    if seen.is_parked()
        && channel.word(End::Receiver).unpark(seen)
        && let Some(sender) = channel.owner(End::Sender)
    {
        // SAFETY: taken out of its wait, which one thread can do.
        let ready = unsafe { sender.claim() };
        scheduler.make_ready(kahn_engine::Origin::Outside, ready, Reason::Woken);
        return true;
    }
    false
}

/// Both ends are closed, `end` as the second: drops what is left in it and recycles its memory.
fn free(channel: ChannelRef, end: End, access: Access) {
    let began_with = channel.began_with();
    let bytes = drop_messages(channel);
    let told = channel.owner(end.peer());
    channel.table().retire(channel, bytes, began_with, access);
    if let Some(task) = told {
        // SAFETY: the reference that this end had.
        unsafe { Scheduler::of(task).release(task, access) };
    }
}

/// Whether it is to be told what closed this end, the first of the two: in a report, or to what reads a
/// failure mark.
fn is_to_be_told(channel: ChannelRef, end: End) -> bool {
    let is_listed = channel.table().promise_to_list();
    if is_listed {
        channel.set_flag(flag::LISTED);
    }
    // A party outside may have the other end when all is reported, whatever else is listed.
    // Relaxed: set when an end is handed to a party, before anything runs; else it makes no odds.
    let is_left = channel.side(end).tells(told::OUTSIDE) || channel.receiver.is_recorded();
    is_listed || is_left || end == End::Sender && channel.has_flag(flag::FAILED)
}

/// Drops all messages of a channel that is not used any more, and frees its slots; what goes back
/// to the budget.
pub(super) fn drop_messages(channel: ChannelRef) -> u64 {
    let types = channel.types.get();
    if channel.sender.is_set_up() {
        channel.for_each_slot(|number, slot| {
            // SAFETY: messages from the receiver's count to the sender's are in their slots.
            unsafe { channel.tell_what_is_left(number, slot) };
            // SAFETY: as above.
            unsafe { (types.drop_message)(slot) };
        });
        // SAFETY: emptied, and the channel is not used any more.
        unsafe { channel.free_slots() };
    }
    let counted = channel.scales(End::Sender).map_or(0, |scales| scales.counted.swap(0, Relaxed));
    // No read-modify-write: no other thread touches what is not used any more.
    let slots = channel.cold.slots.load(Relaxed);
    channel.cold.slots.store(0, Relaxed);
    counted + ChannelTable::bytes(slots.into(), types.size)
}

/// A process has ended: its channels end, and what it left behind is found out.
pub(crate) fn process_ended(task: TaskRef, ending: &Ending, worker: &Worker) {
    let failed = matches!(ending, Ending::Failed(_) | Ending::FailedBy { .. });
    if matches!(ending, Ending::Finished | Ending::Failed(_))
        && let Some(channel) = super::slow_path::waiting_channel(task)
    {
        report(task, MisuseKind::Abandoned { channel });
    }
    close_dropped(task, worker, failed);
    observer::tell_of_end(task, ending);
    prune::note_over(task);
    if task.local().ends.get() > 0 && !matches!(ending, Ending::Stopped) {
        let channel = language::of(task).end_left_behind(task);
        if let Some(channel) = channel {
            report(task, MisuseKind::LeftBehind { channel });
        }
    }
}
