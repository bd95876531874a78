//! What can stand in an alternation: the operations themselves.

use super::attempt::Attempt;
use super::channel::Slot;
use super::ends::{Receiver, Receiving, Sending, entry};
use super::error::Gone;
use super::language::Worker;
use super::look::{At, Awaited};
use super::meeting::{How, Side};
use super::offer::Ticket;
use super::wait;
use kahn_engine::TaskRef;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The alternation that looks at its guards, while its process runs.
pub struct Looking<'a, 'c> {
    pub(super) worker: &'a Worker,
    pub(super) task: TaskRef,
    pub(super) context: &'a mut Context<'c>,
    /// Whether `skip` counts as ready.
    pub(super) skips: bool,
}

/// The alternation whose process is entered at its guards, after its poll.
pub struct Entering<'a> {
    pub(super) worker: &'a Worker,
    pub(super) task: TaskRef,
    pub(super) ticket: Ticket,
}

impl fmt::Debug for Looking<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Looking")
    }
}

impl fmt::Debug for Entering<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entering")
    }
}

/// The alternation whose process is taken out of its guards.
pub struct Leaving<'a> {
    pub(super) worker: Option<&'a Worker>,
}

impl fmt::Debug for Leaving<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Leaving")
    }
}

impl Leaving<'_> {
    pub(super) fn alone(&self) -> bool {
        self.worker.is_some_and(|worker| worker.solo())
    }
}

impl Entering<'_> {
    pub(super) fn how(&self, guard: usize) -> How {
        How::Offer { ticket: self.ticket, guard: u32::try_from(guard).unwrap_or(u32::MAX) }
    }
}

/// What can stand in an [alternation](super::alt): a send, a receive, a time, `skip`, a future; or
/// several of them, as a tuple, an array or a vector.
///
/// An operation that is made a guard is done if it is chosen, and not begun if it is not: the
/// message of a send that loses is dropped with the send, or kept if the alternation only borrows
/// it: `pin!` the send and hand over `as_mut()`.
///
/// # Safety
/// The methods follow the protocol in `csp::offer`: nothing can be taken from a guard that is not
/// entered, and nothing is entered after [`leave`](Guard::leave).
pub unsafe trait Guard {
    /// What it comes to if it is chosen.
    type Output;

    /// How many guards it stands for.
    #[doc(hidden)]
    fn count(&self) -> usize {
        1
    }

    /// Whether it may be woken by a waker of another library.
    #[doc(hidden)]
    fn is_foreign(&self) -> bool {
        false
    }

    /// Does the first of the guards `from..to` that is ready; returns which.
    #[doc(hidden)]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize>;

    /// Enters the process at all its guards; the first has the number `base`.
    #[doc(hidden)]
    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt;

    /// The process is entered no more.
    #[doc(hidden)]
    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>);

    /// Gives the result of the guard that was chosen.
    #[doc(hidden)]
    fn finish(self: Pin<&mut Self>, nth: usize, context: &mut Context<'_>) -> Poll<Self::Output>;

    /// Says for what it waits.
    #[doc(hidden)]
    fn describe(&self, see: &mut dyn FnMut(Awaited));

    /// Makes it a guard only if `condition` holds. Its number in the alternation stays the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::csp::{self, Guard, OneOf2};
    ///
    /// let run = csp::run(kahn::RunOptions::new(), async |scope| {
    ///     let (mut out, mut jobs) = csp::channel::<u32>("jobs");
    ///     scope.spawn("source", async move { out.send(1).await });
    ///     let busy = true;
    ///     match csp::pri((jobs.recv().when(!busy), csp::skip())).await {
    ///         OneOf2::First(job) => job,
    ///         OneOf2::Second(()) => jobs.recv().await,
    ///     }
    /// })?;
    /// assert_eq!(run.result, Ok(1));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    fn when(self, condition: bool) -> When<Self>
    where
        Self: Sized,
    {
        When { guard: self, condition }
    }
}

