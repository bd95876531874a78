//! The two ends of a channel, and sending and receiving.

use crate::channel::gone::{Gone, Outcome, Unsent};
use crate::channel::rendezvous::{Entry, Rendezvous, Side};
use crate::channel::slot::Slot;
use crate::channel::typed::Channel;
use crate::choice::guard::Guard;
use crate::language::csp::Worker;
use crate::language::header::own;
use crate::language::running;
use crate::wait::place::Place;
use crate::wait::waiter::{Attempt, How};
use crate::wait::{self, Stage};
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, thread};
use kahn_report::Name;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Makes a channel without a buffer: sender and receiver meet.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut ping, mut pinged) = csp::channel::<u32>("ping");
///     scope.spawn("pinger", async move { ping.send(7).await });
///     pinged.recv().await
/// })?;
/// assert_eq!(run.result, Ok(7));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// Source: Hoare 1985; CCSP section 1.1, `ChanInit`.
pub fn channel<T: Send>(name: impl Into<Name>) -> (Sender<T>, Receiver<T>) {
    ends(name.into(), 0)
}

/// Makes a channel that holds up to `capacity` messages: its sender waits only when it is full.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()), and if `capacity` is 0.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let (mut out, mut numbers) = csp::buffered::<u32>("numbers", 2);
///     // Nobody receives yet, and nobody has to.
///     out.send(1).await.expect("there is room");
///     out.send(2).await.expect("there is room");
///     drop(out);
///     let mut sum = 0;
///     while let Ok(n) = numbers.recv().await {
///         sum += n;
///     }
///     sum
/// })?;
/// assert_eq!(run.result, 3);
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn buffered<T: Send>(name: impl Into<Name>, capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a buffer holds a message at least: `csp::channel` is without one");
    ends(name.into(), capacity)
}

fn ends<T: Send>(name: Name, capacity: usize) -> (Sender<T>, Receiver<T>) {
    let channel = Channel::new(running::common_of_new("a channel"), name, capacity);
    (Sender { channel }, Receiver { channel })
}

/// The end of a channel that messages go into.
///
/// It may itself be sent in a message, to the process that is to send from then on. Dropping it closes the
/// channel.
///
/// # Examples
///
/// See [`channel()`].
pub struct Sender<T: Send> {
    pub(crate) channel: Channel<T>,
}

/// The end of a channel that messages come out of.
///
/// It may itself be sent in a message, to the process that is to receive from then on. Dropping it closes
/// the channel: a sender learns it, and gets its message back.
///
/// # Examples
///
/// See [`channel()`].
pub struct Receiver<T: Send> {
    pub(crate) channel: Channel<T>,
}

impl<T: Send> Sender<T> {
    /// Sends a message: waits until a receiver has it, or a buffer.
    ///
    /// Also a guard of an [alternation](crate::alt).
    ///
    /// # Errors
    /// [`Unsent`] returns the message if the receiver was dropped, or if it received the message
    /// with [`recv_extended`](Receiver::recv_extended) and panicked or was killed over it.
    pub fn send(
        &mut self,
        message: T,
    ) -> impl Future<Output = Result<(), Unsent<T>>> + Guard<Output = Result<(), Unsent<T>>> {
        Sending { end: self, slot: Slot::with(message), _pinned: PhantomPinned }
    }

    /// Drops the end with poison: the receiver learns it, after the messages that were sent.
    ///
    /// The one that meets poison passes it on: the ends that its process drops from then on, at its end
    /// or before, are poisoned too, unless it [takes an antidote](crate::antidote).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Gone};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (out, mut first) = csp::channel::<u32>("first");
    ///     let (mut on, mut second) = csp::channel::<u32>("second");
    ///     scope.spawn("between", async move {
    ///         while let Ok(n) = first.recv().await {
    ///             let _ = on.send(n).await;
    ///         }
    ///     });
    ///     out.poison();
    ///     second.recv().await
    /// })?;
    /// assert_eq!(run.result, Err(Gone::Poisoned));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// Source: Sputh and Allen, *JCSP-Poison*, 2005.
    pub fn poison(self) {
        let channel = self.channel;
        std::mem::forget(self);
        drop_end(channel, Side::Sender, true);
    }

