//! Whether a policy keeps the scheduling laws that it promises.
//!
//! | law | file |
//! |---|---|
//! | *bounded waiting*: a ready process is dispatched after so many dispatches | `waiting` |
//! | `yield_now`: all that were ready run first | `waiting` |
//! | *open loops stay small*: makers that no process waits for do not run ahead | `growth` |
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

use crate::policy::{PolicyChoice, Promises, Threads, Waiting};
use crate::{self as csp, Scope};
use crate::{Options, RunError};
use kahn_engine::sync::Ordering::*;
use kahn_engine::sync::{Arc, PlainAtomicU64};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A check of a policy; made by [`check`].
///
/// # Examples
///
/// ```
/// use kahn_csp::policy::SHARED;
/// use kahn_csp::testing;
///
/// let check: testing::Check = testing::check(SHARED).workers(1);
/// for kept in check.run()? {
///     println!("{kept}");
/// }
/// # Ok::<(), testing::BrokenLaw>(())
/// ```
#[must_use = "nothing is checked before `run`"]
pub struct Check {
    policy: PolicyChoice,
    most_workers: usize,
    promises: Promises,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("policy", &self.policy)
            .field("promises", &self.promises)
            .finish_non_exhaustive()
    }
}

/// Begins the check of a policy: a constant such as [`STEALING`](crate::policy::STEALING), which says
/// what it [promises](crate::policy::Promises), or what makes one of your own, which promises nothing yet.
///
/// What every policy keeps, because the runtime does, is checked in any case: that a dispatch ends,
/// and the laws of urgency. The policy is made anew for each of the networks that are run.
///
/// # Examples
///
/// ```
/// use kahn_csp::policy::{Notify, Origin, Policy, Ready, Reason, Turn, Waiting};
/// use kahn_csp::testing;
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
///
/// ```
/// use kahn_csp::policy::SEQUENTIAL;
/// use kahn_csp::testing;
///
/// testing::check(SEQUENTIAL).run()?;
/// # Ok::<(), kahn_csp::testing::BrokenLaw>(())
/// ```
pub fn check(policy: impl Into<PolicyChoice>) -> Check {
    let policy = policy.into();
    let promises = policy.promises();
    Check { policy, most_workers: usize::MAX, promises }
}

impl Check {
    /// Checks on this many workers at most.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::SEQUENTIAL;
    /// use kahn_csp::testing;
    ///
    /// testing::check(SEQUENTIAL).workers(1).run()?;
    /// # Ok::<(), testing::BrokenLaw>(())
    /// ```
    pub fn workers(mut self, most: usize) -> Self {
        self.most_workers = most;
        self
    }

    /// Adds the promise that a ready process waits no longer.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::{SHARED, Waiting};
    /// use kahn_csp::testing;
    ///
    /// testing::check(SHARED).waiting(Waiting::Turn).workers(1).run()?;
    /// # Ok::<(), testing::BrokenLaw>(())
    /// ```
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.promises.waiting = waiting;
        self
    }

    /// Adds the promise that makers which no process waits for, and which wait or yield after `m`
    /// children, leave at most `256 + 64 m` ready processes each.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::SHARED;
    /// use kahn_csp::testing;
    ///
    /// testing::check(SHARED).open_loops().workers(1).run()?;
    /// # Ok::<(), testing::BrokenLaw>(())
    /// ```
    pub fn open_loops(mut self) -> Self {
        self.promises.open_loops = true;
        self
    }

    /// Adds the promise that a tree of forks of depth `d` keeps at most `64 d` ready processes a
    /// worker, or a fiftieth of its leaves if that is more.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::STEALING;
    /// use kahn_csp::testing;
    ///
    /// testing::check(STEALING).forks().workers(1).run()?;
    /// # Ok::<(), testing::BrokenLaw>(())
    /// ```
    pub fn forks(mut self) -> Self {
        self.promises.forks = true;
        self
    }

    /// Adds the promise that what is ready in the queues of a worker that is inside one poll runs
    /// elsewhere.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::STEALING;
    /// use kahn_csp::testing;
    ///
    /// testing::check(STEALING).work_is_found().workers(2).run()?;
    /// # Ok::<(), testing::BrokenLaw>(())
    /// ```
    pub fn work_is_found(mut self) -> Self {
        self.promises.work_is_found = true;
        self
    }

    /// Adds the promise that all that were ready run before a process that has given way with
    /// [`yield_now`](csp::yield_now).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::SHARED;
    /// use kahn_csp::testing;
    ///
    /// testing::check(SHARED).yields().workers(1).run()?;
    /// # Ok::<(), testing::BrokenLaw>(())
    /// ```
    pub fn yields(mut self) -> Self {
        self.promises.yields = true;
        self
    }

    /// Runs the networks that show whether it keeps its promises; returns the worst of each law.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::policy::SHARED;
    /// use kahn_csp::testing;
    ///
    /// // A pool of one queue does not run a tree of forks in depth.
    /// let broken = testing::check(SHARED).forks().workers(1).run();
    /// assert!(broken.is_err());
    /// ```
    ///
    /// # Errors
    /// The first law that is broken, with the case.
    ///
    /// # Panics
    /// Panics if a network cannot be run, and if it does not end well.
    pub fn run(&self) -> Result<Vec<Kept>, BrokenLaw> {
        let promises = self.promises;
        if self.policy.threads() == Threads::OnePerProcess {
            // Nothing is queued.
            return Ok(Vec::new());
        }
        let mut kept = vec![dispatch::ends(self)?, waiting::is_bounded(self)?];
        if !self.policy.waits_once() {
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
        if promises.work_is_found && self.most_workers() > 1 {
            kept.push(dispatch::work_is_found(self)?);
        }
        Ok(kept)
    }

    /// How many workers there are at most.
    fn most_workers(&self) -> usize {
        if self.policy.threads() == Threads::AsAsked { self.most_workers } else { 1 }
    }

    fn runs<'env, F, R>(&self, workers: usize, code: impl FnOnce(Scope<'env>) -> F) -> R
    where
        F: Future<Output = R> + Send + 'env,
        R: Send,
    {
        let options = Options::new().workers(workers).policy(self.policy.clone());
        match csp::run(options, code) {
            Ok(run) => run.result,
            Err(RunError::Ended(report)) => panic!("{}", report.explanation()),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A law that a policy keeps, with the worst that was seen.
///
/// # Examples
///
/// ```
/// use kahn_csp::policy::SHARED;
/// use kahn_csp::testing;
///
/// for kept in testing::check(SHARED).workers(1).run()? {
///     assert!(kept.counted <= kept.allowed, "{kept}");
/// }
/// # Ok::<(), testing::BrokenLaw>(())
/// ```
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
///
/// # Examples
///
/// ```
/// use kahn_csp::policy::SHARED;
/// use kahn_csp::testing;
///
/// let broken = testing::check(SHARED).forks().workers(1).run().expect_err("it is no stack");
/// assert!(broken.0.counted > broken.0.allowed, "{broken}");
/// ```
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
