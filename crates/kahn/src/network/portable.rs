//! What is known of a part of a run, as bytes: rank 0 reads those of all other ranks.
//!
//! What stays behind: errors themselves, of which what is told goes; histories of channels, which are compared within
//! a program; of the outline what each rank has alike.

use super::core::Verdict;
use super::cut::CutRecord;
use super::left::{Left, LeftChannel};
use super::summary::RunPart;
use crate::channel::digest::History;
use crate::channel::endings::{AtEnds, LastSender};
use crate::channel::table::{ChannelCounts, ChannelRecord};
use kahn_engine::scheduler::Elapsed;
use kahn_report::{Portable, Report, Summary, WorkerReport, portable_enums, portable_structs};

portable_structs! {
    AtEnds { channel, is_last, just_sent, sent, received, receiver, handed_on_at }
    ChannelCounts { sent, received, remote, most_waiting, growths }
    CutRecord { rank, ranks, processes, channels, counted, links }
    LastSender {
        writer, reader, was_seen, was_handed_on, was_received_before, was_kept, is_mark, at
    }
    LeftChannel { channel, writer, reader, reads, is_last }
}

portable_enums! {
    Verdict {
        0: Deadlock { 0 = explanation },
        1: Quiescent {},
        2: OverBudget { channel, explanation },
        3: Misuse { 0 = misuse },
        4: Stopped {},
        5: OutOfThreads { 0 = why },
    }
}

impl Portable for Left {
    fn write(&self, to: &mut Vec<u8>) {
        // What else there is follows from the waits.
        self.processes.write(to);
        self.readers.write(to);
        self.waits.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let (processes, readers) = (Portable::read(from)?, Portable::read(from)?);
        Some(Self::of(processes, readers, Portable::read(from)?))
    }
}

impl Portable for ChannelRecord {
    fn write(&self, out: &mut Vec<u8>) {
        let Self {
            identity,
            name,
            from,
            to,
            type_name,
            message_size,
            capacity,
            began_with,
            weight,
            counts,
            history,
            is_cut,
        } = self;
        identity.write(out);
        name.write(out);
        from.write(out);
        to.write(out);
        type_name.write(out);
        message_size.write(out);
        capacity.write(out);
        began_with.write(out);
        weight.write(out);
        counts.write(out);
        history.as_ref().map(|history| history.digests.clone()).write(out);
        is_cut.write(out);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self {
            identity: Portable::read(bytes)?,
            name: Portable::read(bytes)?,
            from: Portable::read(bytes)?,
            to: Portable::read(bytes)?,
            type_name: Portable::read(bytes)?,
            message_size: Portable::read(bytes)?,
            capacity: Portable::read(bytes)?,
            began_with: Portable::read(bytes)?,
            weight: Portable::read(bytes)?,
            counts: Portable::read(bytes)?,
            history: Option::<Vec<u64>>::read(bytes)?
                .map(|digests| History { digest: None, digests }),
            is_cut: Portable::read(bytes)?,
        })
    }
}

impl Portable for RunPart {
    fn write(&self, to: &mut Vec<u8>) {
        let Self {
            verdict,
            records,
            last,
            left,
            is_whole,
            channels,
            folded_channels,
            from_outside,
            warnings,
            created,
            slot_bytes,
            most_bytes,
            walks,
            counts,
            outline,
            elapsed,
        } = self;
        verdict.write(to);
        records.write(to);
        last.write(to);
        left.write(to);
        is_whole.write(to);
        channels.write(to);
        folded_channels.write(to);
        from_outside.write(to);
        warnings.write(to);
        created.write(to);
        slot_bytes.write(to);
        most_bytes.write(to);
        walks.write(to);
        counts.write(to);
        outline.workers.write(to);
        outline.worker_reports.write(to);
        elapsed.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            verdict: Portable::read(from)?,
            records: Portable::read(from)?,
            last: Portable::read(from)?,
            left: Portable::read(from)?,
            is_whole: Portable::read(from)?,
            channels: Portable::read(from)?,
            folded_channels: Portable::read(from)?,
            from_outside: Portable::read(from)?,
            warnings: Portable::read(from)?,
            created: Portable::read(from)?,
            slot_bytes: Portable::read(from)?,
            most_bytes: Portable::read(from)?,
            walks: Portable::read(from)?,
            counts: Portable::read(from)?,
            outline: outline(Portable::read(from)?, Portable::read(from)?),
            elapsed: Portable::read(from)?,
        })
    }
}

impl RunPart {
    /// What is known of a rank that is lost.
    pub(super) fn unknown(created: (u64, u64), elapsed: Elapsed) -> Self {
        Self {
            verdict: Some(Verdict::Stopped),
            records: Vec::new(),
            last: Vec::new(),
            left: None,
            is_whole: false,
            channels: Vec::new(),
            folded_channels: (0, ChannelCounts::default()),
            from_outside: Vec::new(),
            warnings: Vec::new(),
            created,
            slot_bytes: (0, 0),
            most_bytes: 0,
            walks: 0,
            counts: false,
            outline: outline(0, Vec::new()),
            elapsed,
        }
    }
}

/// What another rank tells of its workers; all else is told of the whole.
fn outline(workers: usize, worker_reports: Vec<WorkerReport>) -> Report {
    Report {
        outcome: Summary::Finished,
        chooses: false,
        detail: None,
        failures: Vec::new(),
        policy: String::new(),
        workers,
        seconds: 0.0,
        created: (0, 0),
        slot_bytes: (0, 0),
        most_bytes: 0,
        grown: Vec::new(),
        weight_unknown: Vec::new(),
        walks: 0,
        warnings: Vec::new(),
        from_outside: Vec::new(),
        processes: Vec::new(),
        more_processes: None,
        channels: Vec::new(),
        more_channels: None,
        meetings: Vec::new(),
        more_meetings: None,
        local_share: None,
        rebalances: None,
        worker_reports,
    }
}
