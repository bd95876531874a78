//! The table of all policies, and what they are made from.

use super::{Placement, Policy};
use std::time::Duration;

/// How many threads a policy wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many workers as the user asks for.
    AsAsked,
    /// One worker, whatever the user asks for.
    One,
    /// One thread for each process, whatever the user asks for.
    OnePerProcess,
}

/// What a policy of the table is made from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The number of workers.
    pub workers: usize,
    /// The seed of the run.
    pub seed: u64,
    /// Where processes belong, for `static`.
    pub placement: Placement,
    /// How long workers may be idle, all together, before `partition` shares out anew.
    pub tau: Duration,
}

impl Setup {
    /// Makes the setup for this many workers, with seed 0 and the defaults of a run.
    pub fn new(workers: usize) -> Self {
        Self { workers, seed: 0, placement: Placement::default(), tau: DEFAULT_TAU }
    }
}

/// A row of [`POLICIES`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name, as on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// How many threads it runs on.
    pub threads: Threads,
    /// Whether every operation waits once, so that misuse shows at once.
    pub waits_once: bool,
    /// Whether the order is drawn from the seed of the run.
    pub draws: bool,
    /// Makes the policy.
    pub build: fn(Setup) -> Box<dyn Policy>,
}

/// The name of the policy that is used if the user names none.
///
/// It had the best median on ring and pipeline with one and two workers, and lost nothing on
/// scatter-gather; see `docs/policies.md` and `bench/NOTES.md`.
pub const DEFAULT: &str = "stealing";

/// How long workers may be idle, all together, before `partition` shares the processes out anew, if
/// the run does not say: in the middle of what made no difference (`docs/policies.md`).
pub const DEFAULT_TAU: Duration = Duration::from_millis(16);

/// All policies, in the order in which lists show them. A policy that is not here can be given to a
/// run with `RunOptions::own_policy`.
///
/// # Examples
///
/// ```
/// let names: Vec<_> = kahn::POLICIES.iter().map(|entry| entry.name).collect();
/// assert!(names.contains(&kahn::policy::DEFAULT));
/// ```
pub const POLICIES: &[Entry] = &[
    Entry {
        name: "stealing",
        summary: "work stealing; a woken process goes to the worker that woke it, and is the next to run (default)",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |setup| Box::new(super::stealing::Stealing::new(setup.workers)),
    },
    Entry {
        name: "ws-cur",
        summary: "Nornir's work stealing: locked queues; a woken process goes to the worker that woke it",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |setup| Box::new(super::ws_cur::WsCur::new(setup.workers, setup.seed)),
    },
    Entry {
        name: "ws-last",
        summary: "Nornir's choice: the same, but a woken process goes to the worker that ran it last",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |setup| Box::new(super::ws_last::WsLast::new(setup.workers, setup.seed)),
    },
    Entry {
        name: "static",
        summary: "no stealing; each process belongs to a worker, as pinned or by --placement",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |setup| Box::new(super::r#static::Static::new(setup.workers, setup.placement)),
    },
    // METIS is no subject of models.
    #[cfg(all(feature = "partition", not(loom)))]
    Entry {
        name: "partition",
        summary: "no stealing; equal parts of the graph with little traffic between, cut anew when workers idle",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |setup| Box::new(super::partition::Partition::new(setup.workers, setup.tau)),
    },
    Entry {
        name: "batch",
        summary: "CCSP's: processes that wake each other drift into one batch; batches are stolen whole",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |setup| Box::new(super::batch::Batch::new(setup.workers)),
    },
    Entry {
        name: "shared",
        summary: "one queue for all workers, first come first served: the baseline",
        threads: Threads::AsAsked,
        waits_once: false,
        draws: false,
        build: |_| Box::new(super::shared::Shared::default()),
    },
    Entry {
        name: "threads",
        summary: "one operating system thread for each process",
        threads: Threads::OnePerProcess,
        waits_once: false,
        draws: false,
        build: |_| Box::new(super::threads::Threads),
    },
    Entry {
        name: "sequential",
        summary: "one worker, fixed order: the oracle",
        threads: Threads::One,
        waits_once: false,
        draws: false,
        build: |_| Box::new(super::sequential::Sequential::default()),
    },
    Entry {
        name: "seeded",
        summary: "one worker, order drawn from the seed, every operation waits once: for tests",
        threads: Threads::One,
        waits_once: true,
        draws: true,
        build: |setup| Box::new(super::seeded::Seeded::new(setup.seed)),
    },
];
