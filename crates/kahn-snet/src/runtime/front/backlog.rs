//! Where many records wait, and which calls wait for that before they emit more.
//!
//! | a backlog                 | where                                                                | what it holds up                                           |
//! |-------------------------|----------------------------------------------------------------------|------------------------------------------------------------|
//! | [`Mailbox`](Backlog::Mailbox) | more records than [`ownership`](super::ownership) allows wait in a mailbox | calls of boxes before it |
//! | [`Calls`](Backlog::Calls) | more than [`MOST_EARLY`] outputs of a box wait for calls of it before theirs | the other calls of the box but the first; calls of boxes before it |
//! | [`Order`](Backlog::Order) | more than [`MOST_EARLY`] records wait in an order for those before them | every call but one whose place there is the first          |
//!
//! A box must not be held up by what waits before it: only its calls can change that. So places in
//! the program are compared, see [`position`].
//!
//! Backlogs are noted while a call is *long*: while one has handed on what it emitted, or is away.

use std::cmp::Reverse;
use std::sync::Arc;

use super::emission::Origin;
use super::frame::{Frame, Owner};
use super::mailbox::{Duty, Mailbox};
use super::order::Regions;
use crate::runtime::steps::graph::OpId;
use crate::runtime::steps::tickets::{RegionId, Tickets};
use kahn_engine::sync::Ordering::SeqCst;
use kahn_engine::sync::{AtomicUsize, Mutex};

/// How many records may wait in one place for others that come before them.
pub(super) const MOST_EARLY: usize = 4096;

/// Where many records wait.
#[derive(Debug, Clone)]
pub(super) enum Backlog {
    /// They wait at a mailbox.
    Mailbox(Arc<Mailbox>),
    /// They are outputs of calls that come behind others of the mailbox.
    Calls(Arc<Mailbox>),
    /// They come behind others in an order.
    Order(RegionId),
}

impl PartialEq for Backlog {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mailbox(one), Self::Mailbox(other)) | (Self::Calls(one), Self::Calls(other)) => {
                Arc::ptr_eq(one, other)
            }
            (Self::Order(one), Self::Order(other)) => one == other,
            _ => false,
        }
    }
}

impl Backlog {
    fn is_left(&self, regions: &Regions) -> bool {
        match self {
            Self::Mailbox(mailbox) => mailbox.waiting.has_backlog(),
            Self::Calls(mailbox) => match &mailbox.duty {
                Duty::Box(Some(turn)) => turn.collector.early() > MOST_EARLY,
                _ => false,
            },
            Self::Order(region) => regions.early(*region) > MOST_EARLY,
        }
    }

    /// Whether it holds up a call whose record has these order slots.
    pub(super) fn holds_up(&self, call: &Origin, tickets: &Tickets, regions: &Regions) -> bool {
        match self {
            Self::Mailbox(mailbox) => is_behind(mailbox, call),
            Self::Calls(mailbox) => match (&call.at, &mailbox.duty) {
                (Some((at, number)), Duty::Box(Some(turn))) if Arc::ptr_eq(at, mailbox) => {
                    !turn.collector.is_turn_of(*number)
                }
                _ => is_behind(mailbox, call),
            },
            Self::Order(region) => !regions.lets_out_next(*region, tickets),
        }
    }

    /// Whether a call, whose record has slots in these orders, may be what it waits for.
    pub(super) fn waits_for(&self, call: &Origin, tickets: &Tickets) -> bool {
        match self {
            Self::Mailbox(mailbox) | Self::Calls(mailbox) => match (&mailbox.duty, &call.at) {
                (Duty::Box(_), Some((at, _))) => Arc::ptr_eq(at, mailbox),
                (Duty::Box(_), None) => false,
                _ => true,
            },
            Self::Order(region) => tickets.are_in(*region),
        }
    }
}

/// Whether a mailbox is between a call of a box and the output.
fn is_behind(mailbox: &Arc<Mailbox>, call: &Origin) -> bool {
    if call.at.as_ref().is_some_and(|(at, _)| Arc::ptr_eq(at, mailbox)) {
        return false;
    }
    mailbox
        .home
        .upgrade()
        .is_some_and(|home| position(&home, mailbox.op) < position(&call.frame, call.op))
}

/// Where something is: less is nearer to the output. What is nearer is built first, so its operation
/// is the less; of two replicas of a star the one nearer to the output is made later.
pub(super) fn position(frame: &Arc<Frame>, op: OpId) -> Vec<(usize, Reverse<u64>)> {
    let mut position = vec![(op.0, Reverse(u64::MAX))];
    let mut inner = frame;
    loop {
        let (outer, at) = match &inner.owner {
            Owner::Program => break,
            Owner::Stage { parent, star: at, .. }
            | Owner::Dead { parent, star: at, .. }
            | Owner::Replica { parent, after: at }
            | Owner::Loop { parent, feedback: at } => (parent, at),
        };
        position.push((at.0, Reverse(inner.made)));
        inner = outer;
    }
    position.reverse();
    position
}

/// The backlogs of a run.
#[derive(Debug, Default)]
pub(super) struct Backlogs {
    /// How many calls are long.
    long: AtomicUsize,
    noted: Mutex<Vec<Backlog>>,
}

impl Backlogs {
    /// Says that a call is long from now on.
    pub(super) fn begin(&self) {
        self.long.fetch_add(1, SeqCst);
    }

    /// Says that a long call has ended.
    pub(super) fn end(&self) {
        self.long.fetch_sub(1, SeqCst);
    }

    /// Whether a call is long.
    pub(super) fn are_noted(&self) -> bool {
        self.long.load(SeqCst) > 0
    }

    /// Notes one. It may hold up what it will: the lock of what it is about may be held meanwhile.
    pub(super) fn note(&self, backlog: impl FnOnce() -> Backlog) {
        if !self.are_noted() {
            return;
        }
        let backlog = backlog();
        let mut noted = self.noted.lock();
        if !noted.contains(&backlog) {
            noted.push(backlog);
        }
    }

    /// Those that are left.
    pub(super) fn left(&self, regions: &Regions) -> Vec<Backlog> {
        // Looked at without the lock, for one may be noted under the lock of what it is about.
        let mut known = self.noted.lock().clone();
        if known.is_empty() {
            return known;
        }
        let all = known.len();
        let mut gone = Vec::new();
        known.retain(|backlog| {
            let left = backlog.is_left(regions);
            if !left {
                gone.push(backlog.clone());
            }
            left
        });
        if known.len() < all {
            // One that has come back meanwhile is noted again with the next record.
            self.noted.lock().retain(|backlog| !gone.contains(backlog));
        }
        known
    }
}
