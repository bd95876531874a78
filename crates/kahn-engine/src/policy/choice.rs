//! A policy as a value, which a run is given, and the ways that the engine has by itself.
//!
//! | way | is |
//! |---|---|
//! | [`STEALING`] | the engine's own scheduler, and no [`Policy`]: its workers take what runs next without asking anything (`queue::stealing`) |
//! | [`SHARED`], [`THREADS`], [`SEQUENTIAL`], [`SEEDED`] | policies, a file each |

use super::{Policy, Promises, Waiting};
use crate::sync::Arc;
use std::any::type_name;
use std::fmt;

/// How many threads a policy wants.
///
/// # Examples
///
/// ```
/// use kahn::policy::{SEQUENTIAL, SHARED, THREADS, Threads};
///
/// assert_eq!(SHARED.threads(), Threads::AsAsked);
/// assert_eq!(SEQUENTIAL.threads(), Threads::One);
/// assert_eq!(THREADS.threads(), Threads::OnePerProcess);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many workers as the user asks for.
    AsAsked,
    /// One worker, whatever the user asks for.
    One,
    /// One thread for each process, whatever the user asks for.
    OnePerProcess,
}

/// What a policy is made from, for each run anew.
///
/// # Examples
///
/// ```
/// use kahn::policy::{SEEDED, Setup};
///
/// let mut setup = Setup::new(1);
/// setup.seed = 7;
/// assert!(SEEDED.build(setup).is_some());
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The number of workers.
    pub workers: usize,
    /// The seed of the run.
    pub seed: u64,
}

impl Setup {
    /// Makes the setup for this many workers, with seed 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::Setup;
    ///
    /// assert_eq!((Setup::new(4).workers, Setup::new(4).seed), (4, 0));
    /// ```
    pub fn new(workers: usize) -> Self {
        Self { workers, seed: 0 }
    }
}

/// A policy as a value: what a run is given.
///
/// It is one of the constants of this module or of a crate of policies, or made from what builds a
/// policy: `|setup| MyPolicy::new(setup.workers)`. A policy is made for each run anew.
///
/// # Examples
///
/// ```
/// use kahn::policy::{DEFAULT, PolicyChoice, SEQUENTIAL, WAYS};
///
/// assert_eq!(DEFAULT.name(), "stealing");
/// assert!(WAYS.iter().any(|way| way.name() == SEQUENTIAL.name()));
/// assert!(!SEQUENTIAL.summary().is_empty());
/// ```
#[derive(Clone)]
pub struct PolicyChoice {
    name: &'static str,
    summary: &'static str,
    threads: Threads,
    waits_once: bool,
    draws: bool,
    is_own: bool,
    promises: Promises,
    build: Build,
}

/// What makes a policy for a run.
#[derive(Clone)]
pub(crate) enum Build {
    /// The engine's own scheduler.
    BuiltIn,
    Known(fn(Setup) -> Box<dyn Policy>),
    Any(Arc<dyn Fn(Setup) -> Box<dyn Policy> + Send + Sync>),
}

impl PolicyChoice {
    /// Makes a policy that constants can hold: its name, a line for lists, and what builds it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{Notify, Origin, Policy, PolicyChoice, Ready, Reason, Turn};
    /// use kahn::{Network, Options};
    /// use std::collections::VecDeque;
    ///
    /// #[derive(Debug, Default)]
    /// struct Fifo(parking_lot::Mutex<VecDeque<Ready>>);
    ///
    /// impl Policy for Fifo {
    ///     fn name(&self) -> &str {
    ///         "fifo"
    ///     }
    ///     fn push(&self, _origin: Origin, ready: Ready, _reason: Reason) -> Notify {
    ///         self.0.lock().push_back(ready);
    ///         Notify::Anyone
    ///     }
    ///     fn pop(&self, _worker: usize, _turn: Turn) -> Option<Ready> {
    ///         self.0.lock().pop_front()
    ///     }
    ///     fn has_work(&self, _worker: usize) -> bool {
    ///         !self.0.lock().is_empty()
    ///     }
    /// }
    ///
    /// const FIFO: PolicyChoice =
    ///     PolicyChoice::new("fifo", "first come first served", |_| Box::new(Fifo::default()));
    ///
    /// let report = Network::new().run_with(Options::new().policy(FIFO))?;
    /// assert_eq!(report.policy, "fifo");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        build: fn(Setup) -> Box<dyn Policy>,
    ) -> Self {
        let build = Build::Known(build);
        Self {
            name,
            summary,
            threads: Threads::AsAsked,
            waits_once: false,
            draws: false,
            is_own: false,
            promises: Promises::NONE,
            build,
        }
    }

    const fn on(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// The order is drawn, and every operation waits once.
    const fn drawing(mut self) -> Self {
        (self.waits_once, self.draws) = (true, true);
        self
    }

    /// Says which scheduling laws it promises to keep, beside those that the runtime keeps under every
    /// policy: `testing::check` holds it to them.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{Promises, SHARED, Waiting};
    ///
    /// let shared = SHARED.promising(Promises::waiting(Waiting::Turn));
    /// assert!(!shared.promises().open_loops);
    /// ```
    #[must_use]
    pub const fn promising(mut self, promises: Promises) -> Self {
        self.promises = promises;
        self
    }

    /// Has it built in another way, as with settings of its own. It keeps its name and its promises.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{PolicyChoice, SEEDED, Setup};
    ///
    /// /// The order of this seed, whatever the seed of the run.
    /// fn fixed(seed: u64) -> PolicyChoice {
    ///     SEEDED.built_by(move |mut setup: Setup| {
    ///         setup.seed = seed;
    ///         SEEDED.build(setup).expect("it is a policy")
    ///     })
    /// }
    ///
    /// assert_eq!(fixed(3).name(), "seeded");
    /// ```
    #[must_use]
    pub fn built_by(
        self,
        build: impl Fn(Setup) -> Box<dyn Policy> + Send + Sync + 'static,
    ) -> Self {
        Self { build: Build::Any(Arc::new(build)), ..self }
    }

    /// Returns the name: as reports show it, or, for one that was made from what builds it, that of
    /// the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{DEFAULT, SEQUENTIAL};
    ///
    /// assert_eq!((DEFAULT.name(), SEQUENTIAL.name()), ("stealing", "sequential"));
    /// ```
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns one line for lists; empty if there is none.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::THREADS;
    ///
    /// assert_eq!(THREADS.summary(), "one operating system thread for each process");
    /// ```
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// Returns on how many threads it runs.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{SEEDED, Threads};
    ///
    /// assert_eq!(SEEDED.threads(), Threads::One);
    /// ```
    pub fn threads(&self) -> Threads {
        self.threads
    }

    /// Tells whether every operation waits once, so that misuse shows at once.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{SEEDED, SEQUENTIAL};
    ///
    /// assert!(SEEDED.waits_once() && !SEQUENTIAL.waits_once());
    /// ```
    pub fn waits_once(&self) -> bool {
        self.waits_once
    }

    /// Tells whether the order is drawn from the seed of the run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{SEEDED, SEQUENTIAL};
    ///
    /// assert!(SEEDED.draws() && !SEQUENTIAL.draws());
    /// ```
    pub fn draws(&self) -> bool {
        self.draws
    }

    /// Returns what it promises.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{STEALING, THREADS};
    ///
    /// assert!(STEALING.promises().forks && !THREADS.promises().forks);
    /// ```
    pub fn promises(&self) -> Promises {
        self.promises
    }

    /// Tells whether it was made from what builds it, and is no constant.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SHARED;
    ///
    /// assert!(!SHARED.is_own());
    /// ```
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Makes the policy for a run; `None` for [`STEALING`], which is none.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::{SHARED, STEALING, Setup};
    ///
    /// assert!(SHARED.build(Setup::new(2)).is_some_and(|policy| policy.name() == "shared"));
    /// assert!(STEALING.build(Setup::new(2)).is_none());
    /// ```
    pub fn build(&self, setup: Setup) -> Option<Box<dyn Policy>> {
        match &self.build {
            Build::BuiltIn => None,
            Build::Known(build) => Some(build(setup)),
            Build::Any(build) => Some(build(setup)),
        }
    }
}

