//! `stealing`: the default. A process goes to the worker that woke it, as under `ws-cur`, but
//! without locks on the way, and several are stolen at once.
//!
//! Each worker has a deque of its own, hot at its end, and a queue for what should wait: processes
//! that yielded, new ones from outside, what overflows the deque. That queue is in two parts: its
//! front, which the worker fills and empties without a lock, and the rest under one, where anybody
//! may add. While there is a rest, what is added goes there, and an empty front is filled from it in
//! one go: so what came first runs first. A worker whose queues are empty takes half of what another
//! has, from the cold end. The process that a worker has woken last it runs next, without asking
//! anybody.
//!
//! A thief takes only what is *ripe*: the oldest process of a deque that has been its oldest for
//! `RIPE`. A victim that gets on by itself takes it sooner. And it steals only while that pays: see
//! [`super::raids`].
//!
//! What has waited longest is now the oldest of the deque, now the first of the queue: one that
//! yields again and again stands in the queue whenever it is looked at, and whoever lies at the
//! bottom of the deque, under others that come and go, would never run.

use super::raids::{Pace, Raid};
use super::{Notify, Origin, Policy, Ready, Reason, Steals, Turn};
use crate::scheduler::deque::{Deque, Steal};
use crate::scheduler::fifo::Fifo;
use crate::sync::system::{clock, cores};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering::*, Padded};
use std::collections::VecDeque;
use std::time::Duration;

/// At most so many processes change hands at once.
const LOOT: usize = 32;

/// How long a process is left to its own worker. There is no time in a model.
const RIPE: Duration = if cfg!(loom) { Duration::ZERO } else { Duration::from_micros(1) };

#[derive(Debug)]
struct Queue {
    hot: Deque,
    /// What waits: the front of the queue, which is its worker's to fill, and the rest.
    front: Fifo,
    rest: Mutex<VecDeque<Ready>>,
    rest_len: AtomicUsize,
    /// The number of the oldest process when a thief last saw another one, and the ticks then.
    oldest: AtomicUsize,
    since: AtomicU64,
    pace: Pace,
    raid: Raid,
    /// How often its worker has asked for what has waited longest.
    asked: AtomicU64,
    tried: AtomicU64,
    won: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Stealing {
    queues: Box<[Padded<Queue>]>,
    /// Where the next process from outside goes.
    turn: AtomicUsize,
    /// Whose queue is looked into next for what has waited long.
    look: AtomicUsize,
    /// Queues that get work from outside: those of workers that have a core each.
    open: usize,
}

impl Stealing {
    pub(super) fn new(workers: usize) -> Self {
        let queue = || Queue {
            hot: Deque::new(workers == 1),
            front: Fifo::new(workers == 1),
            rest: Mutex::new(VecDeque::new()),
            rest_len: AtomicUsize::new(0),
            oldest: AtomicUsize::new(usize::MAX),
            since: AtomicU64::new(0),
            pace: Pace::new(),
            raid: Raid::new(),
            asked: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            won: AtomicU64::new(0),
        };
        Self {
            queues: (0..workers).map(|_| Padded(queue())).collect(),
            turn: AtomicUsize::new(0),
            look: AtomicUsize::new(0),
            open: workers.min(cores()),
        }
    }

    /// Takes what waits in the queues in turn: that of a worker that sleeps has no other reader.
    fn pop_next_cold(&self) -> Option<Ready> {
        let turn = self.look.fetch_add(1, Relaxed) % self.queues.len();
        let queue = &self.queues[turn];
        queue.front.take().map(Ready::new).or_else(|| queue.pop_rest(|_| {}))
    }

