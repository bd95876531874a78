//! Ready processes that are not left to the policy: urgent ones, those that run when there is
//! nothing else, and those of one worker.
//!
//! | how urgent | of any worker | of one worker |
//! |---|---|---|
//! | urgent | before all others | before all others of that worker |
//! | usual | the policy has them | in turn with those of the policy |
//! | background | when there is nothing else | when that worker has nothing else |
//!
//! *Where* and *how urgent* are independent: a process of one worker waits as one of its urgency. In
//! each row those of any worker and those of one take turns, and each queue is first come first
//! served. A process that gave way to a more urgent one comes to the front.
//!
//! [`Scheduler::first`](crate::Scheduler::first) counts urgent processes, so that others pay one look for them: while there is
//! none, a worker that has something at hand does not come here. One that has nothing but a usual
//! process of its own at hand comes at every 64th dispatch (`worker::pick`).
//!
//! Three urgencies and not 32: each is a look at every scheduling point, and what programs have is
//! one thing that must not wait, the work, and what may wait for ever.

use crate::policy::{Notify, Ready, Reason};
use crate::sync::{AtomicUsize, Mutex, Ordering::*};
use crate::task::own;
use std::collections::VecDeque;

/// Which of the ready processes run first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Before all others.
    Urgent,
    /// As most.
    Usual,
    /// When there is nothing else.
    Background,
}

impl Urgency {
    /// That of a process with these notes.
    #[inline]
    pub fn of(notes: u8) -> Self {
        match notes & (own::URGENT | own::BACKGROUND) {
            0 => Self::Usual,
            own::BACKGROUND => Self::Background,
            _ => Self::Urgent,
        }
    }
}

/// First come first served, but for those that gave way.
#[derive(Debug, Default)]
struct Queue {
    len: AtomicUsize,
    ready: Mutex<VecDeque<Ready>>,
}

impl Queue {
    fn push(&self, ready: Ready, reason: Reason) {
        let mut queue = self.ready.lock();
        if reason == Reason::Preempted {
            queue.push_front(ready);
        } else {
            queue.push_back(ready);
        }
        self.len.store(queue.len(), Relaxed);
    }

    fn pop(&self) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.ready.lock();
        let ready = queue.pop_front();
        self.len.store(queue.len(), Relaxed);
        ready
    }

    /// A hint, made certain by the fences around going to sleep.
    fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

/// A queue for each urgency.
#[derive(Debug, Default)]
struct Levels {
    each: [Queue; 3],
    /// Takes turns between these and those of any worker.
    turn: AtomicUsize,
}

impl Levels {
    fn at(&self, urgency: Urgency) -> &Queue {
        &self.each[urgency as usize]
    }

    fn are_empty(&self) -> bool {
        self.each.iter().all(Queue::is_empty)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Places {
    /// Of any worker; the usual ones are the policy's.
    all: Levels,
    of_workers: Box<[Levels]>,
}

impl Places {
    pub(crate) fn new(workers: usize) -> Self {
        let of_workers = (0..workers).map(|_| Levels::default()).collect();
        Self { all: Levels::default(), of_workers }
    }

    pub(crate) fn push(&self, ready: Ready, reason: Reason) -> Notify {
        let urgency = Urgency::of(ready.notes());
        let pinned = ready.pinned_worker().map(|worker| worker % self.of_workers.len());
        let levels = pinned.map_or(&self.all, |worker| &self.of_workers[worker]);
        levels.at(urgency).push(ready, reason);
        pinned.map_or(Notify::Anyone, Notify::Worker)
    }

    /// Takes what a worker may run, of that urgency.
    pub(crate) fn pop(&self, urgency: Urgency, worker: usize) -> Option<Ready> {
        let (all, own) = (self.all.at(urgency), self.of_workers.get(worker));
        let Some(own) = own.filter(|own| !own.at(urgency).is_empty()) else { return all.pop() };
        // Relaxed: only which queue is asked first depends on it.
        let (first, then) = match own.turn.fetch_add(1, Relaxed) % 2 {
            0 => (own.at(urgency), all),
            _ => (all, own.at(urgency)),
        };
        first.pop().or_else(|| then.pop())
    }

    /// Whether `pop` of a worker would find something.
    pub(crate) fn has_work(&self, worker: usize) -> bool {
        !self.all.are_empty() || self.has_pinned(worker)
    }

    pub(crate) fn has_pinned(&self, worker: usize) -> bool {
        self.of_workers.get(worker).is_some_and(|own| !own.are_empty())
    }
}
