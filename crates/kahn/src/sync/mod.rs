//! The one door to threads, locks and atomics.
//!
//! Everything concurrent in this crate imports from here, so that loom checks the code that runs:
//! under `cfg(loom)` the same names are loom's. Locks are `parking_lot`'s, which is compiled with
//! our flags: the thread sanitizer sees into it, and not into those of the standard library.
//!
//! [`system`] holds the few things that depend on the machine, each with a portable fallback.

mod parker;
mod pool;
pub(crate) mod system;

pub(crate) use parker::Parker;
pub(crate) use pool::BlockPool;
pub(crate) use std::sync::Arc;

#[cfg(not(loom))]
pub(crate) use self::native::*;
#[cfg(loom)]
pub(crate) use self::modelled::*;

#[cfg(not(loom))]
mod native {
    pub(crate) use parking_lot::{Condvar, Mutex};
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use std::thread;
}

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(crate) use std::thread;

    /// loom's mutex with the interface of `parking_lot`'s.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no model panics while it holds a lock")
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner().expect("no model panics while it holds a lock")
        }
    }

    /// loom's condition variable with the interface of `parking_lot`'s.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            // loom takes the guard by value and gives it back; between the two nobody looks.
            // SAFETY: `guard` is overwritten before anyone can use it again, and loom's `wait`
            // does not unwind inside a model that goes on.
            let taken = unsafe { std::ptr::read(guard) };
            let back = self.0.wait(taken).expect("no model panics while it holds a lock");
            // SAFETY: the old value was moved out above, so nothing is dropped twice.
            unsafe { std::ptr::write(guard, back) };
        }

        pub(crate) fn wait_for<T>(
            &self,
            guard: &mut MutexGuard<'_, T>,
            _timeout: std::time::Duration,
        ) {
            self.wait(guard);
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }
    }
}

/// A value alone on its cache lines: two of them, for the prefetcher fetches lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
