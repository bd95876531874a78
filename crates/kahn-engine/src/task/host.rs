//! What a process knows of the scheduler that it belongs to.

use crate::sleep::activity::ActivityCount;
use crate::sync::Arc;
use crate::task::extension::Extension;
use crate::task::{Ready, TaskRef};
use std::fmt;
use std::sync::Weak;

/// What is asked of a scheduler where there is no worker.
pub(crate) trait Runs: Send + Sync {
    /// What may still act.
    fn activity(&self) -> &ActivityCount;

    /// Makes a process ready whose wait something outside has ended.
    fn wake(&self, ready: Ready);

    /// Makes a process ready again whose token was dropped, if the network runs.
    fn requeue(&self, task: TaskRef);

    /// Has a worker check whether anything can still run.
    fn look_again(&self);

    /// Keeps the extension of a process until the table is gone.
    fn keep(&self, extension: &Extension);
}

impl fmt::Debug for dyn Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}

/// The part of a scheduler that its processes know: it stands at the scheduler's beginning, and is found
/// from the blocks of processes.
#[derive(Debug)]
pub struct Host {
    scheduler: Weak<dyn Runs>,
}

impl Host {
    pub(crate) fn new(scheduler: Weak<dyn Runs>) -> Self {
        Self { scheduler }
    }

    /// The scheduler, unless it is being dropped.
    pub(crate) fn scheduler(&self) -> Option<Arc<dyn Runs>> {
        self.scheduler.upgrade()
    }
}
