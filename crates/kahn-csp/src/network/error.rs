//! Why a process, or a run, gave no result.

use kahn_engine::run::Refused;
use kahn_report::{Failure, FailureReport, Name, Report};
use std::fmt;

/// Why a process gave no result.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options};
///
/// let run = csp::run(Options::new(), async |scope| {
///     let child = scope.fork("child", async { if true { panic!("no luck") } });
///     child.join().await
/// })?;
/// let failed = run.result.expect_err("it panicked");
/// assert!(failed.panicked);
/// assert_eq!(failed.to_string(), "process `child` panicked: no luck");
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// The process.
    pub process: Name,
    /// The panic's message, or that it was killed.
    pub message: String,
    /// Whether it panicked.
    pub panicked: bool,
    /// Where it panicked, if that is known: file, line and column.
    pub at: Option<String>,
}

impl Failed {
    pub(crate) fn killed() -> Self {
        let message = "it was killed".to_owned();
        Self { process: Name::from(""), message, panicked: false, at: None }
    }

    pub(crate) fn of(mut self, process: &Name) -> Self {
        self.process = process.clone();
        self
    }
}

impl From<&Failure> for Failed {
    fn from(failure: &Failure) -> Self {
        let Failure { message, panicked, at, .. } = failure.clone();
        Self { process: Name::from(""), message, panicked, at }
    }
}

impl From<Failed> for FailureReport {
    fn from(failed: Failed) -> Self {
        let Failed { process, message, panicked, at } = failed;
        let failure =
            if panicked { Failure::panic(message, at) } else { Failure::of(message.into()) };
        Self::new(process, failure, Vec::new())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.panicked { "panicked" } else { "gave no result" };
        write!(f, "process `{}` {verb}: {}", self.process, self.message)
    }
}

impl std::error::Error for Failed {}

/// Why a run gave no result.
///
/// Shows the explanation as its `Debug` form too, so that `unwrap` and a `main` that returns it
/// speak to people.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Options, RunError};
///
/// let stuck = csp::run(Options::new(), async |_scope| {
///     let (_out, mut never) = csp::channel::<u32>("never");
///     never.recv().await
/// });
/// assert!(matches!(stuck, Err(RunError::Ended(_))));
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Called inside an async process, whose worker the run would hold; nothing ran.
    #[error(
        "communicating processes cannot be run inside an async process, for the run would hold its \
         worker: call it in a blocking process"
    )]
    Nested,
    /// The system refused threads for the workers, and the policy, which is the caller's own, was made
    /// for all of them; nothing ran.
    #[error("out of threads: {0}")]
    OutOfThreads(String),
    /// Its observer has refused the run, and says why.
    #[error("{0}")]
    Refused(String),
    /// The run did not end as it should.
    #[error("{}", .0.reason())]
    Ended(Box<Report>),
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RunError {
    /// Returns the report, if anything ran.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_csp::{self as csp, Options, Summary};
    ///
    /// let error = csp::run(Options::new(), async |_scope| panic!("no")).map(|run| run.result);
    /// let outcome = error.expect_err("it panicked").report().map(|report| report.outcome);
    /// assert_eq!(outcome, Some(Summary::Failed));
    /// ```
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Ended(report) => Some(report),
            _ => None,
        }
    }
}

impl From<Refused> for RunError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Nested => Self::Nested,
            Refused::OutOfThreads(text) => Self::OutOfThreads(text),
        }
    }
}
