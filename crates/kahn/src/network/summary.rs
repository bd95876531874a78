//! What a run tells when it is over.

use super::core::Verdict;
use super::left::Left;
use super::observed::Observed;
use super::weights::{growth, owned_bytes, weight_unknown};
use crate::channel::counts::ChannelCounts;
use crate::channel::endings::LastSender;
use crate::channel::events;
use crate::channel::table::ChannelRecord;
use kahn_engine::ProcessRecord;
use kahn_engine::scheduler::Elapsed;
use kahn_report::{ChannelReport, Detail, Name, Report, Summary};

/// What a run leaves behind: the report, and the records it was made from.
pub(crate) struct Outcome {
    pub(crate) report: Report,
    pub(crate) channels: Vec<ChannelRecord>,
    /// Processes that brought messages in an order from outside.
    pub(crate) from_outside: Vec<Name>,
}

/// All that is known of a run, or of what ran of it on one rank.
#[derive(Debug)]
pub(super) struct RunPart {
    pub(super) verdict: Option<Verdict>,
    /// In the order of their identities.
    pub(super) records: Vec<ProcessRecord>,
    pub(super) last: Vec<LastSender>,
    pub(super) left: Option<Left>,
    /// Every process and every channel has a record.
    pub(super) is_whole: bool,
    /// See [`Core::prunes_loops`](super::core::Core::prunes_loops).
    pub(super) prunes_loops: bool,
    pub(super) channels: Vec<ChannelRecord>,
    pub(super) folded_channels: (u64, ChannelCounts),
    pub(super) from_outside: Vec<Name>,
    pub(super) warnings: Vec<String>,
    pub(super) created: (u64, u64),
    pub(super) slot_bytes: (u64, u64),
    pub(super) most_bytes: u64,
    pub(super) walks: u64,
    pub(super) counts: bool,
    pub(super) outline: Outline,
    pub(super) elapsed: Elapsed,
}

/// What the engine tells of a run, to which the rest of the report is added.
#[derive(Debug)]
pub(super) struct Outline(pub(super) Report);

/// Tells what happened.
pub(super) fn tell(part: RunPart) -> Outcome {
    let RunPart { verdict, records, channels, folded_channels, from_outside, .. } = part;
    let RunPart { is_whole, prunes_loops, .. } = part;
    let observed = Observed::new(&records, &part.last, part.left.as_ref(), is_whole, prunes_loops);
    let failures = observed.failures();
    // What waits for ever and may be pruned is told as that.
    let waits = |left: &Left| !left.processes.iter().all(|process| observed.may_be_pruned(process));
    let verdict = verdict.filter(|verdict| {
        verdict.cuts_short() || !prunes_loops || part.left.as_ref().is_none_or(waits)
    });
    // How far processes came in a run that was cut short is a matter of the schedule.
    let is_cut_short = verdict.as_ref().is_some_and(Verdict::cuts_short);
    let (outcome, detail) = match &verdict {
        None if failures.is_empty() => (Summary::Finished, None),
        Some(Verdict::Quiescent) if failures.is_empty() => (Summary::Quiescent, None),
        // Whatever is left over is normal then, a failure is not.
        None | Some(Verdict::Quiescent) => (Summary::Failed, None),
        Some(Verdict::Stopped) => (Summary::Stopped, None),
        Some(Verdict::OutOfThreads(why)) => {
            (Summary::OutOfThreads, Some(Detail::Threads(why.clone())))
        }
        Some(Verdict::Misuse(misuse)) => (Summary::Misuse, Some(Detail::from(misuse))),
        Some(Verdict::Deadlock(explanation)) => {
            let mut explanation = explanation.clone();
            if let Some(left) = &part.left {
                left.tell(&mut explanation.waiting, |process| observed.may_be_pruned(process));
            }
            (Summary::Deadlock, Some(Detail::Waits(explanation)))
        }
        Some(Verdict::OverBudget { channel, explanation }) => {
            let mut explanation = explanation.clone();
            explanation.remedies.insert(
                0,
                format!("channel `{channel}` has to grow: allow it with a larger byte budget"),
            );
            (Summary::OverBudget, Some(Detail::Waits(explanation)))
        }
    };
    let report = Report {
        outcome,
        detail,
        failures,
        created: part.created,
        slot_bytes: part.slot_bytes,
        most_bytes: part.most_bytes,
        grown: channels.iter().filter(|record| record.counts.growths > 0).map(growth).collect(),
        weight_unknown: weight_unknown(&channels),
        walks: part.walks,
        warnings: part.warnings,
        from_outside: from_outside.clone(),
        processes: observed.processes(is_cut_short, part.elapsed),
        channels: channels.iter().map(channel_report).collect(),
        more_channels: (folded_channels.0 > 0)
            .then(|| (folded_channels.0, Box::new(channel_sums(&folded_channels.1)))),
        local_share: local_share(&channels, &folded_channels.1).filter(|_| part.counts),
        ..part.outline.0
    };
    events::end(&report);
    Outcome { report, channels, from_outside }
}

fn channel_report(record: &ChannelRecord) -> ChannelReport {
    ChannelReport {
        name: record.name.clone(),
        from: record.from.clone(),
        to: record.to.clone(),
        message_type: record.type_name,
        message_bytes: record.message_size,
        owned_bytes: owned_bytes(record),
        capacity: record.capacity,
        ..channel_sums(&record.counts)
    }
}

fn channel_sums(counts: &ChannelCounts) -> ChannelReport {
    ChannelReport {
        name: Name::from(""),
        from: None,
        to: None,
        message_type: "",
        message_bytes: 0,
        owned_bytes: None,
        sent: counts.sent,
        received: counts.received,
        remote: counts.remote,
        carried: counts.carried.messages,
        carried_bytes: counts.carried.bytes,
        most_waiting: counts.most_waiting,
        capacity: 0,
        growths: counts.growths,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn local_share(channels: &[ChannelRecord], others: &ChannelCounts) -> Option<f64> {
    let counts = channels.iter().map(|record| &record.counts).chain([others]);
    let (received, remote) = counts.fold((0, 0), |(received, remote), counts| {
        (received + counts.received, remote + counts.remote)
    });
    (received > 0).then(|| 1.0 - remote as f64 / received as f64)
}
