//! Poison: how the end of one process reaches all that depend on it.

use crate::channel::gone::{Gone, Outcome};
use crate::language::csp::Worker;
use crate::language::header::own;
use kahn_engine::sync::Cell;

/// Why there will be no communication, as an operation has learnt it that has not given its result yet:
/// from now on it has, and its process passes poison on.
///
/// # Panics
/// Panics if the operation has given its result before.
#[cold]
pub(super) fn end_of(operation: &str, outcome: Outcome, over: &Cell<Outcome>) -> Gone {
    assert!(outcome != Outcome::Over, "{operation} was polled after it was completed");
    over.set(Outcome::Over);
    let why = Gone::from_outcome(outcome);
    if why == Gone::Poisoned
        && let Some((_, task)) = Worker::running()
    {
        task.note(own::POISONED);
    }
    why
}

/// Stops poison here: the ends that the process drops from now on are closed, not poisoned.
///
/// Returns whether the process had learnt of any.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Gone};
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (out, mut first) = csp::channel::<u32>("first");
///     let (on, mut second) = csp::channel::<u32>("second");
///     scope.spawn("last", async move {
///         assert_eq!(first.recv().await, Err(Gone::Poisoned));
///         assert!(csp::antidote());
///         drop(on);
///     });
///     out.poison();
///     second.recv().await
/// })?;
/// assert_eq!(run.result, Err(Gone::Closed));
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn antidote() -> bool {
    let Some((_, task)) = Worker::running() else { return false };
    let had = task.notes() & own::POISONED != 0;
    task.forget(own::POISONED);
    had
}
