//! The handle of a process: waiting for its result, ending it.

use crate::language::common::Common;
use crate::language::csp::Worker;
use crate::language::deferred::{Deferred, Over};
use crate::language::header::{mark, own};
use crate::language::running;
use crate::network::core::Core;
use crate::network::error::Failed;
use crate::process::body;
use crate::wait::place::Place;
use crate::wait::select;
use crate::wait::waiter::{Attempt, Waiter, Wake};
use crate::wait::{self, Stage};
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::{Access, Arc, Ordering::*};
use kahn_engine::task::Task;
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

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
    /// # Errors
    /// [`Failed`] if it panicked or was killed.
    pub fn join(self) -> impl Future<Output = Result<R, Failed>> {
        Joining { handle: self, stage: Stage::Fresh, _pinned: PhantomPinned }
    }

    /// Ends the process where it is: at once if it waits, else when it next waits or yields. All
    /// its ends are dropped. Does nothing if it has ended.
    ///
    /// # Panics
    /// Panics if the process was not declared [`killable`](crate::Process::killable).
    ///
    /// # Examples
    ///
    /// See [`Process`](crate::Process).
    pub fn kill(&self) {
        let Some(task) = self.task else { return };
        let (worker, _) = running::in_network(self.common.number, "a handle of a process");
        assert!(
            task.notes() & own::KILLABLE != 0,
            "process `{}` cannot be killed: declare it with `Process::named(…).killable()`",
            task.info().name
        );
        // First the mark, which the process sees when it runs, then its offer, which it has to give
        // up before it can wait.
        task.marks.fetch_or(mark::KILL, Release);
        if select::kill(task) {
            Wake::Asleep(task).up(worker);
        } else if let Some(foreign) = task.foreign_if_any() {
            foreign.wake();
        }
    }

    /// The process has ended, and its result is ours.
    pub(crate) fn take(&mut self) -> Option<Result<R, Failed>> {
        let task = self.task.take()?;
        // SAFETY: it has ended, this is its only handle, and `take` was made for its type.
        let result = unsafe { (self.take)(task.non_null()) };
        let result = result.map_err(|failed| failed.of(&task.info().name));
        // SAFETY: the reference that the handle had.
        unsafe { task.scheduler().release(task, Access::Shared) };
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
        unsafe { task.scheduler().release(task, worker.access()) };
    }
}

/// Gives up a handle that was dropped where its network does not run.
///
/// # Safety
/// It is the handle of this process, whose network is there, and not used again.
unsafe fn give_up_at(task: *const (), _worker: Option<&Worker>, _is_over: Over<'_>) {
    // SAFETY: said by the caller.
    let task = unsafe { TaskRef::from_ptr_unchecked(task.cast_mut().cast()) };
    if body::join_of(task).detach(Access::Shared) {
        Core::of(task).drop_result(task);
    }
    // SAFETY: the reference that the handle had.
    unsafe { task.scheduler().release(task, Access::Shared) };
}

/// A wait for the end of a process; made by [`Forked::join`].
#[derive(Debug)]
#[must_use = "nothing waits unless it is awaited"]
struct Joining<R> {
    handle: Forked<R>,
    stage: Stage,
    _pinned: PhantomPinned,
}

impl<R> Joining<R> {
    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll` with this type; the operation is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let Some(child) = this.handle.task else { return Park::Moved };
        wait::enter_alone(task, |how| {
            if body::join_of(child).enter(worker.access(), Waiter { task, how }) {
                Attempt::Nothing
            } else {
                Attempt::Done
            }
        })
    }
}

impl<R> Future for Joining<R> {
    type Output = Result<R, Failed>;

    /// # Panics
    /// Panics outside of a process of the network, and if it was completed before.
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let (worker, task) =
            running::in_network(this.handle.common.number, "a handle of a process");
        let child = this.handle.task.expect("a join is polled until it is completed");
        if this.stage == Stage::Waiting {
            wait::resumed(task);
        }
        let join = body::join_of(child);
        if join.has_ended() && join.leave(worker.access()) {
            this.stage = Stage::Over;
            return Poll::Ready(this.handle.take().expect("taken once"));
        }
        this.stage = Stage::Waiting;
        let place = Place::Join(child.as_ptr().cast());
        wait::ask_to_enter(worker, task, place, &raw const *this, Self::commit);
        Poll::Pending
    }
}

impl<R> Drop for Joining<R> {
    fn drop(&mut self) {
        if self.stage == Stage::Waiting
            && let Some((worker, _)) = Worker::running_in(self.handle.common.number)
        {
            worker.take_back();
        }
        // The handle's own drop takes the entry back.
    }
}