    /// Returns the name of the channel.
    pub fn name(&self) -> &Name {
        self.channel.meeting().name()
    }
}

impl<T: Send> Receiver<T> {
    /// Receives a message, waiting until there is one.
    ///
    /// Also a guard of an [alternation](crate::alt).
    ///
    /// # Errors
    /// [`Gone`] if the sender was dropped, after all that it sent.
    pub fn recv(
        &mut self,
    ) -> impl Future<Output = Result<T, Gone>> + Guard<Output = Result<T, Gone>> {
        Receiving::new(self, false)
    }

    /// Drops the end with poison: the sender learns it. See [`Sender::poison`].
    pub fn poison(self) {
        let channel = self.channel;
        std::mem::forget(self);
        drop_end(channel, Side::Receiver, true);
    }

    /// Returns the name of the channel.
    pub fn name(&self) -> &Name {
        self.channel.meeting().name()
    }
}

/// Ends one side of a channel, with poison if the process that does it has met some or panics.
fn drop_end<T: Send>(channel: Channel<T>, side: Side, poison: bool) {
    let network = channel.meeting().network();
    match Worker::running_in(network) {
        Some((worker, task)) => {
            if side == Side::Receiver && channel.holds_sender() {
                channel.let_go(worker);
            }
            let poison = poison || task.notes() & own::POISONED != 0 || thread::panicking();
            channel.close(side, poison, Some(worker));
        }
        None => channel.defer_close(side, poison || thread::panicking()),
    }
}

impl<T: Send> Drop for Sender<T> {
    fn drop(&mut self) {
        drop_end(self.channel, Side::Sender, false);
    }
}

impl<T: Send> Drop for Receiver<T> {
    fn drop(&mut self) {
        drop_end(self.channel, Side::Receiver, false);
    }
}

impl<T: Send> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(self.name()).finish()
    }
}

impl<T: Send> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(self.name()).finish()
    }
}

/// A send in progress; made by [`Sender::send`].
#[must_use = "nothing is sent unless it is awaited"]
pub(super) struct Sending<'a, T: Send> {
    pub(crate) end: &'a mut Sender<T>,
    pub(crate) slot: Slot<T>,
    _pinned: PhantomPinned,
}

/// A receive in progress; made by [`Receiver::recv`].
#[must_use = "nothing is received unless it is awaited"]
pub(super) struct Receiving<'a, T: Send> {
    pub(crate) end: &'a mut Receiver<T>,
    pub(crate) slot: Slot<T>,
    _pinned: PhantomPinned,
}

// SAFETY: a slot holds at most a message, which is `Send`; what others write there is ordered by
// the gate of the channel.
unsafe impl<T: Send> Send for Sending<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Receiving<'_, T> {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl<T: Send> Sync for Sending<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Receiving<'_, T> {}

/// An entry for a process at its slot.
pub(crate) fn entry<T>(task: TaskRef, how: How, slot: &Slot<T>, extended: bool) -> Entry {
    Entry { task, how, slot: std::ptr::from_ref(slot).cast(), extended }
}

