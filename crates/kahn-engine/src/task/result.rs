//! What the code of a process may return.

use kahn_report::BoxError;

/// What the code of a process may return: nothing, or a result whose error is its failure; or it
/// never returns.
///
/// The error may be of any type that becomes a [`BoxError`]: all that implement
/// [`Error`](std::error::Error), and texts. The error of the run has it as its source.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use std::num::ParseIntError;
///
/// let mut network = Network::new();
/// let texts = network.source("texts", ["1", "2", "three"]);
/// network.process("parse", texts, async |mut texts| {
///     while let Some(text) = texts.recv().await {
///         text.parse::<u32>()?;
///     }
///     Ok::<(), ParseIntError>(())
/// });
/// let error = network.run().expect_err("`three` is no number");
/// assert!(error.to_string().contains("process `parse` failed: invalid digit"));
/// assert!(error.downcast_ref::<ParseIntError>().is_some());
/// ```
#[diagnostic::on_unimplemented(
    message = "a process returns `()` or `Result<(), E>`, and not `{Self}`",
    label = "this process returns `{Self}`",
    note = "what a process computes it sends to a channel; `compute` makes a process whose value can be \
            taken after the run, and `try_process` one that may fail as well",
    note = "the error `E` of a process is any that implements `Error`, or a text (`Into<kahn::BoxError>`)"
)]
pub trait ProcessResult: Send {
    /// Turns the result into its error, if it is one.
    fn into_error(self) -> Option<BoxError>;
}

impl ProcessResult for () {
    fn into_error(self) -> Option<BoxError> {
        None
    }
}

/// What a function returns. Only so can the type `!` be named: it has no stable name of its own.
#[doc(hidden)]
pub trait Returns {
    /// It.
    type Output;
}

impl<O> Returns for fn() -> O {
    type Output = O;
}

/// What code returns that never ends by itself, such as `async |()| loop { … }`.
impl ProcessResult for <fn() -> ! as Returns>::Output {
    fn into_error(self) -> Option<BoxError> {
        self
    }
}

impl<E: Into<BoxError> + Send> ProcessResult for Result<(), E> {
    fn into_error(self) -> Option<BoxError> {
        self.err().map(Into::into)
    }
}
