//! What an operation may come to instead of a communication.

use super::attempt::Outcome;
use kahn_report::{Failure, Name};
use std::fmt;

/// Why there will be no communication on a channel any more.
///
/// # Examples
///
/// ```
/// use kahn::csp::{self, Gone};
///
/// let answer = csp::run(kahn::RunOptions::new(), async |scope| {
///     let (mut out, mut numbers) = csp::channel::<u32>("numbers");
///     scope.spawn("source", async move {
///         out.send(1).await.expect("somebody listens");
///     });
///     assert_eq!(numbers.recv().await, Ok(1));
///     numbers.recv().await
/// })?;
/// assert_eq!(answer.result, Err(Gone::Closed));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// The other end was dropped.
    #[error("the other end of the channel was dropped")]
    Closed,
    /// The other end was poisoned, or dropped by a process that had met poison or panicked.
    #[error("the channel was poisoned")]
    Poisoned,
}

impl Gone {
    pub(super) fn from_outcome(outcome: Outcome) -> Self {
        if outcome == Outcome::Poisoned { Self::Poisoned } else { Self::Closed }
    }

    pub(super) fn into_outcome(self) -> Outcome {
        match self {
            Self::Closed => Outcome::Closed,
            Self::Poisoned => Outcome::Poisoned,
        }
    }
}

/// A message that nobody will take, or that its receiver has failed over: here it is back.
///
/// The second is one of an [extended receive](super::Receiver::recv_extended) whose process panicked
/// ([`Gone::Poisoned`]) or was killed ([`Gone::Closed`]) before it had let the sender go; what it did
/// to the message until then shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unsent<T> {
    /// The message.
    pub message: T,
    /// Why.
    pub why: Gone,
}

impl<T> fmt::Debug for Unsent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsent").field("why", &self.why).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Unsent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message could not be sent: {}", self.why)
    }
}

impl<T> std::error::Error for Unsent<T> {}

/// Why a process gave no result.
///
/// # Examples
///
/// ```
/// use kahn::{RunOptions, csp};
///
/// let run = csp::run(RunOptions::new(), async |scope| {
///     let child = scope.fork("child", async { if true { panic!("no luck") } });
///     child.join().await
/// })?;
/// let failed = run.result.expect_err("it panicked");
/// assert!(failed.panicked);
/// assert_eq!(failed.to_string(), "process `child` panicked: no luck");
/// # Ok::<(), kahn::RunError>(())
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
    pub(super) fn killed() -> Self {
        let message = "it was killed".to_owned();
        Self { process: Name::from(""), message, panicked: false, at: None }
    }

    pub(super) fn of(mut self, process: &Name) -> Self {
        self.process = process.clone();
        self
    }
}

impl From<&Failure> for Failed {
    fn from(failure: &Failure) -> Self {
        let Failure { message, panicked, at } = failure.clone();
        Self { process: Name::from(""), message, panicked, at }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.panicked { "panicked" } else { "gave no result" };
        write!(f, "process `{}` {verb}: {}", self.process, self.message)
    }
}

impl std::error::Error for Failed {}
