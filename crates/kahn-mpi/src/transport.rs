//! Bytes between ranks as messages of MPI: [`Parcels`], and when the thread that makes the calls looks and sleeps: that of
//! the transport, or the worker of a rank that has one core.

#![expect(clippy::disallowed_methods, reason = "how long it looks is no input of a network")]

use crate::calls::{Mpi, abort};
use kahn_net::{Event, Parcels, Sizes, Transport};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long it looks for what comes before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// It sleeps for so large a part of the time in which nothing came: what comes then comes later by that part at most.
const PART: u32 = 16;

/// And not for longer: as long as a rank rests at most between two looks for chains of waits, for which it wakes anyway.
const LONGEST_NAP: Duration = Duration::from_millis(64);

/// Wakes the thread of the transport.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    has_rung: Mutex<bool>,
    rung: Condvar,
    /// The job is to end at once, for this rank cannot go on.
    aborts: AtomicBool,
    /// The most parcels that were under way to a rank at once.
    most_under_way: AtomicU64,
}

impl Bell {
    /// Has the thread look, at once if it stands behind the caller on one core: what a worker has sent goes while that
    /// computes what is next. Where there are cores for all, that is a call that does nothing.
    pub(crate) fn ring(&self) {
        *self.has_rung.lock() = true;
        self.rung.notify_one();
        std::thread::yield_now();
    }

    /// The most parcels that were under way to a rank at once.
    pub(crate) fn most_under_way(&self) -> u64 {
        self.most_under_way.load(Relaxed)
    }

    /// Has the thread end the job.
    pub(crate) fn abort(&self) {
        self.aborts.store(true, Relaxed);
        self.ring();
    }

    /// Ends the job, if it is to end: by the thread of the transport.
    pub(crate) fn heed(&self) {
        // Nothing is read by it but itself.
        if self.aborts.load(Relaxed) {
            abort(1);
        }
    }

    /// Sleeps until it rings, or for so long; whether it has rung.
    fn wait(&self, most: Duration) -> bool {
        let mut has_rung = self.has_rung.lock();
        if !*has_rung && !most.is_zero() {
            self.rung.wait_for(&mut has_rung, most);
        }
        std::mem::take(&mut has_rung)
    }
}

/// The ranks of a job, for one run after the other.
pub(crate) struct MpiTransport {
    parcels: Parcels<Mpi>,
    bell: Arc<Bell>,
    idle_since: Instant,
}

impl MpiTransport {
    pub(crate) fn new(mpi: Mpi, bell: Arc<Bell>) -> Self {
        let parcels = Parcels::of(mpi, Sizes::default());
        Self { parcels, bell, idle_since: Instant::now() }
    }

    /// Waits until all ranks have received all that was sent to them in this run, and so until the next can begin.
    pub(crate) fn finish(&mut self) {
        loop {
            self.bell.heed();
            let end = self.parcels.end_run();
            self.tell_most();
            if end.is_over {
                return;
            }
            if end.has_come {
                self.idle_since = Instant::now();
            } else {
                self.sleep(Duration::from_millis(1));
            }
        }
    }

    /// Ends MPI.
    pub(crate) fn end(mut self) {
        self.finish();
        self.parcels.into_messages().end();
    }

    fn tell_most(&self) {
        // A figure: nothing is read by it.
        self.bell.most_under_way.store(self.parcels.most_under_way(), Relaxed);
    }

    /// Looks for what comes for a while, and sleeps then: MPI has nothing that could wake it.
    fn sleep(&mut self, most: Duration) {
        let idle = self.idle_since.elapsed();
        if idle < SPIN {
            // Another rank, or a worker of this one, may need the core.
            std::thread::yield_now();
            self.bell.wait(Duration::ZERO);
        } else if self.bell.wait(nap(idle).min(most)) {
            self.idle_since = Instant::now();
        }
    }
}

impl Transport for MpiTransport {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        self.idle_since = Instant::now();
        self.parcels.send(to, bytes);
        self.tell_most();
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        self.bell.heed();
        match self.parcels.receive(into) {
            Some(from) => {
                self.idle_since = Instant::now();
                // A window may have opened.
                self.tell_most();
                Event::Bytes(from)
            }
            None => Event::Nothing,
        }
    }

    fn wait(&mut self, most: Duration) {
        self.sleep(most);
    }

    fn longest_wait(&self) -> Duration {
        LONGEST_NAP
    }
}

/// How long it sleeps when nothing has come for so long.
fn nap(idle: Duration) -> Duration {
    (idle / PART).max(SPIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_longer_the_longer_nothing_comes_and_for_a_small_part_of_that() {
        let (mut idle, mut naps) = (SPIN, 0);
        while idle < Duration::from_secs(1) {
            assert!(nap(idle) == SPIN || nap(idle) * PART <= idle, "after {idle:?}");
            idle += nap(idle);
            naps += 1;
        }
        assert!(naps < 200, "it wakes {naps} times in the first second");
    }
}
