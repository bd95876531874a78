//! Sending and receiving, and receiving from any of several channels.

use crate::channel::ends::{Receiver, Sender};
use crate::channel::extended::Extended;
use crate::channel::gone::{Gone, Outcome, Unsent};
use crate::channel::poison;
use crate::channel::rendezvous::{Entry, Rendezvous, Side, flag};
use crate::channel::slot::Slot;
use crate::channel::typed::Channel;
use crate::channel::users::AN_END;
use crate::channel::word::LEFT;
use crate::choice::guard::{Alternative, Entering, Finishing, Guard, Leaving, Looking};
use crate::choice::operation::{Operation, Pending};
use crate::language::csp::{Enter, Worker, access_of};
use crate::language::running;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How};
use crate::wait::{self, Stage};
use kahn_engine::{Park, TaskRef};
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::pin::Pin;
use std::ptr;
use std::task::Poll;

/// Whether messages of a type are received by a function of its own, which returns them in memory.
///
/// Where that stands in the process, and a message itself tells whether it is one, the compiler takes it apart to look
/// at it. What takes it as a whole then has to wait until its parts are in the cache.
const fn is_received_apart<T>() -> bool {
    size_of::<T>() > 2 * size_of::<usize>() && size_of::<Poll<Result<T, Gone>>>() == size_of::<T>()
}

fn entry<T>(task: TaskRef, how: How, slot: &Slot<T>, extended: bool) -> Entry {
    Entry { task, how, slot: ptr::from_ref(slot).cast(), extended }
}

/// A send in progress; made by [`Sender::send`].
#[repr(C)]
pub(super) struct Sending<'a, T: Send> {
    slot: Slot<T>,
    end: &'a mut Sender<T>,
}

impl<'a, T: Send> Sending<'a, T> {
    pub(super) fn new(end: &'a mut Sender<T>, message: T) -> Self {
        Self { end, slot: Slot::with(message) }
    }

    fn slot(&self) -> *const () {
        ptr::from_ref(&self.slot).cast()
    }

    /// Begins as most sends do: sends, or waits for the partner.
    #[inline(always)]
    fn begin(pending: &mut Pending<Self>) -> Poll<Result<(), Unsent<T>>> {
        let this = &mut pending.operation;
        let channel = this.end.channel;
        let (meeting, side) = (channel.meeting(), Side::Sender);
        if !meeting.is_used_here(side) && !meeting.has_new_user(side) {
            return pending.poll_otherwise();
        }
        // SAFETY: a process of the channel's network runs.
        let (worker, task) = unsafe { Worker::running_unchecked() };
        let flags = meeting.gate.look();
        if let Some(buffer) = Rendezvous::left_by_receiver(flags) {
            if !wait::has_turn_at_once(worker, task) {
                return pending.poll_otherwise();
            }
            // SAFETY: it has left the channel to us, and our slot holds the message.
            unsafe { channel.send_left(worker, &this.slot, buffer) };
            return this.sent();
        }
        if flags & side.ready() != 0 {
            if !wait::has_turn_at_once(worker, task) {
                return pending.poll_otherwise();
            }
            this.slot.stage = Stage::Yielded;
            match channel.send_behind(worker, task, &this.slot, None) {
                // What was there was taken elsewhere.
                Attempt::Nothing => {}
                Attempt::Done if this.slot.outcome.get() == Outcome::Done => return this.sent(),
                _ => return pending.poll_otherwise(),
            }
        }
        if !wait::may_leave(task) {
            return pending.poll_otherwise();
        }
        this.slot.stage = Stage::Left;
        meeting.ask_to_leave(side, worker, task, this.slot());
        Poll::Pending
    }

    /// The message was sent. Said by each way by itself: the compiler knows so that nothing is to be dropped.
    #[inline(always)]
    fn sent(&mut self) -> Poll<Result<(), Unsent<T>>> {
        self.slot.stage = Stage::Over;
        Poll::Ready(Ok(()))
    }

    /// Whether its message was taken, and its receiver has not acted yet.
    fn is_held(&self) -> bool {
        self.slot.outcome.get() == Outcome::Held
    }
}

