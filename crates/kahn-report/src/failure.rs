//! Why a process failed: the error itself, and what is told of it.

use crate::Name;
#[cfg(feature = "json")]
use serde::Serialize;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// An error of any type, as processes return it: what `?` makes of every error, and of a text.
///
/// # Examples
///
/// ```
/// use kahn_report::BoxError;
///
/// let error: BoxError = "no luck".into();
/// assert_eq!(error.to_string(), "no luck");
/// ```
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error that a process returned, shared by all that tell of it.
#[derive(Clone)]
struct Cause(Option<Arc<dyn Error + Send + Sync>>);

impl Drop for Cause {
    fn drop(&mut self) {
        // Its destructor is the user's code. What it panics with is lost with it: dropped if it is a text,
        // as nearly always, and forgotten otherwise, for dropping that may panic for ever.
        let error = self.0.take();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(error)))
            && !payload.is::<&str>()
            && !payload.is::<String>()
        {
            std::mem::forget(payload);
        }
    }
}

/// Why a process failed: the error that it returned, or its panic.
///
/// Two failures are equal if they tell the same.
///
/// # Examples
///
/// ```
/// use kahn_report::Failure;
///
/// let failure = Failure::panic("no luck".to_owned(), None);
/// assert!(failure.panicked && failure != Failure::of("no luck".into()));
/// ```
#[derive(Clone)]
pub struct Failure {
    /// The error's text and those of its causes, or the panic's message.
    pub message: String,
    /// Whether it panicked.
    pub panicked: bool,
    /// Where it panicked, if that is known: file, line and column.
    pub at: Option<String>,
    /// The message at which it failed, if that is known.
    pub input: Option<AtMessage>,
    cause: Cause,
}

impl Failure {
    /// Makes the failure of a process that returned an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Failure;
    ///
    /// let failure = Failure::of("no luck".into());
    /// assert!(!failure.panicked && failure.at.is_none());
    /// ```
    pub fn of(error: BoxError) -> Self {
        let error = match error.downcast::<Again>() {
            Ok(again) => return again.0,
            Err(error) => error,
        };
        let (input, error) = match error.downcast::<Located>() {
            Ok(located) => (Some(located.at), located.error),
            Err(error) => (None, error),
        };
        let message = chain(error.as_ref());
        Self { message, panicked: false, at: None, input, cause: Cause(Some(Arc::from(error))) }
    }

    /// Makes the failure of a process that panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Failure;
    ///
    /// let failure = Failure::panic("no luck".to_owned(), Some("main.rs:7:5".to_owned()));
    /// assert_eq!(failure.at.as_deref(), Some("main.rs:7:5"));
    /// ```
    pub fn panic(message: String, at: Option<String>) -> Self {
        Self { message, panicked: true, at, input: None, cause: Cause(None) }
    }

    /// Makes an error of a failure that was told before: a process that returns it fails with that again.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::Failure;
    ///
    /// let failure = Failure::panic("no luck".to_owned(), Some("main.rs:7:5".to_owned()));
    /// assert_eq!(Failure::of(failure.clone().into_error()), failure);
    /// ```
    pub fn into_error(self) -> BoxError {
        Box::new(Again(self))
    }

    fn told(&self) -> (&str, bool, Option<&str>, Option<&AtMessage>) {
        (&self.message, self.panicked, self.at.as_deref(), self.input.as_ref())
    }
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        self.told() == other.told()
    }
}

impl Eq for Failure {}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("message", &self.message)
            .field("panicked", &self.panicked)
            .field("at", &self.at)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

/// Returns an error's text and those of its causes, but for what has been told already.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = text + ": " + &more;
        }
        cause = error.source();
    }
    text
}

/// A message of a channel, counted from 1.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let texts = network.source("texts", ["1", "2", "three"]);
/// network.for_each("check", texts, |text| text.parse::<u32>().map(drop));
/// let error = network.run().expect_err("`three` is no number");
/// let failure = &error.report().expect("it has run").failures[0];
/// let input = failure.input.as_ref().expect("a message of `texts`");
/// assert_eq!((input.channel.as_str(), input.number), ("texts", 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct AtMessage {
    /// The channel.
    pub channel: Name,
    /// Which of its messages: the first one is 1.
    pub number: u64,
}

impl AtMessage {
    /// Says of an error that this message led to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::AtMessage;
    ///
    /// let at = AtMessage { channel: "lines".into(), number: 17 };
    /// assert_eq!(at.blame("no number".into()).to_string(), "message 17 of `lines`: no number");
    /// ```
    pub fn blame(self, error: BoxError) -> BoxError {
        Box::new(Located { at: self, error })
    }
}

impl fmt::Display for AtMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} of `{}`", self.number, self.channel)
    }
}

/// A failure as an error.
#[derive(Debug)]
struct Again(Failure);

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl Error for Again {}

/// An error, and the message that led to it.
#[derive(Debug)]
struct Located {
    at: AtMessage,
    error: BoxError,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.error)
    }
}

impl Error for Located {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.error.as_ref())
    }
}

