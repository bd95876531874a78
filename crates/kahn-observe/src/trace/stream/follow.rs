//! What is new in each ring.

use super::super::event::Event;
use super::super::record::Trace;
use super::super::ring::events;
use kahn_engine::sync::system::clock;
use kahn_report::log::Record;
use std::collections::BTreeMap;

/// How far each ring was read.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// By place in the list of rings: the number of the next record, and for how long the thread of the next slice was put aside.
    read: BTreeMap<usize, (u64, u64)>,
}

/// What was new.
#[derive(Debug)]
pub(super) struct Round {
    /// When it began.
    pub(super) began: u64,
    pub(super) of_rings: Vec<OfRing>,
}

/// What was new in one ring.
#[derive(Debug)]
pub(super) struct OfRing {
    pub(super) worker: Option<usize>,
    pub(super) events: Vec<Event>,
    pub(super) lost: u64,
}

impl Followed {
    pub(super) fn read(&mut self, trace: &Trace) -> Round {
        let began = clock::ticks();
        let read: Vec<_> = trace
            .rings()
            .iter()
            .enumerate()
            .map(|(place, ring)| {
                (place, ring.read_from(self.read.get(&place).map_or(0, |read| read.0)))
            })
            .collect();
        // Behind them: where a process stands is told before a record has it.
        let known = trace.known();
        let mut of_rings = Vec::new();
        for (place, mut kept) in read {
            let (next, aside) = self.read.entry(place).or_default();
            *next += kept.lost + kept.records.len() as u64;
            if kept.lost > 0 {
                *aside = 0;
                // Of how much of it was put aside the record may be lost.
                if kept.records.first().is_some_and(|first: &Record| first.what.is_slice()) {
                    kept.records.remove(0);
                    kept.lost += 1;
                }
            }
            let events = events(&kept.records, aside, &known);
            of_rings.push(OfRing { worker: kept.worker, events, lost: kept.lost });
        }
        Round { began, of_rings }
    }
}
