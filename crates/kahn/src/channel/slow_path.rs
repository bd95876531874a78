//! The slow path of every operation: may it go on, must it wait, is it over?
//!
//! | the process | then |
//! |---|---|
//! | is being dropped | the operation does nothing |
//! | has another operation waiting | misuse |
//! | has dropped senders | their channels end now |
//! | is to be pruned or stopped | it ends here |
//! | is held before this receive | it waits for good (`hold`) |
//! | has run long, or every operation waits once | it waits for its next turn |
//!
//! | the channel | `send` | `recv` |
//! |---|---|---|
//! | has free slots, or messages | goes on | goes on |
//! | is full, or empty | waits, or grows if told to | waits |
//! | has no other end any more | discards the message | tells the end of the stream, or fails with the sender |
//!
//! # Small channels
//!
//! Of a channel with so few slots that each look grants one operation, two looks are spared: that of an
//! operation that was *served*, and that of a sender whose receiver sleeps.
//!
//! | `waits_at` of a process | means | changed by |
//! |---|---|---|
//! | null | no operation waits | the holder, when one begins to wait |
//! | an end | one waits there, or has only just been woken | the holder, when it goes on; the one that has taken PARKED out of the word, before it makes the process ready |
//! | an end + `SERVED` | … and there is something to do | the holder, when it goes on |
//!
//! *What was served may do one operation.* It waited at exactly the count that it had itself, so the
//! publication that took PARKED out has left it one message, or one free slot, which none but itself uses.
//! The publisher holds the process until it makes it ready, which hands over what it has written. It is a
//! hint: a process that has marks or notes to attend to, or waits elsewhere by now, looks as ever.
//!
//! *There is room where the receiver sleeps.* It has published what it has taken, and then parked at
//! exactly the count that was published to it. A sender without credit has published all, so nothing is in
//! the channel. Its look at its own word acquires what the park has released: the slot is free.
//!
//! *Then PARKED needs no second look.* Where only workers' processes are told, none but the sender takes it
//! out; a resolver that is about to tells the sender first, and waits until the polls that had begun by
//! then are over (`deadlock::prune`). So the message is published by a plain store.
//!
//! *Small messages take no slot there.* The sleeper is given them: see `given`.
//!
//! *Growth.* A message that was published while the channel was small lies in its only row, which the
//! receiver leaves at a look.

use super::closing;
use super::language::{self, Kahn, WaitOn, Worker, mark, own};
use super::process::{InNetwork, attribute};
use super::raw::{ChannelRef, End, FEW, flag, kind, told};
use super::word::{Seen, Word};
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::TaskRef;
use kahn_engine::{Kind, Request, Scheduler};
use kahn_report::observe::Act;
use kahn_report::{Ending, Misuse, MisuseKind, Name};
use std::ptr;

/// What an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlowPath {
    /// Return `Pending`: the worker has been asked for what is needed.
    Wait,
    /// There is credit for one operation at least.
    Go,
    /// The other end is gone, or this process is.
    Over,
}

/// The way every operation begins that cannot just go on.
///
/// `takes`: it is a receive that takes what it is given (`given`). `waited`: this operation has waited before.
#[inline]
pub(crate) fn slow_path(
    channel: ChannelRef,
    end: End,
    takes: bool,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    match end {
        End::Sender => slow_path_to_send(channel, worker, task, waited),
        End::Receiver if takes => slow_path_to_take(channel, worker, task, waited),
        End::Receiver => slow_path_to_receive(channel, worker, task, waited),
    }
}

#[inline(never)]
fn slow_path_to_send(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    if has_to_attend(task) {
        return attend(channel, End::Sender, worker, task, waited);
    }
    if is_waiting(task) {
        return look_again::<false>(channel, End::Sender, worker, task, waited);
    }
    if !has_patience(worker) {
        return attend(channel, End::Sender, worker, task, waited);
    }
    look_for_credit(channel, worker, task, waited)
}

#[inline(never)]
fn slow_path_to_receive(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    receive_in_slow_path::<false>(channel, worker, task, waited)
}

#[inline(never)]
fn slow_path_to_take(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    receive_in_slow_path::<true>(channel, worker, task, waited)
}

#[inline(always)]
fn receive_in_slow_path<const TAKES: bool>(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    if has_to_attend(task) {
        return attend(channel, End::Receiver, worker, task, waited);
    }
    if is_waiting(task) {
        return look_again::<TAKES>(channel, End::Receiver, worker, task, waited);
    }
    task.note_sent(ptr::null());
    look_for_messages::<true, TAKES>(channel, worker, task, waited)
}

