//! What a worker does when it has nothing to run: search, monitor, sleep.
//!
//! | stage | for how long | what it does |
//! |---|---|---|
//! | search | [`SEARCH`], if there are cores to spare | looks into the queues; takes the process in the LIFO slot of a worker that does not get on |
//! | monitor | while other workers are busy, one at a time | sleeps in short naps; between them has computing processes publish, probes what waits |
//! | sleep | until notified | nothing: an idle network uses no CPU; or it turns its [`Driver`] |
//!
//! Only one searcher or newly woken worker is wanted at a time: the one that finds work notifies the next.
//!
//! A search ends with a request to the processes that compute meanwhile: they publish. That is not made if this worker
//! has run for less than [`WORTH`] before. What came of the last request then was a result or two, for which a worker
//! that computes may have had to wake this one, and that takes longer. From the first nap on all are asked.

use crate::policy::{Ready, Reason, Turn};
use crate::queue::lane::Lane;
use crate::scheduler::DRIVE;
use crate::sync::system::clock;
use crate::sync::{Ordering::*, spin_loop};
use crate::task::{TaskRef, mark, own};
use crate::worker::WorkerCore;
use crate::worker::dispatch::Worker;
use crate::worker::language::{Language, Probe};
use kahn_report::ranks::Driver;
use std::time::Duration;

/// About as long as one wake-up of a thread costs. There is no time in a model.
const SEARCH: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };
/// What it runs is worth a request to publish if it takes so long: about twice as long as it takes to wake a thread.
const WORTH: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(10) };
/// Looks between two looks at the clock.
const LOOKS: usize = if cfg!(loom) { 1 } else { 4 };
/// Spins between two looks. In a model a spin lets all others go first, until they wait.
const SPINS: usize = if cfg!(loom) { 0 } else { 8 };
/// A monitor's first and longest nap.
const NAPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));

impl<L: Language> Worker<L> {
    /// Waits for something to run; `None` when the run has ended.
    pub(crate) fn idle(&self) -> Option<Ready> {
        let times = &self.slot().times;
        let since = clock::ticks();
        times.idle_since.store(since, Relaxed);
        self.scheduler().share_out_if_due();
        let is_worth = since.saturating_sub(self.found_at.get()) >= clock::about(WORTH);
        let found = loop {
            if !self.scheduler().is_running() {
                break None;
            }
            if let Some(ready) = self.search(is_worth) {
                break Some(ready);
            }
            let ready = self.sleep();
            self.stopwatch.restart();
            if let Some(ready) = ready {
                break Some(ready);
            }
        };
        let now = clock::ticks();
        self.found_at.set(now);
        times.idle_since.store(0, Relaxed);
        times.idle.store(times.idle.load(Relaxed) + (now - since), Relaxed);
        if found.is_some() {
            // This worker no longer looks: another may.
            self.invite();
        }
        found
    }

    fn search(&self, is_worth: bool) -> Option<Ready> {
        let scheduler = self.scheduler();
        if let Some(ready) = self.find() {
            return Some(ready);
        }
        if scheduler.searching.fetch_add(1, SeqCst) >= scheduler.config().most_searching {
            scheduler.searching.fetch_sub(1, SeqCst);
            return None;
        }
        let found = self.search_for(SEARCH, is_worth);
        scheduler.searching.fetch_sub(1, SeqCst);
        found
    }

    /// Looks into all queues for a process, the most urgent first.
    fn find(&self) -> Option<Ready> {
        let scheduler = self.scheduler();
        self.take_urgent()
            .or_else(|| self.pop(Turn::Front))
            .or_else(|| scheduler.pop_pinned(self.index()))
            .or_else(|| scheduler.pop_background(self.index()))
    }

    /// Whether that would find one.
    fn has_work(&self) -> bool {
        self.scheduler().has_work(self.index())
    }

