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

/// Which waits for ever are reasons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    None,
    /// Of a reader that waits for this process.
    AreSeen,
    /// Those of all its readers that wait for ever, whatever for, and its own, if it has a sender.
    AreMany,
}

impl World<'_> {
    /// The processes of which a single run tells that no schedule prunes them.
    fn known(&self, pruned: &BTreeSet<String>, waits: Waits) -> Vec<bool> {
        let is_waiting =
            |at: usize| waits == Waits::AreMany && self.actors[at].fate == Fate::Running;
        let is_certain = |at: usize| {
            let actor = &self.actors[at];
            self.is_never_pruned(at)
                || !actor.had_sender
                || actor.was_kept
                || is_waiting(at) && self.has_sender(at)
        };
        let is_seen = |at: usize, known: &[bool], to_the_end: bool| {
            let actor = &self.actors[at];
            self.last_wires(at).into_iter().any(|number| {
                let wire = &self.wires[number];
                let received_by =
                    wire.received_by.filter(|_| actor.had_just_sent == Some(number) && !to_the_end);
                let waits = wire.readers.last().copied().filter(|&reader| {
                    is_waiting(reader)
                        || waits == Waits::AreSeen && self.awaited(reader) == Some(at)
                });
                [wire.seen_by, received_by, waits].into_iter().flatten().any(|by| known[by])
            })
        };
        let mut known: Vec<bool> =
            self.actors.iter().map(|actor| !pruned.contains(&actor.name)).collect();
        loop {
            let lost: Vec<usize> = (0..known.len())
                .filter(|&at| known[at] && !is_certain(at) && !is_seen(at, &known, false))
                .collect();
            for &at in &lost {
                known[at] = false;
            }
            // What is seen in a circle alone is not: that has to begin with one that runs for its own sake. And the end has
            // to be seen: a process that has sent its last message may have its senders yet when there is nothing left to
            // run for.
            let begins = |at: usize| known[at] && self.is_for_itself(at);
            let mut from: Vec<bool> = (0..known.len()).map(begins).collect();
            // As often as a way is long.
            for _ in 0..known.len() {
                for at in 0..known.len() {
                    from[at] |= known[at] && is_seen(at, &from, true);
                }
            }
            if lost.is_empty() && from == known {
                return known;
            }
            known = from;
        }
    }

    /// The channels of the senders that it held last, or holds.
    fn last_wires(&self, at: usize) -> Vec<usize> {
        let actor = &self.actors[at];
        if actor.fate == Fate::Running && self.has_sender(at) {
            self.senders(at).collect()
        } else {
            actor.last_wires.clone()
        }
    }

    /// Whether any waits for ever, so that it is told.
    pub(super) fn is_stuck(&self, pruned: &BTreeSet<String>) -> bool {
        let known = self.known(pruned, Waits::AreMany);
        let is_told = |at: usize| known[at] || !self.prunes_loops;
        (0..self.actors.len()).any(|at| self.actors[at].fate == Fate::Running && is_told(at))
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
        let of = |waits| self.known(pruned, waits);
        let (sure, met, known) = (of(Waits::None), of(Waits::AreSeen), of(Waits::AreMany));
        let mut told = Told::default();
        for (at, actor) in self.actors.iter().enumerate().filter(|&(at, _)| self.stands(at)) {
            // A process that counts and has reached a mark makes the one that set it count: its root.
            let root = match actor.fate {
                Fate::Failed => at,
                Fate::FailedWith(root) => root,
                Fate::Running => {
                    if !known[at] && !pruned.contains(&actor.name) {
                        told.as_pruned.insert(at);
                    } else if self.prunes_loops && !met[at] {
                        told.open.insert(at);
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
