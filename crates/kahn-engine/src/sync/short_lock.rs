//! A lock of one word that also tells, to a thread that only looks, what is behind it.
//!
//! ```text
//!                                  1        0
//!   ┌───────────────────────────────┬────────┐
//!   │ flags of what is behind it    │ LOCKED │
//!   └───────────────────────────────┴────────┘
//! ```
//!
//! | step | thread | does |
//! |---|---|---|
//! | peek | any | reads the flags: a hint, for they may change at once |
//! | lock | any, for a few instructions | compare-and-swap `flags` to `flags + LOCKED` |
//! | unlock | the one that locked it | stores the new flags |
//!
//! Behind a lock stand plain cells. It is held for a handful of instructions: nothing waits, makes a
//! process ready or runs a user's code with it, so spinning is right.
//!
//! *Alone.* In single-threaded mode nothing happens between two instructions, so the lock is never
//! found locked, and locking is a plain load.

use super::{Access, AtomicU8, AtomicU32, Ordering::*, spin_loop, thread};

/// Spins before the thread gives its core to others: the holder may have none.
const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };

macro_rules! short_lock {
    ($name:ident, $atomic:ty, $flags:ty, $text:literal) => {
        #[doc = $text]
        #[derive(Debug)]
        pub struct $name($atomic);

        impl $name {
            /// Held by a thread.
            const LOCKED: $flags = 1;

            /// The first bit that is free for flags.
            pub const FIRST_FLAG: $flags = 1 << 1;

            /// Makes a lock that is not held, with these flags.
            pub fn new(flags: $flags) -> Self {
                debug_assert!(flags & Self::LOCKED == 0, "a lock begins open");
                Self(<$atomic>::new(flags))
            }

            /// Reads the flags; they may have changed when this returns. What the last holder did may not
            /// be visible: a thread that acts on the flags takes the lock first.
            #[inline]
            pub fn peek(&self) -> $flags {
                self.0.load(Relaxed)
            }

            /// The same, and what was done before the flags were set is visible.
            #[inline]
            pub fn peek_after(&self) -> $flags {
                // Acquire pairs with the Release in `unlock`.
                self.0.load(Acquire)
            }

            /// Locks it and returns the flags.
            #[inline]
            pub fn lock(&self, access: Access) -> $flags {
                let seen = self.0.load(Relaxed);
                if access.is_alone() {
                    debug_assert!(seen & Self::LOCKED == 0, "one thread holds a lock for no time");
                    return seen;
                }
                if self.close(seen) { seen } else { self.lock_slowly() }
            }

            /// The same if it is open, and no other thread comes at this moment.
            #[inline]
            pub fn try_lock(&self, access: Access) -> Option<$flags> {
                let seen = self.0.load(Relaxed);
                (access.is_alone() || self.close(seen)).then_some(seen)
            }

            /// Locks what was seen open, if it has not changed since.
            #[inline(always)]
            fn close(&self, seen: $flags) -> bool {
                let locked = seen | Self::LOCKED;
                // Acquire pairs with the Release in `unlock`: what the last holder did is visible.
                seen & Self::LOCKED == 0
                    && self.0.compare_exchange(seen, locked, Acquire, Relaxed).is_ok()
            }

            #[cold]
            fn lock_slowly(&self) -> $flags {
                let mut spins = 0;
                loop {
                    if let Some(flags) = self.try_lock(Access::SHARED) {
                        return flags;
                    }
                    pause(&mut spins);
                }
            }

            /// Unlocks it with new flags; for the thread that locked it.
            #[inline]
            pub fn unlock(&self, flags: $flags) {
                debug_assert!(flags & Self::LOCKED == 0, "the lock is no flag");
                // Release: the next holder sees what this one did.
                self.0.store(flags, Release);
            }
        }
    };
}

short_lock!(
    ShortLock8,
    AtomicU8,
    u8,
    "A lock with seven flags, in a byte. See the module's table."
);
short_lock!(ShortLock32, AtomicU32, u32, "A lock with 31 flags. See the module's table.");

/// Waits a moment for something that another thread is about to do.
#[inline]
pub fn pause(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(SPINS) {
        thread::yield_now();
    } else {
        spin_loop();
    }
}
