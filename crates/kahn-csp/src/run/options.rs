//! How a network of communicating processes is run.

use crate::run::handle::Handle;
use kahn_engine::sync::Arc;
use kahn_engine::{Schedule, schedule_options};
use kahn_report::Both;
use kahn_report::observe::{Observable, Observer};
use std::fmt;

/// How a network of communicating processes is run: its [`Schedule`], and its time and threads.
///
/// Which choices processes make may depend on the schedule. With one worker and a
/// [seed](Self::seed) every choice is repeatable. A clone runs another network the same way.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options};
/// use std::time::Duration;
///
/// let options = Options::new().workers(2).policy(csp::policy::SHARED).virtual_time(true);
/// let run = csp::run(options, async |_scope| csp::after(Duration::from_secs(86_400)).await)?;
/// assert_eq!(run.report.workers, 2);
/// assert_eq!(run.report.policy, "shared");
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) schedule: Schedule,
    pub(crate) quiescence: bool,
    pub(crate) virtual_time: bool,
    pub(super) blocking_calls: usize,
    pub(super) begun: Option<Announcement>,
}

/// Is told of each run that begins.
#[derive(Clone)]
pub(super) struct Announcement(pub(super) Arc<dyn Fn(Handle) + Send + Sync>);

impl fmt::Debug for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Announcement")
    }
}

impl From<Schedule> for Options {
    fn from(schedule: Schedule) -> Self {
        Self { schedule, quiescence: false, virtual_time: false, blocking_calls: 1024, begun: None }
    }
}

impl Options {
    /// Makes the default options: a worker for each core, the default policy, real time, 1 024
    /// threads for blocking calls, counters.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new(), async |_scope| ())?;
    /// assert_eq!(run.report.policy, "stealing");
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that a network in which nothing can happen any more has ended normally, though
    /// processes are left that wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new().quiescence_is_normal(true), async |scope| {
    ///     scope.spawn("server", std::future::pending::<()>());
    ///     42
    /// })?;
    /// assert_eq!(run.result, 42);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    #[must_use]
    pub fn quiescence_is_normal(mut self, normal: bool) -> Self {
        self.quiescence = normal;
        self
    }

    /// Gives the run a time of its own: when nothing else can run, it jumps to the next deadline
    /// that a process waits for. Tests of days take no time.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    /// use std::time::Duration;
    ///
    /// csp::run(Options::new().virtual_time(true), async |_scope| {
    ///     csp::after(Duration::from_secs(86_400)).await;
    /// })?;
    /// # Ok::<(), csp::RunError>(())
    /// ```
    #[must_use]
    pub fn virtual_time(mut self, is_virtual: bool) -> Self {
        self.virtual_time = is_virtual;
        self
    }

    /// Bounds the threads for [blocking calls](crate::blocking()), which are 1 024 otherwise: a call
    /// beyond them waits until one before it has returned. Calls that wait for each other need as
    /// many threads as there are.
    ///
    /// # Panics
    /// Panics if there is to be none.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new().blocking_calls(2), async |scope| {
    ///     let calls = (0..100_u32).map(|n| csp::blocking(move || n)).collect::<Vec<_>>();
    ///     scope.par(calls).await
    /// })?;
    /// assert_eq!(run.result, Ok((0..100).collect()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    ///
    /// Source: CCSP, whose blocking calls have up to 1 024 threads.
    #[must_use]
    pub fn blocking_calls(mut self, threads: usize) -> Self {
        assert!(threads > 0, "blocking calls need a thread at least");
        self.blocking_calls = threads;
        self
    }

    /// Has a function called with the handle of each run that begins: what stops runs, or looks into them, need not
    /// be where they are begun.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    /// use std::sync::{Arc, Mutex};
    ///
    /// let latest = Arc::new(Mutex::new(None));
    /// let told = Arc::clone(&latest);
    /// let options = Options::new().begun(move |handle| {
    ///     *told.lock().expect("no other thread panics") = Some(handle);
    /// });
    /// csp::run(options, async |_scope| ())?;
    /// let latest = latest.lock().expect("no other thread panics").take();
    /// assert!(latest.is_some_and(|handle| handle.is_ending()));
    /// # Ok::<(), csp::RunError>(())
    /// ```
    #[must_use]
    pub fn begun(mut self, tell: impl Fn(Handle) + Send + Sync + 'static) -> Self {
        self.begun = Some(Announcement(Arc::new(tell)));
        self
    }

