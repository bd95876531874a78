//! A lock that one thread has for itself as long as no other comes.
//!
//! The only worker takes it a million times a second, and a thread that looks at the run
//! once in a while. So the lock is *owned* by that worker, which takes it without a read-modify-write, and
//! a thread that comes takes it away first.
//!
//! | step | the owner, alone | any other thread |
//! |---|---|---|
//! | 1 | `inside` = 1 | locks the mutex |
//! | 2 | light fence | `owned`? 0, heavy fence, spins while `inside` is 1 (Acquire) |
//! | 3 | `owned`? does what it wants; else leaves and goes the other way | does what it wants |
//! | 4 | `inside` = 0 (Release) | unlocks the mutex |
//!
//! `owned` is written by the one that has the mutex: 0 by step 2, 1 by the owner when it has come
//! [`QUIET`] times and found that no other had. The race to fear: both do what they want at once. Then the
//! owner saw 1 after its fence, and the other saw `inside` at 0 after its own; but whichever fence
//! comes first, the thread behind the second sees what the first did before: either the owner
//! sees 0, or the other sees 1 and waits. What was done inside is handed over by the
//! Release of `inside`, and back by the mutex, which the owner took when it made the lock its own.
//!
//! Between 1 and 4 the owner waits for nothing that needs this lock, so the other waits for a moment only.
//! Where the system has no such fences (`system::fences`), the lock is never owned, and not before it has set them up.

use super::system::fences;
use super::{Access, AtomicBool, Mutex, MutexGuard, Ordering::*, PlainAtomicU32, pause};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// So often the owner finds that no other has come, before the lock is its own.
const QUIET: u32 = if cfg!(loom) { 1 } else { 1024 };

/// A lock that one thread has for itself as long as no other comes. See the module.
pub struct BiasedLock<T> {
    inside: AtomicBool,
    owned: AtomicBool,
    /// How often the owner has come since another did; behind the mutex.
    quiet: PlainAtomicU32,
    mutex: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is touched by one thread at a time, as the module says.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedLock").field("owned", &self.owned).finish_non_exhaustive()
    }
}

/// What is behind a [`BiasedLock`], which is let go when this is dropped.
#[must_use = "the lock is held as long as this lives"]
pub struct BiasedGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    /// None for the owner, which is inside.
    mutex: Option<MutexGuard<'a, ()>>,
}

impl<T: fmt::Debug> fmt::Debug for BiasedGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> BiasedLock<T> {
    /// Makes a lock that no thread owns.
    pub fn new(value: T) -> Self {
        Self {
            inside: AtomicBool::new(false),
            owned: AtomicBool::new(false),
            quiet: PlainAtomicU32::new(0),
            mutex: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks it, as any thread may.
    pub fn lock(&self) -> BiasedGuard<'_, T> {
        self.lock_with_others(Access::Shared)
    }

    /// Locks it. What is [alone](Access::Alone) is the owner: one thread, or several that hand that on.
    #[inline]
    pub fn lock_as(&self, access: Access) -> BiasedGuard<'_, T> {
        if access.is_alone() {
            debug_assert!(
                cfg!(loom) || !self.inside.load(Relaxed),
                "the owner comes once at a time"
            );
            self.inside.store(true, Relaxed);
            fences::light();
            // Relaxed: what others did was acquired when the lock was made the owner's.
            if self.owned.load(Relaxed) {
                return BiasedGuard { lock: self, mutex: None };
            }
            self.inside.store(false, Relaxed);
        }
        self.lock_with_others(access)
    }

    #[inline(never)]
    fn lock_with_others(&self, access: Access) -> BiasedGuard<'_, T> {
        let mutex = self.mutex.lock();
        if access.is_alone() {
            let quiet = self.quiet.load(Relaxed) + 1;
            self.quiet.store(quiet % QUIET, Relaxed);
            if quiet == QUIET && fences::are_there() {
                self.owned.store(true, Relaxed);
            }
        } else {
            self.quiet.store(0, Relaxed);
            if self.owned.load(Relaxed) {
                self.take_away();
            }
        }
        BiasedGuard { lock: self, mutex: Some(mutex) }
    }

    #[cold]
    fn take_away(&self) {
        self.owned.store(false, Relaxed);
        fences::heavy();
        let mut spins = 0;
        // Acquire pairs with the Release of the owner that leaves.
        while self.inside.load(Acquire) {
            pause(&mut spins);
        }
    }
}

impl<T> Deref for BiasedGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for BiasedGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed for it.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for BiasedGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            // Release pairs with the Acquire of a thread that takes the lock away.
            self.lock.inside.store(false, Release);
        }
    }
}