// SAFETY: entered at one side of one channel, and left behind its gate.
unsafe impl<T: Send> Operation for Sending<'_, T> {
    type Output = Result<(), Unsent<T>>;

    const WHAT: &'static str = AN_END;

    #[inline]
    fn network(&self) -> Option<u32> {
        Some(self.end.channel.meeting().network())
    }

    #[inline]
    fn stage(&mut self) -> &mut Stage {
        &mut self.slot.stage
    }

    #[inline]
    fn place(&self) -> Place {
        self.end.channel.waits_at(Side::Sender)
    }

    fn awaited(&self) -> Awaited {
        Awaited::of("send to", self.end.name(), At::Place(self.place()))
    }

    #[inline]
    fn attempt(&self, worker: &Worker, task: TaskRef) -> bool {
        self.end.channel.send(worker, task, &self.slot) == Attempt::Done
    }

    #[inline(always)]
    fn poll(pending: &mut Pending<Self>) -> Poll<Self::Output> {
        let this = &mut pending.operation;
        match this.slot.stage {
            Stage::Fresh => Self::begin(pending),
            Stage::Left
                if this.end.channel.meeting().has_done(Side::Sender, &this.slot.outcome) =>
            {
                this.sent()
            }
            _ => pending.poll_otherwise(),
        }
    }

    #[inline]
    fn may_be_ready(&self) -> bool {
        self.end.channel.meeting().may_be_ready(Side::Sender)
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        let entry = entry(task, how, &self.slot, false);
        self.end.channel.send_or_enter(worker, task, &self.slot, entry)
    }

    #[inline]
    fn ask(&self, worker: &Worker, task: TaskRef, whole: *const (), commit: Enter) {
        if self.is_held() {
            return wait::ask_to_enter(worker, task, self.place(), whole, commit);
        }
        let meeting = self.end.channel.meeting();
        meeting.ask_to_enter(Side::Sender, worker, task, self.slot());
    }

    /// One whose message was taken waits to be released.
    fn park(&self, worker: &Worker, task: TaskRef) -> Park {
        let channel = self.end.channel;
        wait::enter_alone(task, |how| {
            let entry = entry(task, how, &self.slot, false);
            let waits = channel.wait_held(worker, &self.slot, entry);
            if waits { Attempt::Nothing } else { Attempt::Done }
        })
    }

    fn leave(&self, worker: Option<&Worker>) {
        self.end.channel.meeting().leave(Side::Sender, self.slot(), access_of(worker));
    }

    #[inline]
    fn result(&mut self, _worker: &Worker) -> Option<Self::Output> {
        match self.slot.outcome.get() {
            Outcome::Done => {
                self.slot.outcome.set(Outcome::Over);
                Some(Ok(()))
            }
            Outcome::Open | Outcome::Held => None,
            gone => {
                let why = poison::end_of("a send", gone, &self.slot.outcome);
                // SAFETY: no receiver took the message, and the slot is ours again.
                Some(Err(Unsent { message: unsafe { self.slot.read() }, why }))
            }
        }
    }

    fn has_begun(&self) -> bool {
        self.is_held()
    }
}

impl<T: Send> Drop for Sending<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Its message was taken, or given back.
        if self.slot.stage == Stage::Over {
            return;
        }
        if self.is_held() {
            self.end.channel.leave_held(&self.slot);
        }
        if matches!(self.slot.outcome.get(), Outcome::Open | Outcome::Closed | Outcome::Poisoned) {
            // SAFETY: no receiver took the message, and none can any more.
            drop(unsafe { self.slot.read() });
        }
    }
}

/// What a receiver gets: the message, or the message with its sender, which waits on.
pub(super) trait Received<'a, T: Send> {
    /// Whether the sender waits on.
    const EXTENDED: bool;

    fn of(channel: Channel<T>, message: T) -> Self;
}

impl<T: Send> Received<'_, T> for T {
    const EXTENDED: bool = false;

    #[inline]
    fn of(_channel: Channel<T>, message: T) -> Self {
        message
    }
}

impl<'a, T: Send> Received<'a, T> for Extended<'a, T> {
    const EXTENDED: bool = true;

    fn of(channel: Channel<T>, message: T) -> Self {
        Self::new(channel, message)
    }
}

/// A receive in progress; made by [`Receiver::recv`] and [`Receiver::recv_extended`].
#[repr(C)]
pub(super) struct Receiving<'a, T: Send, R: Received<'a, T>> {
    slot: Slot<T>,
    end: &'a mut Receiver<T>,
    gets: PhantomData<fn() -> R>,
}

impl<'a, T: Send, R: Received<'a, T>> Receiving<'a, T, R> {
    pub(super) fn new(end: &'a mut Receiver<T>) -> Self {
        Self { end, slot: Slot::empty(), gets: PhantomData }
    }

    fn slot(&self) -> *const () {
        ptr::from_ref(&self.slot).cast()
    }
}

