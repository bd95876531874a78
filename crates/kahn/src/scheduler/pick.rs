//! Which process a worker runs next.
//!
//! | looked at | when |
//! |---|---|
//! | what goes first, errands, the end of the run | whenever [`Scheduler::first`](super::Scheduler) is not zero |
//! | what has waited longest, rings of waits | every so many picks |
//! | the hot slot, then the worker's own lane | always: what is found there costs no question to anybody |
//! | the policy | when that is empty |
//!
//! A process that yields goes to the back of the lane. Policies without lanes are asked each time.

use super::policy::{Ready, Turn};
use super::task::{TaskRef, own};
use super::{Reason, Worker};
use crate::sync::Ordering::*;
use std::ptr;

/// Every so many picks come from the cold end: a bound on how long a ready process waits.
const FAIRNESS: u64 = 64;
/// Every so many picks a worker glances at who waits for whom.
const GLANCE: u64 = 16 * FAIRNESS;
/// What a glance may cost, in looks at a channel.
const GLANCE_BUDGET: usize = 128;

impl Worker {
    /// There is nothing to run: looks for something, and sleeps until there is.
    fn rest_until_ready(&self) -> Option<TaskRef> {
        self.slot().current.store(ptr::null_mut(), Relaxed);
        self.idle().map(Ready::into_task)
    }

    /// Counts a dispatch.
    #[inline]
    pub(super) fn count_step(&self) -> u64 {
        let steps = &self.slot().steps;
        // Relaxed: written here only, and read by others as a hint that this worker gets on.
        let step = steps.load(Relaxed) + 1;
        steps.store(step, Relaxed);
        step
    }

    /// Whether the next dispatch is not to be that of the process at hand.
    pub(super) fn is_due_for_another(&self) -> bool {
        (self.slot().steps.load(Relaxed) + 1).is_multiple_of(FAIRNESS)
            || self.first().load(Relaxed) != 0
    }

    /// The process to run next, if it is found without asking anybody.
    #[inline]
    pub(super) fn next_at_hand(&self) -> Option<TaskRef> {
        let step = self.count_step();
        // Relaxed: a hint, like the queues it is about.
        if step.is_multiple_of(FAIRNESS) || self.first().load(Relaxed) != 0 {
            return None;
        }
        self.take_at_hand()
    }

    #[inline]
    fn take_at_hand(&self) -> Option<TaskRef> {
        // If the policy keeps none hot, the slot is empty.
        self.take_hot().or_else(|| self.lane()?.take())
    }

    /// The process to run next, when none is at hand; waits for one. `None` when the run has ended.
    #[inline(never)]
    pub(super) fn next_after_all(&self) -> Option<TaskRef> {
        if !self.scheduler().is_running() {
            return None;
        }
        self.next_from_policy().or_else(|| self.rest_until_ready())
    }

    fn next_from_policy(&self) -> Option<TaskRef> {
        let step = self.slot().steps.load(Relaxed);
        let is_due = step.is_multiple_of(FAIRNESS);
        if is_due && let Some(ready) = self.look_further(step) {
            return Some(ready.into_task());
        }
        if self.first().load(Relaxed) == 0 {
            // Else it was looked at.
            if is_due && let Some(task) = self.take_at_hand() {
                return Some(task);
            }
            if self.lane().is_none()
                && let Some(policy) = self.usual_policy()
                && let Some(ready) = policy.pop(self.index(), Turn::Front)
            {
                return Some(ready.into_task());
            }
        }
        self.pop(Turn::Front).map(Ready::into_task).or_else(|| self.take_hot())
    }

    /// What a worker does now and then instead of running the hottest process.
    fn look_further(&self, step: u64) -> Option<Ready> {
        if step.is_multiple_of(GLANCE) && self.scheduler().settings().glances {
            self.glance();
        }
        self.adopt().or_else(|| self.pop(Turn::Back))
    }

    /// Spends a small budget on looking for rings of waits; what a long walk costs more is paid
    /// back by the glances after it.
    fn glance(&self) {
        let debt = self.glance_debt.get();
        if debt >= GLANCE_BUDGET {
            self.glance_debt.set(debt - GLANCE_BUDGET);
            return;
        }
        let spent = self.scheduler().hooks().glance(self, GLANCE_BUDGET - debt, true);
        self.glance_debt.set((debt + spent).saturating_sub(GLANCE_BUDGET));
    }

    /// Puts a process that yields behind all others.
    #[inline]
    pub(super) fn give_way(&self, task: TaskRef) {
        match self.lane() {
            Some(lane) if task.notes() & own::PLACED == 0 => {
                lane.queue_cold(Ready::new(task));
                if !lane.is_alone() {
                    self.scheduler().invite(self.index());
                }
            }
            _ => self.make_ready(task, Reason::Yielded),
        }
    }
}
