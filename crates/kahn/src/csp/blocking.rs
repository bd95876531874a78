//! Calls that block: on threads of their own, while the process waits like any other.
//!
//! A thread that has done its call waits for the next one; a call that finds none gets a new one.
//! The run ends when all calls have returned, so a call that may wait for ever is given a way to
//! close what it waits for.

use super::core::Core;
use crate::sync::{Arc, Condvar, Mutex, panics, thread};
use std::any::Any;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    idle: usize,
    threads: Vec<thread::JoinHandle<()>>,
    over: bool,
}

/// The threads of one network that do blocking calls.
#[derive(Default)]
pub(super) struct Helpers {
    jobs: Mutex<Jobs>,
    bell: Condvar,
}

impl Helpers {
    fn submit(self: &Arc<Self>, job: Job) -> std::io::Result<()> {
        let mut jobs = self.jobs.lock();
        jobs.waiting.push(job);
        if jobs.waiting.len() <= jobs.idle {
            self.bell.notify_one();
            return Ok(());
        }
        let this = Arc::clone(self);
        let name = format!("kahn call {}", jobs.threads.len());
        match thread::Builder::new().name(name).spawn(move || this.work()) {
            Ok(thread) => jobs.threads.push(thread),
            Err(error) if jobs.threads.is_empty() => {
                jobs.waiting.pop();
                return Err(error);
            }
            // The others come to it.
            Err(_) => {}
        }
        Ok(())
    }

    fn work(&self) {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.waiting.pop() {
                drop(jobs);
                // Nobody may want its result any more, whose destructor may panic.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
                    panics::discard(payload);
                }
                jobs = self.jobs.lock();
            } else if jobs.over {
                return;
            } else {
                jobs.idle += 1;
                self.bell.wait(&mut jobs);
                jobs.idle -= 1;
            }
        }
    }

    /// How many calls have not returned.
    pub(super) fn calls(&self) -> usize {
        let jobs = self.jobs.lock();
        jobs.threads.len() - jobs.idle
    }

    /// The run is over: waits until all calls have returned.
    pub(super) fn end(&self) {
        let threads = {
            let mut jobs = self.jobs.lock();
            jobs.over = true;
            self.bell.notify_all();
            mem::take(&mut jobs.threads)
        };
        for thread in threads {
            thread.join().expect("what a call panics with is caught");
        }
    }
}

enum Progress<R> {
    Fresh(Job),
    Called,
    Done(Result<R, Box<dyn Any + Send>>),
    Over,
}

struct State<R> {
    progress: Progress<R>,
    waker: Option<Waker>,
}

/// Calls a function that blocks, on a thread for such calls; the process waits, its worker does not.
///
/// Dropping the call before it has returned, because its process is killed or an
/// [alternation](super::alt) chose another guard, calls what [`closing`](Blocking::closing) was
/// given; the result is dropped.
///
/// # Examples
///
/// ```
/// use kahn::csp;
///
/// let run = csp::run(kahn::RunOptions::new(), async |_scope| {
///     csp::blocking(|| std::fs::read_to_string("/no/such/file").is_err()).await
/// })?;
/// assert!(run.result);
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: CCSP section 1.1, `BlockingCall`.
pub fn blocking<R: Send + 'static>(call: impl FnOnce() -> R + Send + 'static) -> Blocking<R> {
    let state = Arc::new(Mutex::new(State { progress: Progress::Over, waker: None }));
    let theirs = Arc::downgrade(&state);
    let job: Job = Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(call));
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
    /// use kahn::csp::{self, OneOf2};
    /// use std::sync::mpsc;
    ///
    /// let run = csp::run(kahn::RunOptions::new(), async |_scope| {
    ///     let (sender, receiver) = mpsc::channel::<u32>();
    ///     let call = csp::blocking(move || receiver.recv().is_err());
    ///     // Nobody ever sends: the call returns when the sender is dropped.
    ///     let call = call.closing(move || drop(sender));
    ///     matches!(csp::pri((csp::on(call), csp::skip())).await, OneOf2::Second(()))
    /// })?;
    /// assert!(run.result);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn closing(mut self, close: impl FnOnce() + Send + 'static) -> Self {
        self.close = Some(Box::new(close));
        self
    }
}

impl<R: Send> Future for Blocking<R> {
    type Output = R;

    /// # Panics
    /// Panics as the call did, if it panicked; outside of a process of [`csp::run`](super::run()); if
    /// the system grants not one thread.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let mut state = self.state.lock();
        match mem::replace(&mut state.progress, Progress::Called) {
            Progress::Fresh(job) => {
                state.waker = Some(context.waker().clone());
                drop(state);
                let helpers =
                    Core::with_here("a blocking call", |core, _, _| Arc::clone(&core.helpers));
                helpers.submit(job).expect("the system grants one thread for blocking calls");
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
                Poll::Ready(result.unwrap_or_else(|payload| resume_unwind(payload)))
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