impl<'a, T: Send, R: Received<'a, T>> Receiving<'a, T, R> {
    /// Begins as most receives do: receives, or waits for the partner.
    #[inline(always)]
    fn begin(pending: &mut Pending<Self>) -> Poll<Result<R, Gone>> {
        let this = &mut pending.operation;
        let channel = this.end.channel;
        let (meeting, side) = (channel.meeting(), Side::Receiver);
        if !meeting.is_used_here(side) && !meeting.has_new_user(side) {
            return pending.poll_otherwise();
        }
        // SAFETY: a process of the channel's network runs.
        let (worker, task) = unsafe { Worker::running_unchecked() };
        let flags = meeting.gate.look();
        if flags == LEFT | flag::SENDER_WAITS {
            if !wait::has_turn_at_once(worker, task) {
                return pending.poll_otherwise();
            }
            // SAFETY: it has left the channel to us.
            return this.received(unsafe { channel.receive_left(worker) });
        }
        if flags & side.ready() != 0 {
            if !wait::has_turn_at_once(worker, task) {
                return pending.poll_otherwise();
            }
            this.slot.stage = Stage::Yielded;
            match channel.receive_behind(worker, task, &this.slot, false, None) {
                // What was there was taken elsewhere.
                Attempt::Nothing => {}
                Attempt::Done if this.slot.outcome.get() == Outcome::Done => {
                    // SAFETY: the message was moved in.
                    return this.received(unsafe { this.slot.read() });
                }
                _ => return pending.poll_otherwise(),
            }
        }
        if !wait::may_leave(task) {
            return pending.poll_otherwise();
        }
        this.slot.stage = Stage::Left;
        meeting.ask_to_leave(side, worker, task, this.slot());
        Poll::Pending
    }

    /// The message was received. Said by each way by itself, as with a send.
    #[inline(always)]
    fn received(&mut self, message: T) -> Poll<Result<R, Gone>> {
        self.slot.stage = Stage::Over;
        Poll::Ready(Ok(R::of(self.end.channel, message)))
    }

    /// Polls as most do.
    #[inline(always)]
    fn poll_usually(pending: &mut Pending<Self>) -> Poll<Result<R, Gone>> {
        let this = &mut pending.operation;
        match this.slot.stage {
            Stage::Fresh => Self::begin(pending),
            Stage::Left
                if this.end.channel.meeting().has_done(Side::Receiver, &this.slot.outcome) =>
            {
                // SAFETY: the sender has moved its message in, and the slot is ours again.
                this.received(unsafe { this.slot.read() })
            }
            _ => pending.poll_otherwise(),
        }
    }

    /// The same, as a function of its own: see [`is_received_apart`].
    #[inline(never)]
    fn poll_apart(pending: &mut Pending<Self>) -> Poll<Result<R, Gone>> {
        Self::poll_usually(pending)
    }
}

/// Receives, if there is a message or none will come. The process runs.
#[inline]
fn receive<T: Send>(
    channel: Channel<T>,
    worker: &Worker,
    task: TaskRef,
    slot: &Slot<T>,
    extended: bool,
) -> bool {
    channel.receive(worker, task, slot, extended) == Attempt::Done
}

fn receive_from<T: Send>(end: &Receiver<T>) -> Awaited {
    let at = At::Place(end.channel.waits_at(Side::Receiver));
    Awaited::of("receive from", end.name(), at)
}

/// What stands in the slot of a receiver, if its wait is over.
#[inline]
fn received<T>(slot: &Slot<T>) -> Option<Result<T, Gone>> {
    match slot.outcome.get() {
        Outcome::Done => {
            slot.outcome.set(Outcome::Over);
            // SAFETY: the sender has moved its message in, and the slot is ours again.
            Some(Ok(unsafe { slot.read() }))
        }
        Outcome::Open => None,
        gone => Some(Err(poison::end_of("a receive", gone, &slot.outcome))),
    }
}

