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

use kahn::ranks::Beside;
use kahn::{BoxError, Digest, Network};
use kahn_mapreduce::{Job, Split};

use super::KMeans;
use super::number::Number;
use super::points::Points;
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

impl<'env, T: Number> Beside<&'env Points<T>> for Item<'env, T> {
    fn encode(&self, points: &'env Points<T>, into: &mut Vec<u8>) {
        self.means.encode((), into);
        self.share.encode(points, into);
        self.number.encode((), into);
    }

    fn decode(points: &'env Points<T>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let means = Beside::decode((), bytes)?;
        let (share, number) = Beside::decode(points, bytes)?;
        Ok(Self { means, share, number })
    }
}

impl<S: Copy> Beside<S> for Key {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        match *self {
            Self::Group(group) => (false, group).encode(beside, into),
            Self::Share(share) => (true, share).encode(beside, into),
        }
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let (is_share, number) = Beside::decode(beside, bytes)?;
        Ok(if is_share { Self::Share(number) } else { Self::Group(number) })
    }
}

impl<'env, T: Number> Beside<&'env Points<T>> for Value<'env, T> {
    fn encode(&self, points: &'env Points<T>, into: &mut Vec<u8>) {
        match self {
            Self::Point(point) => (false, *point).encode((), into),
            Self::Share(share) => {
                true.encode((), into);
                share.encode(points, into);
            }
        }
    }

    fn decode(points: &'env Points<T>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        if bool::decode((), bytes)? {
            return Beside::decode(points, bytes).map(Self::Share);
        }
        let point = usize::decode((), bytes)?;
        let is_one = point < points.len();
        if is_one {
            Ok(Self::Point(point))
        } else {
            Err(format!("there is no point {point}").into())
        }
    }
}

impl<'env, T: Number> Beside<&'env Points<T>> for Reduced<'env, T> {
    fn encode(&self, points: &'env Points<T>, into: &mut Vec<u8>) {
        match self {
            Self::Mean(mean) => {
                false.encode((), into);
                mean.encode((), into);
            }
            Self::Share(share) => {
                true.encode((), into);
                share.encode(points, into);
            }
        }
    }

    fn decode(points: &'env Points<T>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        if bool::decode((), bytes)? {
            return Beside::decode(points, bytes).map(Self::Share);
        }
        Beside::decode((), bytes).map(Self::Mean)
    }
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
    if compare.is_by_contents() {
        (split, assign) = (split.digest(), assign.digest());
    }
    if compare.is_on_ranks() {
        let points = &program.points;
        (split, assign) = (split.wire_beside(points), assign.wire_beside(points));
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
