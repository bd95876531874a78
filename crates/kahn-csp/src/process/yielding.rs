//! Giving way to others.

use crate::language::running;
use kahn_engine::Request;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A process gives way; made by [`yield_now`].
#[derive(Debug)]
#[must_use = "no process gives way unless it is awaited"]
struct Yielding {
    yielded: bool,
}

/// Gives way: all that are ready in this worker's queue, and as urgent or more, run before this
/// process goes on.
///
/// So it is under the policies `stealing` (the default), `shared`, `sequential`, `static` and
/// `partition`; a pinned process gives way to those of the same worker, and shares it in turn with
/// others. These give less:
///
/// | policy | runs before |
/// |---|---|
/// | `ws-cur`, `ws-last` | others, but once in 64 dispatches the process that yielded longest ago runs at once |
/// | `batch` | those of the same batch |
/// | `seeded` | whatever is drawn: with `n` others ready, none of them once in `n + 1` times |
/// | `threads` | what the system chooses |
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new().workers(1), async |scope| {
///     let child = scope.fork("child", async { 1 });
///     csp::yield_now().await;
///     child.join().await
/// })?;
/// assert_eq!(run.result, Ok(1));
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam-pi's `RESCHEDULE`.
pub fn yield_now() -> impl Future<Output = ()> {
    Yielding { yielded: false }
}

impl Future for Yielding {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    #[inline]
    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        let (worker, _) = running::process("giving way");
        worker.ask(Request::Yield);
        Poll::Pending
    }
}