// SAFETY: entered and left at one channel, under its gate.
unsafe impl<T: Send> Guard for Receiving<'_, T> {
    type Output = Result<T, Gone>;

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        let channel = self.end.channel;
        wait::check_network(at.worker, channel.meeting().network(), "an end of a channel");
        let done = channel.is_promising(Side::Receiver)
            && channel.receive(at.worker, at.task, &self.slot, self.slot.extended) == Attempt::Done;
        done.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        let extended = self.slot.extended;
        let entry = entry(at.task, at.how(base), &self.slot, extended);
        self.end.channel.receive_or_enter(at.worker, at.task, &self.slot, entry)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        let slot = (&raw const self.slot).cast();
        self.end.channel.meeting().leave(Side::Receiver, slot, at.alone());
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll(context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        let at = At::Meeting(self.end.channel.place(), Side::Receiver);
        see(Awaited::of("receive from", self.end.name(), at));
    }
}

// SAFETY: entered and left at one channel, under its gate.
unsafe impl<T: Send> Guard for Sending<'_, T> {
    type Output = Result<(), super::Unsent<T>>;

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        let channel = self.end.channel;
        wait::check_network(at.worker, channel.meeting().network(), "an end of a channel");
        let done = channel.is_promising(Side::Sender)
            && channel.send(at.worker, at.task, &self.slot) == Attempt::Done;
        done.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        let entry = entry(at.task, at.how(base), &self.slot, false);
        self.end.channel.send_or_enter(at.worker, at.task, &self.slot, entry)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        let slot = (&raw const self.slot).cast();
        self.end.channel.meeting().leave(Side::Sender, slot, at.alone());
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll(context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        let at = At::Meeting(self.end.channel.place(), Side::Sender);
        see(Awaited::of("send to", self.end.name(), at));
    }
}

/// Receives from whichever of several channels is ready; made by [`any`].
#[must_use = "nothing is received unless it stands in an alternation"]
pub struct Any<'a, T: Send> {
    ends: &'a mut [Receiver<T>],
    slot: Slot<T>,
    _pinned: PhantomPinned,
}

// SAFETY: as for `Receiving`.
unsafe impl<T: Send> Send for Any<'_, T> {}

/// Makes a guard of all receivers of a slice: a replicated alternation.
///
/// Its result names the one that was chosen. It costs the same for 4 and for 4000 receivers as long
/// as one of them is ready.
///
/// # Examples
///
/// ```
/// use kahn::csp;
///
/// let run = csp::run(kahn::RunOptions::new(), async |scope| {
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
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: occam's replicated `ALT`.
pub fn any<T: Send>(ends: &mut [Receiver<T>]) -> Any<'_, T> {
    Any { ends, slot: Slot::empty(false), _pinned: PhantomPinned }
}

impl<T: Send> fmt::Debug for Any<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Any").field("ends", &self.ends).finish_non_exhaustive()
    }
}

// SAFETY: entered and left at each channel, under its gate; one of them is chosen.
unsafe impl<T: Send> Guard for Any<'_, T> {
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
            wait::check_network(at.worker, channel.meeting().network(), "an end of a channel");
            channel.is_promising(Side::Receiver)
                && channel.receive(at.worker, at.task, &self.slot, false) == Attempt::Done
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
            end.channel.meeting().leave(Side::Receiver, slot.cast(), at.alone());
        }
    }

    fn finish(self: Pin<&mut Self>, nth: usize, _context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready((nth, super::ends::received(&self.slot)))
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        for end in self.ends.iter() {
            let at = At::Meeting(end.channel.place(), Side::Receiver);
            see(Awaited::of("receive from", end.name(), at));
        }
    }
}

impl<T: Send> Drop for Any<'_, T> {
    fn drop(&mut self) {
        super::ends::drop_received(&self.slot);
    }
}

/// A guard under a condition; made by [`Guard::when`].
#[derive(Debug)]
#[must_use = "a guard stands in an alternation"]
pub struct When<G> {
    guard: G,
    condition: bool,
}

impl<G> When<G> {
    fn guard(self: Pin<&mut Self>) -> Pin<&mut G> {
        // SAFETY: the guard is pinned with us.
        unsafe { self.map_unchecked_mut(|this| &mut this.guard) }
    }
}

