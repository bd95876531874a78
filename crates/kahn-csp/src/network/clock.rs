//! Time: waiting until a moment, and for how long.
//!
//! One thread waits for the next deadline of a network; it starts with the run. If the system refuses
//! it, the run ends when a process waits for a time. A process that waits has its select state open (see `wait::select`) and stands in a
//! heap behind a lock:
//!
//! | step | thread | does, behind the lock |
//! |---|---|---|
//! | enter | the process's worker, after its poll | puts an entry into the heap, counts it as foreign |
//! | fire | the clock's thread, at the deadline | takes the entry out, and the select state if it is open |
//! | take back | the process, when it runs again | takes the entry out if it still stands there |
//!
//! The clock makes the process ready before the entry stops being counted, so no verdict is given while a
//! deadline can still come.
//!
//! *Virtual time.* If the run asks for it, there is no clock: when nothing else can run, time jumps
//! to the next deadline. So a test of a day takes no time, and with a seed and one worker the order
//! of everything is repeatable.

use crate::network::heap::{Heap, Key};
use crate::wait::waiter::Waiter;
use kahn_engine::Scheduler;
use kahn_engine::sync::system::{ThreadDoor, ThreadPlace, clock};
use kahn_engine::sync::{Arc, Condvar, Mutex, thread};
use std::ops::{Add, Sub};
use std::sync::Weak;
use std::time::Duration;

/// A moment of a run: nanoseconds since it began, in 64 bits, which are 584 years.
///
/// # Examples
///
/// ```
/// use kahn_csp as csp;
/// use std::time::Duration;
///
/// let run = csp::run(csp::Options::new().virtual_time(true), async |_scope| {
///     let start = csp::now();
///     csp::until(start + Duration::from_secs(86_400)).await;
///     csp::now() - start
/// })?;
/// assert_eq!(run.result, Duration::from_secs(86_400));
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Returns how long the run lasts at this moment.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp as csp;
    /// use std::time::Duration;
    ///
    /// let run = csp::run(csp::Options::new().virtual_time(true), async |_scope| {
    ///     csp::after(Duration::from_secs(5)).await;
    ///     csp::now().since_start()
    /// })?;
    /// assert_eq!(run.result, Duration::from_secs(5));
    /// # Ok::<(), csp::RunError>(())
    /// ```
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
pub(super) type Entered = std::cell::Cell<Option<Key>>;

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

/// The clock of one network, and the processes that wait for it.
#[derive(Debug)]
pub(crate) struct Timers {
    state: Mutex<State>,
    changed: Condvar,
    is_virtual: bool,
    origin: u64,
}

impl Timers {
    pub(crate) fn new(is_virtual: bool) -> Arc<Self> {
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
            changed: Condvar::new(),
            is_virtual,
            origin: clock::nanoseconds(),
        })
    }

    pub(crate) fn now(&self) -> Time {
        if self.is_virtual {
            Time(self.state.lock().now)
        } else {
            Time(clock::nanoseconds() - self.origin)
        }
    }

    /// Starts the clock's thread, unless time is virtual.
    pub(crate) fn start(self: &Arc<Self>, scheduler: &Scheduler) {
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
    pub(crate) fn enter(
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
            self.changed.notify_one();
        }
        state.refused.clone()
    }

    /// Takes an entry out, if it still stands.
    pub(crate) fn take_back(&self, scheduler: &Scheduler, at: &Entered) {
        let mut state = self.state.lock();
        if let Some(key) = at.take() {
            state.heap.take_back(key);
            if !self.is_virtual {
                scheduler.activity.settle();
            }
        }
    }

    /// Wakes all processes whose deadline has come.
    fn fire(state: &mut State, now: u64, counted: bool, scheduler: &Scheduler) -> bool {
        let mut any = false;
        while let Some(Entry { waiter, entered }) = state.heap.take_due(now) {
            // SAFETY: the process cannot leave this memory without the lock that we hold.
            unsafe { (*entered).set(None) };
            if let Some(wake) = waiter.take() {
                wake.up_from_outside(scheduler);
            }
            any = true;
            if counted {
                // After the process is ready: the one that sees nothing pending sees it ready.
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
                self.changed.wait(&mut state);
            } else {
                let time = Duration::from_nanos(state.awaited - now);
                self.changed.wait_for(&mut state, time);
            }
        }
    }

    /// Nothing else can run: lets virtual time jump to the next deadline. `false` if there is none.
    pub(crate) fn jump(&self, scheduler: &Scheduler) -> bool {
        if !self.is_virtual {
            return false;
        }
        let mut state = self.state.lock();
        let Some(next) = state.heap.next() else { return false };
        state.now = state.now.max(next);
        Self::fire(&mut state, next, false, scheduler)
    }

    /// The run is over: no process waits any more.
    pub(crate) fn end(&self) {
        let thread = {
            let mut state = self.state.lock();
            state.over = true;
            self.changed.notify_one();
            state.thread.take()
        };
        if let Some((thread, _place)) = thread {
            thread.join().expect("the clock does not panic");
        }
    }
}
