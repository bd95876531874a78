//! What may still act, counted in one word.
//!
//! ```text
//!   63                    32 31                     0
//!   ┌───────────────────────┬───────────────────────┐
//!   │ pending               │ busy                  │
//!   └───────────────────────┴───────────────────────┘
//! ```
//!
//! | what | is counted | from | until |
//! |---|---|---|---|
//! | a worker that is awake, the thread of a blocking process, a party that computes | busy | what wakes it does so | it goes to sleep |
//! | a process that waits for a foreign waker, a party that may cancel | pending | before it stops being busy | another is busy in its place |
//!
//! What wakes another counts it before it stops being counted itself, and both moves between
//! the columns count the new before they leave the old. So while anything can act the word is not
//! zero, and once it is zero it stays so: one load that finds zero is proof that nothing can act.
//!
//! *Why one word.* Two counters cannot be read at one moment. A thread that reads `pending` while the last
//! of them is busy for a while, and then `busy` when that one is pending again, finds zero twice and
//! gives a verdict on a network that can go on. Neither order of the two reads is right.

use crate::sync::{AtomicU64, Ordering::*};

const BUSY: u64 = 1;
const PENDING: u64 = 1 << 32;
const ALL_BUSY: u64 = PENDING - 1;

/// How many may still act. See the module's table.
///
/// # Examples
///
/// ```
/// use kahn_engine::sleep::activity::ActivityCount;
///
/// let activity = ActivityCount::of(1);
/// activity.expect(); // it may be woken from outside
/// assert!(activity.go_idle(), "it was the last that was busy");
/// assert!(!activity.is_busy() && !activity.is_over());
/// activity.wake();
/// activity.settle();
/// assert!(activity.go_idle() && activity.is_over());
/// ```
#[derive(Debug)]
pub struct ActivityCount(AtomicU64);

// SeqCst throughout, for nothing here is frequent: the counts are read beside the queues and the
// lists of sleepers, which have orders of their own.
impl ActivityCount {
    #[inline]
    pub(crate) fn new() -> Self {
        Self::of(0)
    }

    /// Counts so many as busy from the outset.
    #[must_use]
    pub fn of(busy: usize) -> Self {
        Self(AtomicU64::new(BUSY * busy as u64))
    }

    /// So many are busy from now on.
    #[inline]
    pub(crate) fn start(&self, count: usize) {
        self.0.fetch_add(BUSY * count as u64, SeqCst);
    }

    /// So many that were counted as busy never began.
    #[inline]
    pub(crate) fn withdraw(&self, count: usize) {
        self.0.fetch_sub(BUSY * count as u64, SeqCst);
    }

    /// One is busy from now on.
    #[inline]
    pub fn wake(&self) {
        self.start(1);
    }

    /// One stops being busy; `true` if it was the last.
    #[inline]
    #[must_use = "the last one has to look whether anything can go on"]
    pub fn go_idle(&self) -> bool {
        self.0.fetch_sub(BUSY, SeqCst) & ALL_BUSY == BUSY
    }

    /// One may be woken from outside; said while it is still busy.
    #[inline]
    pub fn expect(&self) {
        self.0.fetch_add(PENDING, SeqCst);
    }

    /// One need not be waited for any more; said when it is busy again, or never will be.
    #[inline]
    pub fn settle(&self) {
        self.0.fetch_sub(PENDING, SeqCst);
    }

    /// Whether anything is busy.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.0.load(SeqCst) & ALL_BUSY != 0
    }

    /// Whether nothing can act any more, now or ever.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.0.load(SeqCst) == 0
    }

    /// How many may be woken from outside, if nothing is busy at this moment.
    #[inline]
    pub fn pending_at_rest(&self) -> Option<u64> {
        let word = self.0.load(SeqCst);
        (word & ALL_BUSY == 0).then_some(word / PENDING)
    }

    /// How many may be woken from outside.
    #[inline]
    #[cfg(loom)]
    pub(crate) fn pending(&self) -> u64 {
        self.0.load(SeqCst) / PENDING
    }
}
