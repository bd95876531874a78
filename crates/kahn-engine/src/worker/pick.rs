//! Which process a worker runs next.
//!
//! | looked at | when |
//! |---|---|
//! | urgent processes, deferred calls, the end of the run | whenever [`Scheduler::first`](crate::Scheduler) is not zero |
//! | what has waited longest, in each of the queues; rings of waits | every so many dispatches |
//! | the LIFO slot, then the worker's own lane | always: what is found there is found without asking a policy |
//! | the policy, and processes of this worker alone, in turn | when that is empty |
//! | background processes | when there is nothing else |
//!
//! What has waited longest is dispatched on the spot, one process of each queue after the other: so
//! each queue advances by one process in [`FAIRNESS`] dispatches, and one behind `n` others waits
//! for `FAIRNESS * (n + 1)` at most.
//!
//! A process that yields goes to the back of the lane. Policies without lanes are asked each time.

use crate::policy::{Ready, Reason, Turn};
use crate::scheduler::{DEFERRED, DRIVE, WorkerSlot};
use crate::sync::{Access, Ordering::*};
use crate::task::foreign::waker_of_current;
use crate::task::{TaskRef, own};
use crate::worker::dispatch::Worker;
use crate::worker::language::{Language, Probe};
use crate::worker::{Lifo, WorkerCore};
use std::ptr;
use std::task::Context;

/// Every so many dispatches come from the cold ends: a bound on how long a ready process waits.
const FAIRNESS: u64 = 64;
/// What a policy is asked for then: it may have three queues, as its own, those that were yielded
/// to, and those of workers that sleep.
const COLD_ENDS: u64 = 3;
/// Every so many dispatches a worker looks at what waits.
const PROBE: u64 = 16 * FAIRNESS;

impl<L: Language> Worker<L> {
    /// There is nothing to run: looks for something, and sleeps until there is.
    fn rest_until_ready(&self) -> Option<TaskRef> {
        self.slot().current.store(ptr::null_mut(), Relaxed);
        self.idle().map(Ready::into_task)
    }

    /// The process to run next, when none is at hand; waits for one. `None` when the run has ended.
    #[inline(never)]
    pub(crate) fn next_after_all(&self) -> Option<TaskRef> {
        loop {
            if !self.scheduler().is_running() {
                return None;
            }
            let step = self.slot().steps.load(Relaxed);
            if step.is_multiple_of(FAIRNESS) {
                self.run_what_waits(step);
            }
            let next = self.take_urgent().map(Ready::into_task);
            let next = next.or_else(|| self.take_at_hand()).or_else(|| self.next_usual());
            let task = next.or_else(|| self.next_when_nothing_else())?;
            if task.notes() & own::BACKGROUND == 0 {
                return Some(task);
            }
            self.run_in_background(task);
            self.count_step();
        }
    }

    /// From the queues that others look into as well.
    fn next_usual(&self) -> Option<TaskRef> {
        let queued = || self.pop(Turn::Front);
        let pinned = || self.scheduler().pop_pinned(self.index());
        let found = if self.slot().steps.load(Relaxed).is_multiple_of(2) {
            pinned().or_else(queued)
        } else {
            queued().or_else(pinned)
        };
        found.map(Ready::into_task)
    }

    fn next_when_nothing_else(&self) -> Option<TaskRef> {
        let ready = self.scheduler().pop_background(self.index());
        ready.map(Ready::into_task).or_else(|| self.rest_until_ready())
    }

    /// Takes an urgent process; makes the calls that were deferred meanwhile.
    pub(crate) fn take_urgent(&self) -> Option<Ready> {
        let first = self.first().load(Relaxed);
        if first == 0 {
            return None;
        }
        if first & DRIVE != 0 {
            self.turn_driver();
        }
        if first & !DRIVE >= DEFERRED {
            L::probe(self, Probe::Deferred);
        }
        self.scheduler().pop_urgent(self.index())
    }

    /// Runs, instead of the process at hand, what has waited longest in each of the queues.
    fn run_what_waits(&self, step: u64) {
        if step.is_multiple_of(PROBE) {
            L::probe(self, Probe::InPassing);
        }
        if self.drives {
            self.turn_driver();
        }
        if let Some(lane) = self.lane() {
            lane.look_around();
        }
        self.run_round();
        for _ in 0..COLD_ENDS {
            self.run_now(self.pop(Turn::Back));
        }
        self.run_now(self.scheduler().pop_pinned(self.index()));
        // So that `FAIRNESS` dispatches pass at most, with those just made, until the next time.
        let steps = &self.slot().steps;
        steps.store(steps.load(Relaxed).max(step + COLD_ENDS + 2), Relaxed);
    }

