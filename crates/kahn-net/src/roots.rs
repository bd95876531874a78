//! Whether a process is left on any rank through which others can be observed: if not, loops are pruned.
//!
//! Which processes are *roots*, and how a rank finds out that none of its own is left, stands in `kahn`,
//! `channel::prune`. On a rank that does not last: a process that is none may become one, when it gives up its last
//! sender. So rank 0 asks twice.
//!
//! | | a rank | rank 0 |
//! |---|---|---|
//! | it has no root left | tells, once (`NoRoot`) | notes it; if that was the last rank, asks all (`AskRoot`) |
//! | asked | answers whether it has been so since it told (`Root`) | notes that it is not, if so |
//! | it has not | may tell again, later or at once | |
//! | all have answered, all that it has | | has all prune what they have (`Prune`) |
//! | … and some that it has not | | if all have told meanwhile, asks again |
//!
//! # Why no root is left when all have answered so
//!
//! Let `t` be a moment after the last rank told and before the first was asked. Each rank had none when it told, and
//! had none in between until it answered, for only a root creates processes, and what has become one since is noted.
//! So at `t` none had one. What becomes a root after that could have been pruned at `t`. (A rank may not see yet that
//! one of its threads has made a process a root. But what came of that has not come to any other rank either, or the
//! question would have come after it; so it is as if it were later than `t`.) ∎
//!
//! # Why it is found
//!
//! If no root is left on any rank, and none becomes one any more, the last answer of each rank that it has not been so
//! is followed by its telling again. A process becomes a root once, so that comes to an end.
//!
//! If nothing moves on any rank, all is known before ranks have looked: a rank tells of its roots before it tells that
//! it rests, answers questions in their order, and tells again with the answer.

/// What rank 0 knows of the roots of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Roots {
    /// By rank: whether it has told that it has none, and has not denied it since.
    has_told: Vec<bool>,
    round: u64,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Gathering,
    Asking {
        /// By rank: whether it has had none since it told.
        answers: Vec<Option<bool>>,
    },
    /// None is left.
    Gone,
    /// … and all was done about it.
    Done,
}

impl Roots {
    pub(crate) fn new(ranks: usize) -> Self {
        Self { has_told: vec![false; ranks], round: 0, phase: Phase::Gathering }
    }

    /// A rank tells that it has none. The round in which all are to be asked now, if they are.
    pub(crate) fn told(&mut self, rank: usize) -> Option<u64> {
        self.has_told[rank] = true;
        self.ask()
    }

    fn ask(&mut self) -> Option<u64> {
        let are_all = self.phase == Phase::Gathering && self.has_told.iter().all(|told| *told);
        are_all.then(|| {
            self.round += 1;
            self.phase = Phase::Asking { answers: vec![None; self.has_told.len()] };
            self.round
        })
    }

    /// A rank answers whether it has had none since it told. The round in which all are to be asked again, if they are.
    pub(crate) fn answered(&mut self, rank: usize, round: u64, stays: bool) -> Option<u64> {
        let Phase::Asking { answers } = &mut self.phase else { return None };
        if round != self.round {
            return None;
        }
        answers[rank] = Some(stays);
        self.has_told[rank] &= stays;
        if answers.iter().any(Option::is_none) {
            return None;
        }
        let are_gone = answers.iter().all(|answer| *answer == Some(true));
        self.phase = if are_gone { Phase::Gone } else { Phase::Gathering };
        self.ask()
    }

    /// Whether none is left, and nothing was done about it yet.
    pub(crate) fn are_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// Whether none is left, and nothing was done about it yet; the caller does.
    pub(crate) fn take_gone(&mut self) -> bool {
        let are_gone = self.are_gone();
        if are_gone {
            self.phase = Phase::Done;
        }
        are_gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_has_had_one_since_it_told_has_all_asked_again_when_it_has_told_again() {
        let mut roots = Roots::new(2);
        assert_eq!((roots.told(1), roots.told(0)), (None, Some(1)));
        assert_eq!((roots.answered(0, 1, true), roots.answered(1, 1, false)), (None, None));
        assert!(!roots.are_gone());
        assert_eq!(roots.told(1), Some(2));
        assert_eq!((roots.answered(1, 2, true), roots.are_gone()), (None, false));
        assert_eq!((roots.answered(0, 2, true), roots.are_gone()), (None, true));
        assert!(roots.take_gone() && !roots.take_gone());
        assert_eq!(roots.told(0), None);
    }

    #[test]
    fn a_rank_that_tells_again_before_the_others_have_answered_is_asked_again() {
        let mut roots = Roots::new(2);
        roots.told(0);
        roots.told(1);
        roots.answered(0, 1, false);
        assert_eq!(roots.told(0), None);
        assert_eq!(roots.answered(1, 1, true), Some(2));
        // An answer to what was asked before.
        assert_eq!(roots.answered(1, 1, true), None);
        assert_eq!((roots.answered(0, 2, true), roots.answered(1, 2, true)), (None, None));
        assert!(roots.are_gone());
    }
}