    /// Has an observer told when processes run, rest and are dropped, or has its
    /// [log](kahn_report::log::Log) written: where a process waits for its partner as well, and which process came.
    /// The observers given before are told as well, each what it wants to know.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options};
    /// use kahn_report::observe::{Observer, Subject};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// #[derive(Default)]
    /// struct Ran(AtomicU64);
    ///
    /// impl Observer for Ran {
    ///     fn runs(&self, _process: Subject<'_>, _worker: Option<usize>, _at: u64) {
    ///         self.0.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// }
    ///
    /// let ran = Arc::new(Ran::default());
    /// csp::run(Options::new().observer(Arc::clone(&ran)), async |_scope| ())?;
    /// assert_eq!(ran.0.load(Ordering::Relaxed), 1);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    #[must_use]
    pub fn observer(self, observer: Arc<impl Observer + 'static>) -> Self {
        self.observed_by(observer)
    }
}

impl Observable for Options {
    fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        let observer = match self.schedule.observer() {
            None => observer,
            Some(before) => Arc::new(Both::new(Arc::clone(before), observer)),
        };
        self.schedule = self.schedule.observed_by(observer);
        self
    }
}

schedule_options! { Options {
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new().workers(3), async |_scope| ())?;
    /// assert_eq!(run.report.workers, 3);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    workers,
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// // A thousand runs at once: one worker each.
    /// let run = csp::run(Options::new().cores_shared_by(1000), async |_scope| ())?;
    /// assert_eq!(run.report.workers, 1);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    cores_shared_by,
    /// ```
    /// use kahn_csp::policy::SEQUENTIAL;
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new().policy(SEQUENTIAL), async |_scope| ())?;
    /// assert_eq!(run.report.policy, "sequential");
    /// # Ok::<(), csp::RunError>(())
    /// ```
    policy,
    /// ```
    /// use kahn_csp::{self as csp, OneOf2, Options};
    ///
    /// let chosen = || {
    ///     let run = csp::run(Options::new().workers(1).seed(7), async |_scope| {
    ///         let mut chosen = String::new();
    ///         for _ in 0..8 {
    ///             let (a, b) = (csp::until(csp::now()), csp::until(csp::now()));
    ///             chosen.push(if csp::alt((a, b)).await == OneOf2::First(()) { 'a' } else { 'b' });
    ///         }
    ///         chosen
    ///     });
    ///     run.map(|run| run.result)
    /// };
    /// assert_eq!(chosen()?, chosen()?);
    /// # Ok::<(), csp::RunError>(())
    /// ```
    seed,
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new().workers(1).pin(true), async |_scope| ())?;
    /// assert!(run.report.is_success());
    /// # Ok::<(), csp::RunError>(())
    /// ```
    pin,
    /// ```
    /// use kahn_csp::{self as csp, Accounting, Options};
    ///
    /// let run = csp::run(Options::new().accounting(Accounting::Timing), async |_scope| ())?;
    /// assert!(run.report.processes[0].cpu_seconds.is_some());
    /// # Ok::<(), csp::RunError>(())
    /// ```
    accounting,
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let run = csp::run(Options::new().wait_once(true), async |_scope| ())?;
    /// assert!(run.report.is_success());
    /// # Ok::<(), csp::RunError>(())
    /// ```
    wait_once,
    /// ```
    /// use kahn_csp::{self as csp, Options};
    ///
    /// let stuck = csp::run(Options::new().places(false), async |_scope| {
    ///     let (_out, mut never) = csp::channel::<u32>("never");
    ///     never.recv().await
    /// });
    /// let text = stuck.expect_err("nothing is sent").to_string();
    /// assert!(!text.contains(".rs"), "{text}");
    /// ```
    places,
    /// ```
    /// use kahn_csp::{self as csp, Options, Summary};
    ///
    /// let options = Options::new().workers(1).refuse_threads_after(0);
    /// let error = csp::run(options, async |_scope| csp::blocking(|| ()).await);
    /// let error = error.expect_err("a call has no thread");
    /// assert_eq!(error.report().map(|report| report.outcome), Some(Summary::OutOfThreads));
    /// ```
    refuse_threads_after,
} }
