//! Order: what deterministic combinators keep.
//!
//! A *region* is one instance of `||`, `**`, `!!` or `\\`. A record that enters it gets a slot
//! in the region's list; where one record becomes several, the new slots stand before the old
//! one, in the order of emission. So the list is always the order in which a sequential run
//! would bring the records out:
//!
//! ```text
//!   enter a, enter b        a            b
//!   a becomes x, y, z       a₁ a₂ a      b        (x has a₁, y has a₂, z keeps a)
//!   y ends, x comes out     x ·· out, a₂ is gone, a is first: z will not wait
//! ```
//!
//! Each slot ends once: its record comes out, or ends inside (dropped, or kept by a
//! synchro-cell). What comes out early waits in its slot until all before it have ended.
//!
//! The body of a feedback that keeps records in synchro-cells must also *get* them in that order:
//! fresh records, and those that go back. So before such a body a record waits in its slot until
//! that slot is the first: all that comes before it in a sequential run has come out then.
//!
//! A list has a lock, which workers would meet at for every record. So they come with many at once:
//!
//! | what            | when                                      | why that keeps the order            |
//! |-----------------|-------------------------------------------|-------------------------------------|
//! | records enter   | all that a worker takes from a mailbox    | they enter in their order, and only the worker that owns the mailbox has them |
//! | a slot before   | at once                                   | only the worker that has the record of a slot makes others before it |
//! | slots end       | before the worker hands on what it made   | a slot that ends late holds up what comes after it, and nothing else; no other worker has its record |
//!
//! Why not counters for each input, as FRONT has them? They order the outputs of different
//! inputs only; within one input the replicas of a star would race. Why not sort records, as
//! S-RTS sends them? They visit every branch for every record.

use std::collections::VecDeque;
use std::sync::Arc;

use kahn_engine::sync::Ordering::Relaxed;
use kahn_engine::sync::{Mutex, PlainAtomicUsize};

use super::backlog::MOST_EARLY;
use super::mailbox::Mailbox;
use crate::runtime::steps::shape::Rec;
use crate::runtime::steps::tickets::{RegionId, Ticket, Tickets};

/// The end of a slot, of a record that comes out or of one that ended inside.
pub(super) type End = (Ticket, Option<Rec>);

/// All regions of a run; they stay until it ends, so tickets need not count references to them.
#[derive(Debug, Default)]
pub(super) struct Regions(boxcar::Vec<Region>);

/// One instance of a deterministic combinator, on a cache line of its own: workers at two of them
/// should not meet.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Region {
    list: Mutex<List>,
    /// How many records wait in their slots; written under the lock.
    early: PlainAtomicUsize,
    /// Where records go on behind it.
    exit: Arc<Mailbox>,
    /// The body of a feedback that records enter one after the other.
    body: Option<Arc<Mailbox>>,
}

const NONE: u32 = u32::MAX;

/// What waits in a slot until it is the first.
#[derive(Debug, Default)]
enum Waits {
    /// Its record is on its way.
    #[default]
    Nothing,
    /// A record that came out.
    Out(Box<Rec>),
    /// A record that is to enter the body of a feedback.
    Entering(Box<Rec>),
}

/// A slot that has not ended, or whose record came out and waits.
#[derive(Debug)]
struct OrderSlot {
    before: u32,
    /// For one that is free, the next that is.
    after: u32,
    waits: Waits,
}

#[derive(Debug)]
struct List {
    slots: Vec<OrderSlot>,
    free: u32,
    first: u32,
    last: u32,
    /// How many records wait in their slots.
    waiting: usize,
}

impl List {
    fn insert(&mut self, before: u32, after: u32) -> u32 {
        let slot = OrderSlot { before, after, waits: Waits::Nothing };
        let id = self.free;
        let id = if id == NONE {
            self.slots.push(slot);
            u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
        } else {
            self.free = std::mem::replace(&mut self.slots[id as usize], slot).after;
            id
        };
        match before {
            NONE => self.first = id,
            before => self.slots[before as usize].after = id,
        }
        match after {
            NONE => self.last = id,
            after => self.slots[after as usize].before = id,
        }
        id
    }

    fn remove(&mut self, id: u32) {
        let slot = &mut self.slots[id as usize];
        let (before, after) = (slot.before, std::mem::replace(&mut slot.after, self.free));
        self.free = id;
        match before {
            NONE => self.first = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.slots[after as usize].before = before,
        }
    }

