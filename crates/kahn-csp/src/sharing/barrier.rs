//! Barriers: all go on when all have come.
//!
//! *Enrolment is atomic.* A clone is enrolled when it is made, so before it can be sent; a process that
//! gets it in a message is enrolled before the send is complete. The handle itself moves with its
//! enrolment.
//!
//! What happens between the processes, and why it holds: see `phases`.

use crate::choice::guard::Guard;
use crate::choice::operation::{Operation, Pending};
#[cfg(all(test, loom))]
use crate::language::common::Common;
use crate::language::csp::{Worker, access_of};
use crate::language::deferred::{Deferred, Over};
use crate::language::header::own;
use crate::language::running;
use crate::sharing::phases::{Member, NEVER, Phases, PhasesRef};
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How};
use crate::wait::{self, Stage};
#[cfg(all(test, loom))]
use kahn_engine::sync::Access;
use kahn_engine::sync::{Arc, Cell, Ordering::Relaxed};
use kahn_engine::{Park, TaskRef};
use kahn_report::Name;
use std::task::Poll;
use std::{fmt, ptr};

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
    phases: PhasesRef,
    member: Member,
}

impl Barrier {
    /// Makes a barrier with one process enrolled: the one that has this handle.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// csp::run(csp::Options::new(), async |_scope| {
    ///     // Alone, it waits for nothing.
    ///     csp::Barrier::new("alone").sync().await;
    /// })?;
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    pub fn new(name: impl Into<Name>) -> Self {
        Self::enrolled(Phases::create(running::common("a barrier"), name.into(), false))
    }

    /// Makes a barrier that forks resign from when they end.
    pub(crate) fn of_forks(name: Name) -> Self {
        Self::enrolled(Phases::create(running::common("a scope of forks"), name, true))
    }

    /// What makes clones for forks, by the process that has this handle.
    ///
    /// # Panics
    /// Panics outside of a process of the barrier's network.
    pub(crate) fn enrols_forks(&self) -> impl FnOnce(TaskRef) -> Self + use<> {
        let (phases, own) = (self.phases, self.member);
        let (worker, task) = running::in_network(phases.network, "a barrier");
        move |fork| Self { member: phases.enrol_beside((own, task), fork, worker.access()), phases }
    }

    /// Makes a barrier before a model runs, with so many handles.
    #[cfg(all(test, loom))]
    pub(crate) fn for_model(common: &Arc<Common>, count: usize) -> Vec<Self> {
        let phases = Phases::create(common, "barrier".into(), false);
        let handle = |_| Self { member: phases.enrol(Access::SHARED), phases };
        (0..count).map(handle).collect()
    }

    fn enrolled(phases: PhasesRef) -> Self {
        let (worker, _) = running::in_network(phases.network, "a barrier");
        let member = phases.enrol(worker.access());
        Self { phases, member }
    }

    /// Waits until every enrolled process has come.
    ///
    /// Also a guard of an [alternation](crate::alt): the process synchronises unless another
    /// guard is chosen first. The phase is complete when every enrolled process waits for it, alone or
    /// in an alternation, and then that branch is taken in all of them. If another guard is chosen, the
    /// others wait on. A process may wait for several barriers; it takes part in one phase of one
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
        Pending::new(Syncing { barrier: self, came_for: Cell::new(NEVER), stage: Stage::Fresh })
    }
}

impl Clone for Barrier {
    /// Enrols one more process.
    ///
    /// # Panics
    /// Panics outside of a process of the barrier's network.
    fn clone(&self) -> Self {
        Self::enrolled(self.phases)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Barrier").field(&self.phases.name).finish()
    }
}

struct Resigned {
    phases: PhasesRef,
    member: Member,
}

unsafe fn resign_at(resigned: *const (), worker: Option<&Worker>, _is_over: Over<'_>) {
    // SAFETY: made by `drop` below, and run once.
    let resigned = unsafe { Box::from_raw(resigned.cast_mut().cast::<Resigned>()) };
    // SAFETY: the handle's own, which was dropped.
    unsafe { resigned.phases.resign(resigned.member, worker) };
}

