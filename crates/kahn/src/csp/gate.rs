//! A lock of one word that also says, to whoever only looks, what is behind it.
//!
//! ```text
//!   31                              1        0
//!   ┌───────────────────────────────┬────────┐
//!   │ flags of what is behind it    │ LOCKED │
//!   └───────────────────────────────┴────────┘
//! ```
//!
//! | step | who | does |
//! |---|---|---|
//! | peek | anyone | reads the flags: a hint, for they may change at once |
//! | lock | anyone, for a few instructions | CAS `flags` → `flags + LOCKED` |
//! | unlock | who locked it | stores the new flags |
//!
//! Behind a gate stand plain cells. It is held for a handful of instructions: nobody waits, makes a
//! process ready or runs a user's code with it, so spinning is right. The one exception, a holder
//! that waits for another's `BUSY` offer, is bounded by the order of offers: see `offer`.
//!
//! *Alone.* In a network with one worker and nobody else nothing happens between two instructions
//! of a process, so the gate is never found locked and locking is a plain load.

use kahn_engine::sync::{AtomicU32, Ordering::*, spin_loop, thread};

const LOCKED: u32 = 1;
/// The first bit that is free for flags.
pub(super) const FIRST_FLAG: u32 = 1;
/// Spins before the thread gives its core to others: the holder may have none.
const SPINS: u32 = if cfg!(loom) { 1 } else { 64 };

/// A lock and flags in one word. See the module's table.
#[derive(Debug)]
pub(super) struct Gate(AtomicU32);

impl Gate {
    pub(super) fn new(flags: u32) -> Self {
        debug_assert!(flags & LOCKED == 0, "a gate begins open");
        Self(AtomicU32::new(flags))
    }

    /// Reads the flags; they may have changed when this returns.
    #[inline]
    pub(super) fn peek(&self) -> u32 {
        // Relaxed: whoever acts on it locks the gate first.
        self.0.load(Relaxed)
    }

    /// Locks the gate and returns the flags.
    #[inline]
    pub(super) fn lock(&self, alone: bool) -> u32 {
        let seen = self.0.load(Relaxed);
        if alone {
            debug_assert!(seen & LOCKED == 0, "one thread holds a gate for no time");
            return seen;
        }
        if self.close(seen) { seen } else { self.lock_slowly() }
    }

    /// The same if the gate is open, and nobody else comes at this moment.
    #[inline]
    pub(super) fn try_lock(&self, alone: bool) -> Option<u32> {
        let seen = self.0.load(Relaxed);
        (alone || self.close(seen)).then_some(seen)
    }

    /// Closes a gate that was seen open, if it has not changed since.
    #[inline(always)]
    fn close(&self, seen: u32) -> bool {
        // Acquire pairs with the Release in `unlock`: what the last holder did is visible.
        seen & LOCKED == 0 && self.0.compare_exchange(seen, seen | LOCKED, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slowly(&self) -> u32 {
        let mut spins = 0;
        loop {
            if let Some(flags) = self.try_lock(false) {
                return flags;
            }
            pause(&mut spins);
        }
    }

    /// Opens the gate with new flags; only who locked it may.
    #[inline]
    pub(super) fn unlock(&self, flags: u32) {
        debug_assert!(flags & LOCKED == 0, "the lock is no flag");
        // Release: the next holder sees what we did.
        self.0.store(flags, Release);
    }
}

/// Waits a moment for something that another thread is about to do.
#[inline]
pub(super) fn pause(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(SPINS) {
        thread::yield_now();
    } else {
        spin_loop();
    }
}