    /// Ends a slot; appends to `ready`, in order, what need not wait any longer, and returns the
    /// record that may enter the body.
    fn end(&mut self, slot: u32, rec: Option<Rec>, ready: &mut VecDeque<Rec>) -> Option<Rec> {
        if self.first != slot
            && let Some(rec) = rec
        {
            self.slots[slot as usize].waits = Waits::Out(Box::new(rec));
            self.waiting += 1;
            return None;
        }
        ready.extend(rec);
        self.remove(slot);
        // A first slot whose record is out has waited for this one.
        while let Some(slot) = self.slots.get_mut(self.first as usize) {
            let waits = std::mem::take(&mut slot.waits);
            self.waiting -= usize::from(!matches!(waits, Waits::Nothing));
            match waits {
                Waits::Nothing => return None,
                Waits::Out(rec) => ready.push_back(*rec),
                Waits::Entering(rec) => return Some(*rec),
            }
            self.remove(self.first);
        }
        None
    }
}

impl Regions {
    /// Creates a region whose records go on at `exit`, and enter `body` one after the other.
    pub(super) fn create(&self, exit: Arc<Mailbox>, body: Option<Arc<Mailbox>>) -> RegionId {
        let list = List { slots: Vec::new(), free: NONE, first: NONE, last: NONE, waiting: 0 };
        let early = PlainAtomicUsize::new(0);
        RegionId(self.0.push(Region { list: Mutex::new(list), early, exit, body }))
    }

    /// Gives a record back that may enter the body of the feedback it is at; any other waits in its
    /// slot until it may.
    pub(super) fn in_turn(&self, rec: Rec) -> Option<Rec> {
        let Some(Ticket { region, slot }) = rec.tickets.last().cloned() else { return Some(rec) };
        let mut list = self.0[region.0].list.lock();
        if list.first == slot {
            return Some(rec);
        }
        list.slots[slot as usize].waits = Waits::Entering(Box::new(rec));
        list.waiting += 1;
        self.0[region.0].early.store(list.waiting, Relaxed);
        None
    }

    /// How many records of a region wait for others before them.
    pub(super) fn early(&self, id: RegionId) -> usize {
        self.0[id.0].early.load(Relaxed)
    }

    /// Gives records the last slots of a region, in their order.
    pub(super) fn enter<'r>(&self, id: RegionId, records: impl IntoIterator<Item = &'r mut Rec>) {
        let mut list = self.0[id.0].list.lock();
        for rec in records {
            let last = list.last;
            let slot = list.insert(last, NONE);
            rec.tickets.push(Ticket { region: id, slot });
        }
    }

    /// Makes slots for a record that comes before the one with these.
    pub(super) fn before(&self, tickets: &Tickets) -> Tickets {
        match tickets {
            Tickets::One(ticket) => Tickets::One(self.just_before(ticket)),
            Tickets::Other(None) => Tickets::Other(None),
            Tickets::Other(Some(all)) => {
                let before = all.iter().map(|ticket| self.just_before(ticket));
                Tickets::Other(Some(Box::new(before.collect())))
            }
        }
    }

    /// Whether a record with these slots comes out first of a region: all that comes before it is out.
    pub(super) fn lets_out_next(&self, id: RegionId, tickets: &Tickets) -> bool {
        let is_first = |ticket: &Ticket| self.0[id.0].list.lock().first == ticket.slot;
        tickets.of(id).is_some_and(is_first)
    }

    /// Makes a slot just before another.
    fn just_before(&self, ticket: &Ticket) -> Ticket {
        let mut list = self.0[ticket.region.0].list.lock();
        let before = list.slots[ticket.slot as usize].before;
        let slot = list.insert(before, ticket.slot);
        Ticket { region: ticket.region, slot }
    }

    /// Ends slots, in their order, those of one region under one lock; `go_on` gets, in order, what
    /// may go on or enter a body, and where, and leaves none of it; `on_backlog` is told of a region where
    /// many records wait.
    ///
    /// They are called under the lock of the region, so that `go_on` sees the order; `ready` is room for it.
    pub(super) fn end(
        &self,
        ends: &mut [End],
        ready: &mut VecDeque<Rec>,
        mut go_on: impl FnMut(&Arc<Mailbox>, &mut VecDeque<Rec>),
        on_backlog: impl Fn(RegionId),
    ) {
        for ends in ends.chunk_by_mut(|one, next| one.0.region == next.0.region) {
            let region = &self.0[ends[0].0.region.0];
            let mut list = region.list.lock();
            // One at most: it is the first now, and does not end before it has entered.
            let mut entering = None;
            for (ticket, rec) in ends.iter_mut() {
                entering = list.end(ticket.slot, rec.take(), ready).or(entering);
            }
            region.early.store(list.waiting, Relaxed);
            if list.waiting > MOST_EARLY {
                on_backlog(ends[0].0.region);
            }
            if !ready.is_empty() {
                go_on(&region.exit, ready);
            }
            if let (Some(rec), Some(body)) = (entering, &region.body) {
                ready.push_back(rec);
                go_on(body, ready);
            }
        }
    }
}