    fn search_for(&self, time: Duration, is_worth: bool) -> Option<Ready> {
        let scheduler = self.scheduler();
        let steps = self.others_steps();
        let until = clock::ticks() + clock::about(time);
        let spins = &self.slot().times.spins;
        loop {
            for _ in 0..LOOKS {
                spins.store(spins.load(Relaxed) + 1, Relaxed);
                if self.has_work()
                    && let Some(ready) = self.find()
                {
                    return Some(ready);
                }
                if !scheduler.is_running() {
                    return None;
                }
                for _ in 0..SPINS {
                    spin_loop();
                }
            }
            if clock::ticks() >= until {
                return self.take_over_from_others(&steps, is_worth);
            }
        }
    }

    fn others_steps(&self) -> Vec<u64> {
        self.scheduler().slots().iter().map(|slot| slot.steps.load(Relaxed)).collect()
    }

    /// Takes what waits for a worker that still runs the process that it ran when the `steps` were
    /// read, or has thieves find it. Returns whether there is such a worker, too.
    fn take_from_stalled(&self, steps: &[u64]) -> (bool, Option<Ready>) {
        let (mut is_any_stalled, mut found) = (false, None);
        for (index, (slot, &step)) in self.scheduler().slots().iter().zip(steps).enumerate() {
            if slot.current.load(Relaxed).is_null() || slot.steps.load(Relaxed) != step {
                continue;
            }
            is_any_stalled = true;
            if let (None, Some(queues)) = (&found, self.run_queues()) {
                found = queues.pop_of_stalled(self.index(), index);
            }
        }
        (is_any_stalled, found)
    }

    /// Relieves workers that have not got on since their `steps` were read: takes the process one
    /// of them keeps for itself, and `asks` the running ones to publish.
    pub(crate) fn take_over_from_others(&self, steps: &[u64], asks: bool) -> Option<Ready> {
        for (index, slot) in self.scheduler().slots().iter().enumerate() {
            if index == self.index() || slot.steps.load(Relaxed) != steps[index] {
                continue;
            }
            // SAFETY: the blocks of processes are type-stable; a mark that reaches the wrong
            // process makes it publish early, nothing else.
            if asks && let Some(running) = unsafe { TaskRef::from_ptr(slot.current.load(Acquire)) }
            {
                running.marks.fetch_or(mark::FLUSH, Relaxed);
            }
            if slot.lifo.load(Relaxed).is_null() {
                continue;
            }
            let lane = self.run_queues().and_then(|queues| queues.lane(index));
            let _thief = lane.map(Lane::as_thief);
            // Acquire pairs with the Release of the worker that put it there.
            let kept = slot.lifo.swap(std::ptr::null_mut(), AcqRel);
            // SAFETY: what stands in `lifo` is a ready process; the swap made it ours.
            if let Some(task) = unsafe { TaskRef::from_ptr(kept) } {
                if task.notes() & own::PINNED == 0 {
                    return Some(Ready::new(task));
                }
                self.make_ready(Ready::new(task), Reason::Woken);
            }
        }
        None
    }

    /// Sleeps until notified; `Some` if the monitor found a process to run.
    fn sleep(&self) -> Option<Ready> {
        L::probe(self, Probe::BeforeSleep);
        let times = &self.slot().times;
        times.sleeps.store(times.sleeps.load(Relaxed) + 1, Relaxed);
        if self.go_to_sleep(false) { self.monitor() } else { None }
    }

