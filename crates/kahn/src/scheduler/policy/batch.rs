//! `batch`: processes that wake each other drift into one batch; batches are run in turn, and
//! stolen whole (Ritson, Sampson and Barnes, *Multicore scheduling for lightweight communicating
//! processes*, section 2; the CCSP runtime of occam-π).
//!
//! ```text
//!   one worker:   active queue          run queue
//!                 ● ● ●  ◄── load ──  older …  │ window (others may steal) │ pending
//!                 │ run, woken: behind  ◄───────── put back, when its turn is over ────┘
//! ```
//!
//! A worker loads a batch into its *active queue* and runs the processes in turn. Who is woken, made
//! or yields goes to the end of the active queue of the worker where that happens: so processes that
//! talk to each other come together.
//!
//! | rule | | constant |
//! |---|---|---|
//! | a batch is run for so many dispatches | eight times its size, at most … | [`MOST_DISPATCHES`] |
//! | making a process counts as one, too; if it was the last, what stands in the active queue becomes a batch at once, and is free to go | a fresh queue has … | [`FRESH_DISPATCHES`] |
//! | a turn in which never just one process was active: more than one group is in the batch. Its first process is split off | | |
//! | otherwise it is put back as it is; or runs on, if nothing else waits here | | |
//! | the youngest batch of the run queue is *pending*: nobody sees it before the next comes. So the last work of a worker is not stolen, and one batch does not go back and forth | | |
//! | the batches before it stand in the [window](super::window), the oldest of them are the owner's alone again | | [`SLOTS`](super::window::SLOTS) |
//!
//! Where this is not the paper: processes are of one priority; a maker of processes cannot be stopped
//! where it makes the last one of its turn, so the made ones are cut off instead of the maker; what
//! comes from outside waits in one queue for whoever comes first, and becomes a batch of its own; at
//! the start each worker has one batch, of neighbours in the order of creation.

use super::window::{Range, Window};
use super::{Notify, Origin, Policy, Ready, Reason, Steals, Turn};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering::*, Padded};
use std::collections::VecDeque;
use std::mem;

/// Dispatches that a batch gets for each of its processes.
const DISPATCHES: usize = 8;
/// Dispatches that a batch gets at most.
const MOST_DISPATCHES: usize = 127;
/// Dispatches that a queue gets from which the others were cut off.
const FRESH_DISPATCHES: usize = 8;

type Processes = VecDeque<Ready>;

/// What a worker keeps to itself. Locked by it alone; the lock is there because nothing in the
/// interface of policies says so.
#[derive(Debug, Default)]
struct Own {
    active: Processes,
    /// Dispatches that are left to the active queue.
    left: usize,
    /// Whether, in this turn, a process was the only active one.
    was_alone: bool,
    /// Batches that were knocked out of the window.
    older: VecDeque<Box<Processes>>,
    window: Range,
    pending: Option<Box<Processes>>,
}

#[derive(Debug)]
struct Shelf {
    own: Mutex<Own>,
    /// Batches and active processes of the owner, as it last knew them: a few may have been stolen.
    waiting: AtomicUsize,
    window: Window<Processes>,
    tried: AtomicU64,
    won: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Batch {
    shelves: Box<[Padded<Shelf>]>,
    /// What was made ready by somebody who is no worker.
    mail: Mutex<Processes>,
    mail_len: AtomicUsize,
}

/// A worker's shelf while it uses it.
struct Open<'a> {
    shelf: &'a Shelf,
    own: MutexGuard<'a, Own>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let own = &self.own;
        let batches = own.older.len() + own.window.len() + usize::from(own.pending.is_some());
        // Relaxed: read by the owner alone.
        self.shelf.waiting.store(own.active.len() + batches, Relaxed);
    }
}

impl Open<'_> {
    /// Puts a batch at the end of the run queue.
    fn put_back(&mut self, batch: Processes) {
        let Some(before) = self.own.pending.replace(Box::new(batch)) else { return };
        let own = &mut *self.own;
        own.older.extend(self.shelf.window.enqueue(&mut own.window, before));
    }

    /// Takes the batch at the front of the run queue.
    fn next_batch(&mut self) -> Option<Box<Processes>> {
        let own = &mut *self.own;
        let older = own.older.pop_front();
        let windowed = || self.shelf.window.dequeue(&mut own.window);
        older.or_else(windowed).or_else(|| own.pending.take())
    }

    /// Makes a batch the active one.
    fn load(&mut self, batch: Processes) {
        debug_assert!(self.own.active.is_empty(), "one batch at a time");
        self.own.left = dispatches(&batch);
        self.own.active = batch;
        self.own.was_alone = false;
    }

    /// The turn of the active batch is over: it goes on, or back into the run queue.
    fn end_turn(&mut self, something_came: bool) {
        let own = &mut *self.own;
        let others = own.older.len() + own.window.len() > 0 || own.pending.is_some();
        if own.was_alone && !others && !something_came {
            own.left = dispatches(&own.active);
            own.was_alone = false;
            return;
        }
        let is_one_group = own.was_alone || own.active.len() < 2;
        let mut batch = mem::take(&mut own.active);
        if !is_one_group && let Some(first) = batch.pop_front() {
            self.put_back(VecDeque::from([first]));
        }
        self.put_back(batch);
    }

    /// The process to be run next.
    fn dispatch(&mut self, something_came: bool) -> Option<Ready> {
        if self.own.left == 0 && !self.own.active.is_empty() {
            self.end_turn(something_came);
        }
        if self.own.active.is_empty() {
            let batch = self.next_batch()?;
            self.load(*batch);
        }
        let own = &mut *self.own;
        let ready = own.active.pop_front();
        own.left = own.left.saturating_sub(1);
        own.was_alone |= own.active.is_empty();
        ready
    }
}

