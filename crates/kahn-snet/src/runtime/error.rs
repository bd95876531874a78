//! What a run that does not come to its end returns.

use crate::boxes::BindError;
use crate::runtime::steps::failure::Failure;
use crate::runtime::steps::graph::TooLarge;

/// A run could not begin, or ended before its input did.
#[derive(thiserror::Error)]
pub enum RunError {
    /// The program has errors.
    #[error("the program has errors; `kahn snet check` shows them")]
    Invalid,
    /// A box has no function.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The program is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The system gives no thread.
    #[error("cannot start a worker: {0}")]
    Thread(std::io::Error),
    /// The network of processes did not run.
    #[error(transparent)]
    Network(Box<kahn::RunError>),
    /// Something went wrong on the way.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
}

/// What `main` prints if it returns the error: the message, for a person.
impl std::fmt::Debug for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