    fn steal(&self, thief: usize) -> Option<Ready> {
        let count = self.queues.len();
        let own = &self.queues[thief];
        let now = clock::ticks();
        own.raid.judge(&own.pace, |victim| &self.queues[victim].pace, now);
        for offset in 1..count {
            let index = (thief + offset) % count;
            let victim = &self.queues[index];
            let has_hot = victim.has_hot_to_spare(now);
            let is_ripe = has_hot && victim.is_ripe(now);
            if has_hot && !is_ripe {
                own.raid.watch(index, &victim.pace, now);
            }
            if !is_ripe && !victim.has_cold() {
                continue;
            }
            bump(&own.tried);
            let hot = if is_ripe { own.take_some(victim) } else { None };
            let loot =
                hot.or_else(|| own.take_half_front(victim)).or_else(|| own.take_half_rest(victim));
            if let Some((first, size)) = loot {
                bump(&own.won);
                own.raid.begin(&own.pace, index, &victim.pace, size, now);
                return Some(first);
            }
        }
        None
    }
}

/// Adds one to a counter that only its worker writes.
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Queue {
    /// Owner: at the hot end, or in the queue if that is full.
    fn queue_hot(&self, ready: Ready) {
        if let Err(task) = self.hot.push(ready.into_task()) {
            self.queue_cold(Ready::new(task));
        }
    }

    /// Owner: from the other end.
    fn pop_oldest_hot(&self) -> Option<Ready> {
        match self.hot.steal() {
            Steal::Taken(task) => Some(Ready::new(task)),
            Steal::Retry | Steal::Nothing => None,
        }
    }

    /// Owner: behind all that waits.
    fn queue_cold(&self, ready: Ready) {
        // Relaxed: what comes from outside meanwhile is neither before us nor behind.
        if self.rest_len.load(Relaxed) > 0 {
            return self.queue_rest(ready);
        }
        if let Err(task) = self.front.push(ready.into_task()) {
            self.queue_rest(Ready::new(task));
        }
    }

    /// Owner: what has waited longest.
    fn pop_cold(&self) -> Option<Ready> {
        let front = self.front.take().map(Ready::new);
        front.or_else(|| self.pop_rest(|rest| self.fill_front(rest)))
    }

    /// Owner: moves as much to the front as there is room for.
    fn fill_front(&self, rest: &mut VecDeque<Ready>) {
        let count = self.front.room().min(rest.len());
        for ready in rest.drain(..count) {
            let pushed = self.front.push(ready.into_task());
            debug_assert!(pushed.is_ok(), "there is room");
        }
    }

    fn queue_rest(&self, ready: Ready) {
        let mut rest = self.rest.lock();
        rest.push_back(ready);
        self.rest_len.store(rest.len(), Relaxed);
    }

    /// Takes the first of the rest, and does `with_others` to what is left of it.
    fn pop_rest(&self, with_others: impl FnOnce(&mut VecDeque<Ready>)) -> Option<Ready> {
        if self.rest_len.load(Relaxed) == 0 {
            return None;
        }
        let mut rest = self.rest.lock();
        let ready = rest.pop_front();
        with_others(&mut rest);
        self.rest_len.store(rest.len(), Relaxed);
        ready
    }

    /// Whether its deque has something that thieves may have. Only its worker puts things there, and
    /// does not sleep before it is empty: so what is not to be had is not forgotten.
    fn has_hot_to_spare(&self, now: u64) -> bool {
        self.hot.len() > 0 && !self.pace.is_left_alone(now)
    }

    /// Whether something waits in its queue. Anybody puts things there, also while its worker sleeps:
    /// it is for all, at any time.
    fn has_cold(&self) -> bool {
        self.front.len() > 0 || self.rest_len.load(Relaxed) > 0
    }

    /// Thief: whether the oldest process of its deque has been that for long.
    fn is_ripe(&self, now: u64) -> bool {
        let Some(oldest) = self.hot.oldest() else { return false };
        if self.oldest.load(Relaxed) != oldest {
            self.oldest.store(oldest, Relaxed);
            self.since.store(now, Relaxed);
        }
        clock::to_duration(now.saturating_sub(self.since.load(Relaxed))) >= RIPE
    }

    /// Moves half of another's deque here, and gives the first and how many.
    fn take_some(&self, victim: &Self) -> Option<(Ready, usize)> {
        let wanted = victim.hot.len().div_ceil(2).min(LOOT);
        let mut first = None;
        let mut size = 0;
        for _ in 0..wanted {
            match victim.hot.steal() {
                Steal::Taken(task) if first.is_none() => first = Some(Ready::new(task)),
                Steal::Taken(task) => self.queue_hot(Ready::new(task)),
                Steal::Retry => continue,
                Steal::Nothing => break,
            }
            size += 1;
        }
        first.map(|first| (first, size))
    }

    /// Moves half of the front of what waits elsewhere here, and gives the first and how many.
    fn take_half_front(&self, victim: &Self) -> Option<(Ready, usize)> {
        let (first, size) = self.front.take_half_of(&victim.front)?;
        Some((Ready::new(first), size))
    }

    /// Moves half of the rest of what waits elsewhere here, and gives the first and how many.
    fn take_half_rest(&self, victim: &Self) -> Option<(Ready, usize)> {
        if victim.rest_len.load(Relaxed) == 0 {
            return None;
        }
        // The back half: contiguous neighbours stay together, and the victim runs from the front.
        let mut loot = {
            let mut rest = victim.rest.lock();
            let left = rest.len() / 2;
            let loot = rest.split_off(left);
            victim.rest_len.store(rest.len(), Relaxed);
            loot
        };
        let size = loot.len();
        let first = loot.pop_front()?;
        if !loot.is_empty() {
            let mut rest = self.rest.lock();
            rest.append(&mut loot);
            self.rest_len.store(rest.len(), Relaxed);
        }
        Some((first, size))
    }
}

impl Policy for Stealing {
    fn name(&self) -> &'static str {
        "stealing"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        match (origin, reason) {
            (Origin::Worker(worker), Reason::Woken | Reason::New) => {
                self.queues[worker].queue_hot(ready);
                Notify::Nobody
            }
            (Origin::Worker(worker), Reason::Yielded) => {
                self.queues[worker].queue_cold(ready);
                Notify::Nobody
            }
            (Origin::Outside, _) => {
                let worker = self.turn.fetch_add(1, Relaxed) % self.open;
                self.queues[worker].queue_rest(ready);
                Notify::Anyone
            }
        }
    }

