//! Poison: how the end of one process reaches all that depend on it.

use crate::channel::gone::Gone;
use crate::language::csp::Worker;
use crate::language::header::own;

/// A process has learnt that a channel is gone.
#[inline]
pub(crate) fn meet(why: Gone) {
    if why == Gone::Poisoned
        && let Some((_, task)) = Worker::running()
    {
        task.note(own::POISONED);
    }
}

/// Stops poison here: the ends that the process drops from now on are closed, not poisoned.
///
/// Tells whether the process had met any.
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
