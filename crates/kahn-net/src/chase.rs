//! Rings of waits that lead through several ranks, found while other parts of the network run.
//!
//! When nothing moves on any rank, all that is stuck is found (`coordinator`). A part that runs on would put that off
//! for as long as it runs; so meanwhile rings are chased. A rank sees *chains*: from a link that is parked, for the
//! process here does not take or give, over processes that are parked, to one that is parked at another link
//! (`kahn::ranks::Chain`). A ring through ranks is made of chains and, between them, of cut channels: the last process
//! of one chain waits at one end, and the next chain begins at the link of the other.
//!
//! | the last of a chain waits | its link has | the next begins at a link that | and the wait goes on if |
//! |---|---|---|---|
//! | to send: the channel is full | no room on the way, and was told of what is taken | is parked, the channel there is full as well | that is all that was told |
//! | to receive: the channel is empty | taken all that has come | is parked, the channel there is empty as well | that is all that was sent |
//!
//! So each chain has a count at either end, and a wait goes on over a cut channel where the two are equal.
//!
//! | | a rank | rank 0 |
//! |---|---|---|
//! | now and then | looks; tells, once, of each chain that it has seen twice (`Stands`) | keeps it, by the end at which it begins |
//! | a ring of what was told | | asks for its chains (`Confirm`); *confirming* |
//! | asked | looks again; answers which of them stand, and *holds* these (`Confirmed`) | |
//! | all have answered, all of a ring stands | | says what to do (`Free`), to all; *freeing* |
//! | … | grows the smallest full channel of the ring, or notes its processes as dead; tells that it has | |
//! | … and some of each does not | | has all release (`Release`), and forgets that |
//! | all have told that they have done it | | has all release; *watching* |
//! | released | holds nothing; what follows from a death is done | |
//! | nothing moves, all look; or all prune | releases | *watching* |
//!
//! What is held is not pruned.
//!
//! # Why a ring that is confirmed is real
//!
//! Let `t` be a moment after rank 0 was told of the last chain and before it asked for the first. Each chain was seen
//! before `t` and again after `t`, the same. Words of channels and counts of links only grow, so the chain stood at
//! `t`, with these counts at its ends. Take one that ends at a full channel: at `t` its link had no room, and
//! was told that so many were taken, and the rank of the reader had told of no more than that number; so nothing told was
//! under way, and the link there was parked at a full channel: it tells nothing until its reader takes, which is the first
//! process of the next chain. Take one that ends at an empty channel: at `t` as many messages had come and been taken
//! as had been sent, so none was under way, nor was the end; and the link of the sender was parked at an empty channel:
//! it sends nothing until the first process of the next chain does. So at `t` each process waited for the next. ∎
//!
//! Were it not for pruning, equal counts would be enough: none of a ring goes on before the next has. A process that is
//! pruned goes on by itself, so its chain is looked at again.
//!
//! # Why it stands until it is freed
//!
//! A process that is parked goes on when the next in the ring does, when its channel grows, when it is pruned, or when
//! the run ends. Take the first of the ring that goes on after `t`. It is not for the next, by its choice. Rank 0
//! does one thing after the other, and a ring on one rank alone is another ring, for each process waits for one other;
//! so its channel does not grow. If it was pruned, that was before its chain was confirmed, for it is held since; but
//! then the chain would not have stood. What comes over a cut channel of the ring would have been sent by a link of the
//! ring, which is parked, or waits for what such a link sends. So a ring stands still from `t` until it is
//! freed on one rank, while the others still hold what is theirs: so the processes are taken out of their waits
//! as on one rank, where all of the ring sleeps.
//!
//! A ring of empty channels dies at once, for the reason that stands in `coordinator`: first it is noted everywhere,
//! and only then released.
//!
//! # Why every ring is found
//!
//! What stands in a ring stands for good, and so do the counts when what is under way has come, for nothing told is
//! withheld that a sender waits for (`way`). So a rank sees each of its chains twice, and tells. A chain that is
//! confirmed in vain has changed, and is told anew when it stands again. One whose channel was to grow, and must not,
//! is told again as well: others may give back bytes.

use crate::frame::{At, Frame, KnownChain, full};
use crate::rings::rings;
use kahn::ranks::Chain;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A chain, and the counts of the links at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) chain: Chain,
    pub(crate) from_count: u64,
    pub(crate) to_count: u64,
}

impl KnownChain {
    /// What is told of a chain, by this number.
    pub(crate) fn of((number, seen): (u64, Seen)) -> Self {
        let Seen { chain, from_count, to_count } = seen;
        let (from, to, smallest) = (chain.from.into(), chain.to.into(), chain.smallest.map(full));
        Self { number, from, from_count, to, to_count, smallest }
    }
}