fn dispatches(batch: &Processes) -> usize {
    (DISPATCHES * batch.len()).min(MOST_DISPATCHES)
}

/// Adds one to a counter that only its worker writes.
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl Batch {
    pub(super) fn new(workers: usize) -> Self {
        let shelf = || Shelf {
            own: Mutex::default(),
            waiting: AtomicUsize::new(0),
            window: Window::new(),
            tried: AtomicU64::new(0),
            won: AtomicU64::new(0),
        };
        Self {
            shelves: (0..workers).map(|_| Padded(shelf())).collect(),
            mail: Mutex::default(),
            mail_len: AtomicUsize::new(0),
        }
    }

    fn open(&self, worker: usize) -> Open<'_> {
        let shelf = &self.shelves[worker];
        Open { shelf, own: shelf.own.lock() }
    }

    fn post(&self, ready: Ready) {
        let mut mail = self.mail.lock();
        mail.push_back(ready);
        self.mail_len.store(mail.len(), Relaxed);
    }

    /// One process from outside, if there is one.
    fn letter(&self) -> Option<Ready> {
        if self.mail_len.load(Relaxed) == 0 {
            return None;
        }
        let mut mail = self.mail.lock();
        let ready = mail.pop_front();
        self.mail_len.store(mail.len(), Relaxed);
        ready
    }

    fn steal(&self, thief: usize) -> Option<Box<Processes>> {
        let (own, count) = (&self.shelves[thief], self.shelves.len());
        (1..count).find_map(|offset| {
            let victim = &self.shelves[(thief + offset) % count];
            bump(&own.tried);
            let batch = victim.window.steal()?;
            bump(&own.won);
            Some(batch)
        })
    }
}

impl Policy for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn push(&self, origin: Origin, ready: Ready, reason: Reason) -> Notify {
        let Origin::Worker(worker) = origin else {
            self.post(ready);
            return Notify::Anyone;
        };
        let mut open = self.open(worker);
        if reason == Reason::Preempted {
            open.own.active.push_front(ready);
        } else {
            open.own.active.push_back(ready);
        }
        if reason == Reason::New {
            open.own.left = open.own.left.saturating_sub(1);
            if open.own.left == 0 {
                let made = mem::take(&mut open.own.active);
                open.put_back(made);
                open.own.left = FRESH_DISPATCHES;
                open.own.was_alone = false;
            }
        }
        // The runtime asks whether there is something to spare.
        Notify::Nobody
    }

    fn pop(&self, worker: usize, _turn: Turn) -> Option<Ready> {
        let letter = self.letter();
        let something_came = letter.is_some();
        let mut open = self.open(worker);
        if let Some(letter) = letter {
            open.put_back(VecDeque::from([letter]));
        }
        // Every batch has its turn, so the one that has waited longest needs no other way.
        open.dispatch(something_came).or_else(|| {
            let batch = self.steal(worker)?;
            open.load(*batch);
            open.dispatch(false)
        })
    }

    fn has_work(&self, worker: usize) -> bool {
        self.shelves[worker].waiting.load(Relaxed) > 0
            || self.mail_len.load(Relaxed) > 0
            || self.shelves.iter().any(|shelf| shelf.window.has_some())
    }

    /// Neighbours in the order of creation begin in the same batch.
    fn start(&self, ready: Vec<Ready>) {
        let share = ready.len().div_ceil(self.shelves.len()).max(1);
        let mut ready = ready.into_iter();
        for worker in 0..self.shelves.len() {
            let batch: Processes = ready.by_ref().take(share).collect();
            if !batch.is_empty() {
                self.open(worker).put_back(batch);
            }
        }
    }

    fn has_to_spare(&self, worker: usize) -> bool {
        self.shelves[worker].window.has_some()
    }

    fn steals(&self, worker: usize) -> Steals {
        let shelf = &self.shelves[worker];
        Steals { tried: shelf.tried.load(Relaxed), won: shelf.won.load(Relaxed) }
    }
}
