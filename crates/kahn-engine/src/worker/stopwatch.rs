//! How long processes run: all polls are measured, or some.
//!
//! Two readings of the clock cost as much as a short poll. One poll in sixteen, counted sixteen
//! times, gives the same sums in the long run, if which one it is has nothing to do with the
//! processes: a fixed stride would meet the same ones of a ring again and again, so the distance
//! to the next is drawn.
//!
//! # Time that the thread did not run
//!
//! A poll is a slice between two readings of the cycle counter, which goes on while the system runs
//! other threads. So the thread's own clock is read as well, once in [`PERIOD`]: at the end of the
//! first slice that ends so long after the last reading. By how much less than the counter it has
//! gone on is what the thread did not run, and is taken off that slice. All slices before it were
//! over within a period, so a slice that was put aside for longer is this one; and a pause that is
//! shorter is taken off whichever slice the period ends in, which is a matter of its length alone.
//!
//! Between the slices of a worker that sleeps, the thread does not run either: a worker that
//! has slept says so ([`Stopwatch::restart`]), and the first slice begins with a reading.

use crate::sync::system::clock;
use kahn_report::observe::Slice;
use std::cell::Cell;
use std::time::Duration;

/// How often the thread's own clock is read: it takes forty times as long as the cycle counter.
const PERIOD: Duration = Duration::from_millis(1);

/// Measures the polls of one worker.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// Every poll is measured.
    all: bool,
    /// Polls until the next sample.
    left: Cell<u32>,
    state: Cell<u32>,
    /// When the slice began that is measured; 0 without one.
    since: Cell<u64>,
    /// [`PERIOD`] in ticks; 0 before the first slice.
    period: Cell<u64>,
    read: Cell<Reading>,
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The cycle counter; 0: there is no reading.
    ticks: u64,
    /// The thread's own clock, in nanoseconds.
    ran: u64,
}

impl Reading {
    const NONE: Self = Self { ticks: 0, ran: 0 };

    fn at(ticks: u64) -> Option<Self> {
        Some(Self { ticks, ran: clock::of_this_thread()? })
    }

    /// Ticks between two readings in which the thread did not run.
    fn lost_until(self, later: Self) -> u64 {
        let ran = Duration::from_nanos(later.ran.saturating_sub(self.ran));
        (later.ticks - self.ticks).saturating_sub(clock::from_duration(ran))
    }
}

/// One poll in so many is a sample, on average.
const EVERY: u64 = 16;

impl Stopwatch {
    pub(crate) fn new(worker: usize, all: bool) -> Self {
        let seed = u32::try_from(worker).unwrap_or(0).wrapping_mul(0x9e37_79b9);
        Self {
            all,
            left: Cell::new(1),
            state: Cell::new(seed | 1),
            since: Cell::new(0),
            period: Cell::new(0),
            read: Cell::new(Reading::NONE),
        }
    }

    /// Reads the clock before a poll; 0 if this poll is not measured.
    #[inline(always)]
    pub(crate) fn start(&self) -> u64 {
        if !self.all && !self.takes_next() {
            self.since.set(0);
            return 0;
        }
        let now = clock::ticks();
        if now - self.read.get().ticks > self.period.get() {
            self.begin_period(now);
        }
        self.since.set(now);
        now
    }

    /// What has passed since [`start`](Self::start), if this poll is measured.
    #[inline(always)]
    pub(crate) fn stop(&self) -> Option<Slice> {
        let from = self.since.get();
        if from == 0 {
            return None;
        }
        let until = clock::ticks();
        let mut ran = until - from;
        if until - self.read.get().ticks > self.period.get() {
            ran = ran.saturating_sub(self.end_period(until));
        }
        Some(Slice { from, until, ran })
    }

    /// How many polls one that is measured stands for.
    pub(crate) fn weight(&self) -> u64 {
        if self.all { 1 } else { EVERY }
    }

    /// The worker has slept since the last poll.
    pub(crate) fn restart(&self) {
        self.read.set(Reading::NONE);
    }

    #[cold]
    fn begin_period(&self, now: u64) {
        if self.period.get() == 0 {
            self.period.set(clock::about(PERIOD));
        }
        self.read.set(Reading::at(now).unwrap_or(Reading::NONE));
    }

    /// Ticks of the period in which the thread did not run; the next one begins.
    #[cold]
    fn end_period(&self, now: u64) -> u64 {
        let before = self.read.get();
        self.begin_period(now);
        if before.ticks == 0 { 0 } else { before.lost_until(self.read.get()) }
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
