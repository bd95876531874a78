//! What a worker does when it has nothing to run: search, watch, sleep.
//!
//! | stage | for how long | what it does |
//! |---|---|---|
//! | search | [`SEARCH`], if there are cores to spare | looks into the queues; takes the process in the LIFO slot of a worker that does not get on |
//! | watch | while other workers are busy, one at a time | sleeps in short naps; between them has computing processes publish, glances at waits |
//! | sleep | until notified | nothing: an idle network uses no CPU |
//!
//! # The protocol
//!
//! *To sleep*: enter `sleepers` and count in `sleeping`, fence, look into the queues once more, stop
//! being `busy`, park. *To notify*: fence (after the work is in a queue), and if `sleeping` is not
//! zero and a core is free take one out of `sleepers`, count it `busy`, unpark it.
//!
//! A core is free while fewer workers are awake than there are cores. Without a free core neither
//! side need act: a worker that is awake comes to the work, and the last of them to lie down sees a
//! free core and looks. (What is pinned to a worker, that looks for itself.) So workers beyond the cores are asleep from the start ([`crate::thread::set`]); the
//! watcher joins in if one that is awake dispatches nothing. All this only under policies that
//! share their work.
//!
//! The race to fear: the sleeper looks before the work is there, and the notifier looks before the
//! sleeper has entered. The two fences rule it out: in the order of the fences either the sleeper's
//! comes first, then the notifier sees `sleeping`; or the notifier's does, then the sleeper sees
//! the work. A worker that is taken out of `sleepers` finds its parker notified, so it does not sleep
//! even if it had not parked yet.
//!
//! The list and the count change together, under the lock of the list. A worker that is in the list
//! before it is counted can be taken out and counted off, and the count is one too low until it
//! counts itself: a notifier of another sleeper may find zero then, and wake nobody.
//!
//! Only one searcher or newly woken worker is wanted at a time: the one that finds work notifies the next.

use crate::language::{Language, Probe};
use crate::policy::{Ready, Turn};
use crate::queue::lane::Lane;
use crate::sync::system::clock;
use crate::sync::{MutexGuard, Ordering::*, fence, spin_loop};
use crate::task::{TaskRef, mark, own};
use crate::{Reason, Scheduler, Worker};
use std::time::Duration;

/// About as long as one wake-up of a thread costs. There is no time in a model.
const SEARCH: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(50) };
/// Looks between two looks at the clock.
const LOOKS: usize = if cfg!(loom) { 1 } else { 4 };
/// Spins between two looks. In a model a spin lets all others go first, until they wait.
const SPINS: usize = if cfg!(loom) { 0 } else { 8 };
/// A watcher's first and longest nap.
const NAPS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));

impl Scheduler {
    /// Wakes one sleeping worker, if there is one and a core for it.
    pub(crate) fn notify_anyone(&self) {
        // Pairs with the fence in `Worker::go_to_sleep`.
        fence(SeqCst);
        if self.has_free_core() {
            self.wake_one();
        }
    }

    /// Whether more workers sleep than are beyond the cores: then one could be awake that is not.
    /// More than there are cores would only take turns; if those that are awake do not get on, the
    /// watcher takes part all the same.
    #[inline]
    fn has_free_core(&self) -> bool {
        // A party may give up its ends before the run: nobody sleeps then.
        let config = self.config_if_any();
        // Relaxed: read after a fence, or as a hint.
        config.is_some_and(|config| self.sleeping.load(Relaxed) > config.surplus)
    }

    /// Whether some worker has nothing to do.
    #[inline]
    pub(crate) fn is_hungry(&self) -> bool {
        self.searching.load(Relaxed) > 0 || self.has_free_core()
    }

    fn wake_one(&self) {
        let mut sleepers = self.sleepers.lock();
        if let Some(worker) = sleepers.pop() {
            self.wake_worker(sleepers, worker);
        }
    }

    /// Wakes one sleeping worker unless one searches already. Called by a worker that is awake and
    /// would run the process itself: a lost chance costs time, nothing else.
    #[inline]
    pub(crate) fn notify_thief(&self) {
        if self.has_free_core() && self.searching.load(Relaxed) == 0 {
            self.notify_anyone();
        }
    }

    /// The same, if this worker has something that another would find.
    #[inline]
    pub(crate) fn invite(&self, by: usize) {
        if self.has_free_core()
            && self.searching.load(Relaxed) == 0
            && self.run_queues().has_to_spare(by)
        {
            self.notify_anyone();
        }
    }

    pub(crate) fn notify_worker(&self, worker: usize) {
        fence(SeqCst);
        if self.sleeping.load(Relaxed) == 0 {
            return;
        }
        let mut sleepers = self.sleepers.lock();
        if let Some(place) = sleepers.iter().position(|&sleeper| sleeper == worker) {
            sleepers.remove(place);
            self.wake_worker(sleepers, worker);
            if place == 0 {
                self.pass_on_monitoring();
            }
        }
    }

    /// Wakes a worker that was taken out of the sleepers. Counted under the lock: one that finds itself
    /// taken out, whatever rang its bell, goes on as one that is busy.
    fn wake_worker(&self, sleepers: MutexGuard<'_, Vec<usize>>, worker: usize) {
        self.activity.wake();
        self.sleeping.fetch_sub(1, SeqCst);
        drop(sleepers);
        self.slots()[worker].parker.unpark();
    }

    /// Whether every worker but the caller sleeps.
    fn all_others_sleep(&self) -> bool {
        self.sleeping.load(SeqCst) + 1 >= self.slots().len()
    }