/// A process that failed.
///
/// Prints as a line. That a process panicked is printed by the hook for panics, when it happens; the
/// line says where, and gives the message only if no hook was told.
///
/// Two reports are equal if they tell the same; [`error`](Self::error) is no part of that, nor of the
/// JSON.
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let (out, numbers) = network.channel::<u32>("numbers");
/// network.process("fail", out, async |_out| Err::<(), _>("no luck"));
/// network.for_each("hear of it", numbers, |_| {});
/// let error = network.run().expect_err("it fails");
/// let failure = &error.report().expect("it has run").failures[0];
/// assert_eq!(failure.to_string(), "process `fail` failed: no luck (and with it `hear of it`)");
/// ```
#[derive(Clone)]
#[cfg_attr(feature = "json", derive(Serialize))]
pub struct FailureReport {
    /// The process.
    pub process: Name,
    /// The error's text and those of its causes, or the panic's message.
    pub message: String,
    /// Whether it panicked.
    pub panicked: bool,
    /// Where it panicked: file, line and column. `None` if no hook was told, as by
    /// [`resume_unwind`](std::panic::resume_unwind), or if the hook was replaced during the run.
    pub at: Option<String>,
    /// The message at which it failed, if a process of the library did.
    #[cfg_attr(feature = "json", serde(skip_serializing_if = "Option::is_none"))]
    pub input: Option<AtMessage>,
    /// Processes that ended because of it, in a fixed order.
    pub ended_with_it: Vec<Name>,
    #[cfg_attr(feature = "json", serde(skip))]
    cause: Cause,
}

impl FailureReport {
    /// Makes the report of a failure.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_report::{Failure, FailureReport};
    ///
    /// let failure = Failure::of("no luck".into());
    /// let report = FailureReport::new("parse".into(), failure, Vec::new());
    /// assert_eq!(report.to_string(), "process `parse` failed: no luck");
    /// ```
    pub fn new(process: Name, failure: Failure, ended_with_it: Vec<Name>) -> Self {
        let Failure { message, panicked, at, input, cause } = failure;
        Self { process, message, panicked, at, input, ended_with_it, cause }
    }

    /// Returns the error that the process returned; `None` if it panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::num::ParseIntError;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "two"]);
    /// network.for_each("check", texts, |text| text.parse::<u32>().map(drop));
    /// let error = network.run().expect_err("`two` is no number");
    /// let failure = &error.report().expect("it has run").failures[0];
    /// assert!(failure.error().is_some_and(|error| error.is::<ParseIntError>()));
    /// ```
    pub fn error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.0.as_deref()
    }

    fn told(&self) -> (&Name, &str, bool, Option<&str>, Option<&AtMessage>, &[Name]) {
        let (at, input) = (self.at.as_deref(), self.input.as_ref());
        (&self.process, &self.message, self.panicked, at, input, &self.ended_with_it)
    }
}

impl PartialEq for FailureReport {
    fn eq(&self, other: &Self) -> bool {
        self.told() == other.told()
    }
}

impl Eq for FailureReport {}

impl fmt::Debug for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailureReport")
            .field("process", &self.process)
            .field("message", &self.message)
            .field("panicked", &self.panicked)
            .field("at", &self.at)
            .field("input", &self.input)
            .field("ended_with_it", &self.ended_with_it)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process `{}` ", self.process)?;
        match &self.at {
            Some(at) => write!(f, "panicked at {at}")?,
            None if self.panicked => write!(f, "panicked: {}", self.message)?,
            None => {
                f.write_str("failed")?;
                if let Some(input) = &self.input {
                    write!(f, " at {input}")?;
                }
                write!(f, ": {}", self.message)?;
            }
        }
        if !self.ended_with_it.is_empty() {
            let names: Vec<_> = self.ended_with_it.iter().map(|name| format!("`{name}`")).collect();
            write!(f, " (and with it {})", names.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error that has a cause, and tells of it or not.
    #[derive(Debug)]
    struct Outer(&'static str, Option<BoxError>);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_ref().map(|cause| &**cause as _)
        }
    }

    #[test]
    fn a_failure_tells_of_all_causes_each_once() {
        let lowest = || Some("no such file".into());
        let open = |text| Outer(text, lowest());
        let failure = Failure::of(Outer("no settings", Some(open("cannot open").into())).into());
        assert_eq!(failure.message, "no settings: cannot open: no such file");
        let failure = Failure::of(open("cannot open: no such file").into());
        assert_eq!(failure.message, "cannot open: no such file");
    }

    #[test]
    fn where_it_failed_is_told_apart_from_the_error() {
        let at = AtMessage { channel: "lines".into(), number: 17 };
        let failure = Failure::of(at.blame(Outer("no", None).into()));
        let report = FailureReport::new("parse".into(), failure, Vec::new());
        assert_eq!(report.to_string(), "process `parse` failed at message 17 of `lines`: no");
        assert!(matches!(report.error(), Some(error) if error.is::<Outer>()));
        assert_ne!(report, FailureReport::new("parse".into(), Failure::of("no".into()), vec![]));
    }

    #[test]
    fn an_error_whose_destructor_panics_is_dropped_all_the_same() {
        #[derive(Debug, thiserror::Error)]
        #[error("sore")]
        struct Sore;

        impl Drop for Sore {
            fn drop(&mut self) {
                std::panic::resume_unwind(Box::new("in the destructor of an error"));
            }
        }

        let failure = Failure::of(Sore.into());
        drop(failure.clone());
        drop(failure);
    }
}
