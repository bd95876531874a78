//! What is told of a channel when the run is over.

use crate::channel::rendezvous::{Rendezvous, Side, flag};
use kahn_report::{MeetingKind, MeetingState, Name};

/// What is told of a channel when the run is over.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) name: Name,
    pub(crate) kind: MeetingKind,
    pub(crate) capacity: usize,
    pub(crate) messages: u64,
    pub(crate) state: MeetingState,
    /// The processes at the two ends, by the digests of their identities; 0 for none known.
    pub(crate) ends: [usize; 2],
}

impl Rendezvous {
    /// What is to be told of the channel, of which no end is used now.
    #[cfg_attr(loom, expect(dead_code, reason = "a model makes no report"))]
    pub(crate) fn record(&self) -> Record {
        let flags = self.gate.peek();
        let is_up = |either: u32| flags & either != 0;
        let buffer = self.buffer();
        let kind = match buffer {
            Some(_) => MeetingKind::Buffered,
            None if is_up(flag::EXCHANGE) => MeetingKind::Exchange,
            None => MeetingKind::Rendezvous,
        };
        let sides = [Side::Sender, Side::Receiver];
        let dropped = |how: fn(Side) -> u32| {
            sides.iter().any(|&side| is_up(how(side)) && !is_up(side.kept()))
        };
        let state = if dropped(Side::poison) {
            MeetingState::Poisoned
        } else if dropped(Side::gone) {
            MeetingState::Closed
        } else {
            MeetingState::Open
        };
        Record {
            name: self.name().clone(),
            kind,
            capacity: self.capacity(),
            messages: self.met(),
            state,
            ends: sides.map(|side| if is_up(side.gone()) { self.user(side).addr() } else { 0 }),
        }
    }
}
