//! What rank 0 decides for all: whether anything moves, growth, what is dead, the end.
//!
//! # When nothing moves
//!
//! Mattern's four counters (1987). Every rank tells where it stands ([`Stand`]): whether it rests, and how many
//! counted frames it has sent and received so far. If all rest, and as many were sent as received, each is asked
//! again, after the last of them has told; if all answer the same, nothing moves.
//!
//! *Proof.* Let `t` be a moment after the last rank told and before the first was asked. A rank's counts only grow,
//! and they were the same when it told and when it answered, so it sent and received nothing between. It rested
//! when it told; a rank that rests begins to run only when it receives (what else could wake it is not counted as
//! rest), so it rests at `t`, with these counts. So at `t` all rest, and as many frames were sent as received:
//! none is under way. Nothing can change that but the coordinator. ∎
//!
//! What the coordinator has ranks do is not counted; so each such *act* begins a new *time*, and what a rank told
//! before it has done the act does not count any more. Between two ranks frames keep their order.
//!
//! | phase | left when | then |
//! |---|---|---|
//! | `Gathering` | all have told in this time that they rest, as many sent as received | all are asked; `Asking` |
//! | `Asking` | all have answered: the same | all look; `Looking` |
//! | | … otherwise | `Gathering`, with what they answered |
//! | `Gathering`, `Asking` | a ring was found meanwhile, or no root is left | an act; `Gathering` |
//! | `Looking` | all have looked, and something goes on somewhere | an empty act; `Gathering` |
//! | | … a ring leads through ranks, or something waits for the dead | an act; `Gathering` |
//! | | … no root is left on any rank, and they have not pruned yet | an empty act, and another: all prune; `Gathering` |
//! | | … nothing of that | `Over`: stuck, or over budget |
//! | any | all have finished, or one has ended or is lost | `Over` |
//!
//! # What is stuck
//!
//! A rank finds the rings that lie on it. Of the others it knows pieces: from the process at the end of one cut
//! channel the waits lead to a process that waits at the end of another ([`Lead`]). The process at the far end of
//! that channel is on another rank, which knows the next piece. So pieces are a function from ends to ends, and
//! a ring of them is a ring of waits, seen while nothing moves: it is real, and all are found. Then, as on one rank
//! (`kahn`, `deadlock`), the smallest full channel of a ring grows; all that is in a ring of empty ones is dead, and
//! so is a process that receives from a dead one.
//!
//! *A ring dies at once.* What follows from a death is that writers lose a reader, and may be pruned; and a member
//! of the ring that was pruned would close its senders, which the others would take for an end. So an act only
//! marks the members, each rank its own, and nothing moves by that. What follows is done in the next look, which
//! begins when all ranks have told that they have done the act.
//!
//! What is stuck while something else moves is found by [`Chase`]. What it has ranks do is an act as well; that all
//! prune when no root is left ([`Roots`]) is one that waits until what the chase has begun is done everywhere.

use crate::chase::{Chase, Freeing};
use crate::frame::{At, End, Frame, KnownChain, Lead, Sight, Stand, State};
use crate::rings::rings;
use crate::roots::Roots;
use std::collections::{BTreeMap, BTreeSet};

/// What is to be said, and to which rank.
pub(crate) type Say = (usize, Frame<'static>);

/// What rank 0 knows of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Coordinator {
    time: u64,
    round: u64,
    stands: Vec<Option<Stand>>,
    phase: Phase,
    /// What was to grow in the last act, if nothing else was to be done.
    grown: Vec<At>,
    /// What was dead in an act: all that is looked at from then on is told as dead.
    dead: BTreeSet<At>,
    chase: Chase,
    roots: Roots,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Gathering,
    Asking { told: Vec<Stand>, answers: Vec<Option<Stand>> },
    Looking { sights: Vec<Option<Sight>> },
    Over,
}

