//! Whether a policy keeps the scheduling laws that it promises.
//!
//! | law | file |
//! |---|---|
//! | *bounded waiting*: a ready process is dispatched after so many dispatches | `waiting` |
//! | `yield_now`: all that were ready run first | `waiting` |
//! | *open loops stay small*: makers that nobody waits for do not run ahead | `growth` |
//! | *a tree of forks* is run in depth | `growth` |
//! | *a dispatch ends* after 128 operations | `dispatch` |
//! | *work is found* while a worker is inside one poll | `dispatch` |
//! | *where and how urgent are independent*; *urgency* switches at once | `urgency` |
//!
//! All is counted in dispatches, which processes count themselves, each time that they are polled:
//! nothing is timed, so a slow machine makes no difference.

mod dispatch;
mod growth;
mod urgency;
mod waiting;

use crate::csp::{self, Scope};
use crate::policy::{Entry, Policy, Setup, Threads};
use crate::{RunError, RunOptions};
use kahn_engine::sync::Ordering::*;
use kahn_engine::sync::{Arc, PlainAtomicU64};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// How long a ready process waits under a policy, among those of its urgency.
///
/// `n` is the number of processes that were ready before it, in the queue where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// For this many dispatches times `n + 1` at most.
    Dispatches(u64),
    /// For `n` dispatches.
    Turn,
    /// As long as it pleases the policy: that it is dispatched at all is all that is checked.
    Eventually,
}

impl Waiting {
    fn most(self, before: u64) -> u64 {
        match self {
            Self::Dispatches(each) => each * (before + 1),
            Self::Turn => before + 1,
            Self::Eventually => u64::MAX,
        }
    }
}

/// A check of a policy; made by [`check`] and [`Check::of`].
#[must_use = "nothing is checked before `run`"]
pub struct Check {
    options: Box<dyn Fn(usize) -> RunOptions>,
    most_workers: usize,
    promises: Promises,
}

#[derive(Clone, Copy, Debug)]
struct Promises {
    /// Whether it queues processes at all.
    queues: bool,
    /// Whether every operation waits.
    waits_once: bool,
    waiting: Waiting,
    open_loops: bool,
    forks: bool,
    work_is_found: bool,
    yields: bool,
}

impl Promises {
    const NONE: Self = Self {
        queues: true,
        waits_once: false,
        waiting: Waiting::Eventually,
        open_loops: false,
        forks: false,
        work_is_found: false,
        yields: false,
    };

    /// What the policy of this name promises: the table in `docs/policies.md`.
    fn of(entry: &Entry) -> Self {
        let none = Self { waits_once: entry.waits_once, ..Self::NONE };
        let found = Self { work_is_found: true, ..none };
        match entry.name {
            "stealing" => Self {
                waiting: Waiting::Dispatches(64),
                open_loops: true,
                forks: true,
                yields: true,
                ..found
            },
            "ws-cur" | "ws-last" => Self { waiting: Waiting::Dispatches(64), ..found },
            "static" | "partition" => {
                Self { waiting: Waiting::Dispatches(64), yields: entry.name == "static", ..none }
            }
            "batch" => {
                // Not `forks`: batches are first come first served, see ARCHITECTURE.md.
                Self { waiting: Waiting::Dispatches(127), open_loops: true, ..found }
            }
            "shared" | "sequential" => {
                Self { waiting: Waiting::Turn, open_loops: true, yields: true, ..found }
            }
            "threads" => Self { queues: false, ..none },
            _ => none,
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("promises", &self.promises).finish_non_exhaustive()
    }
}

/// Begins the check of a policy of your own, which promises nothing yet.
///
/// What every policy keeps, because the runtime does, is checked in any case: that a dispatch ends,
/// and the laws of urgency. The policy is made anew for each of the networks that are run.
///
/// # Examples
///
/// ```
/// use kahn::policy::{Notify, Origin, Policy, Ready, Reason, Turn};
/// use kahn::testing::{self, Waiting};
/// use std::collections::VecDeque;
///
/// /// One queue for all workers.
/// #[derive(Debug, Default)]
/// struct Fifo(parking_lot::Mutex<VecDeque<Ready>>);
///
/// impl Policy for Fifo {
///     fn name(&self) -> &str {
///         "fifo"
///     }
///     fn push(&self, _origin: Origin, ready: Ready, reason: Reason) -> Notify {
///         match reason {
///             Reason::Preempted => self.0.lock().push_front(ready),
///             Reason::New | Reason::Woken | Reason::Yielded => self.0.lock().push_back(ready),
///         }
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
/// let check = testing::check(|_setup| Fifo::default()).waiting(Waiting::Turn).yields();
/// check.open_loops().run().expect("it keeps what it promises");
/// ```
pub fn check<P: Policy + 'static>(
    policy: impl Fn(Setup) -> P + Clone + Send + Sync + 'static,
) -> Check {
    let options = move |workers| RunOptions::new().workers(workers).own_policy(policy.clone());
    Check { options: Box::new(options), most_workers: usize::MAX, promises: Promises::NONE }
}

