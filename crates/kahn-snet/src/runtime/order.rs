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
//! Why not counters for each input, as FRONT has them? They order the outputs of different
//! inputs only; within one input the replicas of a star would race. Why not sort records, as
//! S-RTS sends them? They visit every branch for every record.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;

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

/// A region of a run, as a number.
#[derive(Debug, Clone, Copy)]
pub(super) struct RegionId(usize);

/// A place in the list of a region.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    region: RegionId,
    place: u32,
}

/// All regions of a run; they stay until it ends, so tickets need not count who knows them.
#[derive(Debug, Default)]
pub(super) struct Regions(boxcar::Vec<Region>);

/// One instance of a deterministic combinator.
#[derive(Debug)]
pub(super) struct Region {
    list: Mutex<List>,
    /// Where records go on behind it.
    exit: Arc<Landing>,
}

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Place {
    before: u32,
    after: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    Live,
    Out(Box<Rec>),
    Gone,
}

#[derive(Debug)]
struct List {
    places: Vec<Place>,
    free: Vec<u32>,
    first: u32,
    last: u32,
}

impl List {
    fn insert(&mut self, before: u32, after: u32) -> u32 {
        let place = Place { before, after, state: State::Live };
        let id = if let Some(id) = self.free.pop() {
            self.places[id as usize] = place;
            id
        } else {
            self.places.push(place);
            u32::try_from(self.places.len() - 1).unwrap_or(NONE)
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

    /// Ends a place; appends to `ready`, in order, what need not wait any longer.
    fn end(&mut self, place: u32, state: State, ready: &mut VecDeque<Rec>) {
        if self.first != place && matches!(state, State::Gone) {
            // Nothing waits for it alone: take it out of the middle.
            let Place { before, after, .. } = self.places[place as usize];
            self.places[before as usize].after = after;
            match after {
                NONE => self.last = before,
                after => self.places[after as usize].before = before,
            }
            self.free.push(place);
            return;
        }
        self.places[place as usize].state = state;
        while self.first != NONE {
            let first = self.first;
            let place = &mut self.places[first as usize];
            match std::mem::replace(&mut place.state, State::Gone) {
                State::Live => {
                    place.state = State::Live;
                    return;
                }
                State::Out(rec) => ready.push_back(*rec),
                State::Gone => {}
            }
            self.first = place.after;
            match self.first {
                NONE => self.last = NONE,
                next => self.places[next as usize].before = NONE,
            }
            self.free.push(first);
        }
    }
}

impl Regions {
    /// Creates a region whose records go on at `exit`.
    pub(super) fn create(&self, exit: Arc<Landing>) -> RegionId {
        let list = List { places: Vec::new(), free: Vec::new(), first: NONE, last: NONE };
        RegionId(self.0.push(Region { list: Mutex::new(list), exit }))
    }

    /// Gives a record the last place of a region.
    pub(super) fn enter(&self, id: RegionId, rec: &mut Rec) {
        let mut list = self.0[id.0].list.lock();
        let last = list.last;
        let place = list.insert(last, NONE);
        rec.tickets.push(Ticket { region: id, place });
    }

    /// Makes a place just before another.
    fn before(&self, ticket: &Ticket) -> Ticket {
        let mut list = self.0[ticket.region.0].list.lock();
        let before = list.places[ticket.place as usize].before;
        let place = list.insert(before, ticket.place);
        Ticket { region: ticket.region, place }
    }

    /// Ends the place of a record that comes out, or ended inside; `go_on` gets, in order, what may
    /// go on, and where.
    ///
    /// It is called under the lock of the region, so that it sees the order; `ready` is room for it.
    pub(super) fn end(
        &self,
        ticket: &Ticket,
        rec: Option<Rec>,
        ready: &mut VecDeque<Rec>,
        go_on: impl FnOnce(&Arc<Landing>, &mut VecDeque<Rec>),
    ) {
        let region = &self.0[ticket.region.0];
        let mut list = region.list.lock();
        let state = match rec {
            Some(rec) if list.first == ticket.place => {
                ready.push_back(rec);
                State::Gone
            }
            Some(rec) => State::Out(Box::new(rec)),
            None => State::Gone,
        };
        list.end(ticket.place, state, ready);
        if !ready.is_empty() {
            go_on(&region.exit, ready);
        }
    }
}
