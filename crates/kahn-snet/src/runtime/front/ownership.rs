//! The records that wait in a mailbox, and which worker owns the mailbox.
//!
//! A mailbox with records lies on the stack of exactly one worker, or one worker drains it. The worker
//! that has it, in either way, *owns* it. The worker that puts the first record in becomes the
//! owner and puts the mailbox on its stack; the worker that drains it stops to own it when
//! nothing is left, in one step with the look.
//!
//! ```text
//!   idle ──put──► owned: on a stack ──taken by a worker──► owned: drained ──empty──► idle
//!                     ▲                                            │ not empty
//!                     └────────────────────────────────────────────┘
//! ```
//!
//! At a box several workers may call at once: a call that begins passes the ownership on at once if more
//! records wait and more calls are allowed, and one that ends takes it up again if no worker has it.
//!
//! A mailbox that was *closed* takes no more records: they go to where it points.

use std::collections::VecDeque;

use super::once::Once;
use kahn_engine::sync::Mutex;

#[derive(Debug)]
struct Queue<R> {
    records: VecDeque<R>,
    owned: bool,
    /// Of a box: how many calls run, and the number of the next.
    running: usize,
    next_call: u64,
}

impl<R> Queue<R> {
    /// What came of putting records in.
    fn put(&mut self, limit: usize) -> Put {
        let ours = self.running < limit && !std::mem::replace(&mut self.owned, true);
        match ours {
            true => Put::Owned,
            false if self.records.len() > BACKLOG => Put::InBacklog,
            false => Put::Behind,
        }
    }
}

/// How many records may wait before this is a backlog.
const BACKLOG: usize = 512;

/// What came of putting records in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The caller owns the mailbox now.
    Owned,
    /// Another worker owns it.
    Behind,
    /// Another worker owns it, and many records wait.
    InBacklog,
}

/// Records that wait, and where they go instead once the mailbox is closed.
#[derive(Debug)]
pub(super) struct Waiting<R, F> {
    queue: Mutex<Queue<R>>,
    forward: Once<F>,
}

/// A call that begins.
#[derive(Debug)]
#[must_use = "a call that begins must end, and others may be allowed to begin"]
pub(super) struct NextCall<R> {
    pub(super) record: R,
    pub(super) number: u64,
    /// How many records waited, with this one.
    pub(super) waited: usize,
    /// Whether the ownership is to be handed on.
    pub(super) others_may: bool,
}

impl<R, F> Waiting<R, F> {
    pub(super) fn new() -> Self {
        let (records, owned) = (VecDeque::new(), false);
        let queue = Queue { records, owned, running: 0, next_call: 0 };
        Self { queue: Mutex::new(queue), forward: Once::new() }
    }

    /// Where records go if the mailbox is closed.
    pub(super) fn forward(&self) -> Option<&F> {
        self.forward.get()
    }

    /// What [`forward`](Self::forward) says, for the last owner.
    pub(super) fn take_forward(&mut self) -> Option<F> {
        self.forward.take()
    }

    /// Takes records over, where `limit` calls may run at once. Leaves them if the mailbox is closed.
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

    /// Puts a record into a mailbox that is never closed, as [`put`](Self::put) does.
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

    /// Gives the ownership back if nothing waits; returns whether it was kept.
    #[must_use = "an ownership that is kept and forgotten is lost"]
    pub(super) fn keeps_ownership(&self) -> bool {
        let mut queue = self.queue.lock();
        queue.owned = !queue.records.is_empty();
        queue.owned
    }

    /// Begins a call, if a record waits.
    pub(super) fn begin(&self, limit: usize) -> Option<NextCall<R>> {
        let mut queue = self.queue.lock();
        let waited = queue.records.len();
        let Some(record) = queue.records.pop_front() else {
            queue.owned = false;
            return None;
        };
        let number = queue.next_call;
        queue.next_call += 1;
        queue.running += 1;
        queue.owned = !queue.records.is_empty() && queue.running < limit;
        Some(NextCall { record, number, waited, others_may: queue.owned })
    }

    /// Ends a call; returns whether the ownership is the caller's.
    #[must_use = "an ownership that is forgotten is lost"]
    pub(super) fn end(&self, limit: usize) -> bool {
        let mut queue = self.queue.lock();
        queue.running -= 1;
        let mine = !queue.owned && !queue.records.is_empty() && queue.running < limit;
        queue.owned |= mine;
        mine
    }

    /// Whether nothing waits, runs, or is about to.
    pub(super) fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.records.is_empty() && queue.running == 0 && !queue.owned
    }

    /// Closes the mailbox if nothing waits.
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
