//! Waiting until a moment, or for a while.

use crate::choice::guard::Guard;
use crate::choice::operation::{Operation, Pending};
use crate::language::csp::Worker;
use crate::network::clock::{Entered, Time};
use crate::network::core::Core;
use crate::wait::Stage;
use crate::wait::place::{At, Awaited, Place};
use crate::wait::waiter::{Attempt, How, Waiter};
use kahn_engine::TaskRef;
use kahn_engine::sync::Cell;
use std::time::Duration;

/// Returns this moment.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let before = csp::now();
///     csp::yield_now().await;
///     before <= csp::now()
/// })?;
/// assert!(run.result);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// # Panics
/// Panics outside of a process of [`csp::run`](crate::run()).
pub fn now() -> Time {
    Core::with_here("the time", |core| core.timers.now())
}

/// Waits until a moment; never returns before it.
///
/// Also a guard of an [alternation](crate::alt).
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
/// use std::time::Duration;
///
/// let run = csp::run(csp::Options::new().virtual_time(true), async |_scope| {
///     let deadline = csp::now() + Duration::from_secs(3);
///     let mut ticks = 0;
///     while csp::now() < deadline {
///         csp::until(csp::now() + Duration::from_secs(1)).await;
///         ticks += 1;
///     }
///     ticks
/// })?;
/// assert_eq!(run.result, 3);
/// # Ok::<(), csp::RunError>(())
/// ```
///
/// Source: occam's `AFTER`; CCSP section 1.1, `TimerWait`.
pub fn until(time: Time) -> impl Future<Output = ()> + Guard<Output = ()> {
    Sleeping::new(Until::Moment(time))
}

/// Waits for a while, from the moment it is first waited for; never shorter: this is how a process
/// sleeps.
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
#[doc(alias = "sleep")]
pub fn after(duration: Duration) -> impl Future<Output = ()> + Guard<Output = ()> {
    Sleeping::new(Until::Passed(duration))
}

#[derive(Clone, Copy, Debug)]
enum Until {
    Moment(Time),
    Passed(Duration),
}

/// A wait for a moment; made by [`until`] and [`after`].
struct Sleeping {
    until: Cell<Until>,
    entered: Entered,
    stage: Stage,
}

// SAFETY: `until` is the process's own; `entered` is touched behind the lock of the timers.
unsafe impl Sync for Sleeping {}

impl Sleeping {
    fn new(until: Until) -> Pending<Self> {
        let until = Cell::new(until);
        Pending::new(Self { until, entered: Entered::default(), stage: Stage::Fresh })
    }

    /// The moment that it waits for. One that was given as a duration counts from the first look.
    fn due(&self, worker: &Worker) -> (Time, Time) {
        let now = Core::of_worker(worker).timers.now();
        let due = match self.until.get() {
            Until::Moment(due) => due,
            Until::Passed(duration) => now + duration,
        };
        self.until.set(Until::Moment(due));
        (due, now)
    }

    fn is_due(&self, worker: &Worker) -> bool {
        let (due, now) = self.due(worker);
        due <= now
    }
}

// SAFETY: entered in the heap of the timers, and left behind their lock.
unsafe impl Operation for Sleeping {
    type Output = ();

    const WHAT: &'static str = "a time";

    // The clock takes it.
    const IS_SELECTED: bool = true;

    fn network(&self) -> Option<u32> {
        None
    }

    fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    fn place(&self) -> Place {
        Place::Sleep
    }

    fn awaited(&self) -> Awaited {
        Awaited::unnamed("a time", At::Time)
    }

    fn attempt(&self, worker: &Worker, _task: TaskRef) -> bool {
        self.is_due(worker)
    }

    fn enter(&self, worker: &Worker, task: TaskRef, how: How) -> Attempt {
        let (core, scheduler) = (Core::of_worker(worker), worker.scheduler());
        let ((due, _), waiter) = (self.due(worker), Waiter { task, how });
        if let Some(why) = core.timers.enter(scheduler, due, waiter, &self.entered) {
            let why = format!("the clock has no thread to run on: {why}");
            scheduler.out_of_threads(why);
        }
        Attempt::Nothing
    }

    fn leave(&self, worker: Option<&Worker>) {
        if let Some(worker) = worker {
            Core::of_worker(worker).timers.take_back(worker.scheduler(), &self.entered);
        }
    }

    fn result(&mut self, worker: &Worker) -> Option<()> {
        self.is_due(worker).then_some(())
    }
}
