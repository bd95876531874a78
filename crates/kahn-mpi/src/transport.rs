//! Bytes between ranks as messages of MPI.
//!
//! MPI keeps what has come and was not asked for, without bound. So bytes go in *parcels*, and between two ranks there is a
//! [`Window`]: a message ends with how many parcels its sender has received from the other, and at most [`WINDOW`]
//! are under way that the other has not told of.
//!
//! | a message is | its bytes | sent when |
//! |---|---|---|
//! | a parcel | at most [`MOST`] of the rank's, `received` and the number of the run | there are bytes to go, and the window is open |
//! | a receipt | `received` and the number of the run | `received` − `told` has come to half a window |
//!
//! *MPI keeps at most `WINDOW` parcels and three receipts of a pair.* A parcel that MPI has not given to its receiver
//! was not told of. A receipt is sent for half a window of parcels; for those, its receiver had taken all
//! receipts of the windows before, or could not have sent them.
//!
//! *Runs do not mix.* A rank comes to the barrier between two when all its parcels were told of, and drops what comes
//! there. A rank that has passed the barrier may begin the next run while others are yet to pass it; what it
//! sends has the number of that run, and is kept for it. What has the number of a run that is over is dropped.
//!
//! Parcels are memory that goes from hand to hand: what a rank has written becomes a parcel, and where that comes it is
//! read. Few bytes are copied instead, so that little memory is kept for them.
//!
//! Messages of one rank are received in the order in which they were sent, though several buffers wait for them:
//! MPI fills them in the order in which they were given, and they are looked at in that order.

#![expect(clippy::disallowed_methods, reason = "how long it looks is no input of a network")]

use crate::calls::{Mpi, ReceiveRequest, SendRequest, abort};
use kahn_net::{Event, Transport, Window};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Parcels under way to a rank of which it has not told.
pub(crate) const WINDOW: u64 = 8;

/// The most bytes of a parcel, besides its tail: two messages of 32 KiB that go together are one parcel.
pub(crate) const MOST: usize = 128 << 10;

/// `received` and the number of the run, eight bytes each.
const TAIL: usize = 16;

/// So few bytes are copied: a parcel of them takes MPI no question whether they may come.
const FEW: usize = 4 << 10;

/// Parcels whose memory is kept to be used again.
const SPARE: usize = 2 * 8;

/// Buffers that wait for what comes.
const BUFFERS: usize = 8;

/// How long it looks for what comes before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// It sleeps for so large a part of the time in which nothing came: what comes then comes later by that part at most.
const PART: u32 = 16;

/// And not for longer.
const LONGEST_NAP: Duration = Duration::from_millis(5);

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

/// What there is between this rank and another.
struct Pair {
    /// Parcels that are to go, the last of which may be filled yet; their tails are written when they go.
    out: VecDeque<Vec<u8>>,
    /// In the order in which they were given to MPI.
    under_way: VecDeque<SendRequest>,
    window: Window,
}

impl Default for Pair {
    fn default() -> Self {
        let (out, under_way) = Default::default();
        Self { out, under_way, window: Window::of(WINDOW) }
    }
}

/// The ranks of a job, for one run after the other.
pub(crate) struct MpiTransport {
    mpi: Mpi,
    bell: Arc<Bell>,
    pairs: Vec<Pair>,
    /// The one that is filled next is the first.
    buffers: VecDeque<ReceiveRequest>,
    /// The number of the run, or of the next one.
    run: u64,
    /// What has come for the next run.
    early: VecDeque<(usize, Vec<u8>)>,
    /// Memory of parcels that were sent.
    spare: Vec<Vec<u8>>,
    idle_since: Instant,
}

/// Memory for a parcel.
fn room() -> Vec<u8> {
    Vec::with_capacity(MOST + TAIL)
}

/// Whether this is memory for a parcel, and not for much more.
fn is_room(bytes: &Vec<u8>) -> bool {
    (MOST + TAIL..=4 * MOST).contains(&bytes.capacity())
}

impl MpiTransport {
    pub(crate) fn new(mpi: Mpi, bell: Arc<Bell>) -> Self {
        let buffers = if mpi.ranks > 1 { BUFFERS } else { 0 };
        Self {
            pairs: (0..mpi.ranks).map(|_| Pair::default()).collect(),
            buffers: (0..buffers).map(|_| mpi.receive(Vec::new(), MOST + TAIL)).collect(),
            mpi,
            bell,
            run: 0,
            early: VecDeque::new(),
            spare: Vec::new(),
            idle_since: Instant::now(),
        }
    }

    /// Gives MPI what the window to a rank allows.
    fn send_parcels(&mut self, to: usize) {
        let pair = &mut self.pairs[to];
        while pair.window.is_open()
            && let Some(mut parcel) = pair.out.pop_front()
        {
            parcel.extend(pair.window.send().to_le_bytes());
            parcel.extend(self.run.to_le_bytes());
            pair.under_way.push_back(self.mpi.send(to, parcel));
        }
        // A figure: nothing is read by it.
        self.bell.most_under_way.fetch_max(pair.window.most_under_way(), Relaxed);
    }

