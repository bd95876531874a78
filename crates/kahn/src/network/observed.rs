//! Which processes could not be observed to their end, and so what a report tells of failures.
//!
//! A process that cannot be observed any more is pruned when it next waits or begins an operation:
//! how far it comes before, whether it fails or reaches a failure mark on its way, is a matter of
//! the schedule. So it is not told. In every run of a network on the same input the same processes
//! *may be pruned*:
//!
//! | a process | may be pruned |
//! |---|---|
//! | has effects, may create others, never had a sender, is outside | no |
//! | some reader of the senders it held last may not be pruned itself, and saw their end | no |
//! | some such reader received what it sent after it could be pruned last | no |
//! | it has had both ends of a channel since it could be pruned last | no |
//! | some such reader waits for ever, and would go on if this process did | no |
//! | any other | yes |
//!
//! These are the most that give each other reason: processes that see each other's end may not be pruned.
//!
//! *Why that is the same in every run.* A reason is something that one of them did, or did not do: an end
//! that it saw, a message that it received, a wait for ever. Take those that may not be pruned by one run,
//! and any other run. There none of them is pruned before it has come as far: the first that was would have
//! been pruned while it had a sender, so that the reader which is its reason had left the receiver, or
//! was dead for another reason than this process. But that reader does as in the first run so far, in which
//! it came to that only later:
//!
//! | the reason | when the reader leaves, in the first run | so in the other run this process |
//! |---|---|---|
//! | saw the end | after the end, that is after the last sender | has a reader as long as it has a sender |
//! | received the last message | after it: this process operates and waits no more | cannot be pruned by then |
//! | was the process itself | after this process could be pruned last | cannot be pruned then |
//! | waits for ever | never; it is dead only if this process is | is not free of readers that live |
//!
//! So all of them come as far in the other run and are each other's reasons there: they may not be pruned
//! by that run either, and no run has more of them than another.
//!
//! *A process that may be pruned is no reason*, though it may have seen an end in this run: in others it is
//! pruned before. Nor is anything concluded from what it would have done. Say a process with no sender any
//! more fails and so leaves the receiver of its only reader:
//!
//! | its reader, left alone | if the process is first | if its reader is first |
//! |---|---|---|
//! | leaves before the end | it fails, the reader is pruned | the process is pruned |
//! | sees the end | it fails, the reader is pruned | it fails, the reader is pruned or leaves |
//!
//! If the process is first, a run looks the same in both rows. The first row must be told as pruned, and
//! so the second is. (If the reader has seen the end, then sent a message, and that was received by one that may
//! not be pruned, it could be told; that is not noted.)
//!
//! # Where loops are pruned
//!
//! In a network whose loops are pruned when no root is left (`channel::prune`), a process that is no root may
//! not be pruned only if its reasons begin at a root: those that see nothing but each other's end may be. And
//! of the reasons above two count for roots alone: that the last message was received, and that it was the
//! process itself. Those that may not be pruned then are the fewest to which the roots give reason, among those above.
//!
//! *Why that is the same in every run.* When no root is left, all of these are over: take one of them that is
//! no root, and the one that is its reason, which is over by then. That one has seen the end, so the process
//! has had no sender since before; it is a root itself from then on, if it has not ended, and none is left. Or
//! its reason waits for it for ever; then both are dead. So what is pruned with the loops is none of them, and
//! it sends them nothing any more: in each other run they come as far, and are the same.
//!
//! (That the last message was received is no such reason: the process that sent it may have its senders yet when its
//! readers are over. Then it is no root, and what it reads afterwards is pruned or not.)
//!
//! A network in which all that is left waits for ever and may be pruned has finished.
//!
//! # Which failures count
//!
//! The reader of the last message may not be the process that has the receiver in the end: one that hands
//! a receiver on may create processes, so it may not be pruned, and how much each had received when it
//! handed it on is the same in every run. The senders a process held last are the same if it was not
//! pruned, and if it was, they were among those it had then, whose readers leave in every run before an
//! end, or are dead, or may be pruned. A process that may be pruned is told as pruned also if it came to a
//! wait for the dead first: nothing reads on, so whether it was ended before it began to wait is a matter
//! of the schedule.
//!
//! A failure counts if its process may not be pruned, and if one of those readers has reached its
//! failure mark if it left any, or it was its own reader. It leaves none if it has no sender any more,
//! because it dropped them or gave them away. If it could have been ended before, when it still had them,
//! it is told as pruned: in some runs it was, and then there was no failure. So is one whose last message
//! was received and whose mark was not reached: its readers left, and it still had senders.

