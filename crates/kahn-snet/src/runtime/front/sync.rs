//! The one interner of the runtime to locks and atomics: under `cfg(loom)` the same names are loom's, so
//! that loom checks the code that runs. Locks are `parking_lot`'s, for the thread sanitizer sees
//! into it, and not into those of the standard library.

#[cfg(not(loom))]
pub(super) use native::*;

#[cfg(not(loom))]
mod native {
    pub(in crate::runtime) use parking_lot::{Condvar, Mutex, MutexGuard};
    pub(in crate::runtime) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence,
    };

    /// Waits until the condition is signalled; gives the lock back meanwhile.
    pub(in crate::runtime) fn wait<'a, T>(
        condition: &Condvar,
        mut guard: MutexGuard<'a, T>,
    ) -> MutexGuard<'a, T> {
        condition.wait(&mut guard);
        guard
    }

    /// Waits until the condition is signalled, but not longer than that; tells whether the time is over.
    pub(in crate::runtime) fn wait_for<'a, T>(
        condition: &Condvar,
        mut guard: MutexGuard<'a, T>,
        time: std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let timed_out = condition.wait_for(&mut guard, time).timed_out();
        (guard, timed_out)
    }
}

#[cfg(loom)]
pub(super) use modelled::*;

#[cfg(loom)]
mod modelled {
    pub(in crate::runtime) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence,
    };
    pub(in crate::runtime) use loom::sync::{Condvar, MutexGuard};

    const POISONED: &str = "no model panics while it holds a lock";

    /// loom's mutex with the interface of `parking_lot`'s.
    #[derive(Debug, Default)]
    pub(in crate::runtime) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(in crate::runtime) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(in crate::runtime) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect(POISONED)
        }
    }

    /// Waits until the condition is signalled; gives the lock back meanwhile.
    pub(in crate::runtime) fn wait<'a, T>(
        condition: &Condvar,
        guard: MutexGuard<'a, T>,
    ) -> MutexGuard<'a, T> {
        condition.wait(guard).expect(POISONED)
    }

    /// In a model the time is over at once.
    pub(in crate::runtime) fn wait_for<'a, T>(
        _condition: &Condvar,
        guard: MutexGuard<'a, T>,
        _time: std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        (guard, true)
    }
}
