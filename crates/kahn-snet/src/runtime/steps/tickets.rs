//! The order slots that a record has in orders: see `front` for what keeps them.

use smallvec::SmallVec;

/// The order slots of a record, of the outermost region first.
///
/// Small, for every record has them: most have none, and of the others most have one.
#[derive(Debug, Clone)]
pub(crate) enum Tickets {
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
    /// Adds an order slot in a region within those of the others.
    pub(crate) fn push(&mut self, ticket: Ticket) {
        *self = match std::mem::take(self) {
            Self::Other(None) => Self::One(ticket),
            Self::One(outer) => Self::Other(Some(Box::new(SmallVec::from([outer, ticket])))),
            Self::Other(Some(mut all)) => {
                all.push(ticket);
                Self::Other(Some(all))
            }
        };
    }

    /// Takes out the innermost order slot.
    pub(crate) fn pop(&mut self) -> Option<Ticket> {
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

    /// The innermost order slot.
    pub(crate) fn last(&self) -> Option<&Ticket> {
        match self {
            Self::One(ticket) => Some(ticket),
            Self::Other(all) => all.as_ref()?.last(),
        }
    }

    /// The order slot in a region.
    pub(crate) fn of(&self, region: RegionId) -> Option<&Ticket> {
        match self {
            Self::One(ticket) => Some(ticket).filter(|ticket| ticket.region == region),
            Self::Other(all) => all.as_ref()?.iter().find(|ticket| ticket.region == region),
        }
    }

    /// Whether one of the order slots is in a region.
    pub(crate) fn are_in(&self, region: RegionId) -> bool {
        self.of(region).is_some()
    }
}

/// A region of a run, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionId(pub(crate) usize);

/// An order slot in the list of a region.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) region: RegionId,
    pub(crate) slot: u32,
}
