//! Which failures count, and which waits for ever are told, when the interpreter has run a program to its end.
//!
//! Either is told if one that looks at a single run, any, can tell that the process is pruned in no
//! schedule: it could be in none, or had both ends of a channel when it closed its last sender; or a process of
//! which the same can be told saw that sender's end, or received what was sent on it just before. A reader that
//! was pruned itself tells nothing: how far it came is a matter of the schedule, and what it would have
//! done is not known. All other failures and waits are told in no run, and their processes as pruned. The answer
//! is the same in all runs, for it needs only what those do that no schedule prunes.

use super::interpreter::Mistake;
use super::world::{Fate, World};
use std::collections::BTreeSet;

/// What is told of the failures.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The failed processes that count.
    pub(super) counted: BTreeSet<usize>,
    /// Those that count or not: that takes a look at waits that last for ever.
    pub(super) open: BTreeSet<usize>,
    /// Those that failed, or wait for ever, when they had no sender any more, and are told as pruned.
    pub(super) as_pruned: BTreeSet<usize>,
}

impl World<'_> {
    /// The processes of which a single run tells that no schedule prunes them. `waiting`: those also that
    /// wait for ever with a sender, and those whose reader does wait for ever.
    fn known(&self, pruned: &BTreeSet<String>, waiting: bool) -> Vec<bool> {
        let is_waiting = |at: usize| waiting && self.actors[at].fate == Fate::Running;
        let is_certain = |at: usize| {
            let actor = &self.actors[at];
            self.is_never_pruned(at)
                || !actor.had_sender
                || actor.was_kept
                || is_waiting(at) && self.has_sender(at)
        };
        let is_seen = |at: usize, known: &[bool]| {
            let actor = &self.actors[at];
            actor.last_wires.iter().any(|&number| {
                let wire = &self.wires[number];
                let received_by = wire.received_by.filter(|_| actor.had_just_sent == Some(number));
                let waits = wire.readers.last().copied().filter(|&reader| is_waiting(reader));
                [wire.seen_by, received_by, waits].into_iter().flatten().any(|by| known[by])
            })
        };
        let mut known: Vec<bool> =
            self.actors.iter().map(|actor| !pruned.contains(&actor.name)).collect();
        loop {
            let lost: Vec<usize> = (0..known.len())
                .filter(|&at| known[at] && !is_certain(at) && !is_seen(at, &known))
                .collect();
            if lost.is_empty() {
                return known;
            }
            for at in lost {
                known[at] = false;
            }
        }
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

    /// What is told of failures, if some schedule prunes these.
    pub(super) fn told(&self, pruned: &BTreeSet<String>) -> Told {
        let (sure, known) = (self.known(pruned, false), self.known(pruned, true));
        let mut told = Told::default();
        for (at, actor) in self.actors.iter().enumerate().filter(|&(at, _)| self.stands(at)) {
            // A process that counts and has reached a mark makes the one that set it count: its root.
            let root = match actor.fate {
                Fate::Failed => at,
                Fate::FailedWith(root) => root,
                Fate::Running => {
                    if !known[at] && !pruned.contains(&actor.name) {
                        told.as_pruned.insert(at);
                    }
                    continue;
                }
                _ => continue,
            };
            if sure[at] {
                told.counted.insert(root);
            } else if known[at] {
                told.open.insert(root);
            } else if root == at {
                told.as_pruned.insert(at);
            }
        }
        // A party fails with nothing.
        told.counted.retain(|&at| self.actors[at].fate == Fate::Failed);
        told.open.retain(|at| !told.counted.contains(at));
        told
    }
}
