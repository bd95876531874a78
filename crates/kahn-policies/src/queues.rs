//! The queues of the papers' policies: one locked queue a worker.
//!
//! Owners take from the front, now and then what has waited longest. Thieves, if the policy allows any, take one process from the back of
//! the queue of a worker drawn at random, and go on from there until they have looked at all: a
//! worker goes to sleep when it has found nothing, so it must have looked everywhere. An empty
//! queue is seen to be empty without its lock.

use kahn_engine::policy::{Notify, Origin, Ready, Reason, StealCount, Steals};
use kahn_engine::sync::{AtomicU64, AtomicUsize, Mutex, Ordering::*, Padded};
use std::collections::VecDeque;

/// The processes of a worker. Those that are run as soon as they can be come to the front, others go
/// behind them; each part is in order, so what has waited longest stands at the end of the first or
/// at the beginning of the second.
#[derive(Debug, Default)]
struct Line {
    front: VecDeque<Ready>,
    behind: VecDeque<Ready>,
}

impl Line {
    fn take_next(&mut self) -> Option<Ready> {
        self.front.pop_front().or_else(|| self.behind.pop_front())
    }

    /// Takes what stands at the far end.
    fn take_last(&mut self) -> Option<Ready> {
        self.behind.pop_back().or_else(|| self.front.pop_back())
    }

    /// Takes what has waited longest in one part or the other.
    fn take_oldest(&mut self, of_front: bool) -> Option<Ready> {
        let Self { front, behind } = self;
        if of_front {
            front.pop_back().or_else(|| behind.pop_front())
        } else {
            behind.pop_front().or_else(|| front.pop_back())
        }
    }
}

#[derive(Debug, Default)]
struct Queue {
    ready: Mutex<Line>,
    len: AtomicUsize,
    /// What its worker draws victims with; written by it alone, as the counters.
    draw: AtomicU64,
    /// Whose turn it is when its worker asks for what has waited longest.
    asked: AtomicU64,
    steals: StealCount,
}

impl Queue {
    fn with<R>(&self, f: impl FnOnce(&mut Line) -> R) -> R {
        let mut ready = self.ready.lock();
        let result = f(&mut ready);
        self.len.store(ready.front.len() + ready.behind.len(), Relaxed);
        result
    }

    /// As `with`, unless there is nothing.
    fn take(&self, f: impl FnOnce(&mut Line) -> Option<Ready>) -> Option<Ready> {
        if self.len.load(Relaxed) == 0 { None } else { self.with(f) }
    }

    /// A number below `count`, by the xorshift generator of Marsaglia (2003).
    fn draw_below(&self, count: usize) -> usize {
        let mut state = self.draw.load(Relaxed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.draw.store(state, Relaxed);
        usize::try_from(state % count as u64).unwrap_or(0)
    }
}

/// One locked queue for each worker.
#[derive(Debug)]
pub(crate) struct Queues {
    each: Box<[Padded<Queue>]>,
    /// Where the next process goes that belongs nowhere.
    turn: AtomicUsize,
    /// Whose queue is looked into next for what has waited long.
    look: AtomicUsize,
}

impl Queues {
    pub(crate) fn new(workers: usize, seed: u64) -> Self {
        // Odd, so that no state is zero; different for each worker.
        let draw = |worker| (seed ^ worker as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let queue = |worker| Queue { draw: AtomicU64::new(draw(worker)), ..Queue::default() };
        Self {
            each: (0..workers).map(|worker| Padded(queue(worker))).collect(),
            turn: AtomicUsize::new(0),
            look: AtomicUsize::new(0),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.each.len()
    }

    /// The next worker, round and round.
    pub(crate) fn next_worker(&self) -> usize {
        self.turn.fetch_add(1, Relaxed) % self.each.len()
    }

    pub(crate) fn push_front(&self, worker: usize, ready: Ready) {
        self.each[worker].with(|line| line.front.push_front(ready));
    }

    pub(crate) fn push_back(&self, worker: usize, ready: Ready) {
        self.each[worker].with(|line| line.behind.push_back(ready));
    }

    /// Puts a process where it belongs; `place` settles that for one that belongs nowhere yet.
    pub(crate) fn push_home(
        &self,
        origin: Origin,
        ready: Ready,
        reason: Reason,
        place: impl FnOnce(&Ready) -> usize,
    ) -> Notify {
        let home = ready.belongs_to().unwrap_or_else(|| {
            let home = place(&ready);
            ready.settle_on(home);
            home
        });
        match reason {
            Reason::Preempted => self.push_front(home, ready),
            Reason::New | Reason::Woken | Reason::Yielded => self.push_back(home, ready),
        }
        if origin == Origin::Worker(home) { Notify::NoWorker } else { Notify::Worker(home) }
    }

    /// Takes the process that stands first in a worker's own queue.
    pub(crate) fn pop(&self, worker: usize) -> Option<Ready> {
        self.each[worker].take(Line::take_next)
    }

    /// Takes what has waited longest: in one part of the worker's own queue, in the other, in the
    /// queues of others, in turn.
    pub(crate) fn pop_oldest(&self, worker: usize) -> Option<Ready> {
        let queue = &self.each[worker];
        let asked = (queue.asked.load(Relaxed) + 1) % 3;
        queue.asked.store(asked, Relaxed);
        let own = || queue.take(|line| line.take_oldest(asked != 2));
        if asked != 0 {
            return own();
        }
        // The queue of a worker that sleeps has no other reader.
        let look = self.look.fetch_add(1, Relaxed) % self.each.len();
        self.each[look].take(|line| line.take_oldest(true)).or_else(own)
    }

    /// Takes a process from the back of another's queue.
    pub(crate) fn steal(&self, thief: usize) -> Option<Ready> {
        let (own, others) = (&self.each[thief], self.each.len() - 1);
        if others == 0 {
            return None;
        }
        let first = own.draw_below(others);
        (0..others).find_map(|offset| {
            let victim = (thief + 1 + (first + offset) % others) % self.each.len();
            own.steals.try_one();
            let stolen = self.each[victim].take(Line::take_last)?;
            own.steals.win();
            Some(stolen)
        })
    }

    pub(crate) fn len(&self, worker: usize) -> usize {
        self.each[worker].len.load(Relaxed)
    }

    pub(crate) fn is_empty(&self, worker: usize) -> bool {
        self.len(worker) == 0
    }

    pub(crate) fn are_empty(&self) -> bool {
        (0..self.each.len()).all(|worker| self.is_empty(worker))
    }

    pub(crate) fn steals(&self, worker: usize) -> Steals {
        self.each[worker].steals.get()
    }
}
