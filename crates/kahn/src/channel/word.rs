//! The word between the two ends of a channel: how far one end is, and whether the other sleeps.
//!
//! Each end owns one word and alone moves its count; the *peer* of that end parks on it.
//!
//! ```text
//!   63                          2      1        0
//!   ┌───────────────────────────┬────────┬────────┐
//!   │ operations published      │ CLOSED │ PARKED │
//!   └───────────────────────────┴────────┴────────┘
//!     the owner's                 owner's  the peer waits here
//! ```
//!
//! | step      | of                         | does                                     |
//! |-----------|----------------------------|------------------------------------------|
//! | publish   | owner                      | a greater count, clears PARKED           |
//! | publish to a sleeper | owner, where it has seen PARKED | the same by a plain store: see `slow_path` |
//! | publish for a sleeper | peer, which holds the owner's process | a greater count, by a plain store: see `given` |
//! | close     | owner                      | sets CLOSED, clears PARKED               |
//! | park      | peer's worker, *after* the peer has returned from its poll | CAS `seen` → `seen + PARKED` |
//! | unpark    | the resolver, in a frozen ring or where the owner swaps; a cancelling party | CAS `seen + PARKED` → `seen` |
//!
//! **The thread that clears PARKED owns the peer's process** and must make it ready. Only one can: publish
//! and close swap the whole word, unpark compares it.
//!
//! *No wake-up is lost.* The peer parks on exactly the value in which it saw nothing to do. If the
//! owner published in between, the values differ and the CAS fails: the peer looks again. If not,
//! the next publish finds PARKED. One read-modify-write does the whole handshake; there is no
//! store-then-load, so no fence.
//!
//! *No process runs twice at once.* PARKED is set when the process has left its poll. The Release of
//! `park` pairs with the Acquire of the thread that clears PARKED, so all that the process did is visible
//! to its next worker.
//!
//! *Load before swap.* If the word already shows PARKED the peer sleeps, and only this process may wake
//! it: a plain store replaces the swap. (A resolver acts in a ring in which we sleep as well, or tells us to
//! swap and waits until we know, see `deadlock::prune`.)
//!
//! A count never goes back, and when the memory of an ended channel is used again, the new channel
//! begins with a greater one. So a word that shows PARKED twice with the same count was
//! not touched in between, which is what the detector's second look relies on.

use kahn_engine::Park;
use kahn_engine::sync::{Access, AtomicU64, Ordering::*};

const PARKED: u64 = 1;
const CLOSED: u64 = 2;
const SHIFT: u32 = 2;

/// What one end publishes, and where its peer parks. See the module's table.
#[derive(Debug)]
pub(crate) struct Word {
    value: AtomicU64,
}

/// A value of a [`Word`] as it was read at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    /// The value of a word at which nothing has happened.
    pub(crate) const NOTHING: Self = Self(0);

    pub(crate) fn count(self) -> u64 {
        self.0 >> SHIFT
    }

    pub(crate) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    pub(crate) fn is_parked(self) -> bool {
        self.0 & PARKED != 0
    }
}

/// What follows from moving a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a process whose PARKED bit was cleared and that is not woken is lost"]
pub(crate) enum Moved {
    /// No process slept there.
    Quiet,
    /// The peer's process is ours now: it must be made ready.
    Wake,
}

impl Word {
    /// Makes a word that starts at `count`, open, no process parked.
    pub(crate) fn new(count: u64) -> Self {
        Self { value: AtomicU64::new(count << SHIFT) }
    }

    /// Starts the word anew for another channel in the same memory.
    pub(crate) fn restart(&self, count: u64) {
        debug_assert!(count > self.load().count(), "no count comes again");
        // Relaxed: the memory was taken from the pool under its lock; stale readers of the
        // detector see the old channel or the new one and find out with their second look.
        self.value.store(count << SHIFT, Relaxed);
    }

    /// Begins at a count that it had elsewhere. No thread uses it yet.
    pub(crate) fn begin(&self, count: u64) {
        debug_assert!(count >= self.load().count(), "no count comes again");
        // Relaxed: what begins to use it is started later.
        self.value.store(count << SHIFT, Relaxed);
    }

    /// Reads the word.
    pub(crate) fn load(&self) -> Seen {
        // Acquire pairs with the Release in `publish` and `close`: the slots up to the count are
        // the reader's.
        Seen(self.value.load(Acquire))
    }