/// What the link at an end of a cut channel has counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counts {
    /// It sends to another rank.
    Up { sent: u64, told: u64, is_full: bool },
    /// It receives from there.
    Down { arrived: u64, taken: u64, told: u64 },
}

impl Counts {
    /// At the link at which a chain begins, which is parked: what it has sent, or has told to be taken.
    pub(crate) fn of_first(self) -> u64 {
        match self {
            Self::Up { sent, .. } => sent,
            Self::Down { told, .. } => told,
        }
    }

    /// At the link at which a chain ends, if the wait may go on from there: what it was told to be taken, or what has come.
    pub(crate) fn of_last(self) -> Option<u64> {
        match self {
            Self::Up { told, is_full, .. } => is_full.then_some(told),
            Self::Down { arrived, taken, .. } => (arrived == taken).then_some(arrived),
        }
    }
}

/// What one rank has seen of chains, and told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Lookout {
    next: u64,
    /// What was seen last.
    before: Vec<Seen>,
    /// What was told and stood when it was looked last.
    told: BTreeMap<u64, Seen>,
    /// What was told, was to be freed, and stood when it was looked last.
    tried: Vec<Seen>,
}

impl Lookout {
    /// What was seen now; what is to be told of it, by number.
    pub(crate) fn look(&mut self, now: Vec<Seen>) -> Vec<(u64, Seen)> {
        self.told.retain(|_, told| now.contains(told));
        self.tried.retain(|tried| now.contains(tried));
        let is_new = |seen: &&Seen| {
            self.before.contains(seen) && !self.told.values().any(|told| told == *seen)
        };
        let new: Vec<(u64, Seen)> = (self.next..).zip(now.iter().filter(is_new).cloned()).collect();
        self.next += new.len() as u64;
        self.told.extend(new.iter().cloned());
        self.before = now;
        new
    }

    /// What was told by this number, if it has stood since.
    pub(crate) fn told(&self, number: u64) -> Option<&Seen> {
        self.told.get(&number)
    }

    /// Takes what was told by this number: it is told again if it stands on.
    pub(crate) fn take(&mut self, number: u64) -> Option<Seen> {
        let taken = self.told.remove(&number)?;
        self.tried.push(taken.clone());
        Some(taken)
    }

    /// Whether it was to be freed, in vain.
    pub(crate) fn was_tried(&self, seen: &Seen) -> bool {
        self.tried.contains(seen)
    }
}

/// What is to be done on a rank, by the numbers of its chains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Freeing {
    /// On each the smallest full channel is to grow.
    pub(crate) grow: Vec<u64>,
    /// What waits on these is dead.
    pub(crate) dead: Vec<u64>,
}

/// What rank 0 knows of chains, and does about rings of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Chase {
    round: u64,
    /// What was told last, with the rank, by the end at which it begins.
    chains: BTreeMap<At, (usize, KnownChain)>,
    phase: Phase,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Watching,
    Confirming {
        /// Of what was told then; each of its chains with the rank.
        rings: Vec<Vec<(usize, KnownChain)>>,
        /// The ranks that have not answered.
        asked: BTreeSet<usize>,
        /// What the others have confirmed.
        stood: BTreeSet<(usize, u64)>,
    },
    Freeing {
        /// The ranks that have not told that they have done it.
        asked: BTreeSet<usize>,
    },
}

impl Chase {
    /// A rank tells of chains.
    pub(crate) fn stands(&mut self, rank: usize, chains: &[KnownChain]) {
        self.chains.extend(chains.iter().map(|chain| (chain.from, (rank, *chain))));
    }

    /// Asks for the chains of which rings could be made, if that is what comes next.
    pub(crate) fn ask(&mut self) -> Vec<(usize, Frame<'static>)> {
        if self.phase != Phase::Watching {
            return Vec::new();
        }
        let rings = rings(self.chains.keys().copied(), |at| self.next(at));
        let known = |ring: Vec<At>| ring.into_iter().map(|at| self.chains[&at]).collect();
        let rings: Vec<Vec<(usize, KnownChain)>> = rings.into_iter().map(known).collect();
        let mut asked: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (rank, chain) in rings.iter().flatten() {
            asked.entry(*rank).or_default().push(chain.number);
        }
        if asked.is_empty() {
            return Vec::new();
        }
        self.round += 1;
        let ranks = asked.keys().copied().collect();
        self.phase = Phase::Confirming { rings, asked: ranks, stood: BTreeSet::new() };
        let round = self.round;
        asked.into_iter().map(|(rank, chains)| (rank, Frame::Confirm { round, chains })).collect()
    }

