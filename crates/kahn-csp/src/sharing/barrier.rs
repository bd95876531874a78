//! Barriers: all go on when all have come.
//!
//! *Enrolment is atomic.* A clone is enrolled when it is made, so before it can be sent; the one that
//! gets it in a message is enrolled before the send is complete. The handle itself moves with its
//! enrolment.
//!
//! What happens between the processes, and why it holds: see `phases`.

use crate::choice::guard::{Entering, Guard, Leaving, Looking};
#[cfg(all(test, loom))]
use crate::language::common::Common;
use crate::language::csp::Worker;
use crate::language::deferred::{Deferred, Over};
use crate::language::running;
use crate::sharing::phases::{Member, NEVER, Phases};
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::Attempt;
use crate::wait::{self, Stage};
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Cell};
use kahn_report::Name;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A place at which processes wait for each other: a handle, which is one enrolled process.
///
/// Cloning enrols one more, dropping resigns. A handle may be sent in a message: the enrolment goes
/// with it, and a clone is enrolled before the send is complete.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let mut barrier = csp::Barrier::new("day");
///     for _ in 0..3 {
///         let mut barrier = barrier.clone();
///         scope.spawn("worker", async move {
///             for _day in 0..7 {
///                 // … work …
///                 barrier.sync().await;
///             }
///         });
///     }
///     for _day in 0..7 {
///         barrier.sync().await;
///     }
/// })?;
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: Welch and Barnes, *Mobile barriers for occam-pi*, 2005; CCSP sections 1.1 and 4.
pub struct Barrier {
    meet: Arc<Phases>,
    member: Member,
}

impl Barrier {
    /// Makes a barrier with one process enrolled: the one that has this handle.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self::enrolled(Phases::new(running::common("a barrier"), name.into(), false))
    }

    /// Makes a barrier that forks resign from when they end.
    pub(crate) fn of_forks(name: Name) -> Self {
        Self::enrolled(Phases::new(running::common("a scope of forks"), name, true))
    }

    /// Says that this handle is with the process that runs, for explanations.
    pub(crate) fn is_mine(&self) {
        if let Some((worker, task)) = Worker::running_in(self.meet.network) {
            self.meet.belongs_to(self.member, task, worker.access());
        }
    }

    /// Makes a barrier before a model runs, with so many handles.
    #[cfg(all(test, loom))]
    pub(crate) fn for_model(common: &Arc<Common>, count: usize) -> Vec<Self> {
        let meet = Phases::new(common, "barrier".into(), false);
        let handle = |_| Self { member: meet.enrol(Access::Shared), meet: Arc::clone(&meet) };
        (0..count).map(handle).collect()
    }

    fn enrolled(meet: Arc<Phases>) -> Self {
        let (worker, _) = running::in_network(meet.network, "a barrier");
        let member = meet.enrol(worker.access());
        Self { meet, member }
    }

    /// Waits until every enrolled process has come.
    ///
    /// Also a guard of an [alternation](crate::alt): the process *offers* to synchronise. The phase
    /// is complete when every enrolled process waits for it alone or offers it, and then that
    /// branch is taken in all of them. If another guard is chosen first, the offer is withdrawn and
    /// the others wait on. A process may offer several barriers; it takes part in one phase of one
    /// of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let mut pause = csp::Barrier::new("pause");
    ///     let (mut out, mut jobs) = csp::channel::<u32>("jobs");
    ///     let mut worker = pause.clone();
    ///     let worker = scope.fork("worker", async move {
    ///         let mut done = 0;
    ///         loop {
    ///             // Works, until the other process wants both of them to pause.
    ///             match csp::pri((worker.sync(), jobs.recv())).await {
    ///                 OneOf2::First(()) => return done,
    ///                 OneOf2::Second(job) => done += job.expect("jobs come until the pause"),
    ///             }
    ///         }
    ///     });
    ///     for job in 1..=4 {
    ///         out.send(job).await.expect("the worker works");
    ///     }
    ///     pause.sync().await;
    ///     worker.join().await
    /// })?;
    /// assert_eq!(run.result, Ok(1 + 2 + 3 + 4));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// Source: Hoare 1985, section 2.3 (events that several processes take part in); Welch, Brown,
    /// Moores, Chalmers and Sputh, *Alting barriers*, 2007.
    pub fn sync(&mut self) -> impl Future<Output = ()> + Guard<Output = ()> {
        Syncing {
            barrier: self,
            came_for: Cell::new(NEVER),
            stage: Stage::Fresh,
            _pinned: PhantomPinned,
        }
    }
}

