//! The word of a channel: a short lock with flags, which a process that sleeps leaves to its partner.
//!
//! ```text
//!                                  2      1        0
//!   ┌──────────────────────────────┬──────┬────────┐
//!   │ flags of what is behind it   │ LEFT │ LOCKED │
//!   └──────────────────────────────┴──────┴────────┘
//! ```
//!
//! | word | means | changed by | how |
//! |---|---|---|---|
//! | 0, or the flag of a buffer that is empty, or full | no process waits, no thread is behind it | the first party's worker, when the poll has returned: a receiver's if it is empty, a sender's if it is full | compare-and-swap to the same + `LEFT` + its side |
//! | the same + `LEFT` + a side | a process sleeps at that side, for this alone, and cannot be ended; what is behind the word, its buffer too, is its partner's | the partner, while it runs | load, then a plain store |
//! | flags | anything else: an end is gone, a buffer, an offer, a sender that is held | any thread | compare-and-swap to flags + `LOCKED` |
//! | flags + `LOCKED` | a thread is behind it, for a few instructions | that thread | store |
//!
//! **One read-modify-write for a meeting.** The first party leaves the word to the second with one; the
//! second needs none, for nothing but itself may change the word:
//!
//! - *Not the sleeper*: it runs again only when its partner has made it ready, which comes after the
//!   partner has changed the word. What may be ended meanwhile, or has a thread of its own that the end
//!   of the run wakes, does not leave the word but enters behind the lock.
//! - *Not others*: each end is one process's at a time, so there is one partner. A thread that only
//!   looks ([`lock_to_look`](Word::lock_to_look)) never locks a word that is left.
//! - *Not a partner that finds nothing to do*: [`unlock`](Word::unlock) stores nothing while the word is
//!   left. So a release of a message, which may come on another thread beside the receiver itself, leaves
//!   the word as it was.
//! - *After the run* what sleeps yet is dropped by one thread, which takes its entry back. What was
//!   forgotten is struck out by the first that [locks it then](Word::lock_after_the_run).
//!
//! **Both come at once.** Both compare with what they have seen, so one of them loses; it finds the other when
//! it is polled again. Only that value is replaced, so no state is overwritten that was not seen. What was
//! seen of a buffer is still so: only the receiver empties one that is full, and only the sender fills
//! one that is empty, and that is the process which comes.
//!
//! **A buffer makes the sender of an empty one no slower.** Its receiver has left the word, so the message goes
//! from slot to slot, and the buffer is not touched. The receiver at a full one finds the word left, and
//! need not lock it to take the first message and put the sender's own behind the others.
//!
//! **What is handed over.** The exchange releases, and the partner's load acquires: the process has left
//! its poll, and its slot and header are complete. The exchange continues the release sequence of the
//! last holder of the lock, so what that one did is visible, too. The partner's store releases: the next
//! thread behind the lock sees what the two have done.

use kahn_engine::sync::{Access, AtomicU32, Ordering::*, pause};

/// A thread is behind it.
const LOCKED: u32 = 1;
/// A process sleeps there, and its partner is behind it.
pub(crate) const LEFT: u32 = 1 << 1;
/// The first bit that is free for flags.
pub(crate) const FIRST_FLAG: u32 = 1 << 2;

/// See the module.
#[derive(Debug)]
pub(crate) struct Word(AtomicU32);

impl Word {
    /// Makes a word with no thread behind it.
    pub(crate) fn new(flags: u32) -> Self {
        Self(AtomicU32::new(flags))
    }

    /// Reads the flags: a hint, for they may change at once.
    #[inline]
    pub(crate) fn peek(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Reads the flags. If they are [`LEFT`] to the caller's side, what is behind them is the caller's.
    #[inline(always)]
    pub(crate) fn look(&self) -> u32 {
        // Acquire pairs with the Release in `leave`.
        self.0.load(Acquire)
    }

    /// The first party: leaves the word to its partner, if it is 0.
    #[inline(always)]
    #[must_use = "a process that has not left it is not entered"]
    pub(crate) fn leave(&self, side: u32, access: Access) -> bool {
        self.leave_if(0, side, access)
    }

    /// The same, if it has just this flag of a buffer.
    #[inline(always)]
    #[must_use = "a process that has not left it is not entered"]
    pub(crate) fn leave_if(&self, buffer: u32, side: u32, access: Access) -> bool {
        if self.peek() != buffer {
            return false;
        }
        if access.is_alone() {
            self.0.store(buffer | side | LEFT, Relaxed);
            return true;
        }
        // Release hands over the process, which sleeps from now on.
        self.0.compare_exchange(buffer, buffer | side | LEFT, Release, Relaxed).is_ok()
    }

    /// The partner of the one that has left it: no process waits there any more; the flags of its buffer
    /// stay.
    #[inline(always)]
    pub(crate) fn clear(&self, buffer: u32) {
        // Release: what comes behind the lock next sees what was done.
        self.0.store(buffer, Release);
    }

    /// A party: goes behind it and returns the flags. If they are [`LEFT`], that is where it was.
    #[inline]
    pub(crate) fn lock(&self, access: Access) -> u32 {
        let seen = self.look();
        if access.is_alone() {
            debug_assert!(seen & LOCKED == 0, "one thread holds a lock for no time");
            return seen;
        }
        if seen & LEFT != 0 || self.close(seen) { seen } else { self.lock_slowly() }
    }

    /// The same for a thread that is no party; `None` if the word is left.
    pub(crate) fn lock_to_look(&self) -> Option<u32> {
        let flags = self.lock(Access::SHARED);
        (flags & LEFT == 0).then_some(flags)
    }

    /// Goes behind it when the run is over: a process that has left it to its partner was dropped or
    /// forgotten, and the flags of both sides are struck out.
    pub(crate) fn lock_after_the_run(&self, sides: u32) -> u32 {
        loop {
            let seen = self.lock(Access::SHARED);
            if seen & LEFT == 0 {
                return seen;
            }
            // Relaxed: nothing is done yet. If it fails, another thread does the same.
            let _ = self.0.compare_exchange(seen, seen & !(LEFT | sides), Relaxed, Relaxed);
        }
    }

    /// Locks what was seen open, if it has not changed since.
    #[inline(always)]
    fn close(&self, seen: u32) -> bool {
        // Acquire pairs with the Release in `unlock` and `clear`: what was done is visible.
        seen & LOCKED == 0 && self.0.compare_exchange(seen, seen | LOCKED, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slowly(&self) -> u32 {
        let mut spins = 0;
        loop {
            let seen = self.look();
            if seen & LEFT != 0 || self.close(seen) {
                return seen;
            }
            pause(&mut spins);
        }
    }

    /// The one that is behind it: leaves, with new flags.
    #[inline]
    pub(crate) fn unlock(&self, flags: u32) {
        debug_assert!(flags & LOCKED == 0, "the lock is no flag");
        // What is left may be another's by now.
        if flags & LEFT == 0 {
            // Release: the next one sees what this one did.
            self.0.store(flags, Release);
        }
    }
}
