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
//! | some reader of the senders it held last saw their end, and may not be pruned itself | no |
//! | any other | yes |
//!
//! *Why that is the same in every run.* A process that may not be pruned by this table was not pruned:
//! when a process is pruned, every reader of the senders it has left has gone, or is dead, without
//! having seen an end. So it did what it does in every run, and whether it saw an end is the same in
//! every run. The senders a process held last are the same if it was not pruned, and if it was, they
//! were among those it had then, whose readers leave in every run before an end, or may be pruned.
//!
//! A failure counts if its process may not be pruned. If it had senders, such a reader has reached its
//! failure mark; if it has none any more, because it dropped them or gave them away, nobody could
//! have ended it when it failed.

use crate::accounting::{FailureReport, ProcessReport};
use crate::channel::table::LastSender;
use crate::graph::{Ending, Identity, ProcessEnd};
use crate::network::run::process_report;
use crate::scheduler::ProcessRecord;
use std::collections::BTreeSet;
use std::mem;

/// The processes of a run, and which of them may be pruned.
pub(super) struct Observed<'a> {
    /// In the order of their identities.
    records: &'a [ProcessRecord],
    may_be_pruned: Vec<bool>,
    /// For each process, who reached its failure marks.
    reached: Vec<Vec<usize>>,
}

impl<'a> Observed<'a> {
    /// `is_whole`: every process and every channel has a record. Otherwise only failure marks tell who
    /// saw an end, and who left none behind counts as observed.
    pub(super) fn new(records: &'a [ProcessRecord], last: &[LastSender], is_whole: bool) -> Self {
        let count = records.len();
        let place = |identity: &Identity| {
            records.binary_search_by_key(identity, |record| record.identity).ok()
        };
        let mut is_known: Vec<bool> = records
            .iter()
            .map(|record| is_whole || matches!(record.ending, Some(Ending::Pruned)))
            .collect();
        let (mut observers, mut observes) = (vec![0_usize; count], vec![Vec::new(); count]);
        let mut reached = vec![Vec::new(); count];
        for sender in last.iter().filter(|sender| is_whole || sender.is_mark) {
            let Some(writer) = place(&sender.writer) else { continue };
            is_known[writer] = true;
            let Some(reader) = sender.reader else { continue };
            observers[writer] += 1;
            if let Some(reader) = place(&reader) {
                observes[reader].push(writer);
                if sender.is_mark {
                    reached[writer].push(reader);
                }
            }
        }
        let mut may_be_pruned = vec![false; count];
        let is_lost = |process: usize, observers: &[usize]| {
            observers[process] == 0 && is_known[process] && !records[process].is_never_pruned
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
        Self { records, may_be_pruned, reached }
    }

    /// The failures that count, each with the processes that ended because of it.
    pub(super) fn failures(&self) -> Vec<FailureReport> {
        let mut reports = Vec::new();
        for (process, record) in self.records.iter().enumerate() {
            let Some(Ending::Failed(failure)) = &record.ending else { continue };
            if self.may_be_pruned[process] {
                continue;
            }
            let mut with = BTreeSet::new();
            let mut causes = vec![process];
            while let Some(cause) = causes.pop() {
                let observed = self.reached[cause].iter().filter(|&&by| !self.may_be_pruned[by]);
                causes.extend(observed.filter(|&&by| with.insert(by)));
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

    /// What is told of each process. `is_cut_short`: they are told as they were when the run ended.
    pub(super) fn processes(&self, is_cut_short: bool) -> Vec<ProcessReport> {
        let all = self.records.iter().zip(&self.may_be_pruned);
        let reports = all.map(|(record, may_be_pruned)| {
            let ending = if *may_be_pruned && record.ending.is_some() && !is_cut_short {
                ProcessEnd::Pruned
            } else {
                ProcessEnd::of(record.ending.as_ref())
            };
            process_report(record, ending)
        });
        reports.collect()
    }
}
