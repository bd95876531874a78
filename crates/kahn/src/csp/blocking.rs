//! Calls that block: on threads of their own, while the process waits like any other.
//!
//! | a call finds | then |
//! |---|---|
//! | a thread without a call | it is rung |
//! | none, and fewer than the limit | a new one starts |
//! | none, and the limit is reached, or the system refuses one | the call waits for a thread that returns |
//! | none, the system refuses one, and there is none to wait for | the run ends, out of threads |
//!
//! Calls begin in the order in which they were asked for. A thread that has done its call takes the
//! next; without one it waits a while, if not enough others do so already, and ends.
//!
//! The run ends when all calls have returned, so a call that may wait for ever is given a way to
//! close what it waits for.

use super::core::{Core, Verdict};
use kahn_engine::sync::system::{ThreadDoor, ThreadPlace};
use kahn_engine::sync::{Arc, Condvar, Mutex, panics, thread};
use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that wait for a call, at most: those beyond end at once.
const MOST_IDLE: usize = 8;
/// How long they wait.
const IDLE: Duration = Duration::from_secs(10);

type Started = (thread::JoinHandle<()>, ThreadPlace);

#[derive(Default)]
struct Jobs {
    /// The first came first.
    waiting: VecDeque<Job>,
    /// Threads that wait for a call; some may have been rung and not run yet.
    idle: usize,
    running: usize,
    threads: BTreeMap<u64, Started>,
    /// Those that have ended by themselves, or are about to.
    ended: Vec<Started>,
    /// Threads ever started.
    started: u64,
    over: bool,
}

/// The threads of one network that do blocking calls.
pub(super) struct Helpers {
    jobs: Mutex<Jobs>,
    bell: Condvar,
    limit: usize,
    idle: Duration,
}

impl Helpers {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self::fresh(limit))
    }

    fn fresh(limit: usize) -> Self {
        Self { jobs: Mutex::default(), bell: Condvar::new(), limit, idle: IDLE }
    }

    /// Has a call done.
    ///
    /// # Errors
    /// Returns an error if the system refuses a thread and there is none to wait for.
    fn submit(self: &Arc<Self>, door: &ThreadDoor, job: Job) -> io::Result<()> {
        let mut jobs = self.jobs.lock();
        jobs.waiting.push_back(job);
        let mut refused = None;
        if jobs.waiting.len() <= jobs.idle {
            self.bell.notify_one();
        } else if jobs.threads.len() < self.limit {
            refused = self.start(&mut jobs, door).err();
        }
        if refused.is_some() && jobs.threads.is_empty() {
            jobs.waiting.pop_back();
        } else {
            // The others come to it.
            refused = None;
        }
        let ended = mem::take(&mut jobs.ended);
        drop(jobs);
        join(ended);
        refused.map_or(Ok(()), Err)
    }

    fn start(self: &Arc<Self>, jobs: &mut Jobs, door: &ThreadDoor) -> io::Result<()> {
        let (this, number) = (Arc::clone(self), jobs.started);
        let place = door.enter()?;
        let builder = thread::Builder::new().name(format!("kahn call {number}"));
        let thread = builder.spawn(move || this.work(number))?;
        jobs.started += 1;
        jobs.threads.insert(number, (thread, place));
        Ok(())
    }

    fn work(&self, number: u64) {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                jobs.running += 1;
                drop(jobs);
                // Nobody may want its result any more, whose destructor may panic.
                if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
                    panics::discard(payload);
                }
                jobs = self.jobs.lock();
                jobs.running -= 1;
            } else if jobs.over || jobs.idle >= MOST_IDLE {
                break;
            } else {
                jobs.idle += 1;
                let waited = self.bell.wait_for(&mut jobs, self.idle);
                jobs.idle -= 1;
                if waited.timed_out() && jobs.waiting.is_empty() {
                    break;
                }
            }
        }
        // At the end of the run somebody has it already.
        let ours = jobs.threads.remove(&number);
        jobs.ended.extend(ours);
    }

    /// How many calls have not returned.
    pub(super) fn calls(&self) -> usize {
        let jobs = self.jobs.lock();
        jobs.running + jobs.waiting.len()
    }

    /// The run is over: waits until all calls have returned.
    pub(super) fn end(&self) {
        let mut jobs = self.jobs.lock();
        jobs.over = true;
        self.bell.notify_all();
        let ended = mem::take(&mut jobs.ended);
        let threads = mem::take(&mut jobs.threads);
        drop(jobs);
        join(ended.into_iter().chain(threads.into_values()));
    }
}

fn join(threads: impl IntoIterator<Item = Started>) {
    for (thread, _place) in threads {
        thread.join().expect("what a call panics with is caught");
    }
}

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
/// [`blocking_calls`](crate::RunOptions::blocking_calls) says; a thread that has nothing to do ends.
/// If the system refuses a thread, a call waits for one that there is; if there is none, the run ends
/// with [`Summary::OutOfThreads`](crate::Summary::OutOfThreads).
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
    /// Panics as the call did, if it panicked; outside of a process of [`csp::run`](super::run()).
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let mut state = self.state.lock();
        match mem::replace(&mut state.progress, Progress::Called) {
            Progress::Fresh(job) => {
                state.waker = Some(context.waker().clone());
                drop(state);
                Core::with_here("a blocking call", |core, _, _| {
                    let door = &core.scheduler.config().door;
                    if let Err(error) = core.helpers.submit(door, job) {
                        let why = ThreadDoor::explain(&error);
                        let why = format!("a blocking call has no thread to run on: {why}");
                        core.end_with(Verdict::OutOfThreads(why));
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use kahn_engine::sync::{Barrier, mpsc};

    fn threads(helpers: &Helpers) -> usize {
        helpers.jobs.lock().threads.len()
    }

    /// Has so many calls run at once.
    fn at_once(helpers: &Arc<Helpers>, calls: usize) {
        let all = Arc::new(Barrier::new(calls + 1));
        for _ in 0..calls {
            let all = Arc::clone(&all);
            let job = Box::new(move || {
                all.wait();
            });
            helpers.submit(&ThreadDoor::default(), job).expect("it is granted");
        }
        all.wait();
    }

    #[test]
    fn threads_without_a_call_end() {
        let helpers = Helpers::new(64);
        at_once(&helpers, 40);
        // Those that may wait wait for long.
        while threads(&helpers) > MOST_IDLE {
            thread::yield_now();
        }
        helpers.end();
        let nobody = Helpers { idle: Duration::ZERO, ..Helpers::fresh(64) };
        let nobody = Arc::new(nobody);
        at_once(&nobody, 4);
        while threads(&nobody) > 0 {
            thread::yield_now();
        }
        nobody.end();
        assert!(nobody.jobs.lock().ended.is_empty());
    }

    #[test]
    fn calls_begin_in_the_order_in_which_they_came() {
        let helpers = Helpers::new(1);
        let (sender, receiver) = mpsc::channel();
        let (open, gate) = mpsc::channel::<()>();
        let first = Box::new(move || assert!(gate.recv().is_err(), "nobody sends"));
        helpers.submit(&ThreadDoor::default(), first).expect("it is granted");
        for number in 0..50 {
            let sender = sender.clone();
            let job = Box::new(move || sender.send(number).expect("somebody listens"));
            helpers.submit(&ThreadDoor::default(), job).expect("one is there");
        }
        assert_eq!(threads(&helpers), 1, "the limit");
        drop((open, sender));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
        helpers.end();
    }
}
