//! What can stand in an alternation: the operations themselves, alone, together and under conditions.

use crate::language::csp::Worker;
use crate::wait::place::{At, Awaited};
use crate::wait::select::Ticket;
use crate::wait::waiter::{Attempt, How};
use kahn_engine::TaskRef;
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

/// The alternation whose process is taken out of its guards.
pub struct Leaving<'a> {
    pub(crate) worker: Option<&'a Worker>,
}

/// The alternation that has chosen, while its process runs.
pub struct Finishing<'a> {
    pub(crate) worker: &'a Worker,
    pub(crate) task: TaskRef,
}

macro_rules! debug {
    ($($stage:ty),+) => {$(
        impl fmt::Debug for $stage {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($stage))
            }
        }
    )+};
}

debug!(Looking<'_, '_>, Entering<'_>, Leaving<'_>, Finishing<'_>);

impl Entering<'_> {
    pub(crate) fn how(&self, guard: usize) -> How {
        How::Offer { ticket: self.ticket, guard: u32::try_from(guard).unwrap_or(u32::MAX) }
    }
}

/// What an alternation asks of what stands in it. Outside of the crate it has no name.
///
/// # Safety
/// The methods follow the protocol in `wait::select`: nothing can be taken from a guard that is not
/// entered, and nothing is entered after [`leave`](Alternative::leave).
pub unsafe trait Alternative {
    /// What it comes to if it is chosen.
    type Output;

    /// How many guards it stands for.
    fn count(&self) -> usize {
        1
    }

    /// Whether it may be woken by a waker of another library.
    fn is_foreign(&self) -> bool {
        false
    }

    /// Does the first of the guards `from..to` that is ready; returns which.
    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        from: usize,
        to: usize,
    ) -> Option<usize>;

    /// Enters the process at all its guards; the first has the number `base`.
    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt;

    /// The process is entered no more.
    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>);

    /// Gives the result of the guard that was chosen.
    fn finish(self: Pin<&mut Self>, nth: usize, at: &Finishing<'_>) -> Poll<Self::Output>;

    /// Says for what it waits.
    fn describe(&self, see: &mut dyn FnMut(Awaited));
}

/// What can stand in an [alternation](crate::alt): a send, a receive, a claim, a barrier, a time, the
/// end of a process, [`skip`](crate::skip()), a future; or several of them, as a tuple, an array or a
/// vector.
///
/// An operation that is made a guard is done if it is chosen, and not begun if it is not: the
/// message of a send that loses is dropped with the send, or kept if the alternation only borrows
/// it: `pin!` the send and hand over `as_mut()`.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Guard};
/// use std::time::Duration;
///
/// /// What a guard comes to, if it is chosen within a second.
/// async fn within_a_second<G: Guard>(guard: G) -> Option<G::Output> {
///     match csp::pri((guard, csp::after(Duration::from_secs(1)))).await {
///         csp::OneOf2::First(output) => Some(output),
///         csp::OneOf2::Second(()) => None,
///     }
/// }
///
/// let run = csp::run(csp::Options::new().virtual_time(true), async |_scope| {
///     let (_out, mut silent) = csp::channel::<u32>("silent");
///     within_a_second(silent.recv()).await
/// })?;
/// assert_eq!(run.result, None);
/// # Ok::<(), csp::RunError>(())
/// ```
pub trait Guard: Alternative {
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

impl<A: Alternative> Guard for A {}

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
unsafe impl<G: Alternative> Alternative for When<G> {
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

    fn finish(self: Pin<&mut Self>, nth: usize, at: &Finishing<'_>) -> Poll<Self::Output> {
        self.guard().finish(nth, at)
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
unsafe impl<G: Alternative> Alternative for Pin<&mut G> {
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

    fn finish(self: Pin<&mut Self>, nth: usize, at: &Finishing<'_>) -> Poll<Self::Output> {
        self.get_mut().as_mut().finish(nth, at)
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        (**self).describe(see);
    }
}