    /// Takes a worker out of the sleepers; `false` if somebody has woken it already.
    fn stay_awake(&self, worker: usize) -> bool {
        let mut sleepers = self.sleepers.lock();
        let Some(place) = sleepers.iter().position(|&sleeper| sleeper == worker) else {
            return false;
        };
        sleepers.swap_remove(place);
        self.sleeping.fetch_sub(1, SeqCst);
        true
    }
}

impl<L: Language> Worker<L> {
    /// Waits for something to run; `None` when the run has ended.
    pub(crate) fn idle(&self) -> Option<Ready> {
        let times = &self.slot().times;
        let since = clock::ticks();
        times.idle_since.store(since, Relaxed);
        self.scheduler().share_out_if_due();
        let found = loop {
            if !self.scheduler().is_running() {
                break None;
            }
            if let Some(ready) = self.search() {
                break Some(ready);
            }
            let ready = self.sleep();
            self.stopwatch.restart();
            if let Some(ready) = ready {
                break Some(ready);
            }
        };
        times.idle_since.store(0, Relaxed);
        times.idle.store(times.idle.load(Relaxed) + (clock::ticks() - since), Relaxed);
        if found.is_some() {
            // We are no longer looking: somebody else may.
            self.scheduler().invite(self.index());
        }
        found
    }

    fn search(&self) -> Option<Ready> {
        let scheduler = self.scheduler();
        if let Some(ready) = self.find() {
            return Some(ready);
        }
        if scheduler.searching.fetch_add(1, SeqCst) >= scheduler.config().most_searching {
            scheduler.searching.fetch_sub(1, SeqCst);
            return None;
        }
        let found = self.search_for(SEARCH);
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

    fn search_for(&self, time: Duration) -> Option<Ready> {
        let scheduler = self.scheduler();
        let steps = self.others_steps();
        let until = clock::ticks() + clock::from_duration(time);
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
                return self.take_over_from_others(&steps);
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
    /// of them keeps for itself, and has the running ones publish.
    pub(crate) fn take_over_from_others(&self, steps: &[u64]) -> Option<Ready> {
        for (index, slot) in self.scheduler().slots().iter().enumerate() {
            if index == self.index() || slot.steps.load(Relaxed) != steps[index] {
                continue;
            }
            // SAFETY: the blocks of processes are type-stable; a mark that reaches the wrong
            // process makes it publish early, nothing else.
            if let Some(running) = unsafe { TaskRef::from_ptr(slot.current.load(Acquire)) } {
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

    /// Sleeps until notified; `Some` if the watch between naps found a process to run.
    fn sleep(&self) -> Option<Ready> {
        L::probe(self, Probe::BeforeSleep);
        let times = &self.slot().times;
        times.sleeps.store(times.sleeps.load(Relaxed) + 1, Relaxed);
        if self.go_to_sleep(false) { self.watch() } else { None }
    }

    /// Sleeps, and watches the others between naps while it is the first of the sleepers, or looks
    /// once more if it is the last that was awake.
    pub(crate) fn watch(&self) -> Option<Ready> {
        let scheduler = self.scheduler();
        let looks = self.language().looks();
        let mut nap = NAPS.0;
        let mut steps = self.others_steps();
        // Only threads and parties run from now on: nobody else will look at what we leave behind.
        let was_last = !scheduler.workers_run();
        // What the others had run when this worker looked everywhere while they all slept.
        let mut looked_after: Option<Vec<u64>> = None;
        loop {
            let looked = !looks || looked_after.as_ref() == Some(&self.others_steps());
            let is_first = scheduler.sleepers.lock().first() == Some(&self.index());
            let workers_run = scheduler.workers_run();
            let others_run = scheduler.activity.is_busy();
            let will_look = !workers_run && !looked && (is_first || was_last);
            let watches = others_run && (is_first && workers_run || will_look);
            let told = if watches {
                self.slot().parker.park_for(nap)
            } else {
                self.slot().parker.park();
                true
            };
            if told {
                let still_sleeps = scheduler.sleepers.lock().contains(&self.index());
                if still_sleeps && scheduler.is_running() {
                    // The watch was passed on to us.
                    steps = self.others_steps();
                    continue;
                }
                return None;
            }
            // The watcher: awake for a moment, to see that the others get on.
            scheduler.activity.wake();
            if !scheduler.stay_awake(self.index()) {
                // Somebody woke us just now and counted us busy as well.
                scheduler.activity.withdraw(1);
                self.slot().parker.park();
                return None;
            }
            let kept = self.take_over_from_others(&steps);
            let (is_any_stalled, queued) = self.take_from_stalled(&steps);
            // Policies have no LIFO slots, and of the engine's own queues nothing is taken here.
            let found = kept.or(queued);
            if found.is_some() || is_any_stalled && self.has_work() {
                // Another has to watch from now on: the one that was woken to work instead might
                // not get on either, and then nobody would look.
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

    /// Enters the sleepers and stops being busy; `false` if there is work after all. The first in
    /// the list is the watcher.
    pub(crate) fn go_to_sleep(&self, as_watcher: bool) -> bool {
        let scheduler = self.scheduler();
        {
            let mut sleepers = scheduler.sleepers.lock();
            let place = if as_watcher { 0 } else { sleepers.len() };
            sleepers.insert(place, self.index());
            scheduler.sleeping.fetch_add(1, SeqCst);
        }
        // Pairs with the fence in `notify_anyone`.
        fence(SeqCst);
        // Where all cores have a worker that is awake, those will come to the work: the last of
        // them to lie down sees a free core and looks. But nobody else comes to what is pinned here.
        let has_work = scheduler.has_pinned(self.index())
            || scheduler.has_free_core() && self.has_work()
            || self.is_waited_for()
            || L::has_news(self);
        if (has_work || !scheduler.is_running()) && scheduler.stay_awake(self.index()) {
            return false;
        }
        if scheduler.activity.go_idle() {
            L::quiet(self);
        }
        true
    }
}
