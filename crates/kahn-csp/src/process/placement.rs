//! How urgent a process is, and where it runs: two things that do not depend on each other.
//!
//! The queues are the engine's.

use crate::language::csp::Worker;
use crate::language::header::own;
use crate::language::running;
use kahn_engine::{Scheduler, TaskRef, Urgency};

/// How urgent a process is, compared with others that are ready. Its children are as urgent,
/// unless they are told otherwise.
///
/// A more urgent process that becomes ready is run next by any worker that may run it. The process
/// that has made it ready gives way to it before its next operation is complete, and goes on after
/// it. So urgent processes that never wait keep all others from running, for as long as they like.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Priority, Process};
///
/// let run = csp::run(csp::Options::new().workers(1), async |scope| {
///     let (out, mut order) = csp::buffered::<&str>("order", 3);
///     let out = csp::Shared::new("order", out);
///     let priorities =
///         [("last", Priority::Background), ("second", Priority::Usual), ("first", Priority::Urgent)];
///     for (name, priority) in priorities {
///         let out = out.clone();
///         let process = Process::named(name).priority(priority);
///         scope.spawn(process, async move { out.claim().await.send(name).await });
///     }
///     drop(out);
///     let mut names = Vec::new();
///     while let Ok(name) = order.recv().await {
///         names.push(name);
///     }
///     names
/// })?;
/// assert_eq!(run.result, ["first", "second", "last"]);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam's `PRI PAR`; CCSP sections 1.1 and 4, with three levels in place of 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// As most.
    #[default]
    Usual,
    /// When there is nothing else to run.
    Background,
}

impl Priority {
    pub(crate) fn of(task: TaskRef) -> Self {
        match Urgency::of(task.notes()) {
            Urgency::Urgent => Self::Urgent,
            Urgency::Usual => Self::Usual,
            Urgency::Background => Self::Background,
        }
    }

    /// How a process remembers it.
    pub(super) fn notes(self) -> u8 {
        match self {
            Self::Urgent => own::URGENT,
            Self::Usual => 0,
            Self::Background => own::BACKGROUND,
        }
    }
}

/// Decides how urgent a process is that the caller holds, and where it runs.
pub(crate) fn place(task: TaskRef, priority: Priority, worker: Option<u32>) {
    task.pin(worker);
    task.forget(own::APART);
    let pinned = worker.map_or(0, |_| pinned_notes(Scheduler::of(task)));
    task.note(priority.notes() | pinned);
}

/// How a process remembers that it runs on one worker.
pub(super) fn pinned_notes(scheduler: &Scheduler) -> u8 {
    // Where there is one worker, all belong to it.
    if scheduler.slots().len() > 1 { own::PINNED } else { 0 }
}

/// Sets how urgent this process is from its next scheduling point on.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Priority};
///
/// csp::run(csp::Options::new(), async |_scope| {
///     csp::set_priority(Priority::Background);
///     csp::yield_now().await;
/// })?;
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: CCSP section 1.1, `SetPriority`; occam-pi's `SETPRI`.
pub fn set_priority(priority: Priority) {
    let (_, task): (&Worker, _) = running::process("a priority");
    place(task, priority, task.pinned());
}

/// Returns how urgent this process is.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Priority, Process};
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let urgent = Process::named("urgent").priority(Priority::Urgent);
///     let child = scope.fork(urgent, async { csp::priority() });
///     (csp::priority(), child.join().await)
/// })?;
/// assert_eq!(run.result, (Priority::Usual, Ok(Priority::Urgent)));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's `GETPRI`.
#[must_use]
pub fn priority() -> Priority {
    let (_, task): (&Worker, _) = running::process("a priority");
    Priority::of(task)
}

/// Pins this process to a worker from its next scheduling point on, or lets it run on any with
/// `None`. Workers are counted from 0, round again if there are fewer.
///
/// Processes that it makes from now on run there too, unless they are told otherwise.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
/// use std::thread;
///
/// let run = csp::run(csp::Options::new().workers(2), async |_scope| {
///     csp::set_affinity(1);
///     csp::yield_now().await;
///     let there = thread::current().id();
///     csp::yield_now().await;
///     assert_eq!(thread::current().id(), there);
///     csp::set_affinity(None);
///     csp::affinity()
/// })?;
/// assert_eq!(run.result, None);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's `SETAFF`; CCSP section 4.
pub fn set_affinity(worker: impl Into<Option<u32>>) {
    let (_, task): (&Worker, _) = running::process("an affinity");
    place(task, Priority::of(task), worker.into());
}

/// Returns the worker that this process is pinned to, if it is.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Process};
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let child = scope.fork(Process::named("pinned").worker(1), async { csp::affinity() });
///     (csp::affinity(), child.join().await)
/// })?;
/// assert_eq!(run.result, (None, Ok(Some(1))));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's `GETAFF`.
#[must_use]
pub fn affinity() -> Option<u32> {
    let (_, task): (&Worker, _) = running::process("an affinity");
    task.pinned()
}