// SAFETY: either the guard or nothing.
unsafe impl<G: Guard> Guard for When<G> {
    type Output = G::Output;

    fn count(&self) -> usize {
        self.guard.count()
    }

    fn is_foreign(&self) -> bool {
        self.condition && self.guard.is_foreign()
    }

    #[inline]
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        if self.condition { self.guard().look(at, from, to) } else { None }
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        if self.condition { self.guard().enter(at, base) } else { Attempt::Nothing }
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        if self.condition {
            self.guard().leave(at);
        }
    }

    fn finish(self: Pin<&mut Self>, nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.guard().finish(nth, context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        if self.condition {
            self.guard.describe(see);
        } else {
            see(Awaited::unnamed("(guarded off)", At::Never));
        }
    }
}

// SAFETY: the guard itself, which its owner pinned.
unsafe impl<G: Guard> Guard for Pin<&mut G> {
    type Output = G::Output;

    fn count(&self) -> usize {
        (**self).count()
    }

    fn is_foreign(&self) -> bool {
        (**self).is_foreign()
    }

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize> {
        self.get_mut().as_mut().look(at, from, to)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        self.get_mut().as_mut().enter(at, base)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.get_mut().as_mut().leave(at);
    }

    fn finish(self: Pin<&mut Self>, nth: usize, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().as_mut().finish(nth, context)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        (**self).describe(see);
    }
}

/// A guard that is always ready; made by [`skip`].
#[derive(Clone, Copy, Debug)]
pub struct Skip;

/// Makes a guard that is ready if no other is: the alternation does not wait.
///
/// In a [priority](super::pri) alternation the guards after it have no chance.
///
/// # Examples
///
/// See [`Guard::when`].
pub fn skip() -> Skip {
    Skip
}

// SAFETY: entered nowhere.
unsafe impl Guard for Skip {
    type Output = ();

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        at.skips.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, _at: &Entering<'_>, _base: usize) -> Attempt {
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, _at: &Leaving<'_>) {}

    fn finish(self: Pin<&mut Self>, _nth: usize, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        see(Awaited::unnamed("skip", At::Time));
    }
}

/// A future of another library as a guard; made by [`on`].
#[must_use = "a guard stands in an alternation"]
pub struct On<F: Future> {
    future: F,
    output: Option<F::Output>,
}

impl<F: Future> fmt::Debug for On<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("On")
    }
}

/// Makes a guard of a future of another library: a socket, a timer of its own, a task elsewhere.
///
/// # Examples
///
/// ```
/// use kahn::csp::{self, OneOf2};
///
/// let run = csp::run(kahn::RunOptions::new(), async |scope| {
///     let (out, mut never) = csp::channel::<u32>("never");
///     let choice = csp::pri((never.recv(), csp::on(std::future::ready(1)))).await;
///     drop(out);
///     matches!(choice, OneOf2::Second(1))
/// })?;
/// assert!(run.result);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn on<F: Future>(future: F) -> On<F> {
    On { future, output: None }
}

// SAFETY: entered nowhere: its waker resumes the process.
unsafe impl<F: Future> Guard for On<F> {
    type Output = F::Output;

    fn is_foreign(&self) -> bool {
        true
    }

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        // SAFETY: the future is pinned with us; the output is not.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        match unsafe { Pin::new_unchecked(&mut this.future) }.poll(at.context) {
            Poll::Ready(output) => {
                this.output = Some(output);
                Some(0)
            }
            Poll::Pending => None,
        }
    }

    fn enter(self: Pin<&mut Self>, _at: &Entering<'_>, _base: usize) -> Attempt {
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, _at: &Leaving<'_>) {}

    fn finish(self: Pin<&mut Self>, _nth: usize, _context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the output is not pinned.
        let output = unsafe { &mut self.get_unchecked_mut().output };
        Poll::Ready(output.take().expect("chosen because it was ready"))
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        // One that may still come is told of before its guards are asked.
        see(Awaited::unnamed("a future of another library", At::Never));
    }
}
