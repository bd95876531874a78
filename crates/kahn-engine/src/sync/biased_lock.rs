//! A lock that one thread has for itself as long as no other comes.
//!
//! One worker takes it a million times a second, and another worker, or a thread that looks at the run,
//! once in a while. So the lock is *owned* by that worker, which takes it without a read-modify-write, and
//! a thread that comes takes it away first. What is alone may own it, and the workers with the smallest numbers: [`OWNERS`] in all.
//!
//! | step | the owner | any other thread |
//! |---|---|---|
//! | 1 | its `inside` = 1 | locks the mutex |
//! | 2 | light fence | `owner` is another? none, heavy fence, spins while the `inside` of that one is 1 (Acquire) |
//! | 3 | `owner` is itself? does what it wants; else `inside` = 0, and goes the other way | does what it wants |
//! | 4 | `inside` = 0 (Release) | unlocks the mutex |
//!
//! `owner` is written by the one that has the mutex: none by step 2, itself by a worker that has come
//! [`QUIET`] times in a row. So none but a worker itself makes it the owner, and its `inside` is written by none
//! but itself: what one does that was the owner until just now touches nothing of the next.
//!
//! The race to fear: both do what they want at once. Then the
//! owner saw itself after its fence, and the other saw `inside` at 0 after its own; but whichever fence
//! comes first, the thread behind the second sees what the first did before: either the owner
//! sees that it is none, or the other sees 1 and waits. What was done inside is handed over by the
//! Release of `inside`, and back by the mutex, which the owner took when it made the lock its own.
//!
//! Between 1 and 4 the owner waits for nothing that needs this lock, so the other waits for a moment only.
//! Where the system has no such fences (`system::fences`), the lock is never owned, and not before it has set them up.

use super::system::fences;
use super::{
    Access, AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering::*, PlainAtomicU32,
    PlainAtomicUsize, pause,
};
use std::array;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

/// So often a worker comes, and no other thread meanwhile, before the lock is its own.
const QUIET: u32 = if cfg!(loom) { 1 } else { 1024 };
/// So many may own a lock: what is alone, and the workers with the smallest numbers.
pub(super) const OWNERS: usize = if cfg!(loom) { 3 } else { 64 };
/// No thread owns it.
const NONE: usize = usize::MAX;

/// A lock that one thread has for itself as long as no other comes. See the module.
pub struct BiasedLock<T> {
    owner: AtomicUsize,
    inside: [AtomicBool; OWNERS],
    /// What came last, and how often it has come since another did; behind the mutex.
    last: PlainAtomicUsize,
    quiet: PlainAtomicU32,
    mutex: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is touched by one thread at a time, as the module says.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

impl<T> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedLock").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// What is behind a [`BiasedLock`], which is let go when this is dropped.
#[must_use = "the lock is held as long as this lives"]
pub struct BiasedGuard<'a, T> {
    lock: &'a BiasedLock<T>,
    /// The owner's that is inside; a thread that is not has the mutex.
    inside: Option<&'a AtomicBool>,
    mutex: MaybeUninit<MutexGuard<'a, ()>>,
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
            owner: AtomicUsize::new(NONE),
            inside: array::from_fn(|_| AtomicBool::new(false)),
            last: PlainAtomicUsize::new(NONE),
            quiet: PlainAtomicU32::new(0),
            mutex: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks it, as any thread may.
    pub fn lock(&self) -> BiasedGuard<'_, T> {
        self.lock_with_others(Access::SHARED)
    }

    /// Locks it as a thread that may be the owner. What is [alone](Access::ALONE) is one: a thread, or several that
    /// hand that on.
    #[inline]
    pub fn lock_as(&self, access: Access) -> BiasedGuard<'_, T> {
        if let Some(inside) = self.inside.get(access.owner()) {
            debug_assert!(cfg!(loom) || !inside.load(Relaxed), "the owner comes once at a time");
            inside.store(true, Relaxed);
            fences::light();
            // Relaxed: what others did was acquired when the lock was made the owner's.
            if self.owner.load(Relaxed) == access.owner() {
                let mutex = MaybeUninit::uninit();
                return BiasedGuard { lock: self, inside: Some(inside), mutex };
            }
            inside.store(false, Relaxed);
        }
        self.lock_with_others(access)
    }

    #[inline(never)]
    fn lock_with_others(&self, access: Access) -> BiasedGuard<'_, T> {
        let mutex = MaybeUninit::new(self.mutex.lock());
        let (owner, comes) = (self.owner.load(Relaxed), access.owner());
        if owner != NONE && owner != comes {
            self.take_away(owner);
        }
        let is_again = self.last.load(Relaxed) == comes;
        let quiet = if is_again { self.quiet.load(Relaxed) + 1 } else { 1 };
        self.last.store(comes, Relaxed);
        self.quiet.store(quiet % QUIET, Relaxed);
        if quiet == QUIET && comes < OWNERS && fences::are_there() {
            self.owner.store(comes, Relaxed);
        }
        BiasedGuard { lock: self, inside: None, mutex }
    }

    #[cold]
    fn take_away(&self, owner: usize) {
        self.owner.store(NONE, Relaxed);
        fences::heavy();
        let mut spins = 0;
        // Acquire pairs with the Release of the owner that leaves.
        while self.inside[owner].load(Acquire) {
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
        match self.inside {
            // Release pairs with the Acquire of a thread that takes the lock away.
            Some(inside) => inside.store(false, Release),
            // SAFETY: a thread that is not inside has the mutex, which is unlocked once.
            None => unsafe { self.mutex.assume_init_drop() },
        }
    }
}
