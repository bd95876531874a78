//! What an operation on a channel comes to, and what it comes to instead of a communication.

use std::fmt;

/// What came of an operation that was entered at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing yet.
    Open,
    /// The message has moved.
    Done,
    /// An extended receive: the receiver has the message, and the sender is not released yet.
    Held,
    /// The other end was dropped.
    Closed,
    /// The other end was dropped with poison.
    Poisoned,
    /// The result was given to the process.
    Over,
}

/// Why there will be no communication on a channel any more.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Gone};
///
/// let answer = csp::run(csp::Options::new(), async |scope| {
///     let (mut out, mut numbers) = csp::channel::<u32>("numbers");
///     scope.spawn("source", async move {
///         out.send(1).await.expect("it is received");
///     });
///     assert_eq!(numbers.recv().await, Ok(1));
///     numbers.recv().await
/// })?;
/// assert_eq!(answer.result, Err(Gone::Closed));
/// # Ok::<(), csp::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// The other end was dropped.
    #[error("the other end of the channel was dropped")]
    Closed,
    /// The other end was poisoned, or dropped by a process that had learnt of poison or panicked.
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

/// A message that no receiver will take, or over which its receiver has failed: here it is back.
///
/// The second is one of an [extended receive](crate::Receiver::recv_extended) whose process panicked
/// ([`Gone::Poisoned`]) or was killed ([`Gone::Closed`]) before it had let the sender go; what it did
/// to the message until then shows.
///
/// # Examples
///
/// ```
/// use kahn_csp::{self as csp, Gone};
///
/// let run = csp::run(csp::Options::new(), async |_scope| {
///     let (mut out, numbers) = csp::channel::<u32>("numbers");
///     drop(numbers);
///     let csp::Unsent { message, why } = out.send(7).await.expect_err("nothing receives it");
///     (message, why)
/// })?;
/// assert_eq!(run.result, (7, Gone::Closed));
/// # Ok::<(), csp::RunError>(())
/// ```
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
