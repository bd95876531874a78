//! Bytes between ranks as messages of MPI.
//!
//! MPI keeps what has come and was not asked for, without bound. So each pair of ranks has a *window*: a message
//! begins with how many *parcels* its sender has received from the other, and at most [`WINDOW`] parcels are
//! under way that the other has not told of. Counted in parcels, for each other rank:
//!
//! | | what |
//! |---|---|
//! | `sent` | given to MPI |
//! | `known` | of these the other has told that it has received; `sent` − `known` ≤ `WINDOW` |
//! | `received` | come from the other |
//! | `told` | of these the other was told |
//!
//! | a message is | its bytes | sent when |
//! |---|---|---|
//! | a parcel | `received`, the number of the run, and at most [`MOST`] more | there are bytes to go, and the window is open |
//! | a receipt | `received` and the number of the run | `received` − `told` has come to half a window |
//!
//! *MPI keeps at most `WINDOW` parcels and three receipts of a pair.* A parcel that MPI has not given to its receiver
//! was not told of. A receipt is sent for half a window of parcels; for those, its receiver had taken all
//! receipts of the windows before, or could not have sent them.
//!
//! *The window opens again.* If it is closed, the other has not told of `WINDOW` parcels. Either they have not all been
//! received: MPI delivers them, and a rank takes what comes whatever its channels hold. Or all have, and then it has
//! told of all but less than half of them.
//!
//! *Runs do not mix.* A rank comes to the barrier between two when all its parcels were told of, and drops what comes
//! there. A rank that has passed the barrier may begin the next run while others are yet to pass it; what it
//! sends has the number of that run, and is kept for it.
//!
//! Messages of one rank are received in the order in which they were sent, though several buffers wait for them:
//! MPI fills them in the order in which they were given, and they are looked at in that order.

#![expect(clippy::disallowed_methods, reason = "how long it looks is no input of a network")]

use crate::calls::{Mpi, ReceiveRequest, SendRequest, abort};
use kahn_net::{Event, Transport};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Parcels under way to a rank of which it has not told.
pub(crate) const WINDOW: u64 = 16;

/// The most bytes of a parcel, besides its head.
pub(crate) const MOST: usize = 32 << 10;

/// `received` and the number of the run, eight bytes each.
const HEAD: usize = 16;

/// Parcels whose memory is kept to be used again.
const SPARE: usize = 2 * 16;

/// Buffers that wait for what comes.
const BUFFERS: usize = 8;

/// How long it looks for what comes before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// How long it sleeps first, and then twice as long each time.
const SHORTEST_NAP: Duration = Duration::from_micros(50);

/// Wakes the thread of the transport.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    has_rung: Mutex<bool>,
    rung: Condvar,
    /// The job is to end at once, for this rank cannot go on.
    aborts: AtomicBool,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.has_rung.lock() = true;
        self.rung.notify_one();
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
#[derive(Default)]
struct Pair {
    /// Parcels that are to go, the last of which may be filled yet; their heads are written when they go.
    out: VecDeque<Vec<u8>>,
    under_way: Vec<SendRequest>,
    sent: u64,
    known: u64,
    received: u64,
    told: u64,
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
    nap: Duration,
}

impl MpiTransport {
    pub(crate) fn new(mpi: Mpi, bell: Arc<Bell>) -> Self {
        let room = || vec![0; HEAD + MOST].into_boxed_slice();
        let buffers = if mpi.ranks > 1 { BUFFERS } else { 0 };
        Self {
            pairs: (0..mpi.ranks).map(|_| Pair::default()).collect(),
            buffers: (0..buffers).map(|_| mpi.receive(room())).collect(),
            mpi,
            bell,
            run: 0,
            early: VecDeque::new(),
            spare: Vec::new(),
            idle_since: Instant::now(),
            nap: SHORTEST_NAP,
        }
    }