impl Clone for Barrier {
    /// Enrols one more process.
    ///
    /// # Panics
    /// Panics outside of a process of the barrier's network.
    fn clone(&self) -> Self {
        Self::enrolled(Arc::clone(&self.meet))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Barrier").field(&self.meet.name).finish()
    }
}

struct Resigned {
    meet: Arc<Phases>,
    member: Member,
}

unsafe fn resign_at(resigned: *const (), worker: Option<&Worker>, _is_over: Over<'_>) {
    // SAFETY: made by `drop` below, and run once.
    let resigned = unsafe { Box::from_raw(resigned.cast_mut().cast::<Resigned>()) };
    resigned.meet.resign(resigned.member, worker);
}

impl Drop for Barrier {
    fn drop(&mut self) {
        if let Some((worker, _)) = Worker::running_in(self.meet.network) {
            self.meet.resign(self.member, Some(worker));
            return;
        }
        let resigned = Resigned { meet: Arc::clone(&self.meet), member: self.member };
        let what = Box::into_raw(Box::new(resigned)).cast_const().cast();
        Arc::clone(&self.meet.common).defer(Deferred::call(what, resign_at));
    }
}

/// A wait at a barrier; made by [`Barrier::sync`].
#[derive(Debug)]
#[must_use = "nothing waits unless it is awaited"]
struct Syncing<'a> {
    barrier: &'a mut Barrier,
    /// The phase that it waits for.
    came_for: Cell<u64>,
    stage: Stage,
    _pinned: PhantomPinned,
}

// SAFETY: `came_for` is the process's own, or its worker's when that enters it.
unsafe impl Sync for Syncing<'_> {}

impl Syncing<'_> {
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll`; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let barrier = &this.barrier;
        wait::enter_alone(task, |how| {
            let enter = Some((how, &this.came_for));
            barrier.meet.come(worker, task, barrier.member, enter)
        })
    }
}

impl Future for Syncing<'_> {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of the barrier's network.
    #[inline]
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let meet = &this.barrier.meet;
        let (worker, task) = running::in_network(meet.network, "a barrier");
        if this.stage == Stage::Waiting {
            let came_for = this.came_for.get();
            let is_released = if wait::resumed(task) {
                // The one that completes the phase has done when the gate opens.
                meet.leave(this.barrier.member, came_for, worker.access())
            } else {
                meet.is_complete(came_for)
            };
            if is_released {
                this.stage = Stage::Over;
                return Poll::Ready(());
            }
        }
        if !wait::has_turn(worker, task, &mut this.stage) {
            return Poll::Pending;
        }
        if meet.is_promising()
            && meet.come(worker, task, this.barrier.member, None) == Attempt::Done
        {
            this.stage = Stage::Over;
            return Poll::Ready(());
        }
        this.stage = Stage::Waiting;
        let place = Place::Barrier(Arc::as_ptr(meet).cast());
        wait::ask_to_enter(worker, task, place, &raw const *this, Self::commit);
        Poll::Pending
    }
}

// SAFETY: entered and left under the gate of the barrier.
unsafe impl Guard for Syncing<'_> {
    type Output = ();

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        let barrier = &self.barrier;
        running::check_network(at.worker, barrier.meet.network, "a barrier");
        let done = barrier.meet.is_promising()
            && barrier.meet.come(at.worker, at.task, barrier.member, None) == Attempt::Done;
        done.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        let barrier = &self.barrier;
        let enter = Some((at.how(base), &self.came_for));
        barrier.meet.come(at.worker, at.task, barrier.member, enter)
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.barrier.meet.leave(self.barrier.member, self.came_for.get(), at.access());
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        let meet = &self.barrier.meet;
        see(Awaited::of(
            "barrier",
            &meet.name,
            At::Place(Place::Barrier(Arc::as_ptr(meet).cast())),
        ));
    }
}

impl Drop for Syncing<'_> {
    fn drop(&mut self) {
        if self.stage != Stage::Waiting {
            return;
        }
        let worker = Worker::running_in(self.barrier.meet.network).map(|(worker, _)| worker);
        if let Some(worker) = worker {
            // Perhaps it has only just asked.
            worker.take_back();
        }
        let access = worker.map_or(Access::Shared, |worker| worker.access());
        self.barrier.meet.leave(self.barrier.member, self.came_for.get(), access);
    }
}