/// The most usual case of a small channel: a receiver sleeps there, and the process has nothing to attend to.
/// The receiver has taken all that was published, and has published that: so there is room.
#[inline(always)]
pub(super) fn has_room_at_sleeper(channel: ChannelRef, worker: &Worker, task: TaskRef) -> bool {
    let kind = channel.sender.kind();
    kind & kind::SMALL != 0
        && channel.sender.tells_nothing()
        && channel.word_of_kind(End::Sender, kind).load().is_parked()
        && !has_to_attend(task)
        && !is_waiting(task)
        && has_patience(worker)
}

/// Whether the process itself has something to attend to first.
#[inline(always)]
fn has_to_attend(task: TaskRef) -> bool {
    task.notes() | task.marks.load(Relaxed) != 0
}

/// Whether an operation of the process waits.
#[inline(always)]
fn is_waiting(task: TaskRef) -> bool {
    !task.state().waits_at.load(Relaxed).is_null()
}

/// An operation of the process waits. If it is this one, it looks again.
#[inline(never)]
fn look_again<const TAKES: bool>(
    channel: ChannelRef,
    end: End,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    if !*waited || task.waits_at() != channel.waiting_at(end) {
        return attend(channel, end, worker, task, waited);
    }
    task.stop_waiting();
    slow_path(channel, end, TAKES, worker, task, waited)
}

/// Takes one off the looks at peers that are left to the process, if there is one.
#[inline(always)]
fn has_patience(worker: &Worker) -> bool {
    let patience = worker.patience.get();
    if patience > 0 {
        worker.patience.set(patience - 1);
    }
    patience > 0
}

/// The operation waits: until it is complete, its process may not begin another.
#[inline]
fn wait_here(
    channel: ChannelRef,
    end: End,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    note_that_it_waits(channel.waiting_at(end), task, waited);
    // Takes all credit away, so every other operation comes here and sees that one waits.
    Kahn::flush(worker);
    SlowPath::Wait
}

#[inline(always)]
fn note_that_it_waits(at: *mut (), task: TaskRef, waited: &mut bool) {
    *waited = true;
    // Release: a thread that finds the process parked finds the channel it is parked at.
    task.state().waits_at.store(at, Release);
}

/// Deals with what the process itself has to attend to first.
#[cold]
fn attend(
    channel: ChannelRef,
    end: End,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    let notes = task.notes();
    let waits_at = task.waits_at();
    if notes & own::ENDING != 0 {
        if *waited && waits_at == channel.waiting_at(end) {
            // It was told to end in its wait, while its own panic unwound it.
            task.stop_waiting();
        }
        return SlowPath::Over;
    }
    if !waits_at.is_null() {
        let is_held = || waiting_end(task).is_some_and(|(at, _)| at.table().held_at(at).is_some());
        if !*waited || waits_at != channel.waiting_at(end) && !is_held() {
            let waiting = waiting_channel(task).unwrap_or_else(|| channel.name().clone());
            let begun = channel.name().clone();
            return misused(worker, task, MisuseKind::Overlap { waiting, begun });
        }
        task.stop_waiting();
    }
    if let Some(ends) = attend_to_itself(task, worker) {
        return ends;
    }
    if notes & own::HOLDS != 0
        && end == End::Receiver
        && let Some(wait) = channel.table().place_to_wait(task, channel)
    {
        let at = wait.wait_on(End::Receiver, wait.seen(End::Sender));
        language::ask_to_wait_for_message(worker, at);
        return wait_here(wait, End::Receiver, worker, task, waited);
    }
    let tired = worker.patience.get() == 0 && !worker.is_dedicated();
    if !*waited && (notes & own::WAIT_ONCE != 0 || tired) {
        worker.ask(if tired { Request::Yield } else { Request::Again });
        return wait_here(channel, end, worker, task, waited);
    }
    if channel.side(end).credit.get() > 0 {
        return SlowPath::Go;
    }
    worker.patience.set(worker.patience.get().saturating_sub(1));
    match end {
        End::Sender => look_for_credit(channel, worker, task, waited),
        End::Receiver => {
            let looked = look_for_messages::<false, false>(channel, worker, task, waited);
            if notes & own::HOLDS != 0 && looked == SlowPath::Go {
                channel.table().count_receive();
            }
            looked
        }
    }
}

