//! What tasks ask of their scheduler where a worker may be at hand or not.

use crate::policy::{Origin, Ready, Reason};
use crate::scheduler::Scheduler;
use crate::sleep::activity::ActivityCount;
use crate::task::extension::Extension;
use crate::task::{Runs, TaskRef};
use crate::worker::WorkerCore;

impl Runs for Scheduler {
    fn activity(&self) -> &ActivityCount {
        &self.activity
    }

    fn wake(&self, ready: Ready) {
        WorkerCore::with_current(|worker| match worker {
            // A process of the same network has done it: the worker has the other at hand.
            Some(worker) if worker.runs_in(self) => worker.make_ready(ready, Reason::Woken),
            _ => self.make_ready(Origin::Outside, ready, Reason::Woken),
        });
    }

    fn requeue(&self, task: TaskRef) {
        if self.is_running() {
            self.make_ready(Origin::Outside, Ready::new(task), Reason::Yielded);
            Self::look_again(self);
        }
    }

    fn look_again(&self) {
        Self::look_again(self);
    }

    fn keep(&self, extension: &Extension) {
        self.extensions.add(extension);
    }
}
