//! The records that wait at a landing, and the licence to work there.
//!
//! A landing with records is in exactly one worker's deque, or a worker drains it: that is the
//! *licence*. Whoever puts the first record in gets it and hands it on to a deque; whoever drains
//! gives it back when nothing is left, in one step with the look.
//!
//! ```text
//!   idle ──put──► licensed: in a deque ──taken by a worker──► licensed: drained ──empty──► idle
//!                     ▲                                            │ not empty
//!                     └────────────────────────────────────────────┘
//! ```
//!
//! A box may have several: a call that begins passes the licence on at once if more records wait
//! and more calls are allowed, and one that ends takes it up again if nobody has.
//!
//! A landing that was *closed* takes no more records: they go to where it points.

use std::collections::VecDeque;

use super::place::Place;
use super::sync::Mutex;

#[derive(Debug)]
struct Queue<R> {
    records: VecDeque<R>,
    licensed: bool,
    /// Of a box: how many calls run, and the number of the next.
    running: usize,
    next_call: u64,
}

impl<R> Queue<R> {
    /// What came of putting records in.
    fn put(&mut self, limit: usize) -> Put {
        let ours = self.running < limit && !std::mem::replace(&mut self.licensed, true);
        match ours {
            true => Put::WithLicence,
            false if self.records.len() > BACKLOG => Put::InBacklog,
            false => Put::Behind,
        }
    }
}

/// How many records wait where somebody should see to it.
const BACKLOG: usize = 512;

/// What came of putting records in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The licence is the caller's now.
    WithLicence,
    /// Somebody else has it.
    Behind,
    /// Somebody else has it, and does not get through.
    InBacklog,
}

/// Records that wait, and where they go instead once the landing is closed.
#[derive(Debug)]
pub(super) struct Waiting<R, F> {
    queue: Mutex<Queue<R>>,
    forward: Place<F>,
}

/// A call that begins.
#[derive(Debug)]
#[must_use = "a call that begins must end, and others may be allowed to begin"]
pub(super) struct Call<R> {
    pub(super) record: R,
    pub(super) number: u64,
    /// How many records waited, with this one.
    pub(super) waited: usize,
    /// Whether the licence is to be handed on.
    pub(super) others_may: bool,
}

impl<R, F> Waiting<R, F> {
    pub(super) fn new() -> Self {
        let (records, licensed) = (VecDeque::new(), false);
        let queue = Queue { records, licensed, running: 0, next_call: 0 };
        Self { queue: Mutex::new(queue), forward: Place::new() }
    }

    /// Where records go if the landing is closed.
    pub(super) fn forward(&self) -> Option<&F> {
        self.forward.get()
    }

    /// What [`forward`](Self::forward) says, for the last owner.
    pub(super) fn take_forward(&mut self) -> Option<F> {
        self.forward.take()
    }

    /// Takes records over, where `limit` calls may run at once. Leaves them if the landing is closed.
    pub(super) fn put(&self, records: &mut VecDeque<R>, limit: usize) -> Option<Put> {
        let mut queue = self.queue.lock();
        if self.forward.get().is_some() {
            return None;
        }
        if queue.records.is_empty() {
            std::mem::swap(&mut queue.records, records);
        } else {
            queue.records.append(records);
        }
        Some(queue.put(limit))
    }

    /// Puts a record into a landing that is never closed, as [`put`](Self::put) does.
    pub(super) fn put_one(&self, record: R) -> Put {
        let mut queue = self.queue.lock();
        queue.records.push_back(record);
        queue.put(usize::MAX)
    }

    /// Whether many records wait.
    pub(super) fn has_backlog(&self) -> bool {
        self.queue.lock().records.len() > BACKLOG
    }

    /// Takes the records that wait, up to about `most`, and tells how many there were; `empty` is
    /// room for those that come.
    pub(super) fn take(&self, most: usize, empty: VecDeque<R>) -> (VecDeque<R>, usize) {
        let mut queue = self.queue.lock();
        let waited = queue.records.len();
        if waited <= 2 * most {
            return (std::mem::replace(&mut queue.records, empty), waited);
        }
        let mut taken = empty;
        taken.extend(queue.records.drain(..most));
        (taken, waited)
    }

    /// Takes the next record, and tells how many waited with it.
    pub(super) fn take_one(&self) -> Option<(R, usize)> {
        let mut queue = self.queue.lock();
        let waited = queue.records.len();
        Some((queue.records.pop_front()?, waited))
    }

    /// Gives the licence back if nothing waits; returns whether it was kept.
    #[must_use = "a licence that is kept and forgotten is lost"]
    pub(super) fn keeps_licence(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.licensed = !queue.records.is_empty();
        queue.licensed
    }

    /// Begins a call, if a record waits.
    pub(super) fn begin(&self, limit: usize) -> Option<Call<R>> {
        let mut queue = self.queue.lock();
        let waited = queue.records.len();
        let Some(record) = queue.records.pop_front() else {
            queue.licensed = false;
            return None;
        };
        let number = queue.next_call;
        queue.next_call += 1;
        queue.running += 1;
        queue.licensed = !queue.records.is_empty() && queue.running < limit;
        Some(Call { record, number, waited, others_may: queue.licensed })
    }

    /// Ends a call; returns whether the licence is the caller's.
    #[must_use = "a licence that is forgotten is lost"]
    pub(super) fn end(&self, limit: usize) -> bool {
        let mut queue = self.queue.lock();
        queue.running -= 1;
        let mine = !queue.licensed && !queue.records.is_empty() && queue.running < limit;
        queue.licensed |= mine;
        mine
    }

    /// Whether nothing waits, runs, or is about to.
    pub(super) fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.records.is_empty() && queue.running == 0 && !queue.licensed
    }

    /// Closes the landing if nothing waits.
    pub(super) fn close(&self, forward: impl FnOnce() -> F) {
        let queue = self.queue.lock();
        if queue.records.is_empty() {
            self.forward.set(forward());
        }
    }

    pub(super) fn clear(&self) {
        self.queue.lock().records.clear();
    }
}
