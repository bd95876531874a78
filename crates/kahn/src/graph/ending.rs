//! How a process ended.

use super::Name;

/// Why a process failed, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The error's text, or the panic's message.
    pub(crate) message: String,
    pub(crate) panicked: bool,
}

/// How a process ended.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// It returned.
    Finished,
    /// It returned an error or panicked.
    Failed(Failure),
    /// It reached the failure mark of a channel.
    FailedBy {
        /// The channel whose mark it reached.
        channel: Name,
        /// The process that left the mark.
        process: Name,
    },
    /// Nobody could observe it any more.
    Pruned,
    /// The run ended before it did.
    Stopped,
}
