//! Waiting until a moment, or for a while.

use crate::choice::guard::{Entering, Guard, Leaving, Looking};
use crate::language::csp::Worker;
use crate::language::running;
use crate::network::clock::{Entered, Time, Timers};
use crate::network::core::{Core, Verdict};
use crate::wait::place::{At, Awaited, Place};
use crate::wait::select;
use crate::wait::waiter::{Attempt, How, Waiter};
use crate::wait::{self, Stage};
use kahn_engine::{Park, TaskRef};
use std::fmt;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Returns this moment.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
///
/// # Examples
///
/// See [`Time`].
pub fn now() -> Time {
    Core::with_here("the time", |core| core.timers.now())
}

/// Waits until a moment; never returns before it.
///
/// Also a guard of an [alternation](crate::alt).
///
/// # Examples
///
/// See [`Time`].
///
/// Source: occam's `AFTER`; CCSP section 1.1, `TimerWait`.
pub fn until(time: Time) -> impl Future<Output = ()> + Guard<Output = ()> {
    Sleeping::new(When::At(time))
}

/// Waits for a while, from the moment it is first waited for; never shorter.
///
/// As a guard of an [alternation](crate::alt) it is a time-out.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, OneOf2};
/// use std::time::Duration;
///
/// let run = csp::run(csp::Options::new().virtual_time(true), async |_scope| {
///     let (out, mut silent) = csp::channel::<u32>("silent");
///     let choice = csp::pri((silent.recv(), csp::after(Duration::from_millis(5)))).await;
///     drop(out);
///     choice == OneOf2::Second(())
/// })?;
/// assert!(run.result);
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn after(duration: Duration) -> impl Future<Output = ()> + Guard<Output = ()> {
    Sleeping::new(When::In(duration))
}

/// Waits for a while: [`after`], under the name one looks for.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
/// use std::time::Duration;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let start = csp::now();
///     csp::sleep(Duration::from_micros(50)).await;
///     csp::now() - start
/// })?;
/// assert!(run.result >= Duration::from_micros(50));
/// # Ok::<(), csp::RunError>(())
/// ```
pub fn sleep(duration: Duration) -> impl Future<Output = ()> + Guard<Output = ()> {
    after(duration)
}

#[derive(Clone, Copy, Debug)]
enum When {
    At(Time),
    In(Duration),
}

/// A wait for a moment; made by [`until`], [`after`] and [`sleep`].
#[must_use = "nothing waits unless it is awaited"]
struct Sleeping {
    when: When,
    entered: Entered,
    stage: Stage,
    /// The timers know where `entered` is.
    _pinned: PhantomPinned,
}

// SAFETY: `entered` is touched behind the lock of the timers.
unsafe impl Sync for Sleeping {}

impl fmt::Debug for Sleeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sleeping").field(&self.when).finish()
    }
}

impl Sleeping {
    fn new(when: When) -> Self {
        Self { when, entered: Entered::default(), stage: Stage::Fresh, _pinned: PhantomPinned }
    }

    /// Whether the moment has come; fixes it if it is relative.
    fn is_due(&mut self, timers: &Timers) -> bool {
        let now = timers.now();
        let due = match self.when {
            When::At(due) => due,
            When::In(duration) => now + duration,
        };
        self.when = When::At(due);
        due <= now
    }

    fn due(&self) -> Time {
        match self.when {
            When::At(due) => due,
            When::In(_) => unreachable!("fixed when it was first looked at"),
        }
    }

    fn enter_as(&self, worker: &Worker, waiter: Waiter) {
        let (core, scheduler) = (Core::of_worker(worker), worker.scheduler());
        if let Some(why) = core.timers.enter(scheduler, self.due(), waiter, &self.entered) {
            let why = format!("the clock has no thread to run on: {why}");
            core.end_with(Verdict::OutOfThreads(why));
        }
    }

    fn take_back(&self, worker: Option<&Worker>) {
        if let Some(worker) = worker {
            Core::of_worker(worker).timers.take_back(worker.scheduler(), &self.entered);
        }
    }

    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll`; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let Some(ticket) = select::open(task, false, 1) else { return Park::Moved };
        this.enter_as(worker, Waiter { task, how: How::Offer { ticket, guard: 0 } });
        if select::settle(task) { Park::Asleep } else { Park::Moved }
    }
}

impl Future for Sleeping {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of [`csp::run`](crate::run()).
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let (worker, task) = running::process("a time");
        if this.stage == Stage::Waiting {
            select::close(task);
            this.take_back(Some(worker));
            this.stage = Stage::Yielded;
        }
        if this.is_due(&Core::of_worker(worker).timers) {
            this.stage = Stage::Over;
            return Poll::Ready(());
        }
        this.stage = Stage::Waiting;
        wait::ask_to_enter(worker, task, Place::Sleep, &raw const *this, Self::commit);
        Poll::Pending
    }
}

impl Drop for Sleeping {
    fn drop(&mut self) {
        if self.stage == Stage::Waiting
            && let Some((worker, task)) = Worker::running()
        {
            worker.take_back();
            select::close(task);
            self.take_back(Some(worker));
        }
    }
}

// SAFETY: entered and left behind the lock of the timers.
unsafe impl Guard for Sleeping {
    type Output = ();

    fn look(
        self: Pin<&mut Self>,
        at: &mut Looking<'_, '_>,
        _from: usize,
        _to: usize,
    ) -> Option<usize> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        this.is_due(&Core::of_worker(at.worker).timers).then_some(0)
    }

    fn enter(self: Pin<&mut Self>, at: &Entering<'_>, base: usize) -> Attempt {
        self.enter_as(at.worker, Waiter { task: at.task, how: at.how(base) });
        Attempt::Nothing
    }

    fn leave(self: Pin<&mut Self>, at: &Leaving<'_>) {
        self.take_back(at.worker);
    }

    fn finish(self: Pin<&mut Self>, _nth: usize, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn describe(&self, see: &mut dyn FnMut(Awaited)) {
        see(Awaited::unnamed("a time", At::Time));
    }
}