    fn pop(&self, worker: usize, turn: Turn) -> Option<Ready> {
        let own = &self.queues[worker];
        let ready = match turn {
            Turn::Front => own
                .hot
                .pop()
                .map(Ready::new)
                .or_else(|| own.pop_cold())
                .or_else(|| self.steal(worker)),
            Turn::Back => {
                bump(&own.asked);
                let waiting = || own.pop_cold().or_else(|| self.pop_next_cold());
                if own.asked.load(Relaxed).is_multiple_of(2) {
                    own.pop_oldest_hot().or_else(waiting)
                } else {
                    waiting().or_else(|| own.pop_oldest_hot())
                }
            }
        };
        if ready.is_some() {
            own.pace.count();
        }
        ready
    }

    fn has_work(&self, worker: usize) -> bool {
        let now = clock::ticks();
        let mut queues = self.queues.iter().enumerate();
        queues.any(|(index, queue)| {
            queue.has_cold()
                || queue.has_hot_to_spare(now)
                || index == worker && queue.hot.len() > 0
        })
    }

    /// Neighbours in the order of creation start on the same worker: networks are written down
    /// along their channels.
    fn start(&self, ready: Vec<Ready>) {
        let share = ready.len().div_ceil(self.open).max(1);
        let mut ready = ready.into_iter();
        for queue in &self.queues {
            let mut rest = queue.rest.lock();
            rest.extend(ready.by_ref().take(share));
            queue.rest_len.store(rest.len(), Relaxed);
        }
    }

    /// As if the worker at home had stolen them: so it is found out here, too, whether that pays.
    fn take_crowd(
        &self,
        by: usize,
        home: usize,
        crowd: &mut dyn ExactSizeIterator<Item = Ready>,
    ) -> bool {
        let (own, theirs) = (&self.queues[by], &self.queues[home]);
        let now = clock::ticks();
        if own.pace.is_left_alone(now) {
            return false;
        }
        let size = crowd.len();
        {
            let mut rest = theirs.rest.lock();
            rest.extend(crowd);
            theirs.rest_len.store(rest.len(), Relaxed);
        }
        theirs.raid.begin(&theirs.pace, by, &own.pace, size, now);
        true
    }

    fn shares_work(&self) -> bool {
        true
    }

    /// Not the process that the worker is about to run: for that alone nobody need wake up. Nor
    /// what would not pay.
    fn has_to_spare(&self, worker: usize) -> bool {
        let queue = &self.queues[worker];
        queue.has_cold() || queue.has_hot_to_spare(clock::ticks())
    }

    fn keeps_hot(&self) -> bool {
        true
    }

    fn steals(&self, worker: usize) -> Steals {
        let queue = &self.queues[worker];
        Steals { tried: queue.tried.load(Relaxed), won: queue.won.load(Relaxed) }
    }
}
