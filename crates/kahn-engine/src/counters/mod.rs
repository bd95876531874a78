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

use crate::Scheduler;
use crate::sync::system::clock;
use crate::sync::{AtomicU64, Ordering::*, PlainAtomicU64};
use crate::task::TaskRef;
use kahn_report::{Kept, ProcessCounter, ProcessCounts, WorkerReport};

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

impl TaskRef {
    /// What the process has done so far.
    pub(crate) fn counts(self) -> ProcessCounts {
        let scheduler = self.scheduler();
        ProcessCounts::of(|counter| match (counter, counter.kept()) {
            (ProcessCounter::polls, _) => Some(self.polls.load(Relaxed)),
            (ProcessCounter::migrations, _) => Some(self.migrations.load(Relaxed).into()),
            (ProcessCounter::cpu_seconds, _) => {
                let time = || clock::to_duration(self.busy()).as_nanos();
                scheduler.measures_times().then(|| u64::try_from(time()).unwrap_or(u64::MAX))
            }
            (_, Kept::Apart | Kept::Header) => Some(self.counted_apart(counter)),
            (_, Kept::Language) => Some(scheduler.hooks().counted(self, counter)),
        })
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

/// What the workers of a run did.
pub(crate) fn worker_reports(scheduler: &Scheduler) -> Vec<WorkerReport> {
    let seconds = |ticks| clock::to_duration(ticks).as_secs_f64();
    // Fewer than there are slots, if the system refused threads.
    let ran = scheduler.slots().iter().take(scheduler.worker_count()).enumerate();
    let reports = ran.map(|(worker, slot)| {
        let (total, idle) = (slot.times.total.load(Relaxed), slot.times.idle.load(Relaxed));
        let steals = scheduler.run_queues().steals(worker);
        WorkerReport {
            worker,
            busy_seconds: seconds(total.saturating_sub(idle)),
            idle_seconds: seconds(idle),
            spins: slot.times.spins.load(Relaxed),
            sleeps: slot.times.sleeps.load(Relaxed),
            steals_tried: steals.tried,
            steals_won: steals.won,
        }
    });
    reports.collect()
}
