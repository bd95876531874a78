//! What a run counts of processes and workers: where each counter stands, and how it is read.
//!
//! The counters are those of one table (`kahn_report::COUNTERS`): name, owner, unit, column. A new
//! counter of a process is a line there, kept apart, and one where it counts
//! ([`TaskRef::count_apart`](crate::task::TaskRef::count_apart)); this module has room for it, reads it and
//! sums it up, and the report shows it.
//!
//! | counters | stand in | written by |
//! |---|---|---|
//! | `polls`, `migrations` | the header of a process, which has 120 bytes | its holder, by load and store |
//! | those kept apart | [`Apart`], in the extension that few processes have | the same |
//! | `waits_empty`, `waits_full` | what the language keeps of a process | the language |
//! | of workers | [`WorkerTimes`], and the steals in the run queues | the worker |
//! | of channels | the language's channels | the language |

mod accounting;

pub use accounting::Accounting;

use crate::sync::{AtomicU64, Ordering::*, PlainAtomicU64};
use kahn_report::{Kept, ProcessCounter};

/// How many counters of a process are kept apart.
const KEPT_APART: usize = place_of(ProcessCounter::ALL.len());

/// How many of the first so many counters are kept apart.
const fn place_of(first: usize) -> usize {
    let (mut place, mut next) = (0, 0);
    while next < first {
        if matches!(ProcessCounter::ALL[next].kept(), Kept::Apart) {
            place += 1;
        }
        next += 1;
    }
    place
}

/// The counters of a process that are kept apart from its header; seconds in ticks.
#[derive(Debug)]
pub(crate) struct Apart([AtomicU64; KEPT_APART]);

impl Apart {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// For another process in the same block.
    pub(crate) fn restart(&self) {
        self.0.iter().for_each(|count| count.store(0, Relaxed));
    }

    /// The count of one that is kept here.
    pub(crate) fn of(&self, counter: ProcessCounter) -> &AtomicU64 {
        debug_assert_eq!(counter.kept(), Kept::Apart, "{counter:?} stands elsewhere");
        &self.0[place_of(counter as usize)]
    }
}

/// What a worker counts, written by it alone; only reports and `balance` read it.
#[derive(Debug, Default)]
pub struct WorkerTimes {
    /// Ticks from start to end.
    pub total: PlainAtomicU64,
    /// Ticks without a process to run, until the last one was found.
    pub idle: PlainAtomicU64,
    /// Since when it has been without a process; 0 if it has one.
    pub idle_since: PlainAtomicU64,
    /// Searches while idle.
    pub spins: PlainAtomicU64,
    /// Times asleep.
    pub sleeps: PlainAtomicU64,
}
