//! Exchange: both give and both take, in one meeting.

use crate::channel::attempt::{Caller, Step};
use crate::channel::gone::{Gone, Outcome, Unsent};
use crate::channel::rendezvous::{Entry, Rendezvous, Side, flag};
use crate::channel::typed::Channel;
use crate::choice::guard::{Entering, Guard, Leaving, Looking};
use crate::language::common::Common;
use crate::language::csp::Worker;
use crate::language::header::own;
use crate::language::running;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How};
use crate::wait::{self, Stage};
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Cell, thread};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Makes a place where two processes swap what they have: one gives an `A` and takes a `B`, the
/// other the reverse.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut here, mut there) = csp::exchange::<u32, String>("market");
///     scope.spawn("tailor", async move {
///         let paid = there.swap("a coat".to_owned()).await;
///         assert_eq!(paid, Ok(30));
///     });
///     here.swap(30).await
/// })?;
/// assert_eq!(run.result, Ok("a coat".to_owned()));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// Source: CCSP section 1.1, `MTChanXChg`.
pub fn exchange<A: Send, B: Send>(name: impl Into<Name>) -> (Exchange<A, B>, Exchange<B, A>) {
    in_network(running::common_of_new("an exchange"), name.into())
}

/// The same in a network that is named.
pub(crate) fn in_network<A: Send, B: Send>(
    common: &Arc<Common>,
    name: Name,
) -> (Exchange<A, B>, Exchange<B, A>) {
    let channel = Channel::<()>::new(common, name, 0);
    let gate = &channel.meeting().gate;
    gate.unlock(gate.lock(Access::Shared) | flag::EXCHANGE);
    (
        Exchange { channel, side: Side::Sender, types: PhantomData },
        Exchange { channel, side: Side::Receiver, types: PhantomData },
    )
}

/// One of the two ends of an exchange, where an `A` is given for a `B`; made by [`exchange()`].
pub struct Exchange<A: Send, B: Send> {
    /// Only its meeting is used.
    channel: Channel<()>,
    side: Side,
    types: PhantomData<fn(A) -> B>,
}

impl<A: Send, B: Send> Exchange<A, B> {
    /// Gives `message` for the other's: waits until both are there.
    ///
    /// Also a guard of an [alternation](crate::alt).
    ///
    /// # Errors
    /// [`Unsent`] returns the message if the other end was dropped.
    pub fn swap(
        &mut self,
        message: A,
    ) -> impl Future<Output = Result<B, Unsent<A>>> + Guard<Output = Result<B, Unsent<A>>> {
        Swapping {
            end: self,
            slot: Slot {
                outcome: Cell::new(Outcome::Open),
                give: UnsafeCell::new(MaybeUninit::new(message)),
                take: UnsafeCell::new(MaybeUninit::uninit()),
            },
            stage: Stage::Fresh,
            _pinned: PhantomPinned,
        }
    }
}

impl<A: Send, B: Send> fmt::Debug for Exchange<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exchange").field(self.channel.meeting().name()).finish()
    }
}

impl<A: Send, B: Send> Drop for Exchange<A, B> {
    fn drop(&mut self) {
        let network = self.channel.meeting().network();
        if let Some((worker, task)) = Worker::running_in(network) {
            let poison = task.notes() & own::POISONED != 0 || thread::panicking();
            self.channel.close(self.side, poison, Some(worker));
            return;
        }
        self.channel.defer_close(self.side, thread::panicking());
    }
}

/// The part of a waiting exchange that its partner writes.
#[repr(C)]
struct Slot<A, B> {
    /// First, as in every slot: the one that closes the other end knows no more.
    outcome: Cell<Outcome>,
    give: UnsafeCell<MaybeUninit<A>>,
    take: UnsafeCell<MaybeUninit<B>>,
}

impl<A, B> Slot<A, B> {
    /// Moves both messages.
    ///
    /// # Safety
    /// Both slots are the caller's, hold what they give, and nothing that they take.
    unsafe fn swap(&self, theirs: &Slot<B, A>) {
        // SAFETY: said by the caller.
        unsafe { self.take.get().cast::<B>().copy_from(theirs.give.get().cast(), 1) };
        // SAFETY: as above.
        unsafe { theirs.take.get().cast::<A>().copy_from(self.give.get().cast(), 1) };
        self.outcome.set(Outcome::Done);
        theirs.outcome.set(Outcome::Done);
    }
}

/// An exchange in progress; made by [`Exchange::swap`].
#[must_use = "nothing is swapped unless it is awaited"]
struct Swapping<'a, A: Send, B: Send> {
    end: &'a mut Exchange<A, B>,
    slot: Slot<A, B>,
    stage: Stage,
    _pinned: PhantomPinned,
}