impl Drop for Barrier {
    fn drop(&mut self) {
        if let Some((worker, _)) = Worker::running_in(self.phases.network) {
            // SAFETY: this handle's own.
            unsafe { self.phases.resign(self.member, Some(worker)) };
            return;
        }
        let resigned = Resigned { phases: self.phases, member: self.member };
        let what = Box::into_raw(Box::new(resigned)).cast_const().cast();
        Arc::clone(&self.phases.common).defer(Deferred::call(what, resign_at));
    }
}

/// A wait at a barrier; made by [`Barrier::sync`].
struct Syncing<'a> {
    barrier: &'a mut Barrier,
    /// The phase that it waits for, or waited for.
    came_for: Cell<u64>,
    stage: Stage,
}

// SAFETY: `came_for` is the process's own, or its worker's when that enters it.
unsafe impl Sync for Syncing<'_> {}

impl Syncing<'_> {
    /// Waits as most waits begin: the process is not the last, and nothing may end its wait.
    #[inline(always)]
    fn begin(pending: &mut Pending<Self>) -> Poll<()> {
        let this = &mut pending.operation;
        let phases = this.barrier.phases;
        let Some((worker, task)) = Worker::running_in(phases.network) else {
            return pending.poll_otherwise();
        };
        let may_be_last = phases.is_promising();
        if may_be_last || !wait::has_turn_unless(own::KILLABLE, worker, task) {
            return pending.poll_otherwise();
        }
        this.stage = Stage::Left;
        let place = this.place();
        wait::ask_to_enter(worker, task, place, ptr::from_ref(this), Self::come);
        Poll::Pending
    }

    /// Enters a process that has begun to wait so, after its poll.
    unsafe fn come(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `begin` with this type; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let Barrier { phases, member } = &*this.barrier;
        if phases.come_and_wait(worker, task, *member, &this.came_for) {
            return Park::Asleep;
        }
        this.come_otherwise(worker, task)
    }

    /// The same if it is the last by now, or something is in its way.
    #[inline(never)]
    fn come_otherwise(&self, worker: &Worker, task: TaskRef) -> Park {
        wait::enter_alone(task, |how| self.enter(worker, task, how))
    }
}

// SAFETY: entered at the barrier, and left behind its gate.
unsafe impl Operation for Syncing<'_> {
    type Output = ();

    const WHAT: &'static str = "a barrier";

    fn network(&self) -> Option<u32> {
        Some(self.barrier.phases.network)
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn place(&self) -> Place {
        Place::Barrier(self.barrier.phases.as_ptr().cast())
    }

    fn awaited(&self) -> Awaited {
        Awaited::of("barrier", &self.barrier.phases.name, At::Place(self.place()))
    }

    #[inline]
    fn attempt(&self, worker: &Worker, task: TaskRef) -> bool {
        let Barrier { phases, member } = &*self.barrier;
        phases.is_promising()
            && phases.come(worker, task, *member, &self.came_for, None) == Attempt::Done
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        let Barrier { phases, member } = &*self.barrier;
        // Relaxed, for those that only look: the phase cannot be complete before the process has come.
        task.tally.store(phases.number(), Relaxed);
        phases.come(worker, task, *member, &self.came_for, Some(how))
    }

    #[inline(always)]
    fn poll(pending: &mut Pending<Self>) -> Poll<()> {
        let this = &mut pending.operation;
        match this.stage {
            Stage::Fresh => Self::begin(pending),
            Stage::Left if this.barrier.phases.is_complete(this.came_for.get()) => {
                this.stage = Stage::Over;
                Poll::Ready(())
            }
            _ => pending.poll_otherwise(),
        }
    }

    fn leave(&self, worker: Option<&Worker>) {
        let Barrier { phases, member } = &*self.barrier;
        phases.leave(*member, self.came_for.get(), access_of(worker));
    }

    #[inline]
    fn result(&mut self, _worker: &Worker) -> Option<()> {
        self.barrier.phases.is_complete(self.came_for.get()).then(|| self.came_for.set(NEVER))
    }
}