    /// Forgets a chain, unless another was told since that begins there.
    fn forget(&mut self, over: &KnownChain) {
        if self.chains.get(&over.from).is_some_and(|(_, chain)| chain == over) {
            self.chains.remove(&over.from);
        }
    }

    /// Where the chain begins that goes on from the one that begins there.
    fn next(&self, at: At) -> Option<At> {
        let (_, chain) = self.chains.get(&at)?;
        let (_, next) = self.chains.get(&chain.to.peer())?;
        (chain.to_count == next.from_count).then_some(next.from)
    }

    /// A rank answers which of its chains stand. If that was the last to answer, what each of so many ranks is to do.
    pub(crate) fn confirmed(
        &mut self,
        rank: usize,
        round: u64,
        stood: &[u64],
        ranks: usize,
    ) -> Option<Vec<Freeing>> {
        let Phase::Confirming { rings, asked, stood: all_stood } = &mut self.phase else {
            return None;
        };
        if round != self.round || !asked.remove(&rank) {
            return None;
        }
        all_stood.extend(stood.iter().map(|number| (rank, *number)));
        if !asked.is_empty() {
            return None;
        }
        let (rings, stood) = (std::mem::take(rings), std::mem::take(all_stood));
        let mut all = vec![Freeing::default(); ranks];
        for ring in rings {
            let stands =
                |(rank, chain): &(usize, KnownChain)| stood.contains(&(*rank, chain.number));
            let (ring, over): (Vec<_>, Vec<_>) = ring.into_iter().partition(stands);
            for (_, chain) in &over {
                self.forget(chain);
            }
            if !over.is_empty() {
                continue;
            }
            let full = ring.iter().filter_map(|one| Some((one.1.smallest?, *one)));
            if let Some((_, (rank, chain))) = full.min_by_key(|(smallest, _)| *smallest) {
                all[rank].grow.push(chain.number);
                self.forget(&chain);
            } else {
                for (rank, chain) in ring {
                    all[rank].dead.push(chain.number);
                    self.forget(&chain);
                }
            }
        }
        self.phase = if all.iter().all(|one| *one == Freeing::default()) {
            Phase::Watching
        } else {
            Phase::Freeing { asked: (0..ranks).collect() }
        };
        Some(all)
    }

    /// A rank has done what it was to do. Whether all are to release.
    pub(crate) fn freed(&mut self, rank: usize) -> bool {
        let Phase::Freeing { asked } = &mut self.phase else { return false };
        asked.remove(&rank);
        let is_last = asked.is_empty();
        if is_last {
            self.phase = Phase::Watching;
        }
        is_last
    }

    /// Whether not all ranks have told that they have done what they were to do.
    pub(crate) fn is_freeing(&self) -> bool {
        matches!(self.phase, Phase::Freeing { .. })
    }

    /// All ranks release what they hold, for they look, or prune.
    pub(crate) fn cancel(&mut self) {
        self.phase = Phase::Watching;
    }
}

/// How long a rank rests between two looks for chains of waits.
const LEAST_REST: Duration = Duration::from_millis(2);
const MOST_REST: Duration = Duration::from_millis(64);

/// When a rank looks for chains of waits: often while they come, and else less and less often. A look that takes less
/// than half a millisecond takes a hundredth of a core at most.
#[derive(Debug)]
pub(crate) struct Looks {
    due: Instant,
    began: Instant,
    rest: Duration,
    /// What the last look took.
    took: Duration,
}

impl Looks {
    pub(crate) fn new(now: Instant) -> Self {
        Self { due: now + LEAST_REST, began: now, rest: LEAST_REST, took: Duration::ZERO }
    }

    /// How long it is until the next look.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        self.due.saturating_duration_since(now)
    }

    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        self.began = now;
        self.began >= self.due
    }

    pub(crate) fn is_due_soon(&mut self, now: Instant) {
        self.rest = LEAST_REST;
        self.due = self.due.min(now + LEAST_REST);
    }

    pub(crate) fn has_looked(&mut self, is_worth_while: bool, now: Instant) {
        self.rest = if is_worth_while { LEAST_REST } else { MOST_REST.min(self.rest * 2) };
        // Of two: the thread may have had to wait for a core in one.
        let took = std::mem::replace(&mut self.took, now - self.began).min(self.took);
        self.due = now + (99 * took).clamp(self.rest, MOST_REST);
    }
}