// SAFETY: entered at one side of one channel, and left behind its gate.
unsafe impl<'a, T: Send, R: Received<'a, T>> Operation for Receiving<'a, T, R> {
    type Output = Result<R, Gone>;

    const WHAT: &'static str = AN_END;

    #[inline]
    fn network(&self) -> Option<u32> {
        Some(self.end.channel.meeting().network())
    }

    #[inline]
    fn stage(&mut self) -> &mut Stage {
        &mut self.slot.stage
    }

    #[inline]
    fn place(&self) -> Place {
        self.end.channel.waits_at(Side::Receiver)
    }

    fn awaited(&self) -> Awaited {
        receive_from(self.end)
    }

    #[inline]
    fn attempt(&self, worker: &Worker, task: TaskRef) -> bool {
        receive(self.end.channel, worker, task, &self.slot, R::EXTENDED)
    }

    #[inline(always)]
    fn poll(pending: &mut Pending<Self>) -> Poll<Self::Output> {
        if R::EXTENDED {
            pending.poll_here()
        } else if const { is_received_apart::<T>() } {
            Self::poll_apart(pending)
        } else {
            Self::poll_usually(pending)
        }
    }

    #[inline]
    fn may_be_ready(&self) -> bool {
        self.end.channel.meeting().may_be_ready(Side::Receiver)
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        let entry = entry(task, how, &self.slot, R::EXTENDED);
        self.end.channel.receive_or_enter(worker, task, &self.slot, entry)
    }

    #[inline]
    fn ask(&self, worker: &Worker, task: TaskRef, whole: *const (), commit: Enter) {
        if R::EXTENDED {
            return wait::ask_to_enter(worker, task, self.place(), whole, commit);
        }
        let meeting = self.end.channel.meeting();
        meeting.ask_to_enter(Side::Receiver, worker, task, self.slot());
    }

    fn leave(&self, worker: Option<&Worker>) {
        self.end.channel.meeting().leave(Side::Receiver, self.slot(), access_of(worker));
    }

    #[inline]
    fn result(&mut self, _worker: &Worker) -> Option<Self::Output> {
        let received = received(&self.slot)?;
        Some(received.map(|message| R::of(self.end.channel, message)))
    }
}

impl<'a, T: Send, R: Received<'a, T>> Drop for Receiving<'a, T, R> {
    #[inline]
    fn drop(&mut self) {
        // The process has got it.
        if self.slot.stage == Stage::Over {
            return;
        }
        if self.slot.outcome.get() == Outcome::Done {
            // SAFETY: it was received, and the process has not got it.
            drop(R::of(self.end.channel, unsafe { self.slot.read() }));
        }
    }
}

/// A receive from whichever of several channels is ready; made by [`any`].
#[must_use = "nothing is received unless it stands in an alternation"]
struct Any<'a, T: Send> {
    ends: &'a mut [Receiver<T>],
    slot: Slot<T>,
    _pinned: PhantomPinned,
}

/// Makes a guard of all receivers of a slice: a replicated alternation.
///
/// Its result names the one that was chosen. It costs the same for 4 and for 4000 receivers as long
/// as one of them is ready.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let mut inputs = Vec::new();
///     for n in 0..3_usize {
///         let (mut out, input) = csp::channel("input");
///         inputs.push(input);
///         scope.spawn("source", async move { out.send(n * n).await });
///     }
///     let mut fair = csp::Fair::new();
///     let mut sum = 0;
///     while !inputs.is_empty() {
///         match fair.alt(csp::any(&mut inputs)).await {
///             (_, Ok(square)) => sum += square,
///             // An end whose channel is closed is ready for ever: take it out.
///             (which, Err(_)) => drop(inputs.swap_remove(which)),
///         }
///     }
///     sum
/// })?;
/// assert_eq!(run.result, 0 + 1 + 4);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam's replicated `ALT`.
pub fn any<T: Send>(ends: &mut [Receiver<T>]) -> impl Guard<Output = (usize, Result<T, Gone>)> {
    Any { ends, slot: Slot::empty(), _pinned: PhantomPinned }
}

impl<T: Send> fmt::Debug for Any<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Any").field("ends", &self.ends).finish_non_exhaustive()
    }
}

// SAFETY: entered and left at each channel, behind its gate; one of them is chosen.
unsafe impl<T: Send> Alternative for Any<'_, T> {
    type Output = (usize, Result<T, Gone>);

    fn count(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        (from..to).find(|&nth| {
            let channel = self.ends[nth].channel;
            running::check_network(at.worker, channel.meeting().network(), AN_END);
            receive(channel, at.worker, at.task, &self.slot, false)
        })
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        for (nth, end) in self.ends.iter().enumerate() {
            let entry = entry(at.task, at.how(base + nth), &self.slot, false);
            match end.channel.receive_or_enter(at.worker, at.task, &self.slot, entry) {
                Attempt::Nothing => {}
                other => return other,
            }
        }
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        let slot: *const Slot<T> = &raw const self.slot;
        for end in self.ends.iter() {
            end.channel.meeting().leave(Side::Receiver, slot.cast(), access_of(at.worker));
        }
    }

    fn finish(self: Pin<&mut Self>, nth: usize, _at: &Finishing<'_>) -> Poll<Self::Output> {
        let received = received(&self.slot).expect("the guard that was chosen is done");
        Poll::Ready((nth, received))
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        self.ends.iter().for_each(|end| see(receive_from(end)));
    }
}

impl<T: Send> Drop for Any<'_, T> {
    fn drop(&mut self) {
        if self.slot.outcome.get() == Outcome::Done {
            // SAFETY: it was received, and the process has not got it.
            drop(unsafe { self.slot.read() });
        }
    }
}
