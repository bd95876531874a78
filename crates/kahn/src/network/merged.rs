//! What all ranks of a run know together.
//!
//! Each rank has records of the processes that ran there and of its ends of channels. Of a channel that is cut
//! each of two ranks knows one end:
//!
//! | of a cut channel | is told by |
//! |---|---|
//! | how the writer came to its end: its last sender or not, what it sent last, its failure | the sender's rank |
//! | what the reader saw and received, whether it reads | the receiver's rank |
//! | messages sent, growth | the sender's rank |
//! | messages received, their history, the capacity there | the receiver's rank |
//! | which process has the end, or had it last: it may have been handed on | the rank of the end |
//!
//! Put together, these are the records of a run on one rank: links and what they did are left out. So which
//! failures count, and which processes may be pruned, is decided from the whole
//! ([`observed`](super::observed)), as it is for one rank.

use super::core::Verdict;
use super::cut::CutRecord;
use super::left::{Left, LeftChannel};
use super::summary::{Outline, RunPart};
use super::waits::{ToldWaits, put_together};
use crate::channel::endings::LastSender;
use crate::channel::process::attribute;
use kahn_engine::ProcessRecord;
use kahn_report::ranks::Carried;
use kahn_report::{Ending, Explanation, Identity, Name};
use std::collections::BTreeMap;
use std::mem;

/// What one rank knows of a cut channel that another tells of.
struct Known<'a> {
    cuts: &'a [CutRecord],
    /// The rank and the place among the channels of each channel that was there before the run.
    places: BTreeMap<Identity, usize>,
    processes: BTreeMap<Identity, usize>,
    /// By the identity of a link and its rank: the place of the channel whose end it has.
    links: BTreeMap<(usize, Identity), usize>,
}

impl<'a> Known<'a> {
    fn new(cuts: &'a [CutRecord]) -> Self {
        let one = &cuts[0];
        let channels = one.channels.iter().map(|channel| channel.0).zip(0..);
        let mut links = BTreeMap::new();
        for cut in cuts {
            links.extend(cut.links.iter().map(|(&number, &link)| ((cut.rank, link), number)));
        }
        Self {
            cuts,
            places: channels.collect(),
            processes: one.processes.iter().copied().zip(0..).collect(),
            links,
        }
    }

    /// Whether this process ran on this rank, and is no link.
    fn ran_on(&self, rank: usize, process: Identity) -> bool {
        if self.links.contains_key(&(rank, process)) {
            return false;
        }
        self.processes.get(&process).is_none_or(|&place| self.cuts[0].ranks[place] == rank)
    }

    /// The ranks at the ends of a channel; of one that was made during the run, the rank that tells of it.
    fn ranks_of(&self, channel: Identity, teller: usize) -> (usize, usize) {
        self.places.get(&channel).map_or((teller, teller), |&place| {
            let (_, (from, to)) = self.cuts[0].channels[place];
            (self.cuts[0].ranks[from], self.cuts[0].ranks[to])
        })
    }

    /// What went of a channel from rank to rank.
    fn carried(&self, channel: Identity) -> Carried {
        let place = self.places.get(&channel);
        let carried = place
            .and_then(|place| self.cuts.iter().find_map(|cut| cut.carried.get(place)).copied());
        carried.unwrap_or_default()
    }

    /// The process that a link stands for, when nothing could go on: the one that has the end there; others
    /// stand for themselves.
    fn real(&self, rank: usize, process: Identity, parts: &[RunPart]) -> Identity {
        let Some(&number) = self.links.get(&(rank, process)) else { return process };
        let (channel, (from, to)) = self.cuts[rank].channels[number];
        let is_sender_far = self.cuts[rank].ranks[to] == rank;
        let far = if is_sender_far { from } else { to };
        let left = parts[self.cuts[rank].ranks[far]].left.as_ref();
        let known = left.and_then(|left| left.readers.iter().find(|one| one.channel == channel));
        let holder = known.and_then(|one| if is_sender_far { one.writer } else { one.reader });
        holder.unwrap_or(self.cuts[rank].processes[far])
    }
}

