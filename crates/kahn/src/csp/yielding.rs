//! Giving way to others.

use super::core::Core;
use crate::scheduler::Request;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A process gives way; made by [`yield_now`].
#[derive(Debug)]
#[must_use = "nobody gives way unless it is awaited"]
pub struct Yielding {
    yielded: bool,
}

/// Gives way: every process that is ready runs before this one goes on.
///
/// # Examples
///
/// ```
/// use kahn::csp;
///
/// let run = csp::run(kahn::RunOptions::new().workers(1), async |scope| {
///     let child = scope.fork("child", async { 1 });
///     csp::yield_now().await;
///     child.join().await
/// })?;
/// assert_eq!(run.result, Ok(1));
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: occam-pi's `RESCHEDULE`.
pub fn yield_now() -> Yielding {
    Yielding { yielded: false }
}

impl Future for Yielding {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of [`csp::run`](super::run()).
    #[inline]
    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        let (worker, _) = Core::here("giving way");
        worker.ask(Request::Yield);
        Poll::Pending
    }
}
