//! What is told of channels when the run is over.
//!
//! A channel counts its messages anyway, behind its gate; so listing it costs its messages nothing.
//! Who drops an end leaves there the digest of its identity, and whether the run is over. When the
//! second end is dropped, a [`Record`] is kept. Processes that are left when the run is over are
//! dropped with their ends; so few channels are not known by then: those with an end elsewhere.

use super::core::Core;
use super::meeting::{Meeting, Side, flag};
use super::memory::{self, Ended};
use kahn_engine::ProcessRecord;
use kahn_engine::sync::Ordering::Relaxed;
use kahn_report::{MeetingKind, MeetingReport, MeetingState, Name};

/// What is told of a channel when the run is over.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) name: Name,
    pub(super) kind: MeetingKind,
    pub(super) capacity: usize,
    pub(super) messages: u64,
    pub(super) state: MeetingState,
    /// The processes at the two ends, by the digests of their identities; 0 for nobody known.
    pub(super) ends: [usize; 2],
}

impl Meeting {
    /// What is to be told of the channel, of which nobody uses an end now.
    #[cfg_attr(loom, expect(dead_code, reason = "nobody wants the report of a model"))]
    pub(super) fn record(&self) -> Record {
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
            // SAFETY: there while the label says so, and does not change.
            capacity: buffer.map_or(0, |buffer| unsafe { (*buffer.as_ptr()).capacity }),
            messages: self.met.get(),
            state,
            ends: sides.map(|side| if is_up(side.gone()) { self.user(side).addr() } else { 0 }),
        }
    }
}

/// What is left of the channels of a network whose processes have all ended.
pub(super) fn left(core: &Core) -> Ended {
    // Relaxed: nobody makes channels any more.
    memory::left(core.scheduler.number, core.channels.load(Relaxed))
}

/// The channels as they are reported, by their names.
pub(super) fn reports(ended: &Ended, processes: &[ProcessRecord]) -> Vec<MeetingReport> {
    let mut names: Vec<(usize, &Name)> =
        processes.iter().map(|record| (record.identity.digest(), &record.name)).collect();
    names.sort_unstable_by_key(|&(digest, _)| digest);
    let name_of = |digest: usize| {
        let place = names.binary_search_by_key(&digest, |&(digest, _)| digest).ok()?;
        Some(names[place].1.clone())
    };
    let report = |record: &Record| MeetingReport {
        name: record.name.clone(),
        kind: record.kind,
        capacity: record.capacity,
        from: name_of(record.ends[0]),
        to: name_of(record.ends[1]),
        messages: record.messages,
        state: record.state,
    };
    let mut reports: Vec<_> = ended.listed.iter().map(report).collect();
    reports.sort_unstable();
    reports
}