/// Deals with what the process has to attend to whatever its operation is: what it has dropped takes effect, and
/// what it did is published if that was asked for; how the operation goes on if the process must end.
pub(super) fn attend_to_itself(task: TaskRef, worker: &Worker) -> Option<SlowPath> {
    if task.notes() & own::CLOSES != 0 {
        closing::close_dropped(task, worker, false);
    }
    // From here on it may be pruned.
    task.note_sent(ptr::null());
    let marks = task.marks.load(Acquire);
    if marks & (mark::STOP | mark::PRUNE) != 0
        && let Some(ending) = worker.must_end(task)
    {
        return Some(must_end(worker, ending));
    }
    if marks & mark::FLUSH != 0 {
        task.marks.fetch_and(!mark::FLUSH, Relaxed);
        Kahn::flush(worker);
    }
    None
}

/// Ends the process here.
#[cold]
#[inline(never)]
pub(super) fn must_end(worker: &Worker, ending: Ending) -> SlowPath {
    worker.ask_to_end(ending);
    SlowPath::Wait
}

/// Ends the run for misuse, and this process with it.
pub(super) fn misused(worker: &Worker, task: TaskRef, kind: MisuseKind) -> SlowPath {
    report(task, kind);
    must_end(worker, Ending::Stopped)
}

/// Ends the run for misuse.
pub(super) fn report(task: TaskRef, kind: MisuseKind) {
    let process = task.info().name.clone();
    language::of(task).misuse(Misuse { process, kind });
}

/// The channel that the process's waiting operation is on.
pub(super) fn waiting_channel(task: TaskRef) -> Option<Name> {
    waiting_end(task).map(|(channel, _)| channel.name().clone())
}

/// The end at which the process's operation waits. Its holder asks.
pub(super) fn waiting_end(task: TaskRef) -> Option<(ChannelRef, End)> {
    // SAFETY: `waits_at` is set by `waiting_at` alone.
    unsafe { ChannelRef::from_waiting(task.state().waits_at.load(Relaxed)) }
}

#[inline]
fn look_for_credit(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    let side = &channel.sender;
    let seen = channel.seen(End::Receiver);
    if side.is_set_up() && !seen.is_closed() {
        // Relaxed: the sender's own.
        let capacity = channel.cold.capacity.load(Relaxed).into();
        let used = side.local.get() - seen.count();
        if used < capacity {
            return channel.grant(End::Sender, capacity - used, capacity, task, worker);
        }
    }
    find_no_room(channel, worker, task, seen, waited)
}

/// The channel is full, or there are no slots yet, or no process receives any more.
#[inline(never)]
fn find_no_room(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    seen: Seen,
    waited: &mut bool,
) -> SlowPath {
    let side = &channel.sender;
    task.note_sent(ptr::null());
    if seen.is_closed() {
        // As below: a reader that was stopped has not left.
        if Scheduler::of(task).is_ending() {
            return must_end(worker, Ending::Stopped);
        }
        return SlowPath::Over;
    }
    let is_new = !side.is_set_up();
    if is_new {
        channel.set_up(side.local.get());
    }
    if is_new || channel.grow_if_asked() {
        let capacity = channel.cold.capacity.load(Relaxed).into();
        let room = capacity - (side.local.get() - seen.count());
        return channel.grant(End::Sender, room, capacity, task, worker);
    }
    if channel.has_flag(flag::DEAD_END) {
        return SlowPath::Over;
    }
    language::ask_to_wait_for_room(worker, channel.wait_on(End::Sender, seen));
    wait_here(channel, End::Sender, worker, task, waited)
}

/// `COUNTED`: with what is left of the process's patience, which one that waits needs none of. `TAKES`: it takes
/// what it is given.
#[inline(always)]
fn look_for_messages<const COUNTED: bool, const TAKES: bool>(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    let side = &channel.receiver;
    let word = channel.word(End::Sender);
    let seen = word.load();
    let waiting = seen.count() - side.local.get();
    if waiting == 0 {
        return find_no_message::<COUNTED, TAKES>(channel, worker, task, word, seen, waited);
    }
    if COUNTED && !has_patience(worker) {
        return attend(channel, End::Receiver, worker, task, waited);
    }
    if worker.counts {
        note_waiting(channel, waiting);
    }
    // Relaxed: how far it may go before it looks again.
    let capacity = channel.cold.capacity.load(Relaxed).into();
    channel.grant(End::Receiver, waiting, capacity, task, worker)
}

