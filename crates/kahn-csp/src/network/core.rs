//! What the processes of one network share.

use crate::channel::blocks;
use crate::language::common::Common;
use crate::language::csp::{Csp, Worker};
use crate::language::running;
use crate::network::attachment::Attachment;
use crate::network::clock::Timers;
use crate::network::error::Failed;
use crate::network::helpers::Helpers;
use kahn_engine::sync::{Arc, Mutex};
use kahn_engine::{Scheduler, TaskRef};
use kahn_report::Explanation;
use std::ptr::NonNull;

/// Why a run ended before all its processes had.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    Deadlock(Explanation),
    Quiescent,
    Stopped,
    /// The system refused a thread that the run needs.
    OutOfThreads(String),
}

/// What the processes of one network share. Lives as long as its run.
pub(crate) struct Core {
    /// The state of the run, for those outside.
    pub(crate) attachment: Arc<Attachment>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) common: Arc<Common>,
    pub(crate) verdict: Mutex<Option<Verdict>>,
    pub(crate) quiescence: bool,
    /// Whether explanations name lines of code.
    pub(crate) places: bool,
    pub(crate) timers: Arc<Timers>,
    pub(crate) helpers: Arc<Helpers>,
    /// Failures of processes whose handles were dropped.
    pub(crate) unheard: Mutex<Vec<Failed>>,
}

impl Drop for Core {
    fn drop(&mut self) {
        // Before the memory of its processes goes with the scheduler.
        blocks::forget_users(&self.common);
    }
}

impl Core {
    /// The language of this network.
    pub(crate) fn language(&self) -> Csp {
        Csp::new(NonNull::from(self).cast(), Arc::clone(&self.common))
    }

    /// The network of a language; not after its run.
    #[inline]
    pub(crate) fn of_language(language: &Csp) -> &Self {
        // SAFETY: made by `language` from a core, and asked during the run alone, which that outlives.
        unsafe { language.network().cast::<Self>().as_ref() }
    }

    /// The network that a worker is of.
    #[inline]
    pub(crate) fn of_worker(worker: &Worker) -> &Self {
        Self::of_language(worker.language())
    }

    /// The network of a process of this module; not after its run.
    pub(crate) fn of<'a>(task: TaskRef) -> &'a Self {
        Self::of_language(Scheduler::of(task).language::<Csp>())
    }

    /// Calls `f` with the network of the process that runs on this thread.
    ///
    /// # Panics
    /// Panics outside of a communicating process.
    pub(crate) fn with_here<R>(what: &str, f: impl FnOnce(&Self) -> R) -> R {
        f(Self::of_worker(running::maker(what).0))
    }

    /// Whether gates are locked: they are unless one worker does everything.
    pub(crate) fn has_gates(&self) -> bool {
        !self.scheduler.settings().solo
    }

    /// Drops the result of a process that has ended and has no handle any more. If it
    /// failed, only the handle was to tell so.
    pub(crate) fn drop_result(&self, task: TaskRef) {
        let Some(body) = task.body() else { return };
        // SAFETY: it has ended, and the result is the caller's.
        if let Err(failure) = unsafe { (body.drop)(task.non_null()) } {
            self.unheard(Failed::from(&failure).of(&task.info().name));
        }
    }

    /// The run is over: drops the results of processes whose handles are still somewhere. A handle that
    /// goes from now on does nothing.
    pub(crate) fn drop_results(&self) {
        let ended = self.scheduler.table.lock().ended();
        for task in ended {
            self.drop_result(task);
        }
    }

    /// A process failed, and the one that had its handle did not ask.
    pub(crate) fn unheard(&self, failed: Failed) {
        self.unheard.lock().push(failed);
    }

    /// Ends the run; the first reason counts.
    pub(crate) fn end_with(&self, verdict: Verdict) {
        let mut slot = self.verdict.lock();
        if slot.is_none() && !self.scheduler.is_ending() {
            *slot = Some(verdict);
        }
        drop(slot);
        self.scheduler.end_run();
    }
}
