//! k-means as a MapReduce job that is iterated, as in section 5.2 and figure 5 of Vrba et al.
//!
//! ```text
//!      ┌──────────► map 0 ─┬─► reduce 0 ──┐     map emits each point under its group, reduce
//!   iterate                ╳              │     makes the means of the groups, and iterate
//!      └▲─────────► map 1 ─┴─► reduce 1 ──┤     sends them round again
//!       └─────────────────────────────────┘
//! ```
//!
//! A point is a record: its group, and where it stands among the points. Whether a point changed its
//! group is known where its last group is: so each share of the points goes round with its groups,
//! as a record of a key of its own.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use kahn::{Digest, Network};
use kahn_mapreduce::{Job, Split};

use super::KMeans;
use super::number::Number;
use super::rounds::{Assigned, Rounds, Solution};
use crate::{Compare, Pending};

/// What goes to a map: a share of the points, and the means of the round.
#[derive(Debug, Digest)]
struct Item<'env, T> {
    means: Arc<[T]>,
    share: Box<Assigned<'env, T>>,
    number: u32,
}

/// What records are sorted by: first all groups, then all shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Digest)]
enum Key {
    Group(u32),
    Share(u32),
}

/// What a map emits.
#[derive(Debug, Digest)]
enum Value<'env, T> {
    /// A point of the group, by its place among all.
    Point(usize),
    /// A share with the groups of its points.
    Share(Box<Assigned<'env, T>>),
}

/// What a reduce makes of a key.
#[derive(Debug, Digest)]
enum Reduced<'env, T> {
    Mean(Vec<T>),
    Share(Box<Assigned<'env, T>>),
}

/// Writes the network: one process that iterates, `parts` that map and `parts` that reduce.
pub(super) fn build<'env, T: Number>(
    program: &'env KMeans<T>,
    network: &mut Network<'env>,
    compare: Compare,
) -> Pending<'env> {
    let mut split = Split::new("iterate", program.parts).batch(1);
    let mut assign = Job::new(
        "assign",
        |Item { means, mut share, number }: Item<'env, T>, out| {
            share.regroup(&means, |group, point| out.emit(Key::Group(group), Value::Point(point)));
            out.emit(Key::Share(number), Value::Share(share));
        },
        |_key, values, out| out.emit(reduced(program, values)),
    );
    if compare == Compare::Contents {
        (split, assign) = (split.digest(), assign.digest());
    }

    let mut rounds = program.rounds_to_tell();
    let shares = program.points.shares(program.parts, rounds.points_in_piece());
    let shares = shares.map(|share| Box::new(Assigned::new(share, &program.points))).collect();
    let first = items(&rounds, shares);
    let solution = split.iterate(
        network,
        first,
        |network, parts| assign.on(network, parts),
        move |results| {
            let next = finish(&mut rounds, results);
            program.progress.add(1);
            next
        },
    );
    let solutions = network.collect("result", solution);
    Box::new(move || solutions.take()?.pop().map(|solution| program.answer(solution)))
}

/// Makes the items of the next round.
fn items<'env, T: Number>(
    rounds: &Rounds<'env, T>,
    shares: Vec<Box<Assigned<'env, T>>>,
) -> Vec<Item<'env, T>> {
    let means: Arc<[T]> = rounds.means().into();
    let item = |(share, number)| Item { means: Arc::clone(&means), share, number };
    shares.into_iter().zip(0..).map(item).collect()
}

/// Makes the mean of the points of a group, or gives the share.
fn reduced<'env, T: Number>(
    program: &KMeans<T>,
    values: impl Iterator<Item = Value<'env, T>>,
) -> Reduced<'env, T> {
    let unit = program.points.unit();
    let mut sums = vec![0; program.points.dimensions()];
    let mut count = 0;
    for value in values {
        match value {
            Value::Point(point) => {
                count += 1;
                for (sum, coordinate) in sums.iter_mut().zip(program.points.row(point)) {
                    *sum += coordinate.units(unit);
                }
            }
            Value::Share(share) => return Reduced::Share(share),
        }
    }
    Reduced::Mean(sums.into_iter().map(|sum| T::mean(sum, count, unit)).collect())
}

/// Moves the means; gives the items of the next round, or the solution.
fn finish<'env, T: Number>(
    rounds: &mut Rounds<'env, T>,
    results: Vec<(Key, Reduced<'env, T>)>,
) -> ControlFlow<Solution<T>, Vec<Item<'env, T>>> {
    let mut shares = Vec::new();
    let mut changed = 0;
    for (key, result) in results {
        match (key, result) {
            (Key::Group(group), Reduced::Mean(mean)) => rounds.move_mean(group as usize, mean),
            (_, Reduced::Share(share)) => {
                changed += share.changed();
                shares.push(share);
            }
            (Key::Share(_), Reduced::Mean(_)) => {}
        }
    }
    if !rounds.is_last(changed) {
        return Continue(items(rounds, shares));
    }
    let groups = shares.into_iter().map(|share| share.into_groups()).collect();
    Break(rounds.take_solution(groups))
}
