//! Order: what deterministic combinators keep.
//!
//! A *region* is one instance of `||`, `**`, `!!` or `\\`. A record that enters it gets a place
//! in the region's list; where one record becomes several, the new places stand before the old
//! one, in the order of emission. So the list is always the order in which a sequential run
//! would bring the records out:
//!
//! ```text
//!   enter a, enter b        a            b
//!   a becomes x, y, z       a₁ a₂ a      b        (x has a₁, y has a₂, z keeps a)
//!   y ends, x comes out     x ·· out, a₂ is gone, a is first: z will not wait
//! ```
//!
//! Each place ends once: its record comes out, or ends inside (dropped, or kept by a
//! synchro-cell). What comes out early waits in its place until all before it have ended.
//!
//! The body of a feedback that keeps records in synchro-cells must also *get* them in that order:
//! fresh records, and those that go back. So before such a body a record waits in its place until
//! that place is the first: all that comes before it in a sequential run has come out then.
//!
//! A list has a lock, which workers would meet at for every record. So they come with many at once:
//!
//! | what            | when                                      | why that keeps the order            |
//! |-----------------|-------------------------------------------|-------------------------------------|
//! | records enter   | all that a worker takes from a landing    | they enter in their order, and only whoever has the licence of the landing has them |
//! | a place before  | at once                                   | only who has the record of a place makes others before it |
//! | places end      | before the worker hands on what it made   | a place that ends late holds up what comes after it, and nothing else; nobody else has its record |
//!
//! Why not counters for each input, as FRONT has them? They order the outputs of different
//! inputs only; within one input the replicas of a star would race. Why not sort records, as
//! S-RTS sends them? They visit every branch for every record.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::backlog::MOST_EARLY;
use super::frame::Landing;
use super::shape::Rec;

/// The places of a record, of the outermost region first.
///
/// Small, for every record has them: most have none, and of the others most have one.
#[derive(Debug, Clone)]
pub(super) enum Tickets {
    One(Ticket),
    /// None, or several.
    Other(Option<Box<SmallVec<[Ticket; 2]>>>),
}

impl Default for Tickets {
    fn default() -> Self {
        Self::Other(None)
    }
}

impl Tickets {
    fn push(&mut self, ticket: Ticket) {
        *self = match std::mem::take(self) {
            Self::Other(None) => Self::One(ticket),
            Self::One(outer) => Self::Other(Some(Box::new(SmallVec::from([outer, ticket])))),
            Self::Other(Some(mut all)) => {
                all.push(ticket);
                Self::Other(Some(all))
            }
        };
    }

    pub(super) fn pop(&mut self) -> Option<Ticket> {
        match std::mem::take(self) {
            Self::One(ticket) => Some(ticket),
            Self::Other(None) => None,
            Self::Other(Some(mut all)) => {
                let last = all.pop();
                if !all.is_empty() {
                    *self = Self::Other(Some(all));
                }
                last
            }
        }
    }

    /// The innermost place.
    fn last(&self) -> Option<&Ticket> {
        match self {
            Self::One(ticket) => Some(ticket),
            Self::Other(all) => all.as_ref()?.last(),
        }
    }

    /// Makes places for a record that comes before the one with these.
    pub(super) fn before(&self, regions: &Regions) -> Self {
        match self {
            Self::One(ticket) => Self::One(regions.before(ticket)),
            Self::Other(None) => Self::Other(None),
            Self::Other(Some(all)) => {
                let before = all.iter().map(|ticket| regions.before(ticket));
                Self::Other(Some(Box::new(before.collect())))
            }
        }
    }
}

impl Tickets {
    /// The place in a region.
    fn of(&self, region: RegionId) -> Option<&Ticket> {
        match self {
            Self::One(ticket) => Some(ticket).filter(|ticket| ticket.region == region),
            Self::Other(all) => all.as_ref()?.iter().find(|ticket| ticket.region == region),
        }
    }

    /// Whether one of the places is in a region.
    pub(super) fn are_in(&self, region: RegionId) -> bool {
        self.of(region).is_some()
    }

    /// Whether one of the places is the first of a region: all that comes before is out.
    pub(super) fn are_first_in(&self, region: RegionId, regions: &Regions) -> bool {
        let is_first = |ticket: &Ticket| regions.0[region.0].list.lock().first == ticket.place;
        self.of(region).is_some_and(is_first)
    }
}

/// A region of a run, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RegionId(usize);

/// A place in the list of a region.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    region: RegionId,
    place: u32,
}

/// The end of a place, of a record that comes out or of one that ended inside.
pub(super) type End = (Ticket, Option<Rec>);

/// All regions of a run; they stay until it ends, so tickets need not count who knows them.
#[derive(Debug, Default)]
pub(super) struct Regions(boxcar::Vec<Region>);

