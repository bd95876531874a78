//! Poison: how the end of one process reaches all that depend on it.

use super::error::Gone;
use super::language::{Worker, own};

/// A process has learnt that a channel is gone.
#[inline]
pub(super) fn meet(why: Gone) {
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
/// use kahn::csp::{self, Gone};
///
/// let run = csp::run(kahn::RunOptions::new(), async |scope| {
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
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn antidote() -> bool {
    let Some((_, task)) = Worker::running() else { return false };
    let had = task.notes() & own::POISONED != 0;
    task.forget(own::POISONED);
    had
}
