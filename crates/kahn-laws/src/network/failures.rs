//! Which failures count, when the interpreter has run a program to its end.

use super::interpreter::Mistake;
use super::world::{Fate, Wire, World};
use std::collections::BTreeSet;

impl World<'_> {
    /// Those that could see how a process went on when it dropped its last sender, or ended.
    pub(super) fn observers(&self, number: usize) -> impl Iterator<Item = usize> {
        let wires = self.actors[number].last_wires.iter().map(|&wire| &self.wires[wire]);
        let of = |w: &Wire| [w.readers.last().copied(), w.received_by, w.seen_by];
        wires.flat_map(of).flatten()
    }

    /// Whether one that looks at a single run can tell that this process is pruned in no schedule: it
    /// could be in none, or was seen by one of which that can be told. (One that has sent a message to a
    /// process that may be pruned only later is pruned in none either; but it takes all schedules to tell.)
    pub(super) fn is_known(&self, number: usize, pruned: &BTreeSet<String>) -> bool {
        let mut asked = BTreeSet::new();
        let mut open = vec![number];
        while let Some(at) = open.pop() {
            let actor = &self.actors[at];
            if !asked.insert(at) || pruned.contains(&actor.name) {
                continue;
            }
            let waits = actor.fate == Fate::Running;
            let is_own =
                actor.last_wires.iter().any(|&wire| self.wires[wire].readers.last() == Some(&at));
            if self.is_never_pruned(at) || !actor.had_sender || waits || is_own {
                return true;
            }
            open.extend(self.observers(at));
        }
        false
    }

    /// Whether a failure of this process cannot have been pruned away.
    pub(super) fn stands(&self, number: usize) -> bool {
        let actor = &self.actors[number];
        let senders = if self.mistake == Some(Mistake::NeverHadASender) {
            actor.had_sender
        } else {
            actor.sender_when_failed
        };
        !senders || self.is_never_pruned(number)
    }

    /// The failed processes that count, and with them those that failed with one.
    pub(super) fn counted(&self) -> BTreeSet<usize> {
        let failed =
            |at: &usize| matches!(self.actors[*at].fate, Fate::Failed | Fate::FailedWith(_));
        let mut counted: BTreeSet<usize> =
            (0..self.actors.len()).filter(failed).filter(|&at| self.stands(at)).collect();
        // A process that counts and has reached a mark makes the one that set it count: its root.
        let roots: Vec<usize> = counted
            .iter()
            .filter_map(|&at| match self.actors[at].fate {
                Fate::FailedWith(root) => Some(root),
                _ => None,
            })
            .collect();
        counted.extend(roots);
        counted.retain(|&at| self.actors[at].fate == Fate::Failed);
        counted
    }
}
