//! What the scheduler asks of a language where there is no worker, and how it knows which it has.

use crate::scheduler::Scheduler;
use crate::sync::{Arc, Parker};
use crate::task::TaskRef;
use kahn_report::ProcessCounter;
use kahn_report::log::Wait;
use std::any::Any;

/// What the scheduler asks of a language without a worker.
pub trait Hooks: Any + Send + Sync {
    /// Tells the networks of this language from others.
    fn tag() -> &'static Tag
    where
        Self: Sized;

    /// Workers have been idle for long: asks the policy where processes belong. Returns how many are
    /// to move, if anything changes.
    fn share_out(&self) -> Option<u64> {
        None
    }
}

/// The language of a network: a static of each, with the functions by which its workers run.
#[derive(Debug)]
pub struct Tag {
    /// Runs processes until the run ends, as the worker of this index.
    pub(crate) work: fn(&Scheduler, usize),
    /// Runs one process from its first poll to its end, on a thread of its own.
    pub(crate) live: fn(&Scheduler, usize, Arc<Parker>, TaskRef),
    /// Ends a process that has no thread to run on.
    pub(crate) refuse: fn(&Scheduler, TaskRef),
    /// Where a process has waited whose wait is over, as a log has it.
    pub(crate) waited: fn(TaskRef) -> Wait,
    /// What the language has counted of a process.
    pub(crate) counted: fn(TaskRef, ProcessCounter) -> u64,
}

impl Scheduler {
    /// What all workers share of the language.
    ///
    /// # Panics
    /// Panics if the network is of another language.
    #[inline]
    pub fn language<L: Hooks>(&self) -> &L {
        assert!(std::ptr::eq(self.tag, L::tag()), "a network has one language");
        let hooks = std::ptr::from_ref(self.hooks());
        // SAFETY: set by `set_language`, which takes what belongs to the tag.
        unsafe { &*hooks.cast::<L>() }
    }
}
