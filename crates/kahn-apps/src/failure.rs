//! Why a program gave no result, told apart by who can do something about it.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// A program that gave no result.
///
/// The command's exit code follows the kind: 2 if other input would help, 1 if not.
#[derive(Debug, thiserror::Error)]
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
    /// The network did not finish.
    #[error(transparent)]
    Run(Box<kahn::RunError>),
    /// The communicating processes did not finish.
    #[error(transparent)]
    Communicating(Box<kahn_csp::RunError>),
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
    /// ```
    /// let failure = kahn_apps::Failure::input("points.csv: line 3: expected a number");
    /// assert_eq!(failure.to_string(), "points.csv: line 3: expected a number");
    /// ```
    pub fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), help: None }
    }

    /// Says what to do about wrong input.
    #[must_use]
    pub fn with_help(self, advice: impl Into<String>) -> Self {
        match self {
            Self::Input { message, .. } => Self::Input { message, help: Some(advice.into()) },
            other => other,
        }
    }

    /// Returns what the run cost, if something ran.
    ///
    /// ```
    /// assert!(kahn_apps::Failure::input("points.csv: no such file").report().is_none());
    /// ```
    pub fn report(&self) -> Option<&kahn::Report> {
        match self {
            Self::Run(error) => error.report(),
            Self::Communicating(error) => error.report(),
            _ => None,
        }
    }

    /// Says what is wrong with a file as a whole.
    pub(crate) fn file(path: &Path, what: impl Display) -> Self {
        Self::input(format!("{}: {what}", path.display()))
    }

    /// Says what is wrong with a line of a file, counted from one.
    pub(crate) fn line(path: &Path, line: usize, what: impl Display) -> Self {
        Self::input(format!("{}: line {line}: {what}", path.display()))
    }
}

impl From<kahn::RunError> for Failure {
    fn from(error: kahn::RunError) -> Self {
        Self::Run(Box::new(error))
    }
}

impl From<kahn_csp::RunError> for Failure {
    fn from(error: kahn_csp::RunError) -> Self {
        Self::Communicating(Box::new(error))
    }
}