use crate::channel::endings::LastSender;
use crate::channel::process::{self, attribute};
use crate::network::core::Role;
use crate::network::left::Left;
use kahn_engine::ProcessRecord;
use kahn_engine::run::process_report;
use kahn_engine::scheduler::Elapsed;
use kahn_report::{Ending, FailureReport, Identity, ProcessEnd, ProcessReport};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// The processes of a run, and which of them may be pruned.
pub(super) struct Observed<'a> {
    /// In the order of their identities.
    records: &'a [ProcessRecord],
    may_be_pruned: Vec<bool>,
    /// Those that are told as pruned: failed, too, whose last message was all that was seen.
    is_told_as_pruned: Vec<bool>,
    /// Those that had both ends of a channel.
    is_kept: Vec<bool>,
    /// For each process that left failure marks, which reached them.
    marks: Vec<Option<Vec<usize>>>,
    /// For each part of another process, which.
    whole: Vec<Option<usize>>,
}

/// For each part of a process, the first part; if that is listed.
fn wholes(records: &[ProcessRecord]) -> Vec<Option<usize>> {
    let is_part = |record: &ProcessRecord| record.attributes & attribute::PART != 0;
    if !records.iter().any(is_part) {
        return vec![None; records.len()];
    }
    let parts = records.iter().enumerate();
    let by_part: BTreeMap<_, _> =
        parts.map(|(whole, record)| (Role::of_part(record.identity), whole)).collect();
    let whole = |record: &ProcessRecord| {
        is_part(record).then(|| by_part.get(&record.identity).copied()).flatten()
    };
    records.iter().map(whole).collect()
}

/// A reason that a process gives another.
#[derive(Clone, Copy)]
struct Reason {
    writer: usize,
    /// It saw more than the last message of one that failed with a sender.
    sees_end: bool,
    /// It saw the end, or waits for it for ever.
    founds: bool,
}

/// How much of a process is seen by those that may not be pruned.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Those that saw something.
    observers: usize,
    /// Those among them that saw more than the last message of one that failed with a sender.
    witnesses: usize,
}

impl Seen {
    fn add(&mut self, sees_end: bool) {
        self.observers += 1;
        self.witnesses += usize::from(sees_end);
    }

    fn lose(&mut self, sees_end: bool) {
        self.observers -= 1;
        self.witnesses -= usize::from(sees_end);
    }
}

/// Which processes have a reason that begins at a root, of those that may not be pruned as far as is known.
fn founded(
    is_root: impl Fn(usize) -> bool,
    may_be_pruned: &[bool],
    observes: &[Vec<Reason>],
) -> Vec<bool> {
    let count = may_be_pruned.len();
    let mut open: Vec<usize> = (0..count).filter(|&at| !may_be_pruned[at] && is_root(at)).collect();
    let mut is_founded: Vec<bool> =
        (0..count).map(|at| !may_be_pruned[at] && is_root(at)).collect();
    while let Some(at) = open.pop() {
        for &Reason { writer, founds, .. } in &observes[at] {
            if founds && !may_be_pruned[writer] && !mem::replace(&mut is_founded[writer], true) {
                open.push(writer);
            }
        }
    }
    is_founded
}

