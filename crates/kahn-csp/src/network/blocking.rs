//! Calls that block: on threads of their own, while the process waits like any other.

use crate::network::core::Core;
use crate::network::helpers::Job;
use kahn_engine::sync::system::ThreadDoor;
use kahn_engine::sync::{Arc, Mutex, panics};
use std::any::Any;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What a call panicked with, and where.
struct Panicked {
    payload: Box<dyn Any + Send>,
    place: Option<String>,
}

impl Panicked {
    fn new(payload: Box<dyn Any + Send>) -> Self {
        let place = panics::place_of(payload.as_ref());
        Self { payload, place }
    }

    fn resume(self) -> ! {
        if let Some(place) = self.place {
            panics::note_resumed(self.payload.as_ref(), place);
        }
        resume_unwind(self.payload)
    }
}

enum Progress<R> {
    Fresh(Job),
    Called,
    Done(Result<R, Panicked>),
    Over,
}

struct State<R> {
    progress: Progress<R>,
    waker: Option<Waker>,
}

/// Calls a function that blocks, on a thread for such calls; the process waits, its worker does not.
///
/// Calls begin in the order in which they are first awaited, as many at once as
/// [`blocking_calls`](crate::Options::blocking_calls) says; a thread that has nothing to do ends.
/// If the system refuses a thread, a call waits for one that there is; if there is none, the run ends
/// with [`Summary::OutOfThreads`](crate::Summary::OutOfThreads).
///
/// Dropping the call before it has returned, because its process is killed or an
/// [alternation](crate::alt) chose another guard, calls what [`closing`](Blocking::closing) was
/// given; the result is dropped.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     csp::blocking(|| std::fs::read_to_string("/no/such/file").is_err()).await
/// })?;
/// assert!(run.result);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: CCSP section 1.1, `BlockingCall`.
pub fn blocking<R: Send + 'static>(call: impl FnOnce() -> R + Send + 'static) -> Blocking<R> {
    let state = Arc::new(Mutex::new(State { progress: Progress::Over, waker: None }));
    let theirs = Arc::downgrade(&state);
    let job: Job = Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(call)).map_err(Panicked::new);
        let Some(state) = theirs.upgrade() else { return };
        let waker = {
            let mut state = state.lock();
            state.progress = Progress::Done(result);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    state.lock().progress = Progress::Fresh(job);
    Blocking { state, close: None }
}

/// A blocking call in progress; made by [`blocking()`].
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let call: csp::Blocking<u32> = csp::blocking(|| 6 * 7);
///     call.await
/// })?;
/// assert_eq!(run.result, 42);
/// # Ok::<(), csp::RunError>(())
/// ```
#[must_use = "nothing is called unless it is awaited"]
pub struct Blocking<R> {
    state: Arc<Mutex<State<R>>>,
    close: Option<Box<dyn FnOnce() + Send>>,
}

impl<R> fmt::Debug for Blocking<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").finish_non_exhaustive()
    }
}

impl<R> Blocking<R> {
    /// Says how to make the call return early: by closing what it waits for.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, OneOf2};
    /// use std::sync::mpsc;
    ///
    /// let run = csp::run(csp::Options::new(), async |_scope| {
    ///     let (sender, receiver) = mpsc::channel::<u32>();
    ///     let call = csp::blocking(move || receiver.recv().is_err());
    ///     // Nothing is ever sent: the call returns when the sender is dropped.
    ///     let call = call.closing(move || drop(sender));
    ///     matches!(csp::pri((csp::on(call), csp::skip())).await, OneOf2::Second(()))
    /// })?;
    /// assert!(run.result);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn closing(mut self, close: impl FnOnce() + Send + 'static) -> Self {
        self.close = Some(Box::new(close));
        self
    }
}

impl<R: Send> Future for Blocking<R> {
    type Output = R;

    /// # Panics
    /// Panics as the call did, if it panicked; outside of a process of [`csp::run`](crate::run()).
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let mut state = self.state.lock();
        match mem::replace(&mut state.progress, Progress::Called) {
            Progress::Fresh(job) => {
                state.waker = Some(context.waker().clone());
                drop(state);
                Core::with_here("a blocking call", |core| {
                    let door = &core.scheduler.config().door;
                    if let Err(error) = core.helpers.submit(door, job) {
                        let why = ThreadDoor::explain(&error);
                        let why = format!("a blocking call has no thread to run on: {why}");
                        core.scheduler.out_of_threads(why);
                    }
                });
                Poll::Pending
            }
            Progress::Called => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
            Progress::Done(result) => {
                state.progress = Progress::Over;
                drop(state);
                self.close = None;
                Poll::Ready(result.unwrap_or_else(|panicked| panicked.resume()))
            }
            Progress::Over => panic!("a blocking call was polled after it was completed"),
        }
    }
}

impl<R> Drop for Blocking<R> {
    fn drop(&mut self) {
        let called = matches!(self.state.lock().progress, Progress::Called);
        if let Some(close) = self.close.take()
            && called
        {
            close();
        }
    }
}