    /// Owner: makes all operations up to `count` visible. Alone, plain accesses do.
    pub(crate) fn publish(&self, count: u64, access: Access) -> Moved {
        // Acquire: if PARKED shows, we take over the process that was parked with Release.
        let old = self.value.load(Acquire);
        debug_assert!(old & CLOSED == 0, "nothing is published after the end");
        if old & PARKED != 0 {
            self.value.store(count << SHIFT, Release);
            return Moved::Wake;
        }
        if access.is_alone() {
            self.value.store(count << SHIFT, Release);
            return Moved::Quiet;
        }
        // Release hands over the slots; Acquire takes over the process if it parked just now.
        let old = self.value.swap(count << SHIFT, AcqRel);
        if old & PARKED != 0 { Moved::Wake } else { Moved::Quiet }
    }

    /// Owner: as [`publish`](Self::publish), where PARKED was seen in this poll, and no other may have taken
    /// it out: the peer's process is ours now.
    #[inline(always)]
    pub(crate) fn publish_to_sleeper(&self, count: u64) {
        debug_assert!(self.load().is_parked(), "it sleeps here");
        // Release hands over the slots. The process was taken over with the look.
        self.value.store(count << SHIFT, Release);
    }

    /// Peer: as [`publish`](Self::publish) of the owner, whose process sleeps and is the peer's. The peer runs, so
    /// no process is parked here.
    #[inline(always)]
    pub(crate) fn publish_for_sleeper(&self, count: u64) {
        debug_assert!(!self.load().is_parked(), "the peer runs");
        // Release: the slots are the peer's own already; for detectors, as that of `publish`.
        self.value.store(count << SHIFT, Release);
    }

    /// Owner: as [`publish`](Self::publish), for a channel that a party outside has an end of. It
    /// may take itself out of its wait at any time, so PARKED that was seen may be gone: no "load
    /// before swap", or the party would be woken twice.
    pub(crate) fn publish_outside(&self, count: u64) -> Moved {
        let old = self.value.swap(count << SHIFT, AcqRel);
        debug_assert!(old & CLOSED == 0, "nothing is published after the end");
        if old & PARKED != 0 { Moved::Wake } else { Moved::Quiet }
    }

    /// Owner: publishes all operations up to `count` and ends this side for good; `access` as for
    /// [`publish`](Self::publish).
    pub(crate) fn close(&self, count: u64, access: Access) -> Moved {
        if access.is_alone() {
            let old = self.value.load(Acquire);
            self.value.store(count << SHIFT | CLOSED, Release);
            return if old & PARKED != 0 { Moved::Wake } else { Moved::Quiet };
        }
        let old = self.value.swap(count << SHIFT | CLOSED, AcqRel);
        if old & PARKED != 0 { Moved::Wake } else { Moved::Quiet }
    }

    /// Peer's worker: parks the peer if the word is still as it was seen.
    pub(crate) fn park(&self, seen: Seen, access: Access) -> Park {
        if cfg!(any(debug_assertions, loom)) {
            assert!(!seen.is_parked(), "one process parks at a word, once");
        }
        if access.is_alone() {
            if self.value.load(Relaxed) != seen.0 {
                return Park::Moved;
            }
            self.value.store(seen.0 | PARKED, Relaxed);
            return Park::Asleep;
        }
        // Release: the process's state is handed to the thread that clears PARKED.
        // Acquire on failure: the process runs again and reads what was published.
        match self.value.compare_exchange(seen.0, seen.0 | PARKED, AcqRel, Acquire) {
            Ok(_) => Park::Asleep,
            Err(_) => Park::Moved,
        }
    }

    /// Takes a parked peer out of its sleep without moving the count; `true` if it is ours now.
    ///
    /// For the resolver, which holds its lock and knows that the owner sleeps in the same ring, that all
    /// stands still, or that the owner swaps; and for a party that cancels its own wait.
    pub(crate) fn unpark(&self, seen: Seen) -> bool {
        debug_assert!(seen.is_parked(), "there is a process to wake");
        self.value.compare_exchange(seen.0, seen.0 & !PARKED, AcqRel, Relaxed).is_ok()
    }

    /// The value that [`park`](Self::park) leaves behind when it succeeds on `seen`.
    pub(crate) fn parked(seen: Seen) -> Seen {
        Seen(seen.0 | PARKED)
    }
}