// SAFETY: the slot holds messages, which are `Send`; others touch it behind the gate.
unsafe impl<A: Send, B: Send> Send for Swapping<'_, A, B> {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl<A: Send, B: Send> Sync for Swapping<'_, A, B> {}

impl<A: Send, B: Send> fmt::Debug for Swapping<'_, A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Swapping").field(&self.end).finish()
    }
}

impl<A: Send, B: Send> Swapping<'_, A, B> {
    fn meeting(&self) -> &Rendezvous {
        self.end.channel.meeting()
    }

    fn place(&self) -> *const () {
        (&raw const self.slot).cast()
    }

    /// Enters a process that waits for this alone, after its poll.
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll` with this type; the operation is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        this.meeting().enter_alone(this.end.side, task, this.place(), false, worker)
    }

    /// Swaps with the one that waits at the other side, if anyone does; else enters, if told to.
    fn attempt(&self, worker: &Worker, task: TaskRef, enter: Option<How>) -> Attempt {
        let (meeting, side) = (self.meeting(), self.end.side);
        let entry = enter.map(|how| Entry { task, how, slot: self.place(), extended: false });
        let look = Caller { side, task, entry, outcome: &self.slot.outcome };
        let flags = meeting.gate.lock(worker.access());
        meeting.attempt(look, flags, worker, |step, _| match step {
            Step::With(partner, wake) => {
                // SAFETY: the partner's slot is ours, and of the other end's type.
                let theirs = unsafe { &*partner.slot.cast::<Slot<B, A>>() };
                // SAFETY: as above; ours holds what we give.
                unsafe { self.slot.swap(theirs) };
                meeting.count();
                Some(wake)
            }
            Step::Before | Step::Without => None,
        })
    }

    fn finish_swap(&mut self) -> Result<B, Unsent<A>> {
        self.stage = Stage::Over;
        match self.slot.outcome.replace(Outcome::Over) {
            outcome @ (Outcome::Closed | Outcome::Poisoned) => {
                let why = Gone::from_outcome(outcome);
                crate::channel::poison::meet(why);
                // SAFETY: nobody took it, and nobody can any more.
                let message = unsafe { self.slot.give.get().cast::<A>().read() };
                Err(Unsent { message, why })
            }
            // SAFETY: the partner has moved it in, and has ours.
            _ => Ok(unsafe { self.slot.take.get().cast::<B>().read() }),
        }
    }
}

impl<A: Send, B: Send> Future for Swapping<'_, A, B> {
    type Output = Result<B, Unsent<A>>;

    /// # Panics
    /// Panics outside of a process of the network, and if it was completed before.
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let (worker, task) = running::in_network(this.meeting().network(), "an exchange");
        if this.stage == Stage::Waiting && wait::resumed(task) {
            this.meeting().leave(this.end.side, this.place(), worker.access());
        }
        match this.slot.outcome.get() {
            Outcome::Open => {}
            Outcome::Over => panic!("an exchange was polled after it was completed"),
            _ => return Poll::Ready(this.finish_swap()),
        }
        if !wait::has_turn(worker, task, &mut this.stage) {
            return Poll::Pending;
        }
        if this.attempt(worker, task, None) == Attempt::Done {
            return Poll::Ready(this.finish_swap());
        }
        this.stage = Stage::Waiting;
        let place = Place::Send(this.end.channel.place().cast());
        wait::ask_to_enter(worker, task, place, &raw const *this, Self::commit);
        Poll::Pending
    }
}

// SAFETY: entered and left at one meeting, under its gate.
unsafe impl<A: Send, B: Send> Guard for Swapping<'_, A, B> {
    type Output = Result<B, Unsent<A>>;

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        running::check_network(at.worker, self.meeting().network(), "an exchange");
        (self.attempt(at.worker, at.task, None) == Attempt::Done).then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        self.attempt(at.worker, at.task, Some(at.how(base)))
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.meeting().leave(self.end.side, self.place(), at.access());
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll(context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        let at = At::Place(self.end.channel.waits_at(self.end.side));
        see(Awaited::of("swap at", self.meeting().name(), at));
    }
}

impl<A: Send, B: Send> Drop for Swapping<'_, A, B> {
    fn drop(&mut self) {
        if self.stage == Stage::Waiting {
            crate::channel::ends::withdraw(self.meeting(), self.end.side, self.place());
        }
        match self.slot.outcome.get() {
            Outcome::Open | Outcome::Closed | Outcome::Poisoned => {
                // SAFETY: nobody took it, and nobody can any more.
                drop(unsafe { self.slot.give.get().cast::<A>().read() });
            }
            // SAFETY: the partner has moved it in, and it was given to nobody.
            Outcome::Done => drop(unsafe { self.slot.take.get().cast::<B>().read() }),
            Outcome::Held | Outcome::Over => {}
        }
    }
}
