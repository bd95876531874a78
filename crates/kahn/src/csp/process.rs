//! Creating processes: detached, forked and joined, in parallel.

use super::attempt::Attempt;
use super::core::Core;
use super::error::Failed;
use super::language::{Worker, mark, own};
use super::meeting::{Waiter, Wake};
use super::placement::Priority;
use super::wait::{self, Place, Stage};
use super::{body, offer, outside};
use crate::network::ProcessResult;
use kahn_engine::Park;
use kahn_engine::TaskRef;
use kahn_engine::sync::Ordering::*;
use kahn_engine::task::Task;
use kahn_report::Name;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// What creates processes, in a network of communicating ones.
///
/// Every process may have it: it is a word of nothing, copied into whoever needs it. Processes may
/// borrow what outlives the run, that is `'env`.
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, csp};
///
/// let words = String::from("to be or not");
/// let run = csp::run(RunOptions::new(), async |scope| {
///     let (mut out, mut lengths) = csp::channel("lengths");
///     scope.spawn("measure", async move {
///         for word in words.split(' ') {
///             out.send(word.len()).await?;
///         }
///         Ok::<(), csp::Unsent<usize>>(())
///     });
///     let mut all = Vec::new();
///     while let Ok(length) = lengths.recv().await {
///         all.push(length);
///     }
///     all
/// })?;
/// assert_eq!(run.result, [2, 2, 2, 3]);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Scope<'env> {
    /// Invariant: what processes borrow must outlive the run, no more and no less.
    borrows: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scope")
    }
}

/// What a process is to be: its name, where and how urgently it runs, whether it can be killed.
///
/// A name alone will do: it turns into one.
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, csp};
///
/// let run = csp::run(RunOptions::new(), async |scope| {
///     let ticker = csp::Process::named("ticker").killable();
///     let ticker = scope.fork(ticker, async {
///         loop {
///             csp::yield_now().await;
///         }
///     });
///     ticker.kill();
///     ticker.join().await
/// })?;
/// assert!(run.result.is_err());
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a process is made by `Scope::spawn` and `Scope::fork`"]
pub struct Process {
    pub(super) name: Name,
    pub(super) worker: Option<u32>,
    pub(super) killable: bool,
    pub(super) priority: Option<Priority>,
}

impl Process {
    /// Names a process.
    pub fn named(name: impl Into<Name>) -> Self {
        Self { name: name.into(), worker: None, killable: false, priority: None }
    }

    /// Lets the process run on one worker only, counted from 0; round again if there are fewer. Its
    /// children do likewise unless told otherwise.
    pub fn worker(mut self, worker: u32) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Sets how urgent the process is. See [`Priority`].
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Allows [`Forked::kill`]. A process that may be killed wherever it waits pays a little for
    /// each wait.
    pub fn killable(mut self) -> Self {
        self.killable = true;
        self
    }
}

impl From<&'static str> for Process {
    fn from(name: &'static str) -> Self {
        Self::named(name)
    }
}

impl From<String> for Process {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

impl From<Name> for Process {
    fn from(name: Name) -> Self {
        Self::named(name)
    }
}

impl<'env> Scope<'env> {
    pub(super) fn new() -> Self {
        Self { borrows: PhantomData }
    }

    /// Creates a process that runs by itself. The run ends when all processes have.
    ///
    /// The code may return nothing or a result; an error is a failure of the run, and so is a
    /// panic.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](super::run()).
    ///
    /// Source: CCSP section 1.1, `ProcStart`.
    #[track_caller]
    pub fn spawn<F>(&self, process: impl Into<Process>, code: F)
    where
        F: Future<Output: ProcessResult> + Send + 'env,
    {
        let site = Location::caller();
        Core::with_here("a process", |core, worker, task| {
            core.create_detached(process.into(), site, (task, worker), Checked { code });
        });
    }

