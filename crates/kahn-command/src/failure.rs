//! Why the command gave no result, told apart by who can do something about it.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use kahn::{Report, RunError, Summary};

/// Any error.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why there is no result. The exit code follows the kind: 2 if other input would help, 1 if not.
///
/// A function that prepares or builds may return any error: the command shows it with its causes, and
/// ends with 2. One that is made of this type adds what to do about it.
///
/// # Examples
///
/// ```
/// use kahn_command::{BoxError, Failure};
///
/// fn ports(text: &str) -> Result<u16, BoxError> {
///     text.parse().map_err(|_| {
///         Failure::input(format!("`{text}` is no port")).with_help("expected 1 to 65535").into()
///     })
/// }
///
/// assert_eq!(ports("x").unwrap_err().to_string(), "`x` is no port");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// An argument or the input is wrong: what, where, and what was expected.
    #[error("{message}")]
    Input {
        /// What is wrong, and where.
        message: String,
        /// What to do about it, if that is not plain.
        help: Option<String>,
    },
    /// The arguments could not be understood.
    #[error(transparent)]
    Usage(#[from] clap::Error),
    /// What ran did not finish.
    #[error("{error}")]
    Run {
        /// Why not.
        error: BoxError,
        /// What it has cost.
        report: Option<Box<Report>>,
    },
    /// Ctrl-C has ended it.
    #[error("interrupted")]
    Interrupted,
    /// Two runs that must be the same are not: where they differ first.
    #[error("{0}")]
    Difference(String),
    /// The result is known but could not be written.
    #[error("cannot write {}: {cause}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

impl Failure {
    /// Says what is wrong with the input.
    ///
    /// # Examples
    ///
    /// ```
    /// let failure = kahn_command::Failure::input("points.csv: line 3: expected a number");
    /// assert_eq!(failure.to_string(), "points.csv: line 3: expected a number");
    /// ```
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), help: None }
    }

    /// Says what to do about wrong input.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Failure;
    ///
    /// let failure = Failure::input("`x` is no port").with_help("expected 1 to 65535");
    /// assert!(matches!(failure, Failure::Input { help: Some(_), .. }));
    /// ```
    #[must_use]
    pub fn with_help(self, advice: impl Into<String>) -> Self {
        match self {
            Self::Input { message, .. } => Self::Input { message, help: Some(advice.into()) },
            other => other,
        }
    }

    /// Says what is wrong with a file as a whole.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Failure;
    /// use std::path::Path;
    ///
    /// let failure = Failure::file(Path::new("points.csv"), "is empty");
    /// assert_eq!(failure.to_string(), "points.csv: is empty");
    /// ```
    pub fn file(path: &Path, what: impl Display) -> Self {
        Self::input(format!("{}: {what}", path.display()))
    }

    /// Says what is wrong with a line of a file, counted from one.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Failure;
    /// use std::path::Path;
    ///
    /// let failure = Failure::line(Path::new("points.csv"), 3, "expected a number");
    /// assert_eq!(failure.to_string(), "points.csv: line 3: expected a number");
    /// ```
    pub fn line(path: &Path, line: usize, what: impl Display) -> Self {
        Self::file(path, format_args!("line {line}: {what}"))
    }

    /// Returns what the run has cost, if something ran.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Failure;
    ///
    /// assert!(Failure::input("points.csv: no such file").report().is_none());
    /// ```
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Run { report, .. } => report.as_deref(),
            _ => None,
        }
    }

    /// Returns the exit code of the command.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Failure;
    ///
    /// assert_eq!(Failure::input("a file is missing").exit_code(), 2);
    /// assert_eq!(Failure::Interrupted.exit_code(), 130);
    /// ```
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input { .. } | Self::Usage(_) => 2,
            Self::Output { .. } | Self::Difference(_) => 1,
            Self::Interrupted => INTERRUPTED,
            Self::Run { .. } => match self.report().map(|report| report.outcome) {
                Some(Summary::Stopped) => INTERRUPTED,
                _ => 1,
            },
        }
    }
}

/// The exit code of a command that Ctrl-C ended, as shells have it: 128 and the signal's number.
pub(crate) const INTERRUPTED: u8 = 130;

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        if let RunError::Refused(why) = error {
            return Self::input(why);
        }
        let report = error.report().map(|report| Box::new(report.clone()));
        Self::Run { error: error.into(), report }
    }
}

impl From<BoxError> for Failure {
    /// Any error of a function that prepares or builds: with its causes, each behind the other.
    fn from(error: BoxError) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(failure) => return *failure,
            Err(error) => error,
        };
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some errors show their cause themselves.
            if !message.ends_with(&text) {
                message = format!("{message}: {text}");
            }
            cause = error.source();
        }
        Self::input(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("config.toml: cannot be read")]
    struct Unreadable(#[source] io::Error);

    #[test]
    fn any_error_is_shown_with_its_causes() {
        let error = Unreadable(io::Error::other("the disk is gone"));
        let failure = Failure::from(BoxError::from(error));
        assert_eq!(failure.to_string(), "config.toml: cannot be read: the disk is gone");
        assert_eq!(failure.exit_code(), 2);
    }

    #[test]
    fn a_failure_keeps_its_kind_and_its_help_on_the_way() {
        let failure = Failure::input("no").with_help("say yes");
        let failure = Failure::from(BoxError::from(failure));
        assert!(matches!(failure, Failure::Input { help: Some(help), .. } if help == "say yes"));
    }

    #[test]
    fn what_better_input_would_cure_exits_with_2() {
        assert_eq!(Failure::input("a file is missing").exit_code(), 2);
        let cause = io::ErrorKind::StorageFull.into();
        assert_eq!(Failure::Output { path: PathBuf::new(), cause }.exit_code(), 1);
    }
}