impl Coordinator {
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            time: 0,
            round: 0,
            stands: vec![None; ranks],
            phase: Phase::Gathering,
            grown: Vec::new(),
            dead: BTreeSet::new(),
            chase: Chase::default(),
            roots: Roots::new(ranks),
        }
    }

    fn to_all(&self, frame: &Frame<'static>) -> Vec<Say> {
        (0..self.stands.len()).map(|rank| (rank, frame.clone())).collect()
    }

    /// Ends the run on all ranks.
    pub(crate) fn end(&mut self, why: End) -> Vec<Say> {
        if matches!(self.phase, Phase::Over) {
            return Vec::new();
        }
        self.phase = Phase::Over;
        self.chase.cancel();
        self.to_all(&Frame::End(why))
    }

    /// A rank tells where it stands.
    pub(crate) fn told(&mut self, rank: usize, stand: Stand) -> Vec<Say> {
        self.stands[rank] = Some(stand);
        if stand.state == State::Ended {
            return self.end(End::Elsewhere);
        }
        if stand.time == self.time && self.chase.freed(rank) {
            let mut says = self.release();
            says.extend(self.prune());
            says.extend(self.chase());
            return says;
        }
        self.gather()
    }

    /// A rank tells that it has no root.
    pub(crate) fn has_no_root(&mut self, rank: usize) -> Vec<Say> {
        let round = self.roots.told(rank);
        self.ask_for_roots(round)
    }

    /// A rank answers whether it has had no root since it told.
    pub(crate) fn stays_without_root(&mut self, rank: usize, round: u64, stays: bool) -> Vec<Say> {
        let round = self.roots.answered(rank, round, stays);
        let mut says = self.ask_for_roots(round);
        says.extend(self.prune());
        says
    }

    fn ask_for_roots(&self, round: Option<u64>) -> Vec<Say> {
        round.map(|round| self.to_all(&Frame::AskRoot { round })).unwrap_or_default()
    }

    /// Has all prune, if no root is left and it is time for an act.
    fn prune(&mut self) -> Vec<Say> {
        let may_act = match self.phase {
            Phase::Gathering | Phase::Asking { .. } => !self.chase.is_freeing(),
            Phase::Looking { .. } | Phase::Over => false,
        };
        if !may_act || !self.roots.take_gone() {
            return Vec::new();
        }
        self.chase.cancel();
        self.next_time();
        self.to_all(&Frame::Prune { time: self.time })
    }

    /// A rank tells of chains that stand.
    pub(crate) fn stands(&mut self, rank: usize, chains: &[KnownChain]) -> Vec<Say> {
        self.chase.stands(rank, chains);
        self.chase()
    }

    /// Asks for rings, unless all look for them.
    fn chase(&mut self) -> Vec<Say> {
        match self.phase {
            Phase::Gathering | Phase::Asking { .. } => self.chase.ask(),
            Phase::Looking { .. } | Phase::Over => Vec::new(),
        }
    }

    /// A rank answers which of its chains stand.
    pub(crate) fn confirmed(&mut self, rank: usize, round: u64, stood: &[u64]) -> Vec<Say> {
        let Some(all) = self.chase.confirmed(rank, round, stood, self.stands.len()) else {
            return Vec::new();
        };
        if all.iter().all(|one| *one == Freeing::default()) {
            let mut says = self.release();
            says.extend(self.chase());
            return says;
        }
        self.next_time();
        let free = |(rank, one): (usize, Freeing)| {
            (rank, Frame::Free { time: self.time, grow: one.grow, dead: one.dead })
        };
        all.into_iter().enumerate().map(free).collect()
    }

    fn release(&mut self) -> Vec<Say> {
        self.next_time();
        self.to_all(&Frame::Release { time: self.time })
    }

    /// Ranks are to do something: what they told before they have does not count.
    fn next_time(&mut self) {
        self.time += 1;
        self.phase = Phase::Gathering;
    }

    fn gather(&mut self) -> Vec<Say> {
        if !matches!(self.phase, Phase::Gathering) {
            return Vec::new();
        }
        let told: Vec<Stand> = self.stands.iter().flatten().copied().collect();
        if told.len() < self.stands.len() {
            return Vec::new();
        }
        if told.iter().all(|stand| stand.state == State::Finished) {
            return self.end(End::Finished);
        }
        let rests = |stand: &Stand| {
            stand.time == self.time && matches!(stand.state, State::Rests | State::Finished)
        };
        let sent: u64 = told.iter().map(|stand| stand.sent).sum();
        let received: u64 = told.iter().map(|stand| stand.received).sum();
        if !told.iter().all(rests) || sent != received {
            return Vec::new();
        }
        self.round += 1;
        self.phase = Phase::Asking { told, answers: vec![None; self.stands.len()] };
        self.to_all(&Frame::Ask { round: self.round })
    }

    /// A rank answers where it stands.
    pub(crate) fn answered(&mut self, rank: usize, round: u64, stand: Stand) -> Vec<Say> {
        self.stands[rank] = Some(stand);
        let Phase::Asking { told, answers } = &mut self.phase else { return Vec::new() };
        if round != self.round {
            return Vec::new();
        }
        answers[rank] = Some(stand);
        if answers.iter().any(Option::is_none) {
            return Vec::new();
        }
        let is_same = answers.iter().flatten().eq(told.iter());
        if !is_same {
            self.phase = Phase::Gathering;
            return self.gather();
        }
        self.phase = Phase::Looking { sights: vec![None; self.stands.len()] };
        self.chase.cancel();
        self.to_all(&Frame::Look)
    }

    /// A rank has looked.
    pub(crate) fn saw(&mut self, rank: usize, sight: Sight) -> Vec<Say> {
        let Phase::Looking { sights } = &mut self.phase else { return Vec::new() };
        sights[rank] = Some(sight);
        if sights.iter().any(Option::is_none) {
            return Vec::new();
        }
        let sights: Vec<Sight> = std::mem::take(sights).into_iter().flatten().collect();
        let mut acts = vec![(Vec::new(), Vec::new()); sights.len()];
        if sights.iter().any(|sight| sight.goes_on) || self.roots.are_gone() {
            self.grown.clear();
        } else {
            let found = stuck(&sights);
            let over_budget = sights.iter().find_map(|sight| sight.over_budget.clone());
            // What was to grow has tried, and nothing else can go on.
            let is_in_vain = found.dead.is_empty() && found.grow == self.grown;
            if let Some(channel) = over_budget
                && is_in_vain
            {
                return self.end(End::OverBudget(channel));
            }
            // An act that has done nothing would be followed by the same for ever.
            let has_died_before = found.dead.iter().any(|end| self.dead.contains(end));
            debug_assert!(!has_died_before, "what has died is seen as dead: {found:?}");
            if found.is_empty() || has_died_before {
                return self.end(End::Stuck);
            }
            self.dead.extend(&found.dead);
            let at = |end: &At| {
                sights.iter().position(|sight| sight.leads.iter().any(|(known, _)| known == end))
            };
            for end in &found.grow {
                if let Some(rank) = at(end) {
                    acts[rank].0.push(*end);
                }
            }
            for end in &found.dead {
                if let Some(rank) = at(end) {
                    acts[rank].1.push(*end);
                }
            }
            self.grown = found.grow;
        }
        self.next_time();
        let act = |(rank, (grow, dead))| (rank, Frame::Act { time: self.time, grow, dead });
        let mut says: Vec<Say> = acts.into_iter().enumerate().map(act).collect();
        says.extend(self.prune());
        says.extend(self.chase());
        says
    }
}

