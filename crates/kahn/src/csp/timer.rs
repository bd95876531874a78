//! Time: waiting until a moment, and for how long.
//!
//! One thread waits for the next deadline of a network; it starts with the run. If the system refuses
//! it, the run ends when a process waits for a time. A process that waits is an offer (see `offer`) in a heap behind a lock:
//!
//! | step | who | does, behind the lock |
//! |---|---|---|
//! | enter | the process's worker, after its poll | puts the offer into the heap, counts it as foreign |
//! | fire | the clock's thread, at the deadline | takes the entry out, and the offer if it is open |
//! | take back | the process, when it runs again | takes the entry out if it still stands there |
//!
//! Whoever fires makes the process ready before the entry stops being counted: so nobody gives a
//! verdict while a deadline can still come.
//!
//! *Virtual time.* If the run asks for it, there is no clock: when nothing else can run, time jumps
//! to the next deadline. So a test of a day takes no time, and with a seed and one worker the order
//! of everything is repeatable.

use super::attempt::Attempt;
use super::core::{Core, Verdict};
use super::guard::{Entering, Guard, Leaving, Looking};
use super::heap::{Heap, Key};
use super::language::Worker;
use super::look::{At, Awaited};
use super::meeting::{How, Waiter};
use super::offer::{self, Taken};
use super::wait::{self, Place, Stage};
use kahn_engine::Park;
use kahn_engine::sync::system::{ThreadDoor, ThreadPlace, clock};
use kahn_engine::sync::{Arc, Condvar, Mutex, thread};
use kahn_engine::{Scheduler, TaskRef};
use std::fmt;
use std::marker::PhantomPinned;
use std::ops::{Add, Sub};
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};
use std::time::Duration;