    /// Sleeps, and looks after the others between naps while it is the first of the sleepers, or looks
    /// once more if it is the last that was awake.
    pub(crate) fn monitor(&self) -> Option<Ready> {
        let scheduler = self.scheduler();
        let looks = scheduler.settings().looks;
        let mut nap = NAPS.0;
        let mut steps = self.others_steps();
        // Only threads and parties run from now on: no other worker will look at what this one leaves behind.
        let was_last = !scheduler.workers_run();
        // What the others had run when this worker looked everywhere while they all slept.
        let mut looked_after: Option<Vec<u64>> = None;
        loop {
            let looked = !looks || looked_after.as_ref() == Some(&self.others_steps());
            let is_first = scheduler.sleepers.monitor() == Some(self.index());
            let workers_run = scheduler.workers_run();
            let others_run = scheduler.activity.is_busy();
            let will_look = !workers_run && !looked && (is_first || was_last);
            let naps = others_run && (is_first && workers_run || will_look);
            let told = self.park(naps.then_some(nap));
            if told {
                let still_sleeps = scheduler.sleepers.has(self.index());
                if still_sleeps && scheduler.is_running() {
                    // This worker is the monitor now.
                    steps = self.others_steps();
                    continue;
                }
                return None;
            }
            // The monitor: awake for a moment, to see that the others get on.
            if !scheduler.sleepers.go_on(self.index(), &scheduler.activity) {
                // Another thread woke this one just now.
                self.park(None);
                return None;
            }
            let kept = self.take_over_from_others(&steps, true);
            let (is_any_stalled, queued) = self.take_from_stalled(&steps);
            // Policies have no LIFO slots, and of the engine's own queues nothing is taken here.
            let found = kept.or(queued);
            if found.is_some() || is_any_stalled && self.has_work() {
                // Another has to be the monitor from now on: the one that was woken to work instead might
                // not get on either, and then none would look.
                scheduler.pass_on_monitoring();
                return found;
            }
            steps = self.others_steps();
            scheduler.share_out_if_due();
            if scheduler.all_others_sleep() {
                // Only threads and parties run: they look from where they park themselves, so one
                // look everywhere finds what the workers have left behind.
                L::probe(self, Probe::AllSleep { again: looked });
                looked_after = Some(steps.clone());
            } else {
                L::probe(self, Probe::BeforeSleep);
            }
            nap = (nap * 2).min(NAPS.1);
            if !self.go_to_sleep(true) {
                scheduler.pass_on_monitoring();
                return None;
            }
        }
    }

    /// Parks the thread, for so long if that is said; `false` if that time is over. What its driver does meanwhile comes
    /// from outside of all workers.
    fn park(&self, time: Option<Duration>) -> bool {
        let parker = &self.slot().parker;
        let _outside = self.drives.then(WorkerCore::step_outside);
        if let Some(time) = time {
            return parker.park_for(time);
        }
        parker.park();
        true
    }

    /// Turns the driver, between two processes.
    pub(crate) fn turn_driver(&self) {
        // Relaxed: set by this thread alone.
        self.first().fetch_and(!DRIVE, Relaxed);
        let _outside = WorkerCore::step_outside();
        self.slot().parker.driver().into_iter().for_each(Driver::turn);
    }

    /// Enters the sleepers and stops being busy; `false` if there is work after all. The first in
    /// the list is the monitor.
    pub(crate) fn go_to_sleep(&self, as_monitor: bool) -> bool {
        // What the last one to rest wakes goes to the back of its own queue otherwise, as if it were awake.
        debug_assert!(self.current().is_none(), "it runs nothing");
        let scheduler = self.scheduler();
        let has_work = || {
            // Where all cores have a worker that is awake, those will come to the work: the last of
            // them to go to sleep sees a free core and looks. But no other comes to what is pinned here.
            scheduler.has_pinned(self.index())
                || scheduler.has_free_core() && self.has_work()
                || self.is_waited_for()
                || L::probe(self, Probe::Asleep)
                || !scheduler.is_running()
        };
        let last_one = || L::quiet(self);
        scheduler.sleepers.go_to_sleep(
            self.index(),
            as_monitor,
            &scheduler.activity,
            has_work,
            last_one,
        )
    }
}

impl WorkerCore {
    /// Whether a grace period has begun that it has not passed.
    pub fn is_waited_for(&self) -> bool {
        // Relaxed: it is looked at again behind the lock of the sleepers, see above.
        self.scheduler().grace_periods.load(Relaxed) > self.slot().passed.load(Relaxed)
    }

    /// Passes all grace periods that have begun. The worker is in no operation.
    pub fn pass_grace(&self) {
        // Acquire pairs with the Release of `Scheduler::begin_grace`, and Release with the Acquire of
        // `Scheduler::last_grace`.
        let begun = self.scheduler().grace_periods.load(Acquire);
        self.slot().passed.store(begun, Release);
    }
}
