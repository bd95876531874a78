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
//! receive what it sent after it could be pruned last: both are noted with the channel, for the report
//! tells of nothing that nobody could see (`network/observed.rs`).
//!
//! *Who is named.* An end that is open names a process that has not ended, or that has left the end
//! behind and keeps its memory. So the one at the open end may be woken and counted down. One that
//! closes its end while the other is open is named no more, and goes without anybody having to come
//! back to it; unless a report or a failure mark is to tell its name, for which the channel then has
//! a reference.

use super::language::{self, Kahn};
use super::language::{Worker, mark, own};
use super::process::InNetwork;
use super::prune;
use super::raw::{ChannelRef, End, flag};
use super::sender::abandoned;
use super::table::ChannelTable;
use super::turn::report;
use super::word::Moved;
use kahn_engine::Language;
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::TaskRef;
use kahn_engine::{Kind, Reason, Request, Scheduler};
use kahn_report::{Ending, MisuseKind};
use std::future;
use std::ptr;
use std::task::Poll;

/// Gives both ends of a new channel to the process that makes it.
///
/// Nobody else names the channel, so nobody hands an end on or closes one: no gate. Who makes
/// channels is never pruned: no observer.
pub(crate) fn own_both(channel: ChannelRef, maker: TaskRef) {
    debug_assert!(maker.creates(), "asked when it began to create");
    for end in [End::Sender, End::Receiver] {
        maker.gain_end(end == End::Sender);
        channel.side(end).owner.store(maker.as_ptr().cast_mut(), Release);
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
    let solo = from.is_some_and(|(_, worker)| worker.solo());
    // Nobody else closes an end or hands one on if both are the giver's, which runs and is not dead.
    let alone = solo || from.is_some_and(|(from, _)| channel.owner(end.peer()) == Some(from));
    channel.with_gate(alone, |gate| {
        let is_observed =
            is_sender && !gate.is_closed(End::Receiver) && !channel.has_flag(flag::DEAD_END);
        if !is_sender && channel.has_flag(flag::SEEN) {
            gate.note_handed_on();
        }
        to.gain_end(is_sender);
        if is_sender {
            // It does not run yet.
            to.note_sent(ptr::null());
        }
        if is_observed {
            to.add_observer(solo);
        }
        channel.side(end).owner.store(to.as_ptr().cast_mut(), Release);
        if let Some((from, _)) = from {
            from.lose_end(is_sender);
            if is_observed {
                prune::lose_observer(from, solo);
            }
        }
    });
    publish_at_once_for(channel, to);
}

/// Has both ends publish every operation if a thread or a party has one of them.
fn publish_at_once_for(channel: ChannelRef, owner: TaskRef) {
    if owner.kind() != Kind::Pooled {
        for end in [End::Sender, End::Receiver] {
            channel.side(end).eager.store(true, Relaxed);
        }
    }
}

/// A sender or receiver was dropped, and with it the memory that names the channel.
pub(super) fn dropped(channel: ChannelRef, end: End) {
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
    if holder.is_some() && owner.state().waits_at.load(Relaxed) == channel.waiting_at(end) {
        owner.stop_waiting();
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
    let just_sent = end == End::Sender && owner.has_just_sent(channel.as_ptr().cast());
    if channel.is_closed_for_good(end.peer()) && !just_sent {
        // There is nobody to be told how it ends.
        owner.lose_end(end == End::Sender);
        free(channel, end, worker.solo());
    } else {
        match end {
            End::Sender => {
                // Takes effect at the next operation, or with the process's end, when it is known
                // whether that is a failure.
                // Takes all room away, so that the next operation comes to see it.
                Kahn::flush(worker);
                channel.next_close.set(owner.local().closes.get());
                owner.local().closes.set(channel.as_ptr().cast());
                owner.note(own::CLOSES);
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
    next = first;
    // SAFETY: as above.
    while let Some(channel) = unsafe { ChannelRef::from_ptr(next) } {
        next = channel.next_close.replace(ptr::null());
        close(channel, task, worker, failed, are_last);
    }
}

/// Makes all that a process has done visible, if it is the one that asks. It is an operation: what
/// was dropped takes effect, and a process that has run long yields.
pub(super) async fn flush(task: TaskRef) {
    if let Some(worker) = Worker::holding(task.as_ptr()) {
        if task.notes() & (own::CLOSES | own::ENDING) == own::CLOSES {
            close_dropped(task, worker, false);
        }
        task.note_sent(ptr::null());
        Kahn::flush(worker);
    }
    let mut has_yielded = false;
    future::poll_fn(|_| {
        let holder = Worker::holding(task.as_ptr());
        let runs_long = holder.is_some_and(|worker| !worker.spend(1) && !worker.is_dedicated());
        if has_yielded || !runs_long {
            return Poll::Ready(());
        }
        has_yielded = true;
        if let Some(worker) = holder {
            worker.ask(Request::Yield);
        }
        Poll::Pending
    })
    .await;
}

/// The sender's end of a channel takes effect; `is_last`: with it the process has no sender any more.
fn close(channel: ChannelRef, task: TaskRef, worker: &Worker, failed: bool, is_last: bool) {
    if failed {
        channel.set_flag(flag::FAILED);
    }
    let side = &channel.sender;
    let moved = channel.word(End::Sender).close(side.local.get(), worker.solo());
    wake_peer(channel, End::Sender, moved, worker);
    task.lose_end(true);
    let just_sent = is_last && task.has_just_sent(channel.as_ptr().cast());
    shut(channel, End::Sender, task, worker.solo(), is_last.then_some(just_sent));
    // Its other receivers may all have departed; but a process that ends is not cut short.
    if task.notes() & own::ENDING == 0 && task.local().senders.get() > 0 && task.is_prunable() {
        task.marks.fetch_or(mark::PRUNE, Relaxed);
    }
}

/// A receiver leaves: what is sent to it from now on is discarded.
fn depart(channel: ChannelRef, task: TaskRef, worker: &Worker) {
    let side = &channel.receiver;
    let moved = channel.word(End::Receiver).close(side.local.get(), worker.solo());
    wake_peer(channel, End::Receiver, moved, worker);
    task.lose_end(false);
    shut(channel, End::Receiver, task, worker.solo(), None);
}

fn wake_peer(channel: ChannelRef, end: End, moved: Moved, worker: &Worker) {
    if moved == Moved::Wake
        && let Some(peer) = channel.owner(end.peer())
    {
        language::wake(worker, peer);
    }
}

/// Marks an end of this process as closed; the second to close frees the channel. `last_sender`: it was
/// one of the last, and whether the process sent there since it could be pruned last.
fn shut(channel: ChannelRef, end: End, task: TaskRef, solo: bool, last_sender: Option<bool>) {
    let is_last = channel.with_gate(solo, |gate| {
        let is_last = gate.is_closed(end.peer());
        gate.close(end);
        if let Some(just_sent) = last_sender {
            gate.note_last(just_sent);
        }
        if is_last {
            return true;
        }
        if !channel.has_flag(flag::DEAD_END)
            && let Some(sender) = channel.owner(End::Sender)
        {
            match end {
                End::Sender => sender.close_observer(solo),
                End::Receiver => prune::lose_observer(sender, solo),
            }
        }
        if is_to_be_told(channel, end) {
            task.add_references(1, solo);
        } else {
            // Relaxed: whoever reads the old value finds no wait there, as in any stale header.
            channel.side(end).owner.store(ptr::null_mut(), Relaxed);
        }
        false
    });
    if is_last {
        free(channel, end, solo);
    }
}

/// The receiver of a channel is dead: the sender need not wait for it, and is not observed by it.
/// Called by the resolver, under its lock, for receivers that are parked for good.
pub(crate) fn mark_dead_end(channel: ChannelRef, scheduler: &Scheduler) {
    let lost = channel.with_gate(false, |gate| {
        if channel.has_flag(flag::DEAD_END) || gate.is_closed(End::Receiver) {
            return false;
        }
        channel.set_flag(flag::DEAD_END);
        if !gate.is_closed(End::Sender)
            && let Some(sender) = channel.owner(End::Sender)
        {
            prune::lose_observer(sender, false);
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
        scheduler.make_ready(kahn_engine::Origin::Outside, sender, Reason::Woken);
        return true;
    }
    false
}

/// Both ends are closed, `end` as the second: drops what is left in it and recycles its memory.
fn free(channel: ChannelRef, end: End, solo: bool) {
    let began_with = channel.began_with();
    let bytes = drop_messages(channel);
    let told = channel.owner(end.peer());
    channel.table().retire(channel, bytes, began_with);
    if let Some(task) = told {
        task.scheduler().release(task, solo);
    }
}

/// Whether somebody is to be told who closed this end, the first of the two: a report, or who reads a
/// failure mark.
fn is_to_be_told(channel: ChannelRef, end: End) -> bool {
    let is_listed = channel.table().promise_to_list();
    if is_listed {
        channel.set_flag(flag::LISTED);
    }
    // Who is outside may have the other end when all is reported, whatever else is listed.
    // Relaxed: set when an end is handed to a party, before anything runs; else it makes no odds.
    let is_left = channel.side(end).eager.load(Relaxed) || channel.receiver.is_recorded();
    is_listed || is_left || end == End::Sender && channel.has_flag(flag::FAILED)
}

/// Drops all messages of a channel that nobody uses any more, and frees its slots; what goes back
/// to the budget.
pub(super) fn drop_messages(channel: ChannelRef) -> u64 {
    let types = channel.types.get();
    if channel.sender.is_set_up() {
        // SAFETY: messages from the receiver's count to the sender's are in their slots.
        channel.for_each_slot(|slot| unsafe { (types.drop_message)(slot) });
        // SAFETY: emptied, and nobody uses the channel any more.
        unsafe { channel.free_slots() };
    }
    let counted = channel.scales(End::Sender).map_or(0, |scales| scales.counted.swap(0, Relaxed));
    counted + ChannelTable::bytes(channel.cold.slots.swap(0, Relaxed).into(), types.size)
}

/// A process has ended: its channels end, and what it left behind is found out.
pub(crate) fn process_ended(task: TaskRef, ending: &Ending, worker: &Worker) {
    let failed = matches!(ending, Ending::Failed(_) | Ending::FailedBy { .. });
    if matches!(ending, Ending::Finished | Ending::Failed(_))
        && let Some(channel) = super::turn::waiting_channel(task)
    {
        report(task, MisuseKind::Abandoned { channel });
    }
    // What it had when it ended counts as held to the end.
    task.note_sent(ptr::null());
    close_dropped(task, worker, failed);
    if task.local().ends.get() > 0 && !matches!(ending, Ending::Stopped) {
        let channel = language::of(task).end_left_behind(task);
        if let Some(channel) = channel {
            report(task, MisuseKind::LeftBehind { channel });
        }
    }
}
