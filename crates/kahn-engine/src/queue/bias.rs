//! What takes from a worker's queues: that worker alone, without read-modify-writes, or thieves as well.
//!
//! Most of the time no worker steals, but a process may hold its worker for long, and then what stands in
//! its queues must be found by others. So the queues are *biased* to their worker, and a thief revokes
//! that before it comes.
//!
//! | `state` | means | left by |
//! |---|---|---|
//! | `OWN` | only the worker takes anything, by plain loads and stores | a thief → `REVOKED`, by compare-and-swap |
//! | `REVOKED` | a thief waits until the worker is in no section that began before | that thief → one thief |
//! | so many thieves | the worker and thieves take with atomic operations | a thief that comes or goes, ± 1; the worker, when none came for some time: 0 → `OWN` |
//!
//! | step | worker, in a *section* of some instructions | thief |
//! |---|---|---|
//! | 1 | `inside` = 1 | `OWN` → `REVOKED` |
//! | 2 | light barrier | heavy barrier |
//! | 3 | `state`? `OWN`: plain accesses; else atomic ones | spins while `inside` is 1 (Acquire) |
//! | 4 | `inside` = 0 (Release) | one thief: takes what it wants |
//!
//! The race to fear: the worker takes something by a plain store while a thief takes the same. The two
//! barriers rule it out: in their order either the worker's comes first, then the thief sees `inside` and
//! waits; or the thief's does, then the worker sees `REVOKED` and takes it by an atomic operation. A
//! section never runs users' code and never waits, so waiting for its end is short; it does not matter for
//! how long the process runs that the worker has taken. What was done in it is handed over by the
//! Release of `inside`. When the worker has the queues for itself again, it acquires what the thieves
//! did, by the exchange with the state that the last of them left with a Release.
//!
//! *The barriers.* The heavy one has every thread of the program pass a full barrier
//! (`membarrier` of Linux), and so the light one is none at all but to the compiler. That takes a thief some
//! microseconds, so a worker takes its queues back only when no thief has come for [`QUIET`] looks.
//! Where the system has no such barrier, queues are never their worker's alone, and not before it has set it up.

use crate::sync::system::fences;
use crate::sync::{Access, AtomicBool, AtomicUsize, Ordering::*, PlainAtomicUsize, pause};

/// Only the worker takes anything.
const OWN: usize = usize::MAX;
/// A thief waits for the worker to leave its section.
const REVOKED: usize = usize::MAX - 1;
/// So often the worker looks and finds that no thief has come, before it has its queues for itself.
const QUIET: usize = if cfg!(loom) { 1 } else { 4 };

/// See the module.
#[derive(Debug)]
pub(crate) struct Bias {
    state: AtomicUsize,
    /// Whether the worker is in a section.
    inside: AtomicBool,
    /// There are no thieves at all: it has its queues for itself from the beginning.
    alone: bool,
    /// How many thieves have come; how many had when the worker looked last, and for how many looks.
    came: PlainAtomicUsize,
    seen: PlainAtomicUsize,
    looks: PlainAtomicUsize,
}

/// A thief that may take something; goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Thief<'a>(&'a Bias);

impl Bias {
    /// `alone`: there are no thieves.
    pub(crate) fn new(alone: bool) -> Self {
        Self {
            state: AtomicUsize::new(if alone { OWN } else { 0 }),
            inside: AtomicBool::new(false),
            alone,
            came: PlainAtomicUsize::new(0),
            seen: PlainAtomicUsize::new(0),
            looks: PlainAtomicUsize::new(0),
        }
    }

    /// Whether there are no thieves at all.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// The worker: calls `take`, which is to be short, and tells it how to take something.
    #[inline(always)]
    pub(crate) fn section<R>(&self, take: impl FnOnce(Access) -> R) -> R {
        self.inside.store(true, Relaxed);
        fences::light();
        // Relaxed: what thieves did was acquired when the worker took the queues back.
        let taken = take(Access::alone_if(self.state.load(Relaxed) == OWN));
        // Release pairs with the Acquire of a thief that waits.
        self.inside.store(false, Release);
        taken
    }

    /// The worker, now and then: has its queues for itself if no thief has come for long.
    pub(crate) fn look(&self) {
        if self.state.load(Relaxed) != 0 {
            return;
        }
        let came = self.came.load(Relaxed);
        let looks = if came == self.seen.load(Relaxed) { self.looks.load(Relaxed) + 1 } else { 0 };
        self.seen.store(came, Relaxed);
        self.looks.store(looks, Relaxed);
        if looks >= QUIET && fences::are_there() {
            self.looks.store(0, Relaxed);
            // Acquire pairs with the Release of the last thief. If one comes now, another time.
            let _ = self.state.compare_exchange(0, OWN, Acquire, Relaxed);
        }
    }

    /// A thief comes, and may take something while it has what this returns.
    pub(crate) fn come(&self) -> Thief<'_> {
        debug_assert!(!self.alone, "there are no thieves");
        self.came.fetch_add(1, Relaxed);
        let mut spins = 0;
        loop {
            let seen = self.state.load(Relaxed);
            if seen == REVOKED {
                pause(&mut spins);
            } else if seen == OWN {
                if self.state.compare_exchange(OWN, REVOKED, Relaxed, Relaxed).is_ok() {
                    self.revoke();
                    return Thief(self);
                }
            // Acquire: what the worker did alone, as the thief saw that revoked it.
            } else if self.state.compare_exchange(seen, seen + 1, Acquire, Relaxed).is_ok() {
                return Thief(self);
            }
        }
    }

    #[cold]
    fn revoke(&self) {
        fences::heavy();
        let mut spins = 0;
        // Acquire pairs with the Release in `section`.
        while self.inside.load(Acquire) {
            pause(&mut spins);
        }
        // Release: other thieves see what this one has acquired.
        self.state.store(1, Release);
    }
}

impl Drop for Thief<'_> {
    fn drop(&mut self) {
        // Release pairs with the Acquire in `look`.
        self.0.state.fetch_sub(1, Release);
    }
}
