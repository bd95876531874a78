//! Which processes the model prunes.
//!
//! One is pruned if nothing reads what it sends. And if none is left that runs for its own sake, all are: what they do is
//! not seen by any, be it through each other. So a loop ends that runs for ever and that nothing sees. That is so where
//! each process that is there at the start has a way along the channels to one that needs no reader; else some run for
//! their own sake of which none could tell.

use super::interpreter::Mistake;
use super::machine::Held;
use super::program::How;
use super::world::{Fate, World};

impl World<'_> {
    /// Whether what is sent will not be received.
    pub(super) fn is_unread(&self, wire: usize) -> bool {
        match self.wires[wire].receiver {
            None => true,
            Some(reader) => self.actors[reader].dead && self.mistake != Some(Mistake::DeadStayLive),
        }
    }

    /// Whether it runs on though no process reads what it sends.
    pub(super) fn is_never_pruned(&self, number: usize) -> bool {
        let process = self.actors[number].process;
        process.effects || process.creates || process.how() == How::Party
    }

    /// Whether it holds a sender.
    pub(super) fn has_sender(&self, number: usize) -> bool {
        self.senders(number).next().is_some()
    }

    /// The channels of the senders that it holds.
    pub(super) fn senders(&self, number: usize) -> impl Iterator<Item = usize> {
        let held = self.actors[number].places.iter().flatten();
        held.filter(|(held, _)| *held == Held::Sender).map(|&(_, wire)| wire)
    }

    pub(super) fn is_prunable(&self, number: usize) -> bool {
        if self.is_never_pruned(number) {
            return false;
        }
        self.has_sender(number)
            && (self.senders(number).all(|wire| self.is_unread(wire)) || self.is_all_over())
    }

    /// Whether it runs for its own sake: none must read what it sends. So do all that are created.
    pub(super) fn is_for_itself(&self, number: usize) -> bool {
        !self.prunes_loops || self.needs_no_reader(number) || number >= self.first
    }

    fn needs_no_reader(&self, number: usize) -> bool {
        self.is_never_pruned(number) || !self.actors[number].had_sender
    }

    pub(super) fn has_loops_that_all_are_seen(&self) -> bool {
        let mut seen: Vec<bool> =
            (0..self.actors.len()).map(|number| self.needs_no_reader(number)).collect();
        // As often as a path is long.
        for _ in 0..seen.len() {
            for wire in &self.wires {
                if let (Some(from), Some(to)) = (wire.sender, wire.receiver) {
                    seen[from] |= seen[to];
                }
            }
        }
        // Without a loop each has a way to be seen, too, and whatever nothing reads loses its readers one by one.
        let mut after = vec![vec![false; seen.len()]; seen.len()];
        for _ in 0..seen.len() {
            for wire in &self.wires {
                if let (Some(from), Some(to)) = (wire.sender, wire.receiver) {
                    let beyond = after[to].clone();
                    after[from][to] = true;
                    after[from].iter_mut().zip(beyond).for_each(|(is, beyond)| *is |= beyond);
                }
            }
        }
        seen.into_iter().all(|is| is) && (0..after.len()).any(|at| after[at][at])
    }

    /// Whether none that runs for its own sake is left, and so nothing to run for.
    fn is_all_over(&self) -> bool {
        let is_left = |at: usize| {
            let actor = &self.actors[at];
            let sends_no_more = !self.has_sender(at) && actor.dropped.is_empty();
            actor.fate == Fate::Running && !actor.dead && (self.is_for_itself(at) || sends_no_more)
        };
        !(0..self.actors.len()).any(is_left)
    }

    /// Loops that nothing sees run on.
    pub(super) fn without_pruning_of_loops(mut self) -> Self {
        self.prunes_loops = false;
        self
    }
}
