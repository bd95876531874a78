//! Processes through which others can be observed: as ranks see them, and as it is.

use super::{Op, Program, World};

/// What a rank knows of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RankRoots {
    /// It has told that it has none.
    pub(super) has_told: bool,
    /// A process has become one since.
    pub(super) are_more: bool,
    /// None is left on any rank: what is no root is pruned.
    pub(super) prunes_all: bool,
}

impl World {
    pub(super) fn is_root(&self, program: &Program, process: usize) -> bool {
        let is_over = self.op(program, process).is_none() || self.dead.contains(&process);
        !is_over && program.roots.as_ref().is_none_or(|from| self.at[process] >= from[process])
    }

    fn has_root(&self, program: &Program, rank: usize) -> bool {
        let mut processes = (0..self.at.len()).filter(|process| program.rank(*process) == rank);
        processes.any(|process| self.is_root(program, process))
    }

    pub(super) fn has_no_root(&self, program: &Program) -> bool {
        !(0..program.ranks).any(|rank| self.has_root(program, rank))
    }

    pub(super) fn prunes_all(&self, program: &Program, process: usize) -> bool {
        self.ranks[program.rank(process)].roots.prunes_all
    }

    /// A process has done a step, by which it may have become one.
    pub(super) fn note_root(&mut self, program: &Program, process: usize) {
        let becomes_one =
            program.roots.as_ref().is_some_and(|from| self.at[process] == from[process]);
        self.ranks[program.rank(process)].roots.are_more |= becomes_one;
    }

    pub(super) fn may_tell_of_roots(&self, program: &Program, rank: usize) -> bool {
        let may_tell = program.roots.is_some() && !self.ranks[rank].roots.has_told;
        may_tell && !self.has_root(program, rank)
    }

    /// A process sees that the process at the other end is gone: if that was pruned with all, so is this one.
    pub(super) fn check_end(&self, program: &Program, process: usize, op: Op) {
        let Op::Receive(channel) = op else { return };
        let from = program.channels[channel].0;
        let is_none = program.roots.is_some() && !program.prunable.contains(&from);
        let is_to_be_pruned = self.prunes_all(program, process);
        assert!(!is_none || is_to_be_pruned, "{process} acts on an end that is none: {self:?}");
    }
}
