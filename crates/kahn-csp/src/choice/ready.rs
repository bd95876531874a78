//! Guards at which no process is entered: `skip`, and futures of other libraries.

use crate::choice::guard::{Alternative, Entering, Finishing, Guard, Leaving, Looking};
use crate::wait::place::{At, Awaited};
use crate::wait::waiter::Attempt;
use std::fmt;
use std::pin::Pin;
use std::task::Poll;

/// A guard that is always ready; made by [`skip`].
#[derive(Clone, Copy, Debug)]
struct Skip;

/// Makes a guard that is ready if no other is: the alternation does not wait.
///
/// In a [priority](crate::pri) alternation the guards after it have no chance.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, OneOf2};
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let (_out, mut silent) = csp::channel::<u32>("silent");
///     csp::pri((silent.recv(), csp::skip())).await
/// })?;
/// assert_eq!(run.result, OneOf2::Second(()));
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn skip() -> impl Guard<Output = ()> {
    Skip
}

// SAFETY: entered nowhere.
unsafe impl Alternative for Skip {
    type Output = ();

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        at.skips.then_some(0)
    }

    fn enter(self: Pin<&mut Self>, _at: &Entering<'_>, _base: usize) -> Attempt {
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, _at: &Leaving<'_>) {}

    fn finish(self: Pin<&mut Self>, _nth: usize, _at: &Finishing<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        see(Awaited::unnamed("skip", At::Time));
    }
}

/// A future of another library as a guard; made by [`on`].
#[must_use = "a guard stands in an alternation"]
struct On<F: Future> {
    future: F,
    output: Option<F::Output>,
}

impl<F: Future> fmt::Debug for On<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("On")
    }
}

/// Makes a guard of a future of another library: a socket, a timer of its own, a task elsewhere.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, OneOf2};
///
/// let run = csp::run(csp::Options::new(), async |scope| {
///     let (out, mut never) = csp::channel::<u32>("never");
///     let choice = csp::pri((never.recv(), csp::on(std::future::ready(1)))).await;
///     drop(out);
///     matches!(choice, OneOf2::Second(1))
/// })?;
/// assert!(run.result);
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn on<F: Future>(future: F) -> impl Guard<Output = F::Output> {
    On { future, output: None }
}

// SAFETY: entered nowhere: its waker resumes the process.
unsafe impl<F: Future> Alternative for On<F> {
    type Output = F::Output;

    fn is_foreign(&self) -> bool {
        true
    }

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        // SAFETY: the future is pinned with us; the output is not.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        match unsafe { Pin::new_unchecked(&mut this.future) }.poll(at.context) {
            Poll::Ready(output) => {
                this.output = Some(output);
                Some(0)
            }
            Poll::Pending => None,
        }
    }

    fn enter(self: Pin<&mut Self>, _at: &Entering<'_>, _base: usize) -> Attempt {
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, _at: &Leaving<'_>) {}

    fn finish(self: Pin<&mut Self>, _nth: usize, _at: &Finishing<'_>) -> Poll<F::Output> {
        // SAFETY: the output is not pinned.
        let output = unsafe { &mut self.get_unchecked_mut().output };
        Poll::Ready(output.take().expect("chosen because it was ready"))
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        // One that may still come is told of before its guards are asked.
        see(Awaited::unnamed("a future of another library", At::Never));
    }
}
