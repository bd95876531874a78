//! Exchange: both give and both take, in one rendezvous.

use crate::channel::attempt::{Caller, Step};
use crate::channel::gone::{Outcome, Unsent};
use crate::channel::poison;
use crate::channel::rendezvous::{Entry, Rendezvous, Side, flag};
use crate::channel::typed::Channel;
use crate::choice::guard::Guard;
use crate::choice::operation::{Operation, Pending};
use crate::language::common::Common;
use crate::language::csp::{Worker, access_of};
use crate::language::header::own;
use crate::language::running;
use crate::wait::Stage;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How};
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Cell, thread};
use kahn_report::Name;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

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
    let ends = in_network(running::common_of_new("an exchange"), name.into());
    let channel = ends.0.channel;
    running::tell_of_new(channel.place().addr(), channel.meeting().name());
    ends
}

/// The same in a network that is named.
pub(crate) fn in_network<A: Send, B: Send>(
    common: &Arc<Common>,
    name: Name,
) -> (Exchange<A, B>, Exchange<B, A>) {
    let channel = Channel::<()>::new(common, name, 0);
    let gate = &channel.meeting().gate;
    gate.unlock(gate.lock(Access::SHARED) | flag::EXCHANGE);
    (
        Exchange { channel, side: Side::Sender, types: PhantomData },
        Exchange { channel, side: Side::Receiver, types: PhantomData },
    )
}

/// One of the two ends of an exchange, where an `A` is given for a `B`; made by [`exchange()`].
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (mut left, mut right) = csp::exchange::<u32, u32>("edge");
///     let other = scope.fork("right", async move { right.swap(2).await });
///     (left.swap(1).await, other.join().await)
/// })?;
/// assert_eq!(run.result, (Ok(2), Ok(Ok(1))));
/// # Ok::<(), csp::RunError>(())
/// ```
pub struct Exchange<A: Send, B: Send> {
    /// Only its rendezvous is used.
    channel: Channel<()>,
    side: Side,
    types: PhantomData<fn(A) -> B>,
}

impl<A: Send, B: Send> Exchange<A, B> {
    /// Gives `message` for the other's: waits until both are there.
    ///
    /// Also a guard of an [alternation](crate::alt).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let (mut here, there) = csp::exchange::<u32, String>("market");
    ///     drop(there);
    ///     here.swap(30).await
    /// })?;
    /// let unsent = run.result.expect_err("the other end is gone");
    /// assert_eq!(unsent.message, 30);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsent`] returns the message if the other end was dropped.
    pub fn swap(
        &mut self,
        message: A,
    ) -> impl Future<Output = Result<B, Unsent<A>>> + Guard<Output = Result<B, Unsent<A>>> {
        Pending::new(Swapping {
            end: self,
            slot: Slot {
                stage: Stage::Fresh,
                outcome: Cell::new(Outcome::Open),
                give: UnsafeCell::new(MaybeUninit::new(message)),
                take: UnsafeCell::new(MaybeUninit::uninit()),
            },
        })
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
    /// The owner's.
    stage: Stage,
    /// Behind it, as in every slot: the one that closes the other end knows no more.
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
struct Swapping<'a, A: Send, B: Send> {
    end: &'a mut Exchange<A, B>,
    slot: Slot<A, B>,
}

// SAFETY: the slot holds messages, which are `Send`; others touch it behind the gate.
unsafe impl<A: Send, B: Send> Send for Swapping<'_, A, B> {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl<A: Send, B: Send> Sync for Swapping<'_, A, B> {}

impl<A: Send, B: Send> Swapping<'_, A, B> {
    fn meeting(&self) -> &Rendezvous {
        self.end.channel.meeting()
    }

    fn slot(&self) -> *const () {
        (&raw const self.slot).cast()
    }

    /// Swaps with the one that waits at the other side, if one does; else enters, if told to.
    fn swap(&self, worker: &Worker, task: TaskRef, enter: Option<How>) -> Attempt {
        let (meeting, side) = (self.meeting(), self.end.side);
        let entry = enter.map(|how| Entry { task, how, slot: self.slot(), extended: false });
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
}

// SAFETY: entered at one side of one rendezvous, and left behind its gate.
unsafe impl<A: Send, B: Send> Operation for Swapping<'_, A, B> {
    type Output = Result<B, Unsent<A>>;

    const WHAT: &'static str = "an exchange";

    fn network(&self) -> Option<u32> {
        Some(self.meeting().network())
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.slot.stage
    }

    /// At the side where it gives, whichever of the channel's that is.
    fn place(&self) -> Place {
        Place::Send(self.end.channel.place().cast())
    }

    fn awaited(&self) -> Awaited {
        let at = At::Place(self.end.channel.waits_at(self.end.side));
        Awaited::of("swap at", self.meeting().name(), at)
    }

    fn attempt(&self, worker: &Worker, task: TaskRef) -> bool {
        self.swap(worker, task, None) == Attempt::Done
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        self.swap(worker, task, Some(how))
    }

    fn leave(&self, worker: Option<&Worker>) {
        self.meeting().leave(self.end.side, self.slot(), access_of(worker));
    }

    fn result(&mut self, _worker: &Worker) -> Option<Self::Output> {
        match self.slot.outcome.get() {
            Outcome::Open => None,
            Outcome::Done => {
                self.slot.outcome.set(Outcome::Over);
                // SAFETY: the partner has moved it in, and has ours.
                Some(Ok(unsafe { self.slot.take.get().cast::<B>().read() }))
            }
            gone => {
                let why = poison::end_of("an exchange", gone, &self.slot.outcome);
                // SAFETY: no partner took it, and none can any more.
                let message = unsafe { self.slot.give.get().cast::<A>().read() };
                Some(Err(Unsent { message, why }))
            }
        }
    }
}

impl<A: Send, B: Send> Drop for Swapping<'_, A, B> {
    fn drop(&mut self) {
        match self.slot.outcome.get() {
            Outcome::Open | Outcome::Closed | Outcome::Poisoned => {
                // SAFETY: no partner took it, and none can any more.
                drop(unsafe { self.slot.give.get().cast::<A>().read() });
            }
            // SAFETY: the partner has moved it in, and the process has not got it.
            Outcome::Done => drop(unsafe { self.slot.take.get().cast::<B>().read() }),
            Outcome::Held | Outcome::Over => {}
        }
    }
}