/// All is read: waits for more, unless it is the end.
#[inline(always)]
fn find_no_message<const COUNTED: bool, const TAKES: bool>(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    word: &Word,
    seen: Seen,
    waited: &mut bool,
) -> SlowPath {
    if !seen.is_closed() {
        if COUNTED && !worker.of.published.is_empty() {
            return flush_and_look_again::<TAKES>(channel, worker, task, waited);
        }
        language::ask_to_wait_for_message(worker, WaitOn { word, seen });
        if !COUNTED {
            return wait_here(channel, End::Receiver, worker, task, waited);
        }
        let takes = TAKES && worker.of.gives;
        let at = if takes { channel.taking_at() } else { channel.waiting_at(End::Receiver) };
        note_that_it_waits(at, task, waited);
        return SlowPath::Wait;
    }
    // What is over may be asked for again, for ever.
    if COUNTED && !has_patience(worker) {
        return attend(channel, End::Receiver, worker, task, waited);
    }
    find_end(channel, worker, task)
}

/// Publishes what the process has done, before it waits for more. A function of its own, called last, so that
/// waiting with nothing to publish needs no stack.
#[inline(never)]
fn flush_and_look_again<const TAKES: bool>(
    channel: ChannelRef,
    worker: &Worker,
    task: TaskRef,
    waited: &mut bool,
) -> SlowPath {
    Kahn::flush(worker);
    slow_path(channel, End::Receiver, TAKES, worker, task, waited)
}

/// All is read, and no more will come. Apart, so that waiting sets up nothing for it.
#[cold]
#[inline(never)]
fn find_end(channel: ChannelRef, worker: &Worker, task: TaskRef) -> SlowPath {
    // After the word: a process that was stopped and so closed this end was stopped before it did.
    if Scheduler::of(task).is_ending() {
        return must_end(worker, Ending::Stopped);
    }
    if !channel.has_flag(flag::SEEN) {
        channel.set_flag(flag::SEEN);
        if channel.receiver.tells(told::OBSERVER) {
            // What it did before is told before: this may end it.
            Kahn::flush(worker);
        }
        channel.tell_of_act(End::Receiver, |channel| Act::SeesEnd { channel });
    }
    let is_ended_by_it = task.attributes() & attribute::STANDS_FOR_PARTY == 0;
    if channel.has_flag(flag::FAILED) && is_ended_by_it {
        return must_end(worker, language::failed_by(channel));
    }
    SlowPath::Over
}

/// How many operations stay unpublished at most while some worker has nothing to do.
const HUNGRY_PERIOD: u64 = 8;

impl ChannelRef {
    /// Where `end` has to wait when its peer's word was `seen`.
    pub(crate) fn wait_on(self, end: End, seen: Seen) -> WaitOn {
        WaitOn { word: self.word(end.peer()), seen }
    }

    /// Grants credit for at most `most` operations before the next look; the peer has published that
    /// there is so much to do.
    #[inline(always)]
    pub(super) fn grant(
        self,
        end: End,
        most: u64,
        capacity: u64,
        task: TaskRef,
        worker: &Worker,
    ) -> SlowPath {
        if (capacity < u64::from(FEW) || most == 1) && self.is_one_segment() {
            self.side(end).credit.set(1);
            return SlowPath::Go;
        }
        self.grant_more(end, most, capacity, task, worker)
    }

    /// The same where more than one may be granted, or the slots are in several segments. Called last,
    /// so that the usual way of what has little to do needs no stack.
    #[inline(never)]
    fn grant_more(
        self,
        end: End,
        most: u64,
        capacity: u64,
        task: TaskRef,
        worker: &Worker,
    ) -> SlowPath {
        let side = self.side(end);
        let most = self.reach(end, most);
        let is_eager = side.tells(told::OUTSIDE)
            || task.notes() & (own::WAIT_ONCE | own::HOLDS) != 0
            || end == End::Receiver && side.is_recorded();
        if capacity < u64::from(FEW) || is_eager {
            side.credit.set(1);
            return SlowPath::Go;
        }
        let half = capacity / 2;
        let period = if half > HUNGRY_PERIOD && worker.has_takers() { HUNGRY_PERIOD } else { half };
        let credit = u32::try_from(most.min(period)).unwrap_or(u32::MAX);
        side.credit.set(credit);
        if credit > 1 {
            self.list(end, worker);
        }
        SlowPath::Go
    }
}

/// Notes that the receiver has found so many messages waiting. Of one alone it need not be told (`counts`).
#[inline(always)]
fn note_waiting(channel: ChannelRef, waiting: u64) {
    let most = channel.most_waiting();
    if waiting > most.load(Relaxed).into() {
        most.store(u32::try_from(waiting).unwrap_or(u32::MAX), Relaxed);
    }
}

/// Whether a process that a thread runs may wait here in the form it chose.
pub(super) fn blocks(task: TaskRef) -> bool {
    task.kind() == Kind::Threaded && task.body().is_some_and(|body| body.blocking)
}
