//! How long processes run: all polls are measured, or some.
//!
//! Two readings of the clock cost as much as a short poll. One poll in sixteen, counted sixteen
//! times, gives the same sums in the long run, if which one it is has nothing to do with the
//! processes: a fixed stride would meet the same ones of a ring again and again, so the distance
//! to the next is drawn.

use crate::sync::system::clock;
use crate::sync::{AtomicU64, Ordering::*};
use std::cell::Cell;

/// Measures the polls of one worker.
#[derive(Debug)]
pub(super) struct Stopwatch {
    /// Every poll is measured.
    all: bool,
    /// Polls until the next sample.
    left: Cell<u32>,
    state: Cell<u32>,
}

/// One poll in so many is a sample, on average.
const EVERY: u64 = 16;

impl Stopwatch {
    pub(super) fn new(worker: usize, all: bool) -> Self {
        let seed = u32::try_from(worker).unwrap_or(0).wrapping_mul(0x9e37_79b9);
        Self { all, left: Cell::new(1), state: Cell::new(seed | 1) }
    }

    /// Reads the clock before a poll; 0 if this poll is not measured.
    pub(super) fn start(&self) -> u64 {
        if self.all || self.takes_next() { clock::ticks() } else { 0 }
    }

    /// Adds to the time of a process what has passed since [`start`](Self::start), if not 0.
    #[inline]
    pub(super) fn stop(&self, since: u64, busy: &AtomicU64) {
        if since != 0 {
            let weight = if self.all { 1 } else { EVERY };
            // Relaxed, and no read-modify-write: only the holder of the process writes.
            busy.store(busy.load(Relaxed) + (clock::ticks() - since) * weight, Relaxed);
        }
    }

    /// Whether the next poll is a sample.
    fn takes_next(&self) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        if left > 0 {
            return false;
        }
        // The xorshift generator of Marsaglia (2003).
        let mut state = self.state.get();
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        self.state.set(state);
        // 1 to 31, each as likely as the others: 16 on average.
        self.left.set(1 + (state >> 8) % 31);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_poll_in_sixteen_is_taken_and_none_is_preferred() {
        let stopwatch = Stopwatch::new(3, false);
        let mut taken = [0_u32; 16];
        for poll in 0..160_000 {
            taken[poll % 16] += u32::from(stopwatch.takes_next());
        }
        // 625 each on average.
        assert!(taken.iter().all(|count| (500..750).contains(count)), "{taken:?}");
    }
}
