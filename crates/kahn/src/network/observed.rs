//! Which processes nobody could observe to their end, and so what a report tells of failures.
//!
//! A process that nobody can observe any more is pruned when it next waits or begins an operation:
//! how far it comes before, whether it fails or reaches a failure mark on its way, is a matter of
//! the schedule. So it is not told. In every run of a network on the same input the same processes
//! *may be pruned*:
//!
//! | a process | may be pruned |
//! |---|---|
//! | has effects, may create others, never had a sender, is outside | no |
//! | some reader of the senders it held last may not be pruned itself, and saw their end | no |
//! | it ended without one, and some such reader received what it sent after it could be pruned last | no |
//! | some such reader waits for ever, and would go on if this process did | no |
//! | any other | yes |
//!
//! *Why that is the same in every run.* A process that may not be pruned by this table was not pruned:
//! when a process is pruned, every reader of the senders it has left has gone, or is dead for another
//! reason than this process, without having seen an end. So it did what it does in every run, and
//! whether it saw an end, or for whom it waits for ever, is the same in every run. A process is pruned
//! when it begins an operation or waits: one that sends a message, and then begins none and waits for
//! nothing until it has no sender any more, was not pruned if that message was received, for its reader
//! had not left before. What it sent last, and whether one received it that may not be pruned, is the
//! same in every run. (A reader that may be pruned may come to that only after it has received the
//! message; this is not known here, and the process is told as pruned.) The senders a process
//! held last are the same if it was not pruned, and if it was, they were among those it had then,
//! whose readers leave in every run before an end, or are dead, or may be pruned. A process that may
//! be pruned is told as pruned also if it came to a wait for the dead first: nobody reads on, so
//! whether it was ended before it began to wait is a matter of the schedule.
//!
//! A failure counts if its process may not be pruned, and if one of those readers has reached its
//! failure mark if it left any. It leaves none if it has no sender any more, because it dropped them or
//! gave them away. If it could have been ended before, when it still had them, it is told as pruned:
//! in some runs it was, and then there was no failure.

use crate::channel::process::attribute;
use crate::channel::table::LastSender;
use crate::network::left::Left;
use crate::network::run::process_report;
use kahn_engine::ProcessRecord;
use kahn_report::{Ending, FailureReport, Identity, ProcessEnd, ProcessReport};
use std::collections::BTreeSet;
use std::mem;

/// The processes of a run, and which of them may be pruned.
pub(super) struct Observed<'a> {
    /// In the order of their identities.
    records: &'a [ProcessRecord],
    may_be_pruned: Vec<bool>,
    /// For each process that left failure marks, who reached them.
    marks: Vec<Option<Vec<usize>>>,
}

impl<'a> Observed<'a> {
    /// `is_whole`: every process and every channel has a record. Otherwise only failure marks tell who
    /// saw an end, and who left none behind counts as observed. `left`: who was left when nothing could
    /// go on.
    pub(super) fn new(
        records: &'a [ProcessRecord],
        last: &[LastSender],
        left: Option<&Left>,
        is_whole: bool,
    ) -> Self {
        let count = records.len();
        let place = |identity: &Identity| {
            records.binary_search_by_key(identity, |record| record.identity).ok()
        };
        let mut is_known: Vec<bool> = records
            .iter()
            .map(|record| is_whole || matches!(record.ending, Some(Ending::Pruned)))
            .collect();
        let (mut observers, mut observes) = (vec![0_usize; count], vec![Vec::new(); count]);
        let mut marks: Vec<Option<Vec<usize>>> = vec![None; count];
        for sender in last.iter().filter(|sender| is_whole || sender.is_mark) {
            let Some(writer) = place(&sender.writer) else { continue };
            is_known[writer] = true;
            let marks = sender.is_mark.then(|| marks[writer].get_or_insert_default());
            let Some(reader) = sender.reader else { continue };
            observers[writer] += 1;
            if let Some(reader) = place(&reader).filter(|_| !sender.was_handed_on) {
                observes[reader].push(writer);
                if let Some(reached) = marks.filter(|_| sender.was_seen) {
                    reached.push(reader);
                }
            }
        }
        for (writer, reader) in left.iter().flat_map(|left| left.read_on()) {
            if let (Some(writer), Some(reader)) = (place(&writer), place(&reader)) {
                observers[writer] += 1;
                observes[reader].push(writer);
            }
        }
        let mut may_be_pruned = vec![false; count];
        let is_lost = |process: usize, observers: &[usize]| {
            observers[process] == 0
                && is_known[process]
                && !attribute::is_never_pruned(records[process].attributes)
        };
        let mut lost: Vec<usize> =
            (0..count).filter(|&process| is_lost(process, &observers)).collect();
        while let Some(process) = lost.pop() {
            may_be_pruned[process] = true;
            for writer in mem::take(&mut observes[process]) {
                observers[writer] -= 1;
                if is_lost(writer, &observers) {
                    lost.push(writer);
                }
            }
        }
        Self { records, may_be_pruned, marks }
    }

    /// The failures that count, each with the processes that ended because of it.
    pub(super) fn failures(&self) -> Vec<FailureReport> {
        let mut reports = Vec::new();
        for (process, record) in self.records.iter().enumerate() {
            let Some(Ending::Failed(failure)) = &record.ending else { continue };
            let mut with = BTreeSet::new();
            let mut causes = vec![process];
            while let Some(cause) = causes.pop() {
                causes.extend(self.reached(cause).filter(|by| with.insert(*by)));
            }
            let is_seen = attribute::is_never_pruned(record.attributes)
                || self.marks[process].is_none()
                || !with.is_empty();
            if self.may_be_pruned[process] || !is_seen {
                continue;
            }
            with.remove(&process);
            reports.push(FailureReport {
                process: record.name.clone(),
                message: failure.message.clone(),
                panicked: failure.panicked,
                at: failure.at.clone(),
                ended_with_it: with.iter().map(|&by| self.records[by].name.clone()).collect(),
            });
        }
        reports
    }

    /// Who reached the failure marks of a process, and may not be pruned.
    fn reached(&self, process: usize) -> impl Iterator<Item = usize> {
        let all = self.marks[process].iter().flatten().copied();
        all.filter(|&by| !self.may_be_pruned[by])
    }

    /// Whether a process may be pruned.
    pub(super) fn may_be_pruned(&self, process: &Identity) -> bool {
        let found = self.records.binary_search_by_key(process, |record| record.identity);
        found.is_ok_and(|place| self.may_be_pruned[place])
    }

    /// What is told of each process of a run that took so many ticks. `is_cut_short`: they are told as
    /// they were when the run ended.
    pub(super) fn processes(&self, is_cut_short: bool, ticks: u64) -> Vec<ProcessReport> {
        let all = self.records.iter().zip(&self.may_be_pruned);
        let reports = all.map(|(record, may_be_pruned)| {
            let ending = if *may_be_pruned && !is_cut_short {
                ProcessEnd::Pruned
            } else {
                ProcessEnd::of(record.ending.as_ref())
            };
            process_report(record, ending, ticks)
        });
        reports.collect()
    }
}