    /// Makes parcels of bytes.
    fn pack(&mut self, to: usize, bytes: &mut Vec<u8>) {
        let Self { pairs, spare, .. } = self;
        let out = &mut pairs[to].out;
        let mut new = || spare.pop().unwrap_or_else(room);
        if (FEW..=MOST).contains(&bytes.len()) {
            out.push_back(std::mem::replace(bytes, new()));
            return;
        }
        let mut left = &bytes[..];
        while !left.is_empty() {
            if out.back().is_none_or(|parcel| parcel.len() == MOST) {
                out.push_back(new());
            }
            let Some(parcel) = out.back_mut() else { return };
            let (now, later) = left.split_at(left.len().min(MOST - parcel.len()));
            parcel.extend_from_slice(now);
            left = later;
        }
    }

    /// Tells a rank how much has come from it, if it has not been told of so many parcels.
    fn send_receipt(&mut self, to: usize, from: u64) {
        let pair = &mut self.pairs[to];
        if let Some(received) = pair.window.receipt(from) {
            let receipt = [received.to_le_bytes(), self.run.to_le_bytes()].concat();
            pair.under_way.push_back(self.mpi.send(to, receipt));
        }
    }

    /// Forgets what MPI is done with.
    fn forget_sent(&mut self) {
        let Self { pairs, spare, .. } = self;
        for pair in pairs {
            while let Some(mut parcel) = pair.under_way.front_mut().and_then(SendRequest::done) {
                pair.under_way.pop_front();
                // As many as are under way to a rank, or memory is kept for nothing.
                if is_room(&parcel) && spare.len() < SPARE {
                    parcel.clear();
                    spare.push(parcel);
                }
            }
        }
    }

    /// Takes the next message: what is in a parcel is written behind what came from its rank, or dropped if there is
    /// no `into`.
    fn take(&mut self, into: Option<&mut [Vec<u8>]>) -> Option<usize> {
        let mut into = into;
        loop {
            let (from, mut bytes) = self.buffers.front_mut()?.done()?;
            self.buffers.pop_front();
            // A message that is too short is none of ours, and tells nothing.
            let length = bytes.len().saturating_sub(TAIL);
            let tail = &bytes[length..];
            let number =
                |at: usize| tail[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let (known, run) = if tail.len() == TAIL { (number(0), number(8)) } else { (0, 0) };
            bytes.truncate(length);
            let pair = &mut self.pairs[from];
            pair.window.hear(known);
            let is_parcel = !bytes.is_empty();
            if is_parcel {
                pair.window.receive();
            }
            let is_early = is_parcel && run > self.run;
            if is_early {
                self.early.push_back((from, bytes.clone()));
            } else if let Some(into) = into.as_mut().filter(|_| run == self.run) {
                if into[from].is_empty() && bytes.len() >= FEW {
                    std::mem::swap(&mut into[from], &mut bytes);
                } else {
                    into[from].extend_from_slice(&bytes);
                }
            }
            if !is_room(&bytes) {
                bytes = self.spare.pop().unwrap_or_default();
            }
            self.buffers.push_back(self.mpi.receive(bytes, MOST + TAIL));
            self.send_parcels(from);
            self.send_receipt(from, WINDOW / 2);
            if is_parcel && !is_early {
                return Some(from);
            }
        }
    }

    /// Waits until all ranks have received all that was sent to them in this run, and so until the next can begin.
    pub(crate) fn finish(&mut self) {
        let mut barrier = None;
        loop {
            self.bell.heed();
            self.forget_sent();
            let has_come = self.take(None).is_some();
            let mut is_all_known = true;
            for rank in 0..self.pairs.len() {
                self.send_parcels(rank);
                self.send_receipt(rank, 1);
                let pair = &self.pairs[rank];
                is_all_known &= pair.out.is_empty() && pair.window.is_all_known();
            }
            if is_all_known {
                let barrier = barrier.get_or_insert_with(|| self.mpi.barrier());
                let is_sent = self.pairs.iter().all(|pair| pair.under_way.is_empty());
                if is_sent && barrier.is_done() {
                    self.run += 1;
                    return;
                }
            }
            if has_come {
                self.idle_since = Instant::now();
            } else {
                self.wait(Duration::from_millis(1));
            }
        }
    }

    /// Ends MPI.
    pub(crate) fn end(mut self) {
        self.finish();
        self.buffers.drain(..).for_each(ReceiveRequest::cancel);
        self.mpi.end();
    }
}

impl Transport for &mut MpiTransport {
    fn send(&mut self, to: usize, bytes: &mut Vec<u8>) {
        self.idle_since = Instant::now();
        self.pack(to, bytes);
        self.send_parcels(to);
    }

    fn receive(&mut self, into: &mut [Vec<u8>]) -> Event {
        self.bell.heed();
        self.forget_sent();
        if let Some((from, bytes)) = self.early.pop_front() {
            into[from].extend(bytes);
            return Event::Bytes(from);
        }
        match self.take(Some(into)) {
            Some(from) => {
                self.idle_since = Instant::now();
                Event::Bytes(from)
            }
            None => Event::Nothing,
        }
    }

    fn wait(&mut self, most: Duration) {
        MpiTransport::wait(self, most);
    }

    fn longest_wait(&self) -> Duration {
        LONGEST_NAP
    }
}

impl MpiTransport {
    /// Looks for what comes for a while, and sleeps then: MPI has nothing that could wake it.
    fn wait(&mut self, most: Duration) {
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
