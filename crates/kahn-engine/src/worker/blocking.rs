//! Processes on threads of their own: blocking ones, and all of them under the policy `threads`.

use crate::scheduler::Scheduler;
use crate::sync::panics::Defect;
use crate::sync::{Arc, Ordering::*, Parker, thread};
use crate::task::foreign::base_waker;
use crate::task::{TaskRef, mark, own};
use crate::worker::dispatch::Worker;
use crate::worker::language::{Language, Left, Probe};
use crate::worker::request::{Park, Pause, Request};
use crate::worker::{PATIENCE, WorkerCore};
use kahn_report::Ending;
use std::panic::resume_unwind;
use std::task::Context;

/// What the thread of a blocking process unwinds with when the process must end. Not a panic: no
/// hook runs and no message is printed.
#[derive(Debug)]
pub struct Unwound;

/// How the process ends whose thread unwinds; found out before its ends are gone.
pub(crate) struct Unwinding {
    pub(crate) ending: Ending,
    /// The process had panicked by itself before it had to end.
    pub(crate) is_own_panic: bool,
}

impl<L: Language> Worker<L> {
    /// Runs one process from its first poll to its end.
    pub(crate) fn live_with(&self, task: TaskRef) {
        let _installed = self.install();
        let defect = Defect;
        self.run_alone(task);
        std::mem::forget(defect);
    }

    fn run_alone(&self, task: TaskRef) {
        let waker = base_waker(task);
        let mut context = Context::from_waker(&waker);
        loop {
            self.patience.set(PATIENCE);
            match self.poll(task, &mut context) {
                Some(Request::Park) => self.sleep_if(task, L::park(self, task)),
                Some(Request::ParkOtherwise) => self.sleep_if(task, L::park_otherwise(self, task)),
                Some(Request::Again | Request::Yield | Request::GiveWay) => thread::yield_now(),
                Some(Request::None) => {
                    // SAFETY: its thread, and its poll is over.
                    if unsafe { self.wait_foreign(task) } {
                        self.rest();
                    }
                }
                Some(Request::End) | None => return,
            }
        }
    }

    /// Sleeps until the process of this thread is woken, if it is parked.
    fn sleep_if(&self, task: TaskRef, park: Park) {
        if park == Park::Asleep {
            L::probe(self, Probe::Parked(task));
            self.rest();
        }
    }

    /// A blocking operation has to wait: sleeps until it is woken, or unwinds if the process must end.
    ///
    /// # Safety
    /// `task` runs on this thread, and has asked to be parked, in whatever way.
    pub unsafe fn block(&self, task: TaskRef) {
        if self.observed {
            self.end_slice(task, Pause::ToPark);
        }
        L::left_poll(self, task, Left::ToWait);
        self.sleep_if(task, L::park_otherwise(self, task));
        if self.observed {
            self.begin_slice(task);
        }
        if task.marks.load(Acquire) & mark::MAY_END != 0
            && let Some(ending) = self.must_end(task)
        {
            self.unwind(ending);
        }
    }
}

impl WorkerCore {
    /// Sleeps until the process of this thread is woken.
    fn rest(&self) {
        self.scheduler().rest();
        let parker = self.own_parker().expect("the thread of a process has a parker");
        parker.park();
    }

    /// Leaves the body of the running process for good, with the stack it runs on. Returns only if
    /// the thread unwinds already, for a second one would end the program: then the operation that
    /// asked does nothing, and the process ends when the unwinding comes to its body.
    pub fn unwind(&self, ending: Ending) {
        let is_unwinding = thread::panicking();
        if let Some(task) = self.current()
            && task.notes() & own::ENDING == 0
        {
            // From now on the operations of destructors do nothing.
            task.note(own::ENDING);
            let ending = ending.clone();
            self.unwinding.set(Some(Unwinding { ending, is_own_panic: is_unwinding }));
        }
        self.ask_to_end(ending);
        if !is_unwinding {
            resume_unwind(Box::new(Unwound));
        }
    }

    /// An operation of a process that is being ended. It does nothing, unless it is a thread that
    /// has caught what it was unwound with: that is unwound again.
    pub fn unwind_again(&self) {
        if !thread::panicking()
            && let Some(mut unwinding) = self.unwinding.take()
        {
            unwinding.is_own_panic = false;
            self.unwinding.set(Some(unwinding));
            resume_unwind(Box::new(Unwound));
        }
    }
}

impl<L: Language> Worker<L> {
    // --- workers that run nothing -----------------------------------------------------------------

    /// A worker for an outside party: it runs nothing, it publishes.
    pub fn outside(task: TaskRef) -> Self {
        let scheduler = Scheduler::of(task);
        Self::dedicated(scheduler, usize::MAX >> 32, Arc::new(Parker::new()))
    }

    /// A worker for clearing away after a run.
    pub fn for_clearing(scheduler: &Scheduler) -> Self {
        Self::dedicated(scheduler, 0, Arc::new(Parker::new()))
    }

    /// Drops the body of a process that nothing runs any more, and ends it.
    ///
    /// # Safety
    /// The caller holds the process, and it has not ended.
    pub unsafe fn end(&self, task: TaskRef, ending: Ending) {
        let _installed = self.install();
        self.drop_body(task, ending);
    }

    /// Calls `f` as if it ran in a poll of `task`.
    ///
    /// # Safety
    /// The caller holds the process.
    pub unsafe fn act_for<R>(&self, task: TaskRef, f: impl FnOnce() -> R) -> R {
        let _installed = self.install();
        self.set_current(Some(task));
        self.patience.set(PATIENCE);
        let result = f();
        L::left_poll(self, task, Left::ToWait);
        self.set_current(None);
        result
    }
}
