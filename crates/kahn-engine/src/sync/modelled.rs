//! Threads, locks, atomics and cells as loom models them, under the names of the real ones.

pub use loom::cell::Cell;
pub use loom::hint::spin_loop;
pub use loom::sync::MutexGuard;
pub use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub use loom::thread;

use std::sync::atomic::AtomicUsize as Counter;
use std::time::Duration;

loom::lazy_static! {
    /// How many naps end by themselves in this run of the model. Loom does not see the counter.
    static ref NAPS: Counter = Counter::new(0);
    /// Two cores, but where a model says otherwise: the same on every machine.
    static ref CORES: Counter = Counter::new(2);
    /// The threads the system has left to give.
    static ref THREADS: Counter = Counter::new(usize::MAX);
}

/// Lets the next `count` waits for a while end at once, as if the time were over.
pub fn end_naps(count: usize) {
    NAPS.store(count, Ordering::Relaxed);
}

/// The cores of the machine in this run of the model.
pub fn cores() -> usize {
    CORES.load(Ordering::Relaxed)
}

/// Gives the machine of this run of the model so many cores.
pub fn set_cores(count: usize) {
    CORES.store(count, Ordering::Relaxed);
}

/// Takes one of the threads the system has left; `false` if it has none.
pub fn take_thread() -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
}

/// Lets the system refuse threads after the next `count`.
pub fn refuse_threads_after(count: usize) {
    THREADS.store(count, Ordering::Relaxed);
}

/// Whether a wait for a while ended because the time was over.
pub struct TimedOut(bool);

impl TimedOut {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// loom's mutex with the interface of `parking_lot`'s.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no model panics while it holds a lock")
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

/// loom's condition variable with the interface of `parking_lot`'s. There is no time in a model:
/// what waits for a while waits until it is notified, so no timeout hides a lost wake-up; unless
/// the model lets some naps end, see [`end_naps`].
#[derive(Debug, Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        // loom takes the guard by value and gives it back; between the two no thread looks.
        // SAFETY: `guard` is overwritten before anyone can use it again, and loom's `wait` does
        // not unwind inside a model that goes on.
        let taken = unsafe { std::ptr::read(guard) };
        let back = self.0.wait(taken).expect("no model panics while it holds a lock");
        // SAFETY: the old value was moved out above, so nothing is dropped twice.
        unsafe { std::ptr::write(guard, back) };
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _timeout: Duration) -> TimedOut {
        let one_less = |left: usize| left.checked_sub(1);
        if NAPS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            self.wait(guard);
            return TimedOut(false);
        }
        TimedOut(true)
    }

    pub fn wait_while_for<T>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
        _timeout: Duration,
    ) {
        while condition(guard) {
            self.wait(guard);
        }
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