/// Names the processes whose failure others have reached on other ranks: a sender may have been handed on, and the
/// link there has the name of the process that had it before the run.
fn name_failed(known: &Known<'_>, parts: &[RunPart], records: &mut [(usize, ProcessRecord)]) {
    let marks = |rank: usize| parts[rank].last.iter().filter(|last| last.is_mark);
    let mut writers: BTreeMap<Identity, Identity> = BTreeMap::new();
    let mut reached: BTreeMap<Identity, Vec<Identity>> = BTreeMap::new();
    for rank in 0..parts.len() {
        for last in marks(rank) {
            let (from, to) = known.ranks_of(last.at.channel, rank);
            if from == rank && to != rank {
                writers.insert(last.at.channel, last.writer);
            } else if from != rank
                && let Some(reader) = last.at.receiver.filter(|_| last.was_seen)
            {
                reached.entry(reader).or_default().push(last.at.channel);
            }
        }
    }
    let names: BTreeMap<Identity, Name> =
        records.iter().map(|(_, record)| (record.identity, record.name.clone())).collect();
    for (rank, record) in records {
        let Some(Ending::FailedBy { channel, process }) = &mut record.ending else { continue };
        let is_it = |of: &&Identity| {
            let mut known = parts[*rank].channels.iter();
            known.any(|record| record.identity == **of && record.name == *channel)
        };
        let cut = reached.get(&record.identity).and_then(|all| all.iter().find(is_it));
        if let Some(name) = cut.and_then(|cut| names.get(writers.get(cut)?)) {
            *process = name.clone();
        }
    }
}

pub(super) fn merged(cuts: &[CutRecord], mut parts: Vec<RunPart>) -> RunPart {
    let known = Known::new(cuts);
    let mut records = Vec::new();
    let mut created = (0, 0);
    let tick = parts[0].elapsed.tick;
    for (rank, part) in parts.iter_mut().enumerate() {
        let mut all = mem::take(&mut part.records);
        // Times are told by the clock of the first.
        let ticks = tick.in_one_of(part.elapsed.tick);
        for record in &mut all {
            record.counts.cpu_seconds = record.counts.cpu_seconds.map(|time| time * ticks);
        }
        let own = all.into_iter().filter(|record| {
            record.attributes & attribute::LINK == 0 && known.ran_on(rank, record.identity)
        });
        records.extend(own.map(|record| (rank, record)));
        // What was there before the run is there on every rank, and links are no processes.
        let made = part.created.0.saturating_sub(cuts[rank].links.len() as u64);
        let (processes, channels) = cuts[rank].counted;
        created.0 += made.saturating_sub(processes);
        created.1 += part.created.1.saturating_sub(channels);
        if rank == 0 {
            created.0 += processes.min(made);
            created.1 += channels.min(part.created.1);
        }
    }
    records.sort_by_key(|(_, record)| record.identity);
    name_failed(&known, &parts, &mut records);
    let records = records.into_iter().map(|(_, record)| record).collect();
    let last = last_senders(&known, &parts);
    let left = left(&known, &parts);
    let verdict = verdict(&parts, left.as_ref());
    let mut channels = Vec::new();
    let mut sent = BTreeMap::new();
    for (rank, part) in parts.iter_mut().enumerate() {
        for record in mem::take(&mut part.channels) {
            let (from, to) = known.ranks_of(record.identity, rank);
            if to == rank {
                channels.push(record);
            } else if from == rank {
                sent.insert(record.identity, record);
            }
        }
    }
    for record in &mut channels {
        if let Some(there) = sent.remove(&record.identity) {
            record.counts.sent = there.counts.sent;
            record.counts.growths += there.counts.growths;
            record.capacity = record.capacity.max(there.capacity);
            record.weight = record.weight.max(there.weight);
            // Every message came from another rank, so from another worker.
            record.counts.remote = record.counts.received;
            record.from = there.from;
        }
        record.counts.carried = known.carried(record.identity);
    }
    channels.sort_by_key(|record| record.identity);
    let mut rest = parts.into_iter();
    let first = rest.next().expect("there is a rank");
    let mut whole = RunPart { verdict, records, last, left, channels, created, ..first };
    for part in rest {
        whole.is_whole &= part.is_whole;
        whole.folded_channels.0 += part.folded_channels.0;
        whole.folded_channels.1.add(&part.folded_channels.1);
        whole.slot_bytes.0 += part.slot_bytes.0;
        whole.most_bytes += part.most_bytes;
        whole.walks += part.walks;
        for warning in part.warnings {
            if !whole.warnings.contains(&warning) {
                whole.warnings.push(warning);
            }
        }
        let (Outline(whole), Outline(part)) = (&mut whole.outline, part.outline);
        whole.workers += part.workers;
        for mut worker in part.worker_reports {
            worker.worker = whole.worker_reports.len();
            whole.worker_reports.push(worker);
        }
    }
    whole
}

