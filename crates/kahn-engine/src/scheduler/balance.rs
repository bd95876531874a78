//! When a policy is asked anew where processes belong.

use crate::scheduler::Scheduler;
use crate::sync::system::clock;
use crate::sync::{AtomicU64, Mutex, Ordering::*};
use std::time::Duration;

/// Idle time is at least so many times what it cost to ask.
const THRIFT: u32 = 10;

/// What is known about sharing out.
///
/// # Examples
///
/// ```
/// use kahn_engine::scheduler::Balance;
/// use std::time::Duration;
///
/// let balance = Balance::new(Duration::from_millis(10));
/// assert_eq!(balance.counts().asked, 0);
/// ```
#[derive(Debug)]
pub struct Balance {
    tau: Duration,
    /// The idle ticks of all workers when the policy was last asked.
    idle_before: AtomicU64,
    counts: Mutex<BalanceCounts>,
}

/// What sharing out anew came to.
///
/// # Examples
///
/// ```
/// use kahn_engine::scheduler::BalanceCounts;
///
/// let counts = BalanceCounts::default();
/// assert_eq!((counts.asked, counts.changed, counts.moved), (0, 0, 0));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BalanceCounts {
    /// Times the policy was asked.
    pub asked: u64,
    /// Times it changed something.
    pub changed: u64,
    /// Processes that were to move.
    pub moved: u64,
    /// Time spent.
    pub cost: Duration,
    /// Time the last one took.
    last_cost: Duration,
}

impl Balance {
    /// Asks after so much idle time.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_engine::scheduler::Balance;
    /// use std::time::Duration;
    ///
    /// let balance = Balance::new(Duration::from_secs(1));
    /// assert!(balance.counts().cost.is_zero());
    /// ```
    pub fn new(tau: Duration) -> Self {
        Self { tau, idle_before: AtomicU64::new(0), counts: Mutex::new(BalanceCounts::default()) }
    }

    /// Returns what it came to so far.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_engine::scheduler::Balance;
    /// use std::time::Duration;
    ///
    /// let counts = Balance::new(Duration::from_secs(1)).counts();
    /// assert_eq!(counts.moved, 0);
    /// ```
    pub fn counts(&self) -> BalanceCounts {
        *self.counts.lock()
    }
}

impl Scheduler {
    /// Idle ticks of all workers so far.
    fn idle_ticks(&self) -> u64 {
        let now = clock::ticks();
        let slots = self.slots().iter().map(|slot| {
            let since = slot.times.idle_since.load(Relaxed);
            let running = if since == 0 { 0 } else { now.saturating_sub(since) };
            slot.times.idle.load(Relaxed) + running
        });
        slots.sum()
    }

    /// Asks the policy where processes belong, if workers have been idle for long enough.
    pub(crate) fn share_out_if_due(&self) {
        let Some(balance) = &self.config().balance else { return };
        // A worker that finds another at it has better things to do.
        let Some(mut counts) = balance.counts.try_lock() else { return };
        // Relaxed: written under the lock. Others' idle times are hints.
        let idle = self.idle_ticks().saturating_sub(balance.idle_before.load(Relaxed));
        if clock::to_duration(idle) < balance.tau.max(counts.last_cost * THRIFT) {
            return;
        }
        let since = clock::ticks();
        let moved = self.hooks().share_out();
        let cost = clock::to_duration(clock::ticks() - since);
        counts.asked += 1;
        counts.changed += u64::from(moved.is_some());
        counts.moved += moved.unwrap_or(0);
        counts.cost += cost;
        counts.last_cost = cost;
        balance.idle_before.store(self.idle_ticks(), Relaxed);
    }
}