/// One instance of a deterministic combinator, on a cache line of its own: workers at two of them
/// should not meet.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Region {
    list: Mutex<List>,
    /// How many records wait in their places; written under the lock.
    early: AtomicUsize,
    /// Where records go on behind it.
    exit: Arc<Landing>,
    /// The body of a feedback that records enter one after the other.
    body: Option<Arc<Landing>>,
}

const NONE: u32 = u32::MAX;

/// What waits in a place until it is the first.
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

/// A place that has not ended, or whose record came out and waits.
#[derive(Debug)]
struct Place {
    before: u32,
    /// For one that is free, the next that is.
    after: u32,
    waits: Waits,
}

#[derive(Debug)]
struct List {
    places: Vec<Place>,
    free: u32,
    first: u32,
    last: u32,
    /// How many records wait in their places.
    waiting: usize,
}

impl List {
    fn insert(&mut self, before: u32, after: u32) -> u32 {
        let place = Place { before, after, waits: Waits::Nothing };
        let id = self.free;
        let id = if id == NONE {
            self.places.push(place);
            u32::try_from(self.places.len() - 1).unwrap_or(NONE)
        } else {
            self.free = std::mem::replace(&mut self.places[id as usize], place).after;
            id
        };
        match before {
            NONE => self.first = id,
            before => self.places[before as usize].after = id,
        }
        match after {
            NONE => self.last = id,
            after => self.places[after as usize].before = id,
        }
        id
    }

    fn remove(&mut self, id: u32) {
        let place = &mut self.places[id as usize];
        let (before, after) = (place.before, std::mem::replace(&mut place.after, self.free));
        self.free = id;
        match before {
            NONE => self.first = after,
            before => self.places[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.places[after as usize].before = before,
        }
    }

    /// Ends a place; appends to `ready`, in order, what need not wait any longer, and returns the
    /// record that may enter the body.
    fn end(&mut self, place: u32, rec: Option<Rec>, ready: &mut VecDeque<Rec>) -> Option<Rec> {
        if self.first != place
            && let Some(rec) = rec
        {
            self.places[place as usize].waits = Waits::Out(Box::new(rec));
            self.waiting += 1;
            return None;
        }
        ready.extend(rec);
        self.remove(place);
        // A first place whose record is out has waited for this one.
        while let Some(place) = self.places.get_mut(self.first as usize) {
            let waits = std::mem::take(&mut place.waits);
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
    pub(super) fn create(&self, exit: Arc<Landing>, body: Option<Arc<Landing>>) -> RegionId {
        let list = List { places: Vec::new(), free: NONE, first: NONE, last: NONE, waiting: 0 };
        let early = AtomicUsize::new(0);
        RegionId(self.0.push(Region { list: Mutex::new(list), early, exit, body }))
    }

    /// Gives a record back that may enter the body of the feedback it is at; any other waits in its
    /// place until it may.
    pub(super) fn in_turn(&self, rec: Rec) -> Option<Rec> {
        let Some(Ticket { region, place }) = rec.tickets.last().cloned() else { return Some(rec) };
        let mut list = self.0[region.0].list.lock();
        if list.first == place {
            return Some(rec);
        }
        list.places[place as usize].waits = Waits::Entering(Box::new(rec));
        list.waiting += 1;
        self.0[region.0].early.store(list.waiting, Relaxed);
        None
    }

    /// How many records of a region wait for others before them.
    pub(super) fn early(&self, id: RegionId) -> usize {
        self.0[id.0].early.load(Relaxed)
    }

    /// Gives records the last places of a region, in their order.
    pub(super) fn enter<'r>(&self, id: RegionId, records: impl IntoIterator<Item = &'r mut Rec>) {
        let mut list = self.0[id.0].list.lock();
        for rec in records {
            let last = list.last;
            let place = list.insert(last, NONE);
            rec.tickets.push(Ticket { region: id, place });
        }
    }

    /// Makes a place just before another.
    fn before(&self, ticket: &Ticket) -> Ticket {
        let mut list = self.0[ticket.region.0].list.lock();
        let before = list.places[ticket.place as usize].before;
        let place = list.insert(before, ticket.place);
        Ticket { region: ticket.region, place }
    }

    /// Ends places, in their order, those of one region under one lock; `go_on` gets, in order, what
    /// may go on or enter a body, and where, and leaves none of it; `on_backlog` is told of a region where
    /// many records wait.
    ///
    /// They are called under the lock of the region, so that `go_on` sees the order; `ready` is room for it.
    pub(super) fn end(
        &self,
        ends: &mut [End],
        ready: &mut VecDeque<Rec>,
        mut go_on: impl FnMut(&Arc<Landing>, &mut VecDeque<Rec>),
        on_backlog: impl Fn(RegionId),
    ) {
        for ends in ends.chunk_by_mut(|one, next| one.0.region == next.0.region) {
            let region = &self.0[ends[0].0.region.0];
            let mut list = region.list.lock();
            // One at most: it is the first now, and does not end before it has entered.
            let mut entering = None;
            for (ticket, rec) in ends.iter_mut() {
                entering = list.end(ticket.place, rec.take(), ready).or(entering);
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
