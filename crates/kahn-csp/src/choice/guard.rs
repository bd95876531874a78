//! What can stand in an alternation: the operations themselves.

use crate::language::csp::Worker;
use crate::wait::place::{At, Awaited};
use crate::wait::select::Ticket;
use crate::wait::waiter::{Attempt, How};
use kahn_engine::TaskRef;
use kahn_engine::sync::Access;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The alternation that looks at its guards, while its process runs.
pub struct Looking<'a, 'c> {
    pub(crate) worker: &'a Worker,
    pub(crate) task: TaskRef,
    pub(crate) context: &'a mut Context<'c>,
    /// Whether `skip` counts as ready.
    pub(super) skips: bool,
}

/// The alternation whose process is entered at its guards, after its poll.
pub struct Entering<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) task: TaskRef,
    pub(crate) ticket: Ticket,
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
    pub(crate) worker: Option<&'a Worker>,
}

impl fmt::Debug for Leaving<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Leaving")
    }
}

impl Leaving<'_> {
    pub(crate) fn access(&self) -> Access {
        self.worker.map_or(Access::Shared, |worker| worker.access())
    }
}

impl Entering<'_> {
    pub(crate) fn how(&self, guard: usize) -> How {
        How::Offer { ticket: self.ticket, guard: u32::try_from(guard).unwrap_or(u32::MAX) }
    }
}

/// What can stand in an [alternation](crate::alt): a send, a receive, a time, `skip`, a future; or
/// several of them, as a tuple, an array or a vector.
///
/// An operation that is made a guard is done if it is chosen, and not begun if it is not: the
/// message of a send that loses is dropped with the send, or kept if the alternation only borrows
/// it: `pin!` the send and hand over `as_mut()`.
///
/// # Safety
/// The methods follow the protocol in `wait::select`: nothing can be taken from a guard that is not
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
    /// use kahn_csp::{self as csp, Guard, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let (mut out, mut jobs) = csp::channel::<u32>("jobs");
    ///     scope.spawn("source", async move { out.send(1).await });
    ///     let busy = true;
    ///     match csp::pri((jobs.recv().when(!busy), csp::skip())).await {
    ///         OneOf2::First(job) => job,
    ///         OneOf2::Second(()) => jobs.recv().await,
    ///     }
    /// })?;
    /// assert_eq!(run.result, Ok(1));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    fn when(self, condition: bool) -> When<Self>
    where
        Self: Sized,
    {
        When { guard: self, condition }
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