    /// Creates a process whose result is to be had.
    ///
    /// Dropping the handle lets it run by itself.
    ///
    /// # Panics
    /// Panics outside of a process of [`csp::run`](super::run()).
    #[track_caller]
    pub fn fork<F>(&self, process: impl Into<Process>, code: F) -> Forked<F::Output>
    where
        F: Future<Output: Send> + Send + 'env,
    {
        let site = Location::caller();
        Core::with_here("a process", |core, worker, task| {
            core.create(process.into(), site, Some((task, worker)), code)
        })
    }
}

/// Turns a process's error into its failure.
struct Checked<F> {
    code: F,
}

impl<F: Future<Output: ProcessResult>> Future for Checked<F> {
    type Output = Option<String>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the code is pinned with us, and nothing moves it.
        let code = unsafe { self.map_unchecked_mut(|this| &mut this.code) };
        code.poll(context).map(ProcessResult::into_error)
    }
}

/// The handle of a process: for its result, and its end.
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, csp};
///
/// let run = csp::run(RunOptions::new(), async |scope| {
///     let halves = [0..50_u64, 50..101].map(|half| scope.fork("sum", async { half.sum::<u64>() }));
///     let mut sum = 0;
///     for half in halves {
///         sum += half.join().await?;
///     }
///     Ok::<u64, csp::Failed>(sum)
/// })?;
/// assert_eq!(run.result, Ok(5050));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[must_use = "dropping it lets the process run by itself: that is `spawn`"]
pub struct Forked<R> {
    /// `None` when the result was given.
    task: Option<TaskRef>,
    network: u32,
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
    pub(super) fn new(
        task: TaskRef,
        network: u32,
        take: unsafe fn(NonNull<Task>) -> Result<R, Failed>,
    ) -> Self {
        Self { task: Some(task), network, take }
    }

    /// Waits for the end of the process and returns its result.
    ///
    /// # Errors
    /// [`Failed`] if it panicked or was killed.
    pub fn join(self) -> Joining<R> {
        Joining { handle: self, stage: Stage::Fresh, _pinned: PhantomPinned }
    }

    /// Ends the process where it is: at once if it waits, else when it next waits or yields. All
    /// its ends are dropped. Does nothing if it has ended.
    ///
    /// # Panics
    /// Panics if the process was not declared [`killable`](Process::killable).
    ///
    /// # Examples
    ///
    /// See [`Process`].
    pub fn kill(&self) {
        let Some(task) = self.task else { return };
        let (worker, _) = wait::here(self.network, "a handle of a process");
        assert!(
            task.notes() & own::KILLABLE != 0,
            "process `{}` cannot be killed: declare it with `Process::named(…).killable()`",
            task.info().name
        );
        // First the mark, which the process sees when it runs, then its offer, which it has to give
        // up before it can wait.
        task.marks.fetch_or(mark::KILL, Release);
        if offer::kill(task) {
            Wake::Asleep(task).up(worker);
        } else if let Some(foreign) = task.foreign_if_any() {
            foreign.wake();
        }
    }

    /// The process has ended, and its result is ours.
    pub(super) fn take(&mut self) -> Option<Result<R, Failed>> {
        let task = self.task.take()?;
        // SAFETY: it has ended, this is its only handle, and `take` was made for its type.
        let result = unsafe { (self.take)(task.non_null()) };
        let result = result.map_err(|failed| failed.of(&task.info().name));
        task.scheduler().release(task, false);
        Some(result)
    }
}

impl<R> Drop for Forked<R> {
    fn drop(&mut self) {
        let Some(task) = self.task else { return };
        let Some((worker, _)) = Worker::running_in(self.network) else {
            // The network may be gone, and with it the block; else it is cleared away with the run.
            outside::defer(self.network, outside::Deferred::Handle(task));
            return;
        };
        if body::join_of(task).detach(worker.solo()) {
            Core::of(task).drop_result(task);
        }
        task.scheduler().release(task, worker.solo());
    }
}

/// A wait for the end of a process; made by [`Forked::join`].
#[derive(Debug)]
#[must_use = "nothing waits unless it is awaited"]
pub struct Joining<R> {
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
            if body::join_of(child).enter(worker.solo(), Waiter { task, how }) {
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
        let (worker, task) = wait::here(this.handle.network, "a handle of a process");
        let child = this.handle.task.expect("a join is polled until it is completed");
        if this.stage == Stage::Waiting {
            wait::resumed(task);
        }
        let join = body::join_of(child);
        if join.has_ended() && join.leave(worker.solo()) {
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
            && let Some((worker, _)) = Worker::running_in(self.handle.network)
        {
            worker.take_back();
        }
        // The handle's own drop takes the entry back.
    }
}
