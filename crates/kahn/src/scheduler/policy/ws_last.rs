//! `ws-last`: a process goes back to the worker that ran it last (Vrba 2009, section 4.2, WS-LAST,
//! Nornir's default).
//!
//! One locked queue a worker. Woken processes go to the front, thieves take from the back.

use super::{Notify, Origin, Policy, Ready, Reason, Steals, Turn};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering::*, Padded};
use std::collections::VecDeque;

#[derive(Debug, Default)]
struct Queue {
    ready: Mutex<VecDeque<Ready>>,
    len: AtomicUsize,
    tried: AtomicU64,
    won: AtomicU64,
}

#[derive(Debug)]
pub(super) struct WsLast {
    queues: Box<[Padded<Queue>]>,
    turn: AtomicUsize,
}

impl WsLast {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            queues: (0..workers).map(|_| Padded::default()).collect(),
            turn: AtomicUsize::new(0),
        }
    }
}

impl Queue {
    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<Ready>) -> R) -> R {
        let mut ready = self.ready.lock();
        let result = f(&mut ready);
        self.len.store(ready.len(), Relaxed);
        result
    }

    fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }
}

/// Adds one to a counter that only its worker writes.
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Policy for WsLast {
    fn name(&self) -> &'static str {
        "ws-last"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let home = match reason {
            Reason::New => self.turn.fetch_add(1, Relaxed) % self.queues.len(),
            Reason::Woken | Reason::Yielded => ready.last_worker() % self.queues.len(),
        };
        let queue = &self.queues[home];
        queue.with(|queue| match reason {
            Reason::Woken => queue.push_front(ready),
            Reason::New | Reason::Yielded => queue.push_back(ready),
        });
        if origin == Origin::Worker(home) { Notify::Nobody } else { Notify::Anyone }
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        let own = &self.queues[worker];
        if !own.is_empty() {
            let ready = own.with(|queue| match turn {
                Turn::Front => queue.pop_front(),
                Turn::Back => queue.pop_back(),
            });
            if ready.is_some() {
                return ready;
            }
        }
        if turn == Turn::Back {
            return None;
        }
        let count = self.queues.len();
        (1..count).find_map(|offset| {
            let victim = &self.queues[(worker + offset) % count];
            bump(&own.tried);
            if victim.is_empty() {
                return None;
            }
            let ready = victim.with(VecDeque::pop_back);
            if ready.is_some() {
                bump(&own.won);
            }
            ready
        })
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    fn shares_work(&self) -> bool {
        true
    }

    fn steals(&self, worker: usize) -> Steals {
        let queue = &self.queues[worker];
        Steals { tried: queue.tried.load(Relaxed), won: queue.won.load(Relaxed) }
    }
}
