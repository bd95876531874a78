//! What the code of a process may return.

/// What the code of a process may return: nothing, or a result whose error is its failure; or it
/// never returns.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let texts = network.source("texts", ["1", "2", "three"]);
/// network.process("parse", texts, async |mut texts| {
///     while let Some(text) = texts.recv().await {
///         text.parse::<u32>()?;
///     }
///     Ok::<(), std::num::ParseIntError>(())
/// });
/// let error = network.run().expect_err("`three` is no number");
/// assert!(error.to_string().contains("process `parse` failed: invalid digit"));
/// ```
pub trait ProcessResult: Send {
    /// Turns the result into an error's text, if it is an error.
    fn into_error(self) -> Option<String>;
}

impl ProcessResult for () {
    fn into_error(self) -> Option<String> {
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
    fn into_error(self) -> Option<String> {
        self
    }
}

impl<E: std::fmt::Display + Send> ProcessResult for Result<(), E> {
    fn into_error(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}