    /// Gives MPI what the window to a rank allows.
    fn send_parcels(&mut self, to: usize) {
        let pair = &mut self.pairs[to];
        while pair.sent - pair.known < WINDOW
            && let Some(mut parcel) = pair.out.pop_front()
        {
            parcel[..8].copy_from_slice(&pair.received.to_le_bytes());
            parcel[8..HEAD].copy_from_slice(&self.run.to_le_bytes());
            pair.under_way.push(self.mpi.send(to, parcel));
            pair.sent += 1;
            pair.told = pair.received;
        }
    }

    /// Puts bytes into parcels.
    fn pack(&mut self, to: usize, mut bytes: &[u8]) {
        let out = &mut self.pairs[to].out;
        while !bytes.is_empty() {
            if out.back().is_none_or(|parcel| parcel.len() == HEAD + MOST) {
                let mut parcel =
                    self.spare.pop().unwrap_or_else(|| Vec::with_capacity(HEAD + MOST));
                parcel.resize(HEAD, 0);
                out.push_back(parcel);
            }
            let Some(parcel) = out.back_mut() else { return };
            let (now, later) = bytes.split_at(bytes.len().min(HEAD + MOST - parcel.len()));
            parcel.extend_from_slice(now);
            bytes = later;
        }
    }

    /// Tells a rank how much has come from it, if it has not been told of so many parcels.
    fn send_receipt(&mut self, to: usize, from: u64) {
        let pair = &mut self.pairs[to];
        if pair.received - pair.told >= from {
            let receipt = [pair.received.to_le_bytes(), self.run.to_le_bytes()].concat();
            pair.under_way.push(self.mpi.send(to, receipt));
            pair.told = pair.received;
        }
    }

    /// Forgets what MPI is done with.
    fn forget_sent(&mut self) {
        let Self { pairs, spare, .. } = self;
        for pair in pairs {
            pair.under_way.retain_mut(|request| {
                let Some(mut parcel) = request.done() else { return true };
                // As many as are under way to a rank, or memory is kept for nothing.
                if parcel.capacity() >= HEAD + MOST && spare.len() < SPARE {
                    parcel.clear();
                    spare.push(parcel);
                }
                false
            });
        }
    }

    /// Takes the next message: what is in a parcel is written behind what came from its rank, or dropped if there is
    /// no `into`.
    fn take(&mut self, into: Option<&mut [Vec<u8>]>) -> Option<usize> {
        let mut into = into;
        loop {
            let (from, bytes, length) = self.buffers.front_mut()?.done()?;
            self.buffers.pop_front();
            // A message that is too short is none of ours, and tells nothing.
            let (head, rest) = bytes[..length].split_at(HEAD.min(length));
            let number =
                |at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let (known, run) = if head.len() == HEAD { (number(0), number(8)) } else { (0, 0) };
            let pair = &mut self.pairs[from];
            if known <= pair.sent {
                pair.known = pair.known.max(known);
            }
            let is_parcel = !rest.is_empty();
            if is_parcel {
                pair.received += 1;
            }
            let is_early = is_parcel && run > self.run;
            if is_early {
                self.early.push_back((from, rest.to_vec()));
            } else if let Some(into) = &mut into {
                into[from].extend_from_slice(rest);
            }
            self.buffers.push_back(self.mpi.receive(bytes));
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
                is_all_known &= pair.out.is_empty() && pair.known == pair.sent;
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
    fn send(&mut self, to: usize, bytes: &[u8]) {
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
                self.nap = SHORTEST_NAP;
                Event::Bytes(from)
            }
            None => Event::Nothing,
        }
    }

    fn wait(&mut self, most: Duration) {
        MpiTransport::wait(self, most);
    }
}

impl MpiTransport {
    /// Looks for what comes for a while, and sleeps then: MPI has nothing that could wake it.
    fn wait(&mut self, most: Duration) {
        if self.idle_since.elapsed() < SPIN {
            // Another rank, or a worker of this one, may need the core.
            std::thread::yield_now();
            if self.bell.wait(Duration::ZERO) {
                self.nap = SHORTEST_NAP;
            }
        } else if self.bell.wait(self.nap.min(most)) {
            (self.idle_since, self.nap) = (Instant::now(), SHORTEST_NAP);
        } else {
            self.nap = (self.nap * 2).min(most);
        }
    }
}