/// Which processes could see how others ended.
fn last_senders(known: &Known<'_>, parts: &[RunPart]) -> Vec<LastSender> {
    let mut readers: BTreeMap<Identity, &LastSender> = BTreeMap::new();
    let mut all = Vec::new();
    for (rank, part) in parts.iter().enumerate() {
        for last in &part.last {
            let (from, to) = known.ranks_of(last.at.channel, rank);
            if from == to && from == rank {
                all.push(*last);
            } else if to == rank {
                readers.insert(last.at.channel, last);
            }
        }
    }
    for (rank, part) in parts.iter().enumerate() {
        for writer in &part.last {
            let (from, to) = known.ranks_of(writer.at.channel, rank);
            if from == to || from != rank {
                continue;
            }
            let Some(reader) = readers.get(&writer.at.channel) else {
                // Nothing was seen of it there.
                all.push(LastSender {
                    reader: None,
                    was_seen: false,
                    was_handed_on: false,
                    was_received_before: false,
                    ..*writer
                });
                continue;
            };
            let was_seen = reader.was_seen;
            let is_last_received = writer.at.just_sent && reader.at.received == writer.at.sent;
            let handed_on_at = reader.at.handed_on_at;
            all.push(LastSender {
                writer: writer.writer,
                reader: reader.at.receiver.filter(|_| was_seen || is_last_received),
                was_seen,
                was_handed_on: reader.was_handed_on,
                was_received_before: is_last_received && handed_on_at == Some(writer.at.sent),
                was_kept: writer.was_kept,
                is_mark: writer.is_mark,
                at: writer.at,
            });
        }
    }
    all
}

/// What is left on all ranks, if nothing could go on.
fn left(known: &Known<'_>, parts: &[RunPart]) -> Option<Left> {
    let of_ranks: Vec<_> = parts
        .iter()
        .enumerate()
        .filter_map(|(rank, part)| Some((rank, part.left.as_ref()?)))
        .collect();
    if of_ranks.is_empty() {
        return None;
    }
    let mut processes = Vec::new();
    let mut waits = BTreeMap::new();
    let mut readers: BTreeMap<Identity, LeftChannel> = BTreeMap::new();
    let mut senders: BTreeMap<Identity, (Option<Identity>, bool, bool)> = BTreeMap::new();
    // Of channels whose sender has ended, and which are not left on its rank.
    for (rank, part) in parts.iter().enumerate() {
        for last in part.last.iter().filter(|last| last.at.is_last) {
            let (from, to) = known.ranks_of(last.at.channel, rank);
            if from == rank && to != rank {
                senders.insert(last.at.channel, (Some(last.writer), true, false));
            }
        }
    }
    for (rank, left) in of_ranks {
        processes.extend(left.processes.iter().copied().filter(|of| known.ran_on(rank, *of)));
        let real = |(process, awaited): (&Identity, &Identity)| {
            (*process, known.real(rank, *awaited, parts))
        };
        let own = left.waits.iter().filter(|(process, _)| known.ran_on(rank, **process));
        waits.extend(own.map(real));
        for channel in &left.readers {
            let (from, to) = known.ranks_of(channel.channel, rank);
            if to == rank {
                readers.insert(channel.channel, *channel);
            }
            if from == rank && to != rank {
                senders.insert(channel.channel, (channel.writer, channel.is_last, channel.is_open));
            }
        }
    }
    for (channel, of_sender) in senders {
        if let Some(reader) = readers.get_mut(&channel) {
            (reader.writer, reader.is_last, reader.is_open) = of_sender;
        }
    }
    processes.sort_unstable();
    Some(Left::of(processes, readers.into_values().collect(), waits))
}

/// Why the run ended: the first reason of a rank of its own, rank 0 first.
fn verdict(parts: &[RunPart], left: Option<&Left>) -> Option<Verdict> {
    let of_rank = |rank: usize| parts[rank].verdict.as_ref();
    let all = || (0..parts.len()).filter_map(of_rank);
    // That a rank was stopped may be for what happened on another.
    let first =
        all().find(|verdict| !matches!(verdict, Verdict::Stopped)).or_else(|| all().next())?;
    Some(match first {
        Verdict::Deadlock(_) => Verdict::Deadlock(explanation(parts, left)),
        Verdict::OverBudget { channel, .. } => {
            Verdict::OverBudget { channel: channel.clone(), explanation: explanation(parts, left) }
        }
        other => other.clone(),
    })
}

/// What all ranks tell of their processes.
fn explanation(parts: &[RunPart], left: Option<&Left>) -> Explanation {
    let told = parts.iter().zip(0..).filter_map(|(part, rank)| match &part.verdict {
        Some(Verdict::Deadlock(explanation) | Verdict::OverBudget { explanation, .. }) => {
            let processes = part.left.as_ref().map(|left| &left.processes[..]);
            Some(ToldWaits { rank, explanation, processes: processes.unwrap_or_default() })
        }
        _ => None,
    });
    let told: Vec<_> = told.collect();
    match &told[..] {
        [one] if parts.len() == 1 => one.explanation.clone(),
        _ => put_together(&told, left.map_or(&BTreeMap::new(), |left| &left.waits)),
    }
}
