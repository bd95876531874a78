//! `stealing`: the engine's own scheduler, which is the default. A process goes to the worker that
//! woke it, as under `ws-cur`, but without locks on the way, and several are stolen at once.
//!
//! Each worker has a deque of its own, hot at its end, and a queue for what should wait: processes
//! that yielded, new ones from outside, what overflows the deque. That queue is in two parts: its
//! front, which the worker fills and empties without a lock, and the rest under one, where any thread
//! may add. While there is a rest, what is added goes there, and an empty front is filled from it in
//! one go: so what came first runs first. A worker whose queues are empty takes half of what another
//! has, from the cold end. The process that a worker has woken last it runs next, without asking
//! any thread.
//!
//! A thief takes only what is *aged*: the oldest process of a deque that has been its oldest for
//! `AGED`. A victim that needs no help takes it sooner. And it steals only while that pays: see
//! [`crate::queue::rates`].
//!
//! Now and then a worker runs what has waited longest, in its deque or its queue, for what lies at
//! the bottom of the deque, under others that come and go, would never run; and, less often, what has
//! waited longest elsewhere, for a look there takes lines of the cache from another worker. When much
//! has come together it runs all of it once, in a *round*: see [`crate::queue::lane`].

use crate::policy::{Notify, Origin, Ready, Reason, Steals};
use crate::queue::lane::Lane;
use crate::sync::system::{clock, cores};
use crate::sync::{AtomicUsize, Ordering::*, Padded};

/// See the module.
#[derive(Debug)]
pub(crate) struct Stealing {
    lanes: Box<[Padded<Lane>]>,
    /// Where the next process from outside goes.
    turn: Padded<AtomicUsize>,
    /// Queues that get work from outside: those of workers that have a core each.
    open: usize,
}

impl Stealing {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            lanes: (0..workers).map(|_| Padded(Lane::new(workers == 1))).collect(),
            turn: Padded(AtomicUsize::new(0)),
            open: workers.min(cores()),
        }
    }

    /// Takes what waits in the queues of others, in turn: that of a worker that sleeps has no other
    /// reader.
    fn pop_next_cold(&self, worker: usize) -> Option<Ready> {
        let count = self.lanes.len();
        if count == 1 {
            return None;
        }
        let (offset, now) = self.lanes[worker].looks_into(count - 1)?;
        self.lanes[(worker + offset) % count].take_cold(now)
    }

    fn steal(&self, thief: usize) -> Option<Ready> {
        let count = self.lanes.len();
        let own = &self.lanes[thief];
        let now = clock::ticks();
        own.last_steal.judge(&own.rate, |victim| &self.lanes[victim].rate, now);
        for offset in 1..count {
            let index = (thief + offset) % count;
            let victim = &self.lanes[index];
            let is_open = victim.has_own() && !victim.rate.is_backed_off(now);
            let has_hot = is_open && victim.has_hot();
            let is_aged = has_hot && victim.is_aged(now);
            let has_some = is_aged || is_open && victim.has_front() || victim.has_rest();
            if has_some && let Some((first, size)) = own.steal_from(victim, is_open, is_aged) {
                own.last_steal.begin(&own.rate, index, &victim.rate, size, now);
                return Some(first);
            }
            if has_hot {
                own.last_steal.watch(index, &victim.rate, now);
            }
        }
        None
    }

    pub(crate) fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        match (origin, reason) {
            (Origin::Worker(worker), Reason::Woken | Reason::New | Reason::Preempted) => {
                self.lanes[worker].queue_hot(ready);
                Notify::NoWorker
            }
            (Origin::Worker(worker), Reason::Yielded) => {
                self.lanes[worker].queue_cold(ready);
                Notify::NoWorker
            }
            (Origin::Outside, _) => {
                let worker = self.turn.fetch_add(1, Relaxed) % self.open;
                self.lanes[worker].queue_rest(ready);
                Notify::Anyone
            }
        }
    }

    /// Gives a worker a process to run, by stealing if it has none.
    pub(crate) fn pop(&self, worker: usize) -> Option<Ready> {
        let own = &self.lanes[worker];
        if let Some(task) = own.section(|access| own.take(access)) {
            return Some(Ready::new(task));
        }
        let found = own.pop_cold().or_else(|| self.steal(worker));
        if found.is_some() {
            own.rate.count();
        }
        found
    }

    /// Gives a worker what has waited longest: here, and in the queues of others, in turn.
    pub(crate) fn pop_oldest(&self, worker: usize) -> Option<Ready> {
        let own = &self.lanes[worker];
        let others = || self.pop_next_cold(worker);
        let found = if own.asks_others() { others() } else { own.pop_oldest() };
        if found.is_some() {
            own.rate.count();
        }
        found
    }

    pub(crate) fn has_work(&self, worker: usize) -> bool {
        let now = clock::ticks();
        let mut lanes = self.lanes.iter().enumerate();
        lanes.any(|(index, lane)| {
            let may_have_own = || index == worker || !lane.rate.is_backed_off(now);
            lane.has_rest() || lane.has_own() && may_have_own()
        })
    }

    /// Neighbours in the order of creation start on the same worker: networks are written down
    /// along their channels.
    pub(crate) fn start(&self, ready: Vec<Ready>) {
        let share = ready.len().div_ceil(self.open).max(1);
        let mut ready = ready.into_iter();
        for lane in &self.lanes {
            lane.extend_rest(ready.by_ref().take(share));
        }
    }

    /// As if the home worker had stolen them: so whether that pays is measured here, too.
    pub(crate) fn push_batch(
        &self,
        by: usize,
        home: usize,
        batch: impl ExactSizeIterator<Item = Ready>,
    ) -> bool {
        let (own, theirs) = (&self.lanes[by], &self.lanes[home]);
        let now = clock::ticks();
        if own.rate.is_backed_off(now) {
            return false;
        }
        let size = batch.len();
        theirs.extend_rest(batch);
        theirs.last_steal.begin(&theirs.rate, by, &own.rate, size, now);
        true
    }

    /// Not the process that the worker is about to run: for that alone no worker need wake up. Nor
    /// what would not pay.
    pub(crate) fn has_to_spare(&self, worker: usize) -> bool {
        let lane = &self.lanes[worker];
        lane.has_rest() || lane.has_own() && lane.rate.opens()
    }

    /// A worker has been inside one poll for long: thieves may have what it has.
    pub(crate) fn stands_still(&self, worker: usize) {
        self.lanes[worker].stands_still();
    }

    pub(crate) fn lane(&self, worker: usize) -> Option<&Lane> {
        self.lanes.get(worker).map(|lane| &lane.0)
    }

    pub(crate) fn steals(&self, worker: usize) -> Steals {
        self.lanes[worker].steals()
    }
}