impl<T: Send> Sending<'_, T> {
    /// Enters a sender, after its poll.
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `attempt` with this type; the operation is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let meeting = this.end.channel.meeting();
        meeting.enter_alone(Side::Sender, task, this.place(), false, worker)
    }

    /// Enters a sender whose message was taken and who is to wait on, after its poll.
    unsafe fn commit_held(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll` with this type; the operation is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        wait::enter_alone(task, |how| {
            let entry = entry(task, how, &this.slot, false);
            if this.end.channel.wait_held(worker, &this.slot, entry) {
                Attempt::Nothing
            } else {
                Attempt::Done
            }
        })
    }

    /// What the outcome in the slot comes to.
    #[inline]
    fn finish(&mut self) -> Result<(), Unsent<T>> {
        self.slot.stage = Stage::Over;
        match self.slot.outcome.replace(Outcome::Over) {
            outcome @ (Outcome::Closed | Outcome::Poisoned) => {
                let why = Gone::from_outcome(outcome);
                crate::channel::poison::meet(why);
                // SAFETY: nobody took the message, and the slot is ours again.
                Err(Unsent { message: unsafe { self.slot.read() }, why })
            }
            _ => Ok(()),
        }
    }

    /// Goes on with a send that is not at its beginning, or whose turn it is not.
    #[inline(never)]
    fn go_on(&mut self, worker: &Worker, task: TaskRef) -> Poll<Result<(), Unsent<T>>> {
        let channel = self.end.channel;
        if self.slot.stage == Stage::Waiting && wait::resumed(task) {
            channel.meeting().leave(Side::Sender, self.place(), worker.access());
        }
        match self.slot.outcome.get() {
            Outcome::Open => {}
            Outcome::Held => {
                self.slot.stage = Stage::Waiting;
                let place = Place::Send(channel.place().cast());
                wait::ask_to_enter(worker, task, place, &raw const *self, Self::commit_held);
                return Poll::Pending;
            }
            Outcome::Over => panic!("a send was polled after it was completed"),
            Outcome::Done | Outcome::Closed | Outcome::Poisoned => {
                return Poll::Ready(self.finish());
            }
        }
        if !wait::has_turn(worker, task, &mut self.slot.stage) {
            return Poll::Pending;
        }
        self.attempt(worker, task)
    }

    /// Sends if somebody takes it, else waits.
    #[inline]
    fn attempt(&mut self, worker: &Worker, task: TaskRef) -> Poll<Result<(), Unsent<T>>> {
        let channel = self.end.channel;
        if channel.is_promising(Side::Sender)
            && channel.send(worker, task, &self.slot) == Attempt::Done
        {
            if self.slot.outcome.get() == Outcome::Done {
                self.slot.outcome.set(Outcome::Over);
                self.slot.stage = Stage::Over;
                return Poll::Ready(Ok(()));
            }
            return self.go_on(worker, task);
        }
        self.slot.stage = Stage::Waiting;
        let place = Place::Send(channel.place().cast());
        wait::ask_to_enter(worker, task, place, &raw const *self, Self::commit);
        Poll::Pending
    }

    fn place(&self) -> *const () {
        (&raw const self.slot).cast()
    }
}

impl<T: Send> Future for Sending<'_, T> {
    type Output = Result<(), Unsent<T>>;

    /// # Panics
    /// Panics outside of a process of the channel's own network, and if it was completed before.
    #[inline]
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let channel = this.end.channel;
        let (worker, task) =
            running::in_network(channel.meeting().network(), "an end of a channel");
        let is_new = this.slot.stage == Stage::Fresh && this.slot.outcome.get() == Outcome::Open;
        if is_new && wait::has_turn_at_once(worker, task) {
            return this.attempt(worker, task);
        }
        this.go_on(worker, task)
    }
}

impl<'a, T: Send> Receiving<'a, T> {
    pub(crate) fn new(end: &'a mut Receiver<T>, extended: bool) -> Self {
        Self { end, slot: Slot::empty(extended), _pinned: PhantomPinned }
    }

    /// Enters a receiver, after its poll.
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `attempt` with this type; the operation is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let meeting = this.end.channel.meeting();
        meeting.enter_alone(Side::Receiver, task, this.place(), this.slot.extended, worker)
    }

    /// What the outcome in the slot comes to.
    #[inline]
    fn finish(&mut self) -> Result<T, Gone> {
        self.slot.stage = Stage::Over;
        received(&self.slot)
    }

    /// Goes on with a receive that is not at its beginning, or whose turn it is not.
    #[inline(never)]
    fn go_on(&mut self, worker: &Worker, task: TaskRef) -> Poll<Result<T, Gone>> {
        if self.slot.stage == Stage::Waiting && wait::resumed(task) {
            self.end.channel.meeting().leave(Side::Receiver, self.place(), worker.access());
        }
        match self.slot.outcome.get() {
            Outcome::Open => {}
            Outcome::Over => panic!("a receive was polled after it was completed"),
            _ => return Poll::Ready(self.finish()),
        }
        if !wait::has_turn(worker, task, &mut self.slot.stage) {
            return Poll::Pending;
        }
        self.attempt(worker, task)
    }

    /// Receives if there is a message, else waits.
    #[inline]
    fn attempt(&mut self, worker: &Worker, task: TaskRef) -> Poll<Result<T, Gone>> {
        let channel = self.end.channel;
        if channel.is_promising(Side::Receiver)
            && channel.receive(worker, task, &self.slot, self.slot.extended) == Attempt::Done
        {
            return Poll::Ready(self.finish());
        }
        self.slot.stage = Stage::Waiting;
        let place = Place::Receive(channel.place().cast());
        wait::ask_to_enter(worker, task, place, &raw const *self, Self::commit);
        Poll::Pending
    }

    fn place(&self) -> *const () {
        (&raw const self.slot).cast()
    }
}

impl<T: Send> Future for Receiving<'_, T> {
    type Output = Result<T, Gone>;

    /// # Panics
    /// Panics outside of a process of the channel's own network, and if it was completed before.
    #[inline]
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let channel = this.end.channel;
        let (worker, task) =
            running::in_network(channel.meeting().network(), "an end of a channel");
        let is_new = this.slot.stage == Stage::Fresh && this.slot.outcome.get() == Outcome::Open;
        if is_new && wait::has_turn_at_once(worker, task) {
            return this.attempt(worker, task);
        }
        // One that may be killed must pass the gate before it looks.
        if task.notes() & own::KILLABLE == 0 && this.slot.outcome.get() == Outcome::Done {
            return Poll::Ready(this.finish());
        }
        this.go_on(worker, task)
    }
}

/// What stands in the slot of a receiver whose wait is over.
#[inline]
pub(crate) fn received<T>(slot: &Slot<T>) -> Result<T, Gone> {
    let outcome = slot.outcome.replace(Outcome::Over);
    if outcome == Outcome::Done {
        // SAFETY: the sender has moved its message in, and the slot is ours again.
        return Ok(unsafe { slot.read() });
    }
    let why = Gone::from_outcome(outcome);
    crate::channel::poison::meet(why);
    Err(why)
}

/// Drops a message that was received and given to nobody.
pub(super) fn drop_received<T>(slot: &Slot<T>) {
    if slot.outcome.get() == Outcome::Done {
        // SAFETY: it was received and not given to anyone.
        drop(unsafe { slot.read() });
    }
}

/// Takes an operation out of wherever it waits, before its memory goes.
pub(crate) fn withdraw(meeting: &Rendezvous, side: Side, slot: *const ()) {
    let worker = Worker::running_in(meeting.network()).map(|(worker, _)| worker);
    if let Some(worker) = worker {
        // Perhaps it has only just asked.
        worker.take_back();
    }
    let access = worker.map_or(Access::Shared, |worker| worker.access());
    meeting.leave(side, slot, access);
}

impl<T: Send> Drop for Sending<'_, T> {
    fn drop(&mut self) {
        if self.slot.stage == Stage::Waiting {
            let slot = (&raw const self.slot).cast();
            withdraw(self.end.channel.meeting(), Side::Sender, slot);
        }
        if self.slot.outcome.get() == Outcome::Held {
            self.end.channel.leave_held(&self.slot);
        }
        if matches!(self.slot.outcome.get(), Outcome::Open | Outcome::Closed | Outcome::Poisoned) {
            // SAFETY: nobody took the message, and nobody can any more.
            drop(unsafe { self.slot.read() });
        }
    }
}

impl<T: Send> Drop for Receiving<'_, T> {
    fn drop(&mut self) {
        if self.slot.stage == Stage::Waiting {
            let slot = (&raw const self.slot).cast();
            withdraw(self.end.channel.meeting(), Side::Receiver, slot);
        }
        if self.slot.extended && self.slot.outcome.get() == Outcome::Done {
            // SAFETY: it was received and not given to anyone.
            crate::channel::extended::leave(self.end.channel, unsafe { self.slot.read() });
        } else {
            drop_received(&self.slot);
        }
    }
}

impl<T: Send> fmt::Debug for Sending<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").field("on", self.end.name()).finish_non_exhaustive()
    }
}

impl<T: Send> fmt::Debug for Receiving<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving").field("from", self.end.name()).finish_non_exhaustive()
    }
}
