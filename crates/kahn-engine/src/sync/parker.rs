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

use super::{AtomicU32, Condvar, Mutex, Ordering::*};
use std::time::Duration;

const EMPTY: u32 = 0;
const ASLEEP: u32 = 1;
const NOTIFIED: u32 = 2;

/// Where one thread sleeps.
#[derive(Debug)]
pub struct Parker {
    state: AtomicU32,
    lock: Mutex<()>,
    condition: Condvar,
}

impl Default for Parker {
    fn default() -> Self {
        Self { state: AtomicU32::new(EMPTY), lock: Mutex::new(()), condition: Condvar::new() }
    }
}

impl Parker {
    /// Makes one that is not notified.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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

    /// Lets the owner go on, now or at its next [`park`](Self::park).
    pub fn unpark(&self) {
        // Release: the owner's Acquire sees what we did before. A swap and not a compare-exchange,
        // so that this also orders after an earlier `unpark` that was not taken yet.
        if self.state.swap(NOTIFIED, AcqRel) == ASLEEP {
            drop(self.lock.lock());
            self.condition.notify_one();
        }
    }
}
