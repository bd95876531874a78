//! What waits for what: as ranks see it, and as it is.

use super::{ChannelState, Op, Program, World, owner, small};
use crate::chase::{Counts, Seen};
use crate::frame::{At, Frame, Lead, Sight};
use Op::{Receive, Send};
use kahn::ranks::{Chain, ChainWait, CutEnd, Full};
use std::collections::{BTreeMap, VecDeque};

impl World {
    /// The waits of processes from this one on, and the end at which the last of them waits.
    pub(super) fn walk(&self, program: &Program, start: usize) -> Option<(Vec<usize>, At)> {
        let (mut waits, mut at) = (Vec::new(), start);
        while !waits.contains(&at) && !self.dead.contains(&at) && !self.can_go_on(program, at) {
            waits.push(at);
            let (channel, next, is_sender) = match self.op(program, at)? {
                Send(channel) => (channel, program.channels[channel].1, true),
                Receive(channel) => (channel, program.channels[channel].0, false),
            };
            if program.is_cut(channel) {
                return Some((waits, At { channel: small(channel), is_sender }));
            }
            at = next;
        }
        None
    }

    pub(super) fn wait(&self, program: &Program, process: usize) -> (ChainWait, Option<Full>) {
        let op = self.op(program, process).expect("it waits");
        let (Send(channel) | Receive(channel)) = op;
        let (one, is_cut) = (&self.channels[channel], program.is_cut(channel));
        let (count, full) = match op {
            Send(_) => {
                let full = Full {
                    is_inner: false,
                    capacity: u32::try_from(one.room).expect("it is small"),
                    channel: channel as u64,
                };
                (one.sent, Some(full))
            }
            Receive(_) if is_cut => (one.taken, None),
            // What was received, and nothing is left.
            Receive(_) => (one.sent, None),
        };
        (ChainWait { process, channel, count }, full)
    }

    pub(super) fn seen(&self, program: &Program, rank: usize) -> Vec<Seen> {
        let cut = (0..self.channels.len()).filter(|channel| program.is_cut(*channel));
        let ends =
            cut.flat_map(|channel| [false, true].map(|is_sender| CutEnd { channel, is_sender }));
        let seen = |from: CutEnd| {
            let (sender, receiver, capacity) = program.channels[from.channel];
            let process = if from.is_sender { sender } else { receiver };
            let one = &self.channels[from.channel];
            let is_parked = if from.is_sender {
                one.held == 0 && one.sent < one.granted
            } else {
                one.has_one && one.held_there == capacity
            };
            if program.rank(process) != rank || !is_parked {
                return None;
            }
            let (waits, to) = self.walk(program, process)?;
            let (waits, full): (Vec<ChainWait>, Vec<Option<Full>>) =
                waits.into_iter().map(|process| self.wait(program, process)).unzip();
            let of_link = if from.is_sender { one.sent } else { one.taken - one.held_there };
            let link = ChainWait { process: usize::MAX, channel: from.channel, count: of_link };
            let to = CutEnd { channel: to.channel as usize, is_sender: to.is_sender };
            let chain = Chain {
                from,
                to,
                smallest: full.into_iter().flatten().min(),
                waits: std::iter::once(link).chain(waits).collect(),
            };
            let from_count = self.counts(from)?.of_first();
            Some(Seen { from_count, to_count: self.counts(to)?.of_last()?, chain })
        };
        ends.filter_map(seen).collect()
    }

    pub(super) fn counts(&self, end: CutEnd) -> Option<Counts> {
        let one = &self.channels[end.channel];
        let &ChannelState { sent, granted, arrived, taken, granted_there, .. } = one;
        if end.is_sender {
            let is_full = sent == granted;
            (!one.has_closed && !one.has_left).then_some(Counts::Up {
                sent,
                told: granted,
                is_full,
            })
        } else {
            (!one.has_end).then_some(Counts::Down { arrived, taken, told: granted_there })
        }
    }

    pub(super) fn leads(
        &self,
        program: &Program,
        rank: usize,
    ) -> BTreeMap<At, (Lead, Option<Full>)> {
        let mut leads = BTreeMap::new();
        for channel in (0..self.channels.len()).filter(|channel| program.is_cut(*channel)) {
            for is_sender in [false, true] {
                let end = At { channel: small(channel), is_sender };
                let process = owner(program, end);
                if program.rank(process) != rank {
                    continue;
                }
                if self.dead.contains(&process) {
                    leads.insert(end, (Lead::Dead, None));
                } else if let Some((waits, to)) = self.walk(program, process) {
                    let full =
                        waits.into_iter().filter_map(|process| self.wait(program, process).1);
                    let smallest = full.min();
                    let of_frame = smallest.map(crate::frame::full);
                    leads.insert(end, (Lead::To { end: to, smallest: of_frame }, smallest));
                }
            }
        }
        leads
    }

    pub(super) fn sight(&self, program: &Program, rank: usize) -> Sight {
        let leads = self.leads(program, rank).into_iter().map(|(end, (lead, _))| (end, lead));
        Sight { goes_on: false, over_budget: None, leads: leads.collect() }
    }

    /// The rings of processes on several ranks that wait for each other, as they are: see the top.
    pub(super) fn rings(&self, program: &Program) -> Vec<Vec<usize>> {
        let mut rested = self.clone();
        loop {
            if let Some(step) = rested.of_links(program).first() {
                rested.step(program, *step);
                continue;
            }
            let counted = |(_, frames): &(&(usize, usize), &VecDeque<Frame<'static>>)| {
                frames.iter().any(Frame::is_counted)
            };
            let Some((&(from, to), _)) = rested.frames.iter().find(counted) else { break };
            let frames = rested.frames.get_mut(&(from, to)).expect("it is there");
            let first = frames.iter().position(Frame::is_counted).expect("there is one");
            let frame = frames.remove(first).expect("it is there");
            rested.hear(program, from, to, frame);
        }
        let next = |process: usize| {
            if rested.dead.contains(&process) || rested.can_go_on(program, process) {
                return None;
            }
            Some(match rested.op(program, process)? {
                Send(channel) => program.channels[channel].1,
                Receive(channel) => program.channels[channel].0,
            })
        };
        let mut rings = Vec::new();
        for start in 0..self.at.len() {
            let (mut at, mut ring) = (Some(start), Vec::new());
            while let Some(process) = at.filter(|process| !ring.contains(process)) {
                ring.push(process);
                at = next(process);
            }
            let is_of_one = ring.iter().all(|one| program.rank(*one) == program.rank(start));
            // Each by its first process.
            if at == Some(start) && !is_of_one && ring.iter().all(|process| *process >= start) {
                rings.push(ring);
            }
        }
        rings
    }
}