impl Default for PolicyChoice {
    fn default() -> Self {
        DEFAULT
    }
}

impl<F, P> From<F> for PolicyChoice
where
    F: Fn(Setup) -> P + Send + Sync + 'static,
    P: Policy + 'static,
{
    fn from(build: F) -> Self {
        let name = type_name::<P>();
        let name = name.split('<').next().unwrap_or(name);
        let name = name.rsplit("::").next().unwrap_or(name);
        let own = Self { is_own: true, promises: Promises::NONE, ..STEALING };
        Self { name, summary: "", ..own.built_by(move |setup| Box::new(build(setup))) }
    }
}

impl fmt::Debug for PolicyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PolicyChoice").field(&self.name).finish()
    }
}

/// What those promise whose one queue is first come, first served.
const IN_TURN: Promises =
    Promises { open_loops: true, yields: true, ..Promises::waiting(Waiting::Turn) };

/// Work stealing; a woken process goes to the worker that woke it, and is the next to run.
pub const STEALING: PolicyChoice = PolicyChoice {
    name: "stealing",
    summary: "work stealing; a woken process goes to the worker that woke it, and is the next to run (default)",
    threads: Threads::AsAsked,
    waits_once: false,
    draws: false,
    is_own: false,
    promises: Promises {
        waiting: Waiting::Dispatches(64),
        open_loops: true,
        forks: true,
        work_is_found: true,
        yields: true,
    },
    build: Build::BuiltIn,
};

/// One queue for all workers, first come first served.
pub const SHARED: PolicyChoice = PolicyChoice::new(
    "shared",
    "one queue for all workers, first come first served: the baseline",
    |_| Box::new(super::shared::Shared::default()),
)
.promising(Promises { work_is_found: true, ..IN_TURN });

/// One thread of the operating system for each process.
pub const THREADS: PolicyChoice =
    PolicyChoice::new("threads", "one operating system thread for each process", |_| {
        Box::new(super::threads::PerProcess)
    })
    .on(Threads::OnePerProcess);

/// One worker, first come first served: the oracle.
pub const SEQUENTIAL: PolicyChoice =
    PolicyChoice::new("sequential", "one worker, fixed order: the oracle", |_| {
        Box::new(super::sequential::Sequential::default())
    })
    .on(Threads::One)
    .promising(IN_TURN);

/// One worker, and an order drawn from the seed; every operation waits once.
pub const SEEDED: PolicyChoice = PolicyChoice::new(
    "seeded",
    "one worker, order drawn from the seed, every operation waits once: for tests",
    |setup| Box::new(super::seeded::Seeded::new(setup.seed)),
)
.on(Threads::One)
.drawing();

/// The policy that is used if the user chooses none.
///
/// It had the best median on ring and pipeline with one and two workers, and lost nothing on
/// scatter-gather; see `docs/policies.md` and `bench/NOTES.md`.
pub const DEFAULT: PolicyChoice = STEALING;

/// The ways to run that the engine has by itself.
pub const WAYS: &[PolicyChoice] = &[STEALING, SHARED, THREADS, SEQUENTIAL, SEEDED];
