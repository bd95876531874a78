//! The token of a process that can run.

use crate::sync::Ordering::Relaxed;
use crate::task::{Kind, TaskRef};
use kahn_report::Name;
use std::fmt;

/// A process that can run, and that its holder owns: it is handed on, and run once.
///
/// A policy keeps it in a queue and gives it back once. Dropping one loses nothing: the process is
/// made ready again. The one way to make one outside the engine is [`TaskRef::claim`].
///
/// # Examples
///
/// A queue for each worker: a process stays where it ran last.
///
/// ```
/// use kahn::policy::Ready;
/// use std::collections::VecDeque;
///
/// fn enqueue(queues: &mut [VecDeque<Ready>], ready: Ready) -> usize {
///     let worker = ready.pinned_worker().unwrap_or(ready.last_worker()) % queues.len();
///     queues[worker].push_back(ready);
///     worker
/// }
/// ```
pub struct Ready(TaskRef);

impl TaskRef {
    /// Takes a process over, so that it can be made ready.
    ///
    /// # Safety
    /// The caller owns the process: it has made it and not started it yet, or it has ended its wait, by
    /// a step that no other thread can take as well. It has not ended.
    #[inline(always)]
    pub unsafe fn claim(self) -> Ready {
        Ready(self)
    }
}

impl Ready {
    /// Wraps a process that is ready, and that this thread of the engine owns.
    #[inline]
    pub(crate) fn new(task: TaskRef) -> Self {
        Self(task)
    }

    /// Hands the process out: it is the caller's.
    #[inline]
    pub(crate) fn into_task(self) -> TaskRef {
        let task = self.0;
        std::mem::forget(self);
        task
    }

    /// Returns the worker that ran this process last; 0 if it never ran.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Ready;
    ///
    /// /// Where its data is in a cache, if there are so many workers.
    /// fn home(ready: &Ready, workers: usize) -> usize {
    ///     ready.last_worker() % workers
    /// }
    /// ```
    #[inline]
    pub fn last_worker(&self) -> usize {
        self.0.home.load(Relaxed) as usize
    }

    /// Returns the worker that the process was pinned to, if it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Ready;
    ///
    /// fn worker_for(ready: &Ready, otherwise: usize) -> usize {
    ///     ready.pinned_worker().unwrap_or(otherwise)
    /// }
    /// ```
    #[inline]
    pub fn pinned_worker(&self) -> Option<usize> {
        self.0.pinned().map(|worker| worker as usize)
    }

    /// Returns the worker that it belongs to, if a policy has [settled](Self::settle_on) that.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Ready;
    ///
    /// /// The queue of a process: where it was placed, or the first.
    /// fn queue(ready: &Ready) -> usize {
    ///     ready.belongs_to().unwrap_or(0)
    /// }
    /// ```
    #[inline]
    pub fn belongs_to(&self) -> Option<usize> {
        self.0.assigned()
    }

    /// Settles to which worker it belongs. The runtime does so for what [`Placing::place`](crate::policy::Placing::place) places;
    /// it keeps the word and does nothing else about it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{Origin, Ready};
    ///
    /// /// Settles a process with the worker that created it.
    /// fn settle(origin: Origin, ready: &Ready) {
    ///     if let (Origin::Worker(worker), None) = (origin, ready.belongs_to()) {
    ///         ready.settle_on(worker);
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    /// Panics if there cannot be so many workers.
    #[inline]
    pub fn settle_on(&self, worker: usize) {
        self.0.assign(worker);
    }

    /// What the process has to remember; the thread that has it ready holds it.
    #[inline]
    pub(crate) fn notes(&self) -> u8 {
        self.0.notes()
    }

    /// The worker it was pinned to.
    #[inline]
    pub(crate) fn pinned_to(&self) -> Option<u32> {
        self.0.pinned()
    }

    /// What runs it.
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// Returns the name of the process.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Ready;
    ///
    /// fn is_sink(ready: &Ready) -> bool {
    ///     ready.name().as_str().starts_with("sink")
    /// }
    /// ```
    #[inline]
    pub fn name(&self) -> &Name {
        &self.0.info().name
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        if !self.0.has_ended()
            && let Some(scheduler) = self.0.host().scheduler()
        {
            scheduler.requeue(self.0);
        }
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ready").field(self.name()).finish()
    }
}
