//! What is told of channels when the run is over.
//!
//! A channel counts its messages anyway, behind its gate; so listing it costs its messages nothing.
//! A process that drops an end leaves there the digest of its identity, and whether the run is over. When the
//! second end is dropped, a [`Record`] is kept. Processes that are left when the run is over are
//! dropped with their ends; so few channels are not known by then: those with an end elsewhere.

use crate::channel::blocks::{self, Ended};
use crate::channel::record::Record;
use crate::language::csp::Csp;
use crate::network::core::Core;
use kahn_engine::ProcessRecord;
use kahn_report::{MeetingReport, Name};

/// What is left of the channels of a network whose processes have all ended.
pub(crate) fn left(core: &Core) -> Ended {
    blocks::left(&core.common, core.scheduler.language::<Csp>().channels())
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
