//! How a run of the command is seen from outside: by what traces it, shows it, and stops it.

use std::fmt;
use std::sync::Arc;

use kahn_report::observe::Observer;

use crate::runtime::Handle;

/// What sees a run of [`run_seen`](super::run_seen).
pub struct Seeing<'a> {
    /// What is told what the run does, if anything is.
    pub observer: Option<Arc<dyn Observer>>,
    /// Is called when all is ready, with the run and with what does its work, which tells whether it went well.
    /// If that is not called, there is no run, and nothing more is said.
    pub during: &'a mut dyn FnMut(&Handle, &mut dyn FnMut() -> bool),
}

impl fmt::Debug for Seeing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seeing").finish_non_exhaustive()
    }
}