    /// Runs all that is ready in the worker's lane, once, if that has become much.
    fn run_round(&self) {
        let Some(lane) = self.lane() else { return };
        let Some(round) = lane.begin_round() else { return };
        // What is woken comes behind, as does what stands in the LIFO slot now.
        let lifo = self.lifo.replace(Lifo::Unused);
        if let Some(kept) = self.section(|access| self.take_lifo(access)) {
            self.make_ready(Ready::new(kept), Reason::Woken);
        }
        let slot = self.slot();
        let waker = waker_of_current(&slot.current);
        let mut context = Context::from_waker(&waker);
        let mut dispatches = 0_u64;
        while self.goes_on()
            && let Some(ready) = lane.take_of(&round)
        {
            WorkerCore::count_step_at(slot);
            self.resume_and_queue(slot, ready.into_task(), &mut context);
            dispatches += 1;
            if dispatches.is_multiple_of(FAIRNESS) {
                self.run_now(self.scheduler().pop_pinned(self.index()));
                self.run_now(self.pop(Turn::Back));
            }
        }
        self.lifo.set(lifo);
    }

    /// Runs what is urgent, if anything is; `false` if the run has ended.
    #[inline(always)]
    fn goes_on(&self) -> bool {
        // Relaxed: a hint, as the queues; the end of the run gives one too.
        self.first().load(Relaxed) == 0 || self.has_run_urgent()
    }

    #[cold]
    fn has_run_urgent(&self) -> bool {
        while let Some(urgent) = self.take_urgent() {
            self.count_step();
            self.run(urgent.into_task());
        }
        self.scheduler().is_running()
    }

    /// Runs a process, urgent ones before it.
    fn run_now(&self, ready: Option<Ready>) {
        let Some(ready) = ready else { return };
        self.goes_on();
        self.count_step();
        self.run(ready.into_task());
    }

    /// Runs a process of the background: what it wakes is queued, for it may be more urgent.
    fn run_in_background(&self, task: TaskRef) {
        let lifo = self.lifo.replace(Lifo::Unused);
        self.run(task);
        self.lifo.set(lifo);
    }
}

impl WorkerCore {
    /// Counts a dispatch.
    #[inline]
    pub(crate) fn count_step(&self) -> u64 {
        Self::count_step_at(self.slot())
    }

    /// The same for a caller that knows the worker's slot.
    #[inline(always)]
    fn count_step_at(slot: &WorkerSlot) -> u64 {
        let steps = &slot.steps;
        // Relaxed: written here only, and read by others as a hint that this worker gets on.
        let step = steps.load(Relaxed) + 1;
        steps.store(step, Relaxed);
        step
    }

    /// Whether the next dispatch is not to be that of the process at hand.
    pub(crate) fn is_due_for_another(&self) -> bool {
        (self.slot().steps.load(Relaxed) + 1).is_multiple_of(FAIRNESS)
            || self.first().load(Relaxed) != 0
    }

    /// The next dispatch is that of what has waited longest.
    pub(crate) fn looks_further_next(&self) {
        let steps = &self.slot().steps;
        steps.store(steps.load(Relaxed) | (FAIRNESS - 1), Relaxed);
    }

    /// The process to run next, if it is found without asking a policy.
    #[inline]
    pub(crate) fn next_at_hand(&self, slot: &WorkerSlot) -> Option<TaskRef> {
        let step = Self::count_step_at(slot);
        // Relaxed: a hint, like the queues it is about.
        if step.is_multiple_of(FAIRNESS) || self.first().load(Relaxed) != 0 {
            return None;
        }
        // Without thieves, nothing is asked of the lane before what stands in the LIFO slot is taken.
        if self.takes_alone {
            let kept = Self::take_lifo_at(slot, Access::ALONE);
            return kept.or_else(|| self.lane()?.take(Access::ALONE));
        }
        self.take_at_hand()
    }

    #[inline]
    fn take_at_hand(&self) -> Option<TaskRef> {
        let lane = self.lane();
        self.section(|access| self.take_lifo(access).or_else(|| lane?.take(access)))
    }

    /// Puts a process that yields behind all others, and finds what runs next if that is at the front of them.
    #[inline(always)]
    pub(crate) fn give_way_to_next(&self, slot: &WorkerSlot, task: TaskRef) -> Option<TaskRef> {
        let next = self.rotate(slot, task);
        if next.is_none() {
            self.give_way(task);
        }
        next
    }

    /// Both in one step where that is the same: see [`Lane::rotate`](crate::queue::lane::Lane).
    #[inline(always)]
    fn rotate(&self, slot: &WorkerSlot, task: TaskRef) -> Option<TaskRef> {
        let lane = self.lane()?;
        let step = slot.steps.load(Relaxed) + 1;
        // Relaxed: hints, as in `next_at_hand`; only this worker fills its LIFO slot.
        let goes_before = self.first().load(Relaxed) | slot.lifo.load(Relaxed).addr();
        if step.is_multiple_of(FAIRNESS) || goes_before != 0 || task.notes() & own::APART != 0 {
            return None;
        }
        let next = if self.takes_alone {
            lane.rotate(task, Access::ALONE)?
        } else {
            let next = lane.section(|access| lane.rotate(task, access))?;
            self.invite();
            next
        };
        slot.steps.store(step, Relaxed);
        Some(next)
    }

    /// Puts a process that yields behind all others.
    #[inline(always)]
    pub(crate) fn give_way(&self, task: TaskRef) {
        match self.lane() {
            Some(lane) if task.notes() & own::APART == 0 => {
                lane.queue_cold(Ready::new(task));
                if !lane.is_alone() {
                    self.invite();
                }
            }
            _ => self.make_ready(Ready::new(task), Reason::Yielded),
        }
    }
}