/// What can be done about what is stuck across ranks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// From these ends on, the smallest full channel is to grow.
    grow: Vec<At>,
    /// What waits on the ways from these ends on is dead.
    dead: Vec<At>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.grow.is_empty() && self.dead.is_empty()
    }
}

fn stuck(sights: &[Sight]) -> Found {
    let leads: BTreeMap<At, Lead> =
        sights.iter().flat_map(|sight| sight.leads.iter().copied()).collect();
    let next = |at: &At| match leads.get(at) {
        Some(Lead::To { end, smallest }) => Some((*end, *smallest)),
        _ => None,
    };
    let mut found = Found::default();
    // What receives from a dead process.
    for (at, lead) in &leads {
        if let Lead::To { end, .. } = lead
            && end == at
            && !at.is_sender
            && leads.get(&at.peer()) == Some(&Lead::Dead)
        {
            found.dead.push(*at);
        }
    }
    for ring in rings(leads.keys().copied(), |at| next(&at).map(|(end, _)| end.peer())) {
        let smallest = |at: &At| Some((next(at)?.1?, *at));
        match ring.iter().filter_map(smallest).min() {
            Some((_, at)) => found.grow.push(at),
            None => found.dead.extend(ring),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(channel: u32, is_sender: bool) -> At {
        At { channel, is_sender }
    }

    fn sight(leads: &[(At, Lead)]) -> Sight {
        Sight { goes_on: false, over_budget: None, leads: leads.to_vec() }
    }

    fn rests(time: u64, sent: u64, received: u64) -> Stand {
        Stand { time, state: State::Rests, sent, received }
    }

    #[test]
    fn nothing_is_asked_while_a_frame_is_under_way() {
        let mut one = Coordinator::new(2);
        assert!(one.told(0, rests(0, 1, 0)).is_empty());
        assert!(one.told(1, rests(0, 0, 0)).is_empty());
        let asked = one.told(1, rests(0, 0, 1));
        assert_eq!(asked, [(0, Frame::Ask { round: 1 }), (1, Frame::Ask { round: 1 })]);
    }

    #[test]
    fn nobody_looks_if_one_has_moved_since() {
        let mut one = Coordinator::new(2);
        one.told(0, rests(0, 1, 1));
        one.told(1, rests(0, 1, 1));
        assert!(one.answered(0, 1, rests(0, 1, 1)).is_empty());
        // It ran, and sent: the frame is under way.
        assert!(one.answered(1, 1, rests(0, 2, 1)).is_empty());
        // It came, and was answered.
        assert!(one.told(0, rests(0, 2, 2)).is_empty());
        let asked = one.told(1, rests(0, 2, 2));
        assert_eq!(asked.len(), 2, "{asked:?}");
        one.answered(0, 2, rests(0, 2, 2));
        assert_eq!(one.answered(1, 2, rests(0, 2, 2))[0], (0, Frame::Look));
    }

    #[test]
    fn what_was_told_before_an_act_does_not_count_after_it() {
        let mut one = Coordinator::new(1);
        one.told(0, rests(0, 0, 0));
        one.answered(0, 1, rests(0, 0, 0));
        let goes_on = Sight { goes_on: true, ..sight(&[]) };
        let acts = one.saw(0, goes_on);
        assert_eq!(acts, [(0, Frame::Act { time: 1, grow: vec![], dead: vec![] })]);
        assert!(one.told(0, rests(0, 0, 0)).is_empty());
        assert_eq!(one.told(0, rests(1, 0, 0)).len(), 1);
    }

    #[test]
    fn the_smallest_full_channel_of_a_ring_grows_where_it_is() {
        // 0 sends to 1 on channel 0, and 1 to 0 on channel 1; both are full.
        let to = |end, capacity| Lead::To { end, smallest: Some((false, capacity, 7)) };
        let left = sight(&[(at(0, true), to(at(0, true), 5)), (at(1, false), to(at(0, true), 5))]);
        let right = sight(&[(at(0, false), to(at(1, true), 3)), (at(1, true), to(at(1, true), 3))]);
        assert_eq!(stuck(&[left, right]), Found { grow: vec![at(0, false)], dead: vec![] });
    }

    #[test]
    fn what_receives_in_an_empty_ring_is_dead_and_what_receives_from_the_dead() {
        let to = |end| Lead::To { end, smallest: None };
        let left = sight(&[
            (at(0, true), to(at(1, false))),
            (at(1, false), to(at(1, false))),
            (at(2, true), Lead::Dead),
        ]);
        let right = sight(&[
            (at(0, false), to(at(0, false))),
            (at(1, true), to(at(0, false))),
            (at(2, false), to(at(2, false))),
        ]);
        let found = stuck(&[left, right]);
        let ring = [at(0, false), at(0, true), at(1, false), at(1, true)];
        let in_ring = found.dead.iter().filter(|end| ring.contains(end)).count();
        assert_eq!((found.grow.len(), in_ring, found.dead.len()), (0, 2, 3));
        assert!(found.dead.contains(&at(2, false)));
    }
}