/// A moment of a run: nanoseconds since it began, in 64 bits, which are 584 years.
///
/// # Examples
///
/// ```
/// use kahn::csp;
/// use std::time::Duration;
///
/// let run = csp::run(kahn::RunOptions::new().virtual_time(true), async |_scope| {
///     let start = csp::now();
///     csp::until(start + Duration::from_secs(86_400)).await;
///     csp::now() - start
/// })?;
/// assert_eq!(run.result, Duration::from_secs(86_400));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Returns how long the run lasts at this moment.
    pub fn since_start(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// A moment that is too far away is the last there is.
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Time {
    type Output = Duration;

    /// How much later `self` is than `earlier`; nothing if it is not.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[derive(Debug)]
struct Entry {
    waiter: Waiter,
    /// Where the process keeps its key, so that it knows whether its entry still stands.
    entered: *const Entered,
}

// SAFETY: `entered` is in the memory of a process that cannot leave it while the entry stands.
unsafe impl Send for Entry {}

/// Behind the lock of the timers: the key of a process's entry.
type Entered = std::cell::Cell<Option<Key>>;

#[derive(Debug)]
struct State {
    heap: Heap<Entry>,
    /// Virtual time.
    now: u64,
    /// The deadline that the clock's thread waits for.
    awaited: u64,
    thread: Option<(thread::JoinHandle<()>, ThreadPlace)>,
    /// Why there is none, if the system refused it.
    refused: Option<String>,
    over: bool,
}

/// The clock of one network, and who waits for it.
#[derive(Debug)]
pub(super) struct Timers {
    state: Mutex<State>,
    bell: Condvar,
    is_virtual: bool,
    origin: u64,
}

impl Timers {
    pub(super) fn new(is_virtual: bool) -> Arc<Self> {
        clock::start();
        Arc::new(Self {
            state: Mutex::new(State {
                heap: Heap::new(),
                now: 0,
                awaited: u64::MAX,
                thread: None,
                refused: None,
                over: false,
            }),
            bell: Condvar::new(),
            is_virtual,
            origin: clock::nanoseconds(),
        })
    }

    fn now(&self) -> Time {
        if self.is_virtual {
            Time(self.state.lock().now)
        } else {
            Time(clock::nanoseconds() - self.origin)
        }
    }

    /// Starts the clock's thread, unless time is virtual.
    pub(super) fn start(self: &Arc<Self>, scheduler: &Scheduler) {
        if self.is_virtual {
            return;
        }
        let start = || -> std::io::Result<_> {
            let place = scheduler.config().door.enter()?;
            let (timers, scheduler) = (Arc::clone(self), Arc::downgrade(&scheduler.strong()));
            let builder = thread::Builder::new().name("kahn clock".into());
            Ok((builder.spawn(move || timers.tick(&scheduler))?, place))
        };
        let mut state = self.state.lock();
        match start() {
            Ok(thread) => state.thread = Some(thread),
            Err(error) => state.refused = Some(ThreadDoor::explain(&error)),
        }
    }

    /// Enters a process that waits for a deadline. Returns why that will never be told, if so.
    fn enter(
        &self,
        scheduler: &Scheduler,
        due: Time,
        waiter: Waiter,
        at: &Entered,
    ) -> Option<String> {
        let mut state = self.state.lock();
        let key = state.heap.enter(due.0, Entry { waiter, entered: at });
        at.set(Some(key));
        if self.is_virtual {
            return None;
        }
        scheduler.activity.expect();
        if due.0 < state.awaited {
            self.bell.notify_one();
        }
        state.refused.clone()
    }

    /// Takes an entry out, if it still stands.
    fn take_back(&self, scheduler: &Scheduler, at: &Entered) {
        let mut state = self.state.lock();
        if let Some(key) = at.take() {
            state.heap.take_back(key);
            if !self.is_virtual {
                scheduler.activity.settle();
            }
        }
    }

    /// Wakes everybody whose deadline has come.
    fn fire(state: &mut State, now: u64, counted: bool, scheduler: &Scheduler) -> bool {
        let mut any = false;
        while let Some(Entry { waiter, entered }) = state.heap.take_due(now) {
            // SAFETY: the process cannot leave this memory without the lock that we hold.
            unsafe { (*entered).set(None) };
            let How::Offer { ticket, guard } = waiter.how else { continue };
            if let Taken::Yes(wake) = offer::take(waiter.task, ticket, guard, None) {
                wake.up_from_outside(scheduler);
            }
            any = true;
            if counted {
                // After the process is ready: whoever sees nothing pending sees it ready.
                scheduler.activity.settle();
            }
        }
        any
    }

    /// The clock's thread.
    fn tick(&self, scheduler: &Weak<Scheduler>) {
        let mut state = self.state.lock();
        while !state.over {
            let now = clock::nanoseconds() - self.origin;
            let Some(scheduler) = scheduler.upgrade() else { return };
            let fired = Self::fire(&mut state, now, true, &scheduler);
            state.awaited = state.heap.next().unwrap_or(u64::MAX);
            if fired {
                // Perhaps these were the last things that the run was waiting for.
                scheduler.look_again();
            }
            drop(scheduler);
            if state.awaited == u64::MAX {
                self.bell.wait(&mut state);
            } else {
                let time = Duration::from_nanos(state.awaited - now);
                self.bell.wait_for(&mut state, time);
            }
        }
    }

    /// Nothing else can run: lets virtual time jump to the next deadline. `false` if there is none.
    pub(super) fn jump(&self, scheduler: &Scheduler) -> bool {
        if !self.is_virtual {
            return false;
        }
        let mut state = self.state.lock();
        let Some(next) = state.heap.next() else { return false };
        state.now = state.now.max(next);
        Self::fire(&mut state, next, false, scheduler)
    }

    /// The run is over: nobody waits any more.
    pub(super) fn end(&self) {
        let thread = {
            let mut state = self.state.lock();
            state.over = true;
            self.bell.notify_one();
            state.thread.take()
        };
        if let Some((thread, _place)) = thread {
            thread.join().expect("the clock does not panic");
        }
    }
}

/// Returns this moment.
///
/// # Panics
/// Panics outside of a process of [`csp::run`](super::run()).
///
/// # Examples
///
/// See [`Time`].
pub fn now() -> Time {
    Core::with_here("the time", |core, _, _| core.timers.now())
}

/// Waits until a moment; never returns before it.
///
/// Also a guard of an [alternation](super::alt).
///
/// # Examples
///
/// See [`Time`].
///
/// Source: occam's `AFTER`; CCSP section 1.1, `TimerWait`.
pub fn until(time: Time) -> Sleeping {
    Sleeping::new(When::At(time))
}

/// Waits for a while, from the moment it is first waited for; never shorter.
///
/// As a guard of an [alternation](super::alt) it is a time-out.
///
/// # Examples
///
/// ```
/// use kahn::csp::{self, OneOf2};
/// use std::time::Duration;
///
/// let run = csp::run(kahn::RunOptions::new().virtual_time(true), async |_scope| {
///     let (out, mut silent) = csp::channel::<u32>("silent");
///     let choice = csp::pri((silent.recv(), csp::after(Duration::from_millis(5)))).await;
///     drop(out);
///     choice == OneOf2::Second(())
/// })?;
/// assert!(run.result);
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn after(duration: Duration) -> Sleeping {
    Sleeping::new(When::In(duration))
}

/// Waits for a while: [`after`], under the name one looks for.
///
/// # Examples
///
/// ```
/// use kahn::csp;
/// use std::time::Duration;
///
/// let run = csp::run(kahn::RunOptions::new(), async |_scope| {
///     let start = csp::now();
///     csp::sleep(Duration::from_micros(50)).await;
///     csp::now() - start
/// })?;
/// assert!(run.result >= Duration::from_micros(50));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub fn sleep(duration: Duration) -> Sleeping {
    after(duration)
}

#[derive(Clone, Copy, Debug)]
enum When {
    At(Time),
    In(Duration),
}

/// A wait for a moment; made by [`until`], [`after`] and [`sleep`].
#[must_use = "nothing waits unless it is awaited"]
pub struct Sleeping {
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
        Core::with_worker(worker, |core| {
            let scheduler = worker.scheduler();
            if let Some(why) = core.timers.enter(scheduler, self.due(), waiter, &self.entered) {
                let why = format!("the clock has no thread to run on: {why}");
                core.end_with(Verdict::OutOfThreads(why));
            }
        });
    }

    fn take_back(&self, worker: Option<&Worker>) {
        if let Some(worker) = worker {
            Core::with_worker(worker, |core| {
                core.timers.take_back(worker.scheduler(), &self.entered);
            });
        }
    }

    unsafe fn commit(this: *const (), task: TaskRef, worker: &Worker) -> Park {
        // SAFETY: asked for by `poll`; it is pinned and not dropped.
        let this = unsafe { &*this.cast::<Self>() };
        let Some(ticket) = offer::open(task, false, 1) else { return Park::Moved };
        this.enter_as(worker, Waiter { task, how: How::Offer { ticket, guard: 0 } });
        if offer::settle(task) { Park::Asleep } else { Park::Moved }
    }
}

impl Future for Sleeping {
    type Output = ();

    /// # Panics
    /// Panics outside of a process of [`csp::run`](super::run()).
    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let (worker, task) = Core::here("a time");
        if this.stage == Stage::Waiting {
            offer::close(task);
            this.take_back(Some(worker));
            this.stage = Stage::Yielded;
        }
        if Core::with_worker(worker, |core| this.is_due(&core.timers)) {
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
            && let Some((worker, task)) = Core::here_if_any()
        {
            worker.take_back();
            offer::close(task);
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
        Core::with_worker(at.worker, |core| this.is_due(&core.timers)).then_some(0)
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
