//! How an operation begins: with the credit that there is, else by the slow path; and what is told of one
//! that begins where it must not.

use super::language::{Kahn, Worker, own};
use super::process::InNetwork;
use super::raw::{ChannelRef, End, Side};
use super::slow_path::{SlowPath, blocks, has_room_at_sleeper, report, slow_path, waiting_channel};
use kahn_engine::Request;
use kahn_engine::sync::{Ordering::*, thread};
use kahn_engine::task::TaskRef;
use kahn_engine::task::foreign::{is_base_waker, polled_task};
use kahn_engine::{Scheduler, WorkerCore};
use kahn_report::{Ending, MisuseKind};
use std::convert::Infallible;
use std::ptr;
use std::task::{Context, Waker};

/// Returns the process that owns an end.
pub(super) fn owner_of(channel: ChannelRef, end: End) -> TaskRef {
    channel.owner(end).unwrap_or_else(|| {
        panic!(
            "an end of channel `{}` is used before it was given to a process: \
             name it among the ports of the process that uses it",
            channel.name()
        )
    })
}

/// What an operation that is polled may do.
#[derive(Clone, Copy)]
pub(super) enum FastPath<One = Infallible, Given = Infallible> {
    /// There is credit for one operation at least; the worker, if it was needed to find that out.
    Go(Option<&'static Worker>),
    /// The same, with the worker, for one operation, of which no credit is noted: it receives what it has
    /// waited for, or sends to a receiver that sleeps at the channel.
    One(One),
    /// It has waited, and its process was given a message (`given`).
    Given(Given),
    /// Return `Pending`.
    Wait,
    /// The other end is gone, or this process is.
    Over,
}

/// The way every operation that is polled begins: a few instructions, if there is credit. Of one that
/// sends there and then, see [`fast_path_to_send`].
#[inline(always)]
pub(super) fn fast_path(
    channel: ChannelRef,
    end: End,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath {
    noted(channel.side(end), fast_path_and_note(channel, end, ptr::null(), None, context, waited))
}

/// The same of an operation that may do [one](FastPath::One) at once. `takes`: it takes what it is given
/// (`given`).
#[inline(always)]
pub(super) fn fast_path_to_receive_one(
    channel: ChannelRef,
    takes: bool,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath<&'static Worker, (&'static Worker, TaskRef)> {
    let given = |worker, task| (worker, task);
    fast_path_and_note(channel, End::Receiver, ptr::null(), takes.then_some(given), context, waited)
}

/// What is made of a worker and a process that was given a message.
type OfGiven<Given> = fn(&'static Worker, TaskRef) -> Given;

/// Notes the credit for one operation, for those that do not do it at once.
#[inline(always)]
fn noted(side: &Side, may: FastPath<&'static Worker>) -> FastPath {
    match may {
        FastPath::One(worker) => {
            side.credit.set(1);
            FastPath::Go(Some(worker))
        }
        FastPath::Go(worker) => FastPath::Go(worker),
        FastPath::Given(given) => match given {},
        FastPath::Wait => FastPath::Wait,
        FastPath::Over => FastPath::Over,
    }
}

/// The way operations begin that send when they may go on.
#[inline(always)]
pub(super) fn fast_path_to_send(
    channel: ChannelRef,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath {
    noted(&channel.sender, fast_path_to_send_one(channel, context, waited))
}

/// The same of an operation that may do [one](FastPath::One) at once.
#[inline(always)]
pub(super) fn fast_path_to_send_one(
    channel: ChannelRef,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath<&'static Worker> {
    fast_path_and_note(channel, End::Sender, channel.as_ptr().cast(), None, context, waited)
}

/// A message is sent that an operation has got credit for.
pub(super) fn note_sent(channel: ChannelRef) {
    owner_of(channel, End::Sender).note_sent(channel.as_ptr().cast());
}

/// If the operation may go on, `sent` is noted as the channel it sends to. `waited` is set while the operation
/// waits, and then its end has no credit: so where there is credit it is not set.
///
/// A waker that carries the address of a process exists only while that process is polled
/// (`kahn_engine::task::foreign`), so it proves that the caller acts for the owner.
#[inline(always)]
fn fast_path_and_note<Given>(
    channel: ChannelRef,
    end: End,
    sent: *const (),
    of_given: Option<OfGiven<Given>>,
    context: &Context<'_>,
    waited: &mut bool,
) -> FastPath<&'static Worker, Given> {
    let side = channel.side(end);
    let owner = side.owner.load(Relaxed);
    if context.waker().data() == owner.cast_const().cast() {
        if side.credit.get() > 0 {
            // SAFETY: where there is credit there is an owner, whose memory outlives its channels.
            let task = unsafe { &*owner };
            if task.marks.load(Relaxed) == 0 {
                task.note_sent(sent);
                return FastPath::Go(None);
            }
        }
        // SAFETY: an owner is a process, or null.
        if let Some(worker) = unsafe { Worker::holding_unchecked(owner) } {
            // SAFETY: we hold the process, so it is alive.
            let task = unsafe { TaskRef::from_ptr_unchecked(owner) };
            if *waited
                && let Some(of_given) = of_given
                && task.has_been_given(channel)
            {
                return FastPath::Given(of_given(worker, task));
            }
            if *waited && task.is_served(channel, end) {
                task.stop_waiting();
                *waited = false;
                if end == End::Receiver {
                    return FastPath::One(worker);
                }
                side.credit.set(1);
                task.note_sent(sent);
                return FastPath::Go(Some(worker));
            }
            if end == End::Sender && has_room_at_sleeper(channel, worker, task) {
                task.note_sent(sent);
                return FastPath::One(worker);
            }
            return match slow_path(channel, end, of_given.is_some(), worker, task, waited) {
                SlowPath::Go => {
                    *waited = false;
                    // The slow path has noted that an operation begins.
                    if end == End::Sender {
                        task.note_sent(sent);
                    }
                    FastPath::Go(Some(worker))
                }
                SlowPath::Wait => FastPath::Wait,
                SlowPath::Over => {
                    *waited = false;
                    FastPath::Over
                }
            };
        }
    }
    poll_elsewhere(channel, end, context);
    *waited = false;
    FastPath::Over
}

/// Publishes what an end has done whose credit is used up.
#[inline]
pub(super) fn publish(channel: ChannelRef, end: End, worker: Option<&Worker>) {
    let holding = || Worker::holding(channel.side(end).owner.load(Relaxed));
    match worker.or_else(holding) {
        Some(worker) => channel.publish(end, worker),
        None => used_elsewhere(channel, end),
    }
}

/// An end was used on another thread, while the poll of its process waits for that one.
#[cold]
fn used_elsewhere(channel: ChannelRef, end: End) {
    report(owner_of(channel, end), MisuseKind::NotYours { channel: channel.name().clone() });
}

/// Polled where it must not be: says so, and ends the process that did it. An executor that
/// the process runs inside itself would wait for ever otherwise. In a destructor of a process that
/// is being ended it does nothing.
#[cold]
fn poll_elsewhere(channel: ChannelRef, end: End, context: &Context<'_>) {
    if channel.is_stood_in_for(end) {
        return;
    }
    let owner = owner_of(channel, end);
    let name = channel.name().clone();
    assert!(
        !Scheduler::of(owner).is_building(),
        "an end of channel `{name}` is used before the network runs"
    );
    if Worker::holding(owner.as_ptr()).is_some() {
        if is_being_ended(owner) {
            return;
        }
        let kind = if blocks(owner) {
            MisuseKind::WrongForm { channel: name }
        } else if is_base_waker(context.waker(), owner.as_ptr().cast()) {
            MisuseKind::NotYours { channel: name }
        } else {
            MisuseKind::ForeignWaker { channel: name, waiting: waiting_channel(owner) }
        };
        report(owner, kind);
    } else {
        let user = user_of(Some(context.waker()));
        if user.is_some_and(is_being_ended) {
            return;
        }
        report(user.unwrap_or(owner), MisuseKind::NotYours { channel: name });
    }
    end_user(channel, owner);
}

/// A blocking operation: waits until it may go on. `None` if it has nothing to do: the other end is
/// gone, or this process is being ended.
pub(super) fn wait_in_slow_path<'a>(channel: ChannelRef, end: End) -> Option<&'a Worker> {
    let (worker, task) = blocking_holder(channel, end)?;
    let mut waited = false;
    loop {
        match slow_path(channel, end, false, worker, task, &mut waited) {
            SlowPath::Go => return Some(worker),
            SlowPath::Over => {
                worker.unwind_again();
                return None;
            }
            SlowPath::Wait => go_on(worker, task),
        }
    }
}

/// The worker and process of a blocking operation; `None` if that does nothing, for its caller is
/// being ended.
fn blocking_holder<'a>(channel: ChannelRef, end: End) -> Option<(&'a Worker, TaskRef)> {
    if channel.is_stood_in_for(end) {
        return None;
    }
    let owner = owner_of(channel, end);
    let held = Worker::holding(owner.as_ptr());
    if let Some(worker) = held
        && blocks(owner)
    {
        return Some((worker, owner));
    }
    let user = user_of(None).unwrap_or(owner);
    if !is_being_ended(user) {
        let name = channel.name().clone();
        let kind = match held {
            Some(_) => MisuseKind::WrongForm { channel: name },
            None => MisuseKind::NotYours { channel: name },
        };
        report(user, kind);
        end_user(channel, owner);
    }
    None
}

/// The process that runs on this thread, or is polled with this waker.
fn user_of(waker: Option<&Waker>) -> Option<TaskRef> {
    let polled = waker.and_then(polled_task);
    polled.or_else(WorkerCore::running_here)
}

/// Whether this thread holds a process that is being ended.
fn is_being_ended(task: TaskRef) -> bool {
    Worker::holding(task.as_ptr()).is_some() && task.notes() & own::ENDING != 0
}

/// Ends the process that used an end which it must not use; returns if it is being unwound already.
fn end_user(channel: ChannelRef, owner: TaskRef) {
    WorkerCore::with_current(|worker| match worker {
        Some(worker) if worker.current().is_some() => {
            worker.unwind(Ending::Stopped);
        }
        _ if thread::panicking() => {}
        _ => panic!(
            "an end of channel `{}` belongs to process `{}`",
            channel.name(),
            owner.info().name
        ),
    });
}

/// A blocking operation has been told to wait: does what it asked its worker for.
fn go_on(worker: &Worker, task: TaskRef) {
    match worker.asked() {
        // SAFETY: the running process, on its own thread, has asked for that.
        Request::Park | Request::ParkOtherwise => unsafe { worker.block(task) },
        Request::End => worker.unwind(worker.asked_ending()),
        Request::None | Request::Again | Request::Yield | Request::GiveWay => Kahn::flush(worker),
    }
}

/// An operation is dropped that has waited: misuse, unless its process is being ended.
pub(super) fn abandoned(channel: ChannelRef, end: End) {
    let Some(owner) = channel.owner(end) else { return };
    let held = Worker::holding(owner.as_ptr()).is_some();
    if held && owner.notes() & own::ENDING != 0 || !Scheduler::of(owner).is_running() {
        return;
    }
    report(owner, MisuseKind::Abandoned { channel: channel.name().clone() });
}