impl Check {
    /// Checks a policy of the table [`POLICIES`](crate::POLICIES), which is held to its row in
    /// `docs/policies.md`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing::Check;
    ///
    /// let sequential = kahn::POLICIES.iter().find(|entry| entry.name == "sequential").unwrap();
    /// Check::of(sequential).run()?;
    /// # Ok::<(), kahn::testing::BrokenLaw>(())
    /// ```
    pub fn of(entry: &Entry) -> Self {
        let name = entry.name;
        Self {
            options: Box::new(move |workers| RunOptions::new().workers(workers).policy(name)),
            most_workers: if entry.threads == Threads::AsAsked { usize::MAX } else { 1 },
            promises: Promises::of(entry),
        }
    }

    /// Checks on this many workers at most.
    pub fn workers(mut self, most: usize) -> Self {
        self.most_workers = most;
        self
    }

    /// The policy promises that a ready process waits no longer.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.promises.waiting = waiting;
        self
    }

    /// The policy promises that makers which nobody waits for, and which wait or yield after `m`
    /// children, leave at most `256 + 64 m` ready processes each.
    pub fn open_loops(mut self) -> Self {
        self.promises.open_loops = true;
        self
    }

    /// The policy promises that a tree of forks of depth `d` keeps at most `64 d` ready processes a
    /// worker, or a fiftieth of its leaves if that is more.
    pub fn forks(mut self) -> Self {
        self.promises.forks = true;
        self
    }

    /// The policy promises that what is ready in the queues of a worker that is inside one poll runs
    /// elsewhere.
    pub fn work_is_found(mut self) -> Self {
        self.promises.work_is_found = true;
        self
    }

    /// The policy promises that all that were ready run before a process that has given way with
    /// [`yield_now`](csp::yield_now).
    pub fn yields(mut self) -> Self {
        self.promises.yields = true;
        self
    }

    /// Runs the networks that show whether it keeps its promises; returns the worst of each law.
    ///
    /// # Errors
    /// The first law that is broken, with the case.
    ///
    /// # Panics
    /// Panics if a network cannot be run, and if it does not end well.
    pub fn run(&self) -> Result<Vec<Kept>, BrokenLaw> {
        let promises = self.promises;
        if !promises.queues {
            return Ok(Vec::new());
        }
        let mut kept = vec![dispatch::ends(self)?, waiting::is_bounded(self)?];
        if !promises.waits_once {
            kept.push(urgency::switches_at_once(self)?);
        }
        kept.push(urgency::is_independent_of_place(self)?);
        if promises.yields {
            kept.push(waiting::yields(self)?);
        }
        if promises.open_loops {
            kept.push(growth::open_loops(self)?);
        }
        if promises.forks {
            kept.push(growth::forks(self)?);
        }
        if promises.work_is_found && self.most_workers > 1 {
            kept.push(dispatch::work_is_found(self)?);
        }
        Ok(kept)
    }

    fn runs<'env, F, R>(&self, workers: usize, code: impl FnOnce(Scope<'env>) -> F) -> R
    where
        F: Future<Output = R> + Send + 'env,
        R: Send,
    {
        match csp::run((self.options)(workers), code) {
            Ok(run) => run.result,
            Err(RunError::Ended(report)) => panic!("{}", report.explanation()),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A law that a policy keeps, with the worst that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// The law.
    pub law: &'static str,
    /// The case that came nearest to breaking it.
    pub case: String,
    /// What was counted there.
    pub counted: u64,
    /// What is allowed there.
    pub allowed: u64,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, case, counted, allowed } = self;
        write!(f, "{law}: {counted} of {allowed} allowed ({case})")
    }
}

/// A law that a policy has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLaw(
    /// What was counted, and what is allowed.
    pub Kept,
);

impl fmt::Display for BrokenLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kept { law, case, counted, allowed } = &self.0;
        write!(f, "{law} is broken: {counted} where {allowed} are allowed ({case})")
    }
}

impl std::error::Error for BrokenLaw {}

/// The worst case of a law so far.
struct Worst(Kept);

impl Worst {
    fn of(law: &'static str) -> Self {
        Self(Kept { law, case: String::new(), counted: 0, allowed: u64::MAX })
    }

    /// Adds a case.
    fn add(
        &mut self,
        counted: u64,
        allowed: u64,
        case: impl fmt::Display,
    ) -> Result<(), BrokenLaw> {
        let case = Kept { law: self.0.law, case: case.to_string(), counted, allowed };
        if counted > allowed {
            return Err(BrokenLaw(case));
        }
        let share =
            |kept: &Kept| u128::from(kept.counted) * u128::from(u64::MAX / kept.allowed.max(1));
        if share(&case) >= share(&self.0) {
            self.0 = case;
        }
        Ok(())
    }
}

/// A number that processes share.
#[derive(Clone, Debug, Default)]
struct Count(Arc<PlainAtomicU64>);

impl Count {
    fn now(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn add(&self) -> u64 {
        self.0.fetch_add(1, Relaxed) + 1
    }

    fn subtract(&self) {
        self.0.fetch_sub(1, Relaxed);
    }

    fn raise_to(&self, value: u64) {
        self.0.fetch_max(value, Relaxed);
    }
}

/// Counts how often a process is dispatched.
struct Counted<F> {
    clock: Count,
    code: Pin<Box<F>>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.clock.add();
        self.code.as_mut().poll(context)
    }
}

/// Has the dispatches of a process counted.
fn counted<F: Future>(clock: &Count, code: F) -> Counted<F> {
    Counted { clock: clock.clone(), code: Box::pin(code) }
}
