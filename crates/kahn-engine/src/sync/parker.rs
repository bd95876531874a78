//! Puts one thread to sleep until it is told to go on.
//!
//! | state      | means                             | leaves by                        |
//! |------------|-----------------------------------|----------------------------------|
//! | `EMPTY`    | no thread sleeps, nothing was said | `park` → `ASLEEP`, `unpark` → `NOTIFIED` |
//! | `ASLEEP`   | the owner sleeps or is about to   | `unpark` → `NOTIFIED` and a notification |
//! | `NOTIFIED` | `unpark` came first               | `park` → `EMPTY`, without sleeping |
//!
//! Only the owner calls `park`; any thread may call `unpark`, any number of times. `unpark` takes and
//! drops the lock before it notifies: the sleeper holds it from `ASLEEP` until it waits, so the
//! notification cannot fall between the two.
//!
//! An owner that has a [`Driver`] turns that before it sleeps, and sleeps in its wait. While it turns the state is
//! `EMPTY`: what is done there may unpark the owner itself, and it looks before it sleeps. From `ASLEEP` on `unpark`
//! wakes the driver, whose next wait returns at once if it comes first.

use super::system::clock;
use super::{Arc, AtomicU32, Condvar, Mutex, Ordering::*};
use kahn_report::ranks::Driver;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

const EMPTY: u32 = 0;
const ASLEEP: u32 = 1;
const NOTIFIED: u32 = 2;

/// Where one thread sleeps.
pub struct Parker {
    state: AtomicU32,
    lock: Mutex<()>,
    condition: Condvar,
    driver: OnceLock<Arc<dyn Driver>>,
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
            lock: Mutex::new(()),
            condition: Condvar::new(),
            driver: OnceLock::new(),
        }
    }
}

impl Parker {
    /// Makes one that is not notified.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Has the owner turn this whenever it parks, and sleep in its wait; before it is parked or unparked, and once.
    pub fn drive(&self, driver: Arc<dyn Driver>) {
        // Another one later would not be known where the owner sleeps in the first.
        let _ = self.driver.set(driver);
    }

    /// What the owner turns, if there is something.
    #[inline]
    pub(crate) fn driver(&self) -> Option<&dyn Driver> {
        self.driver.get().map(|driver| &**driver)
    }

    /// Sleeps until [`unpark`](Self::unpark); returns at once if it was called since the last time.
    pub fn park(&self) {
        self.sleep(None);
    }

    /// Sleeps until [`unpark`](Self::unpark) or for `timeout`; tells whether it was unparked.
    pub fn park_for(&self, timeout: Duration) -> bool {
        self.sleep(Some(timeout))
    }

    fn sleep(&self, timeout: Option<Duration>) -> bool {
        // Acquire pairs with the Release in `unpark`: what was done before it is visible here.
        if self.state.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_ok() {
            return true;
        }
        if let Some(driver) = self.driver() {
            return self.sleep_beside(driver, timeout);
        }
        let mut guard = self.lock.lock();
        if self.state.compare_exchange(EMPTY, ASLEEP, Relaxed, Relaxed).is_err() {
            // `unpark` came in between. A swap and not a store: it must read what `unpark` wrote.
            self.state.swap(EMPTY, Acquire);
            return true;
        }
        loop {
            match timeout {
                None => self.condition.wait(&mut guard),
                Some(timeout) => {
                    self.condition.wait_for(&mut guard, timeout);
                }
            }
            if self.state.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_ok() {
                return true;
            }
            if timeout.is_some() {
                // Leaving unasked: if `unpark` comes right now, this swap swallows its word, and
                // the caller looks for work anyway.
                return self.state.swap(EMPTY, Acquire) == NOTIFIED;
            }
        }
    }

    fn sleep_beside(&self, driver: &dyn Driver, timeout: Option<Duration>) -> bool {
        let until = timeout.map(|timeout| clock::ticks() + clock::about(timeout));
        loop {
            driver.turn();
            if self.state.compare_exchange(EMPTY, ASLEEP, Relaxed, Relaxed).is_err() {
                self.state.swap(EMPTY, Acquire);
                return true;
            }
            driver.wait(timeout);
            if self.state.swap(EMPTY, Acquire) == NOTIFIED {
                return true;
            }
            if until.is_some_and(|until| clock::ticks() >= until) {
                return false;
            }
        }
    }

    /// Lets the owner go on, now or at its next [`park`](Self::park).
    pub fn unpark(&self) {
        // Release: the owner's Acquire sees what we did before. A swap and not a compare-exchange,
        // so that this also orders after an earlier `unpark` that was not taken yet.
        if self.state.swap(NOTIFIED, AcqRel) == ASLEEP {
            if let Some(driver) = self.driver() {
                return driver.wake();
            }
            drop(self.lock.lock());
            self.condition.notify_one();
        }
    }
}