impl<'a> Observed<'a> {
    /// `is_whole`: every process and every channel has a record. Otherwise only failure marks tell which
    /// saw an end, and what left none behind counts as observed, but for what waits for ever with a sender where loops
    /// are pruned. `left`: what was left when nothing could go on. `prunes_loops`: when no root is left.
    pub(super) fn new(
        records: &'a [ProcessRecord],
        last: &[LastSender],
        left: Option<&Left>,
        is_whole: bool,
        prunes_loops: bool,
    ) -> Self {
        let count = records.len();
        let place = |identity: &Identity| {
            records.binary_search_by_key(identity, |record| record.identity).ok()
        };
        let mut is_known: Vec<bool> = records
            .iter()
            .map(|record| is_whole || matches!(record.ending, Some(Ending::Pruned)))
            .collect();
        let (mut seen, mut observes) = (vec![Seen::default(); count], vec![Vec::new(); count]);
        let mut is_kept = vec![false; count];
        // Those at which reasons may begin.
        let mut is_root: Vec<bool> = records
            .iter()
            .map(|record| process::is_root(record.identity, record.attributes))
            .collect();
        let mut marks: Vec<Option<Vec<usize>>> = vec![None; count];
        for sender in last.iter().filter(|sender| is_whole || sender.is_mark) {
            let Some(writer) = place(&sender.writer) else { continue };
            is_known[writer] = true;
            let marks = sender.is_mark.then(|| marks[writer].get_or_insert_default());
            if sender.was_kept {
                is_kept[writer] = true;
                seen[writer].add(true);
            }
            if sender.was_received_before {
                // What handed the receiver on may create processes, and is no observer that is lost.
                seen[writer].add(!sender.is_mark);
            }
            let Some(reader) = sender.reader else { continue };
            let sees_end = sender.was_seen || !sender.is_mark;
            seen[writer].add(sees_end);
            if let Some(reader) = place(&reader).filter(|_| !sender.was_handed_on) {
                observes[reader].push(Reason { writer, sees_end, founds: sender.was_seen });
                if let Some(reached) = marks.filter(|_| sender.was_seen) {
                    reached.push(reader);
                }
            } else {
                // What handed the receiver on may create processes, and is a root.
                is_root[writer] |= sender.was_seen;
            }
        }
        for (writer, reader) in left.iter().flat_map(|left| left.read_on()) {
            if let (Some(writer), Some(reader)) = (place(&writer), place(&reader)) {
                seen[writer].add(true);
                observes[reader].push(Reason { writer, sees_end: true, founds: true });
            }
        }
        for sender in left.iter().filter(|_| prunes_loops).flat_map(|left| left.senders()) {
            if let Some(sender) = place(&sender) {
                is_known[sender] = true;
            }
        }
        let is_never_pruned = |process: usize| {
            !is_known[process] || attribute::is_never_pruned(records[process].attributes)
        };
        let is_lost = |process: usize, seen: &[Seen]| {
            seen[process].observers == 0 && !is_never_pruned(process)
        };
        let mut may_be_pruned = vec![false; count];
        let mut lost: Vec<usize> = (0..count).filter(|&process| is_lost(process, &seen)).collect();
        loop {
            while let Some(process) = lost.pop() {
                may_be_pruned[process] = true;
                for Reason { writer, sees_end, .. } in mem::take(&mut observes[process]) {
                    seen[writer].lose(sees_end);
                    if is_lost(writer, &seen) && !may_be_pruned[writer] {
                        lost.push(writer);
                    }
                }
            }
            if !prunes_loops {
                break;
            }
            let is_root = |process: usize| is_root[process] || is_never_pruned(process);
            let is_founded = founded(is_root, &may_be_pruned, &observes);
            lost.extend((0..count).filter(|&at| !may_be_pruned[at] && !is_founded[at]));
            if lost.is_empty() {
                break;
            }
        }
        let has_failed = |process: usize| {
            marks[process].is_some() && matches!(records[process].ending, Some(Ending::Failed(_)))
        };
        let is_told_as_pruned = (0..count).map(|process| {
            may_be_pruned[process]
                || has_failed(process) && seen[process].witnesses == 0 && !is_never_pruned(process)
        });
        let is_told_as_pruned = is_told_as_pruned.collect();
        let whole = wholes(records);
        Self { records, may_be_pruned, is_told_as_pruned, is_kept, marks, whole }
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
                || self.is_kept[process]
                || !with.is_empty();
            if self.may_be_pruned[process] || !is_seen {
                continue;
            }
            with.remove(&process);
            let with_all = with.clone();
            // Parts of one process end as one.
            with.retain(|&by| !self.whole[by].is_some_and(|whole| with_all.contains(&whole)));
            let with = with.iter().map(|&by| self.records[by].name.clone()).collect();
            reports.push(FailureReport::new(record.name.clone(), failure.clone(), with));
        }
        reports
    }

    /// Processes that reached the failure marks of another, and may not be pruned.
    fn reached(&self, process: usize) -> impl Iterator<Item = usize> {
        let all = self.marks[process].iter().flatten().copied();
        all.filter(|&by| !self.may_be_pruned[by])
    }

    /// Whether a process may be pruned.
    pub(super) fn may_be_pruned(&self, process: &Identity) -> bool {
        let found = self.records.binary_search_by_key(process, |record| record.identity);
        found.is_ok_and(|place| self.may_be_pruned[place])
    }

    /// What is told of each process of a run that took so long. `is_cut_short`: they are told as
    /// they were when the run ended.
    pub(super) fn processes(&self, is_cut_short: bool, elapsed: Elapsed) -> Vec<ProcessReport> {
        let ending = |process: usize| {
            if self.is_told_as_pruned[process] && !is_cut_short {
                ProcessEnd::Pruned
            } else {
                ProcessEnd::of(self.records[process].ending.as_ref())
            }
        };
        let mut part_of = vec![None; self.records.len()];
        for (part, whole) in self.whole.iter().enumerate() {
            if let Some(whole) = *whole {
                part_of[whole] = Some(part);
            }
        }
        let all =
            self.records.iter().enumerate().filter(|(process, _)| self.whole[*process].is_none());
        let reports = all.map(|(process, record)| {
            let Some(part) = part_of[process] else {
                return process_report(record, ending(process), elapsed);
            };
            let last = &self.records[part];
            let mut counts = record.counts;
            counts.add(&last.counts);
            // The last part ends as the process does, but for the end of what the first part reads.
            let by_first = |ending: &Ending| {
                matches!(ending, Ending::FailedBy { process, .. } if *process == record.name)
            };
            let tells = if last.ending.as_ref().is_some_and(by_first) { process } else { part };
            process_report(&ProcessRecord { counts, ..record.clone() }, ending(tells), elapsed)
        });
        reports.collect()
    }
}
