//! What is known of a part of a run, as bytes: rank 0 reads those of all other ranks.
//!
//! What stays behind: errors themselves, of which what is told goes; histories of channels, which are compared within
//! a program; of the outline what each rank has alike.

use super::core::Verdict;
use super::cut::CutRecord;
use super::left::{Left, LeftChannel};
use super::summary::{Outline, RunPart};
use crate::channel::counts::ChannelCounts;
use crate::channel::digest::History;
use crate::channel::endings::{AtEnds, LastSender};
use crate::channel::table::ChannelRecord;
use kahn_engine::scheduler::Elapsed;
use kahn_report::{Portable, Report, Summary, WorkerReport, portable_enums, portable_structs};

portable_structs! {
    AtEnds { channel, is_last, just_sent, sent, received, receiver, handed_on_at }
    ChannelCounts { sent, received, remote, carried, most_waiting, growths }
    ChannelRecord {
        identity, name, from, to, type_name, message_size, capacity, began_with, weight, counts,
        history, is_cut,
    }
    CutRecord { rank, ranks, processes, channels, counted, links, carried }
    LastSender {
        writer, reader, was_seen, was_handed_on, was_received_before, was_kept, is_mark, at
    }
    LeftChannel { channel, writer, reader, reads, is_last, is_open }
    RunPart {
        verdict, records, last, left, is_whole, prunes_loops, channels, folded_channels,
        from_outside, warnings, created, slot_bytes, most_bytes, walks, counts, outline, elapsed,
    }
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

/// Without what digests messages: they are digested.
impl Portable for History {
    fn write(&self, to: &mut Vec<u8>) {
        self.digests.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Self { digest: None, digests: Portable::read(from)? })
    }
}

/// The workers: all else is told of the whole.
impl Portable for Outline {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.workers.write(to);
        self.0.worker_reports.write(to);
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Self::of_workers(Portable::read(from)?, Portable::read(from)?))
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
            prunes_loops: false,
            channels: Vec::new(),
            folded_channels: (0, ChannelCounts::default()),
            from_outside: Vec::new(),
            warnings: Vec::new(),
            created,
            slot_bytes: (0, 0),
            most_bytes: 0,
            walks: 0,
            counts: false,
            outline: Outline::of_workers(0, Vec::new()),
            elapsed,
        }
    }
}

impl Outline {
    fn of_workers(workers: usize, worker_reports: Vec<WorkerReport>) -> Self {
        Self(Report {
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
        })
    }
}
