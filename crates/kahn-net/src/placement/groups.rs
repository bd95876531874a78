//! Processes that belong together, and how groups of them are dealt out that may be on any rank.
//!
//! | groups are dealt out | so | cuts few channels of |
//! |---|---|---|
//! | in blocks | in the order of creation, about as many processes on each rank | rows and rings |
//! | in turn | one to each rank, and again | stages in which each process is joined to its like of the next |
//!
//! Both begin with the last rank and end with rank 0, which has the results: what sends to them was mostly made last.

use std::collections::BTreeMap;

/// Which processes belong together: disjoint sets.
pub(super) struct Groups(Vec<usize>);

impl Groups {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub(super) fn of(&self, mut place: usize) -> usize {
        while self.0[place] != place {
            place = self.0[place];
        }
        place
    }

    pub(super) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        // The first of a group stands for it, so that groups are in the order of creation.
        let (first, second) = (one.min(other), one.max(other));
        self.0[second] = first;
    }
}

/// The rank of each of so many groups, dealt out in turn.
pub(super) fn in_turn(groups: usize, ranks: usize) -> Vec<usize> {
    (0..groups).map(|group| ranks - 1 - group % ranks).collect()
}

/// The rank of each of these groups, of which the sizes are told, dealt out in blocks. So many processes are on each
/// rank anyhow.
pub(super) fn in_blocks(sizes: &[usize], mut on_ranks: Vec<usize>) -> Vec<usize> {
    let mut left: usize = sizes.iter().sum();
    let mut places = Vec::new();
    let mut groups = sizes.iter().peekable();
    for rank in (0..on_ranks.len()).rev() {
        let level = level(&on_ranks[..=rank], left);
        loop {
            let on = on_ranks[rank];
            // As near to the level as can be, and something; the last one takes what is left.
            let takes = |size: &&usize| rank == 0 || on == 0 || 2 * on + **size < 2 * level;
            let Some(size) = groups.next_if(takes) else { break };
            on_ranks[rank] += size;
            left -= size;
            places.push(rank);
        }
    }
    places
}

/// Whether no rank has more than one and a half times its share of the processes of a kind, by kind and rank.
pub(super) fn are_shared(processes: impl Iterator<Item = (String, usize)>, ranks: usize) -> bool {
    let mut kinds = BTreeMap::<String, Vec<usize>>::new();
    for (kind, rank) in processes {
        kinds.entry(kind).or_insert_with(|| vec![0; ranks])[rank] += 1;
    }
    kinds.values().all(|on_ranks| {
        let share = on_ranks.iter().sum::<usize>().div_ceil(ranks);
        on_ranks.iter().all(|on| *on <= share + share / 2)
    })
}

/// The least number of processes up to which so many more fill these ranks.
fn level(on_ranks: &[usize], more: usize) -> usize {
    let room = |level: usize| on_ranks.iter().map(|on| level.saturating_sub(*on)).sum::<usize>();
    let (mut least, mut most) = (0, on_ranks.iter().max().copied().unwrap_or(0) + more);
    while least < most {
        let middle = usize::midpoint(least, most);
        if room(middle) >= more {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_is_cut_into_blocks_of_about_one_size() {
        assert_eq!(in_blocks(&[1; 7], vec![0; 3]), [2, 2, 2, 1, 1, 0, 0]);
        // What is on rank 0 anyhow counts.
        assert_eq!(in_blocks(&[1; 4], vec![1, 0, 0, 0]), [3, 3, 2, 1]);
        assert_eq!(in_blocks(&[1; 4], vec![9, 0]), [1, 1, 1, 1]);
        // A large group has a rank for itself.
        assert_eq!(in_blocks(&[1, 5, 1, 1], vec![0; 3]), [2, 1, 0, 0]);
        assert_eq!(in_blocks(&[9, 9], vec![0; 2]), [1, 0]);
        assert_eq!(in_blocks(&[], vec![0; 2]), [0_usize; 0]);
    }

    #[test]
    fn what_is_dealt_out_in_turn_begins_with_the_last_rank() {
        assert_eq!(in_turn(5, 3), [2, 1, 0, 2, 1]);
    }

    proptest! {
        /// Single processes are as even as can be, wherever others are.
        #[test]
        fn no_rank_has_two_more_than_another_that_could_have_one(
            free in 0_usize..40,
            on in prop::collection::vec(0_usize..9, 1..6),
        ) {
            let places = in_blocks(&vec![1; free], on.clone());
            prop_assert!(places.is_sorted_by(|one, next| one >= next));
            let mut all = on.clone();
            for rank in &places {
                all[*rank] += 1;
            }
            let least = *all.iter().min().expect("there is a rank");
            for (rank, count) in all.iter().enumerate() {
                // One that has more than its share had it before.
                prop_assert!(*count <= least + 1 || *count == on[rank], "{on:?} {all:?}");
            }
        }
    }
}
