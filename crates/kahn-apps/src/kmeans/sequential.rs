//! k-means as one would write it without a network: one share, one loop.

use super::KMeans;
use super::number::Number;
use super::rounds::{Assigned, Solution};

/// Runs rounds until the last.
pub(super) fn solve<T: Number>(program: &KMeans<T>) -> Solution<T> {
    let mut rounds = program.rounds_to_tell();
    let mut points = Assigned::new(program.points.share(0, 1), &program.points);
    loop {
        let last = rounds.finish(&points.assign(rounds.means()));
        program.progress.add(1);
        if last {
            return rounds.into_solution(vec![points.into_groups()]);
        }
    }
}
