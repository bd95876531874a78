//! The handle of a process: waiting for its result, ending it.

use crate::choice::guard::Guard;
use crate::choice::operation::{Operation, Pending};
use crate::language::common::Common;
use crate::language::csp::Worker;
use crate::language::deferred::{Deferred, Over};
use crate::language::header::{mark, own};
use crate::language::running;
use crate::network::core::Core;
use crate::network::error::Failed;
use crate::process::body;
use crate::wait::Stage;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::select;
use crate::wait::waiter::{Attempt, How, Waiter, Wake};
use kahn_engine::sync::{Access, Arc, Ordering::*};
use kahn_engine::task::Task;
use kahn_engine::{Scheduler, TaskRef};
use std::fmt;
use std::ptr::NonNull;

/// The handle of a process: for its result, and its end.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options};
///
/// let run = csp::run(Options::new(), async |scope| {
///     let halves = [0..50_u64, 50..101].map(|half| scope.fork("sum", async { half.sum::<u64>() }));
///     let mut sum = 0;
///     for half in halves {
///         sum += half.join().await?;
///     }
///     Ok::<u64, csp::Failed>(sum)
/// })?;
/// assert_eq!(run.result, Ok(5050));
/// # Ok::<(), csp::RunError>(())
/// ```
#[must_use = "dropping it lets the process run by itself: that is `spawn`"]
pub struct Forked<R> {
    /// `None` when the result was given.
    task: Option<TaskRef>,
    common: Arc<Common>,
    take: unsafe fn(NonNull<Task>) -> Result<R, Failed>,
}

// SAFETY: a counted reference to a block, of which nothing is touched before the process has ended
// but what stands behind a gate; then the result is the handle's.
unsafe impl<R: Send> Send for Forked<R> {}
// SAFETY: a shared reference kills, which goes by atomics.
unsafe impl<R: Send> Sync for Forked<R> {}

impl<R> fmt::Debug for Forked<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forked").finish_non_exhaustive()
    }
}

impl<R> Forked<R> {
    /// Takes over a reference to a process that has just been made with `HANDLE`.
    pub(crate) fn new(
        task: TaskRef,
        common: Arc<Common>,
        take: unsafe fn(NonNull<Task>) -> Result<R, Failed>,
    ) -> Self {
        Self { task: Some(task), common, take }
    }

    /// Waits for the end of the process and returns its result.
    ///
    /// Also a guard of an [alternation](crate::alt). A join that is not chosen drops the handle, as any
    /// guard is dropped with its alternation: `pin!` it and hand over `as_mut()` to keep it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let good = scope.fork("good", async { 1 });
    ///     let bad = scope.fork("bad", async { if true { panic!("no luck") } });
    ///     (good.join().await, bad.join().await.map_err(|failed| failed.message))
    /// })?;
    /// assert_eq!(run.result, (Ok(1), Err("no luck".to_owned())));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Errors
    /// [`Failed`] if it panicked or was killed.
    pub fn join(
        self,
    ) -> impl Future<Output = Result<R, Failed>> + Guard<Output = Result<R, Failed>> {
        Pending::new(Joining { handle: self, stage: Stage::Fresh })
    }

    /// Ends the process where it is: at once if it waits, else when it next waits or yields. All
    /// its ends are dropped. Does nothing if it has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    ///
    /// let run = csp::run(csp::Options::new(), async |scope| {
    ///     let server = csp::Process::named("server").killable();
    ///     let server = scope.fork(server, std::future::pending::<()>());
    ///     server.kill();
    ///     server.join().await.map_err(|failed| failed.message)
    /// })?;
    /// assert_eq!(run.result, Err("it was killed".to_owned()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the process was not declared [`killable`](crate::Process::killable).
    pub fn kill(&self) {
        let Some(task) = self.task else { return };
        let (worker, _) = running::in_network(self.common.number, "a handle of a process");
        assert!(
            task.notes() & own::KILLABLE != 0,
            "process `{}` cannot be killed: declare it with `Process::named(…).killable()`",
            task.info().name
        );
        // First the mark, which the process sees when it runs, then its select state, which it has to give
        // up before it can wait.
        task.marks.fetch_or(mark::KILL, Release);
        if select::kill(task) {
            Wake::Asleep(task).up(worker);
        } else if let Some(foreign) = task.foreign_if_any() {
            foreign.wake();
        }
    }

    /// The process has ended, and its result is ours.
    pub(crate) fn take(&mut self, access: Access) -> Option<Result<R, Failed>> {
        let task = self.task.take()?;
        // SAFETY: it has ended, this is its only handle, and `take` was made for its type.
        let result = unsafe { (self.take)(task.non_null()) };
        let result = result.map_err(|failed| failed.of(&task.info().name));
        // SAFETY: the reference that the handle had.
        unsafe { Scheduler::of(task).release(task, access) };
        Some(result)
    }
}

impl<R> Drop for Forked<R> {
    fn drop(&mut self) {
        let Some(task) = self.task else { return };
        let Some((worker, _)) = Worker::running_in(self.common.number) else {
            // The network may be gone, and with it the block; else it is cleared away with the run.
            let what = task.as_ptr().cast();
            Arc::clone(&self.common).defer(Deferred::with_the_network(what, give_up_at));
            return;
        };
        if body::join_of(task).detach(worker.access()) {
            Core::of(task).drop_result(task);
        }
        // SAFETY: as above.
        unsafe { Scheduler::of(task).release(task, worker.access()) };
    }
}

/// Gives up a handle that was dropped where its network does not run.
///
/// # Safety
/// It is the handle of this process, whose network is there, and not used again.
unsafe fn give_up_at(task: *const (), _worker: Option<&Worker>, _is_over: Over<'_>) {
    // SAFETY: said by the caller.
    let task = unsafe { TaskRef::from_ptr_unchecked(task.cast_mut().cast()) };
    if body::join_of(task).detach(Access::SHARED) {
        Core::of(task).drop_result(task);
    }
    // SAFETY: the reference that the handle had.
    unsafe { Scheduler::of(task).release(task, Access::SHARED) };
}

/// A wait for the end of a process; made by [`Forked::join`].
struct Joining<R> {
    handle: Forked<R>,
    stage: Stage,
}

impl<R> Joining<R> {
    fn child(&self) -> TaskRef {
        self.handle.task.expect("a join is polled until it is completed")
    }
}

// SAFETY: entered at the join of the process, and left behind its gate.
unsafe impl<R> Operation for Joining<R> {
    type Output = Result<R, Failed>;

    const WHAT: &'static str = "a handle of a process";

    fn network(&self) -> Option<u32> {
        Some(self.handle.common.number)
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn place(&self) -> Place {
        Place::Join(self.child().as_ptr().cast())
    }

    fn awaited(&self) -> Awaited {
        Awaited::of("end of", &self.child().info().name, At::Place(self.place()))
    }

    fn attempt(&self, _worker: &Worker, _task: TaskRef) -> bool {
        body::join_of(self.child()).has_ended()
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        let join = body::join_of(self.child());
        let waits = join.enter(worker.access(), Waiter { task, how });
        if waits { Attempt::Nothing } else { Attempt::Done }
    }

    fn leave(&self, worker: Option<&Worker>) {
        // Without a worker the network may be gone; the handle's own drop takes the entry back.
        if let Some(worker) = worker {
            body::join_of(self.child()).leave(worker.access());
        }
    }

    fn result(&mut self, worker: &Worker) -> Option<Self::Output> {
        let join = body::join_of(self.child());
        let access = worker.access();
        if join.has_ended() && join.leave(access) { self.handle.take(access) } else { None }
    }
}
