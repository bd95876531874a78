//! What a round does: assign the points of a share, add up, move the means, decide whether to go
//! on. Both variants are made of these steps; they differ in who does them and when.

use kahn::BoxError;
use kahn::ranks::Beside;

use super::kernel::Kernel;
use super::number::Number;
use super::points::{LANES, Points, Share};

/// The group of a point that has none yet.
const NO_GROUP: u32 = u32::MAX;

/// How many distances are computed in a piece of the work.
const PIECE: usize = 8 << 20;

/// What the points of a share add up to, and how many of them changed their group.
#[derive(Debug, Clone, PartialEq, Eq, kahn::Digest)]
pub struct Sums {
    /// For each group, each coordinate in units.
    coordinates: Vec<i128>,
    /// For each group, its points.
    counts: Vec<u64>,
    /// How many points changed their group.
    changed: u64,
}

impl<S: Copy> Beside<S> for Sums {
    fn encode(&self, beside: S, into: &mut Vec<u8>) {
        self.coordinates.encode(beside, into);
        self.counts.encode(beside, into);
        self.changed.encode(beside, into);
    }

    fn decode(beside: S, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let (coordinates, (counts, changed)) = Beside::decode(beside, bytes)?;
        Ok(Self { coordinates, counts, changed })
    }
}

impl Sums {
    fn new(groups: usize, dimensions: usize) -> Self {
        Self { coordinates: vec![0; groups * dimensions], counts: vec![0; groups], changed: 0 }
    }

    /// Adds the sums of another share. The order does not matter: they are integers.
    pub fn add(&mut self, other: &Self) {
        let coordinates = self.coordinates.iter_mut().zip(&other.coordinates);
        coordinates.for_each(|(sum, more)| *sum += more);
        let counts = self.counts.iter_mut().zip(&other.counts);
        counts.for_each(|(count, more)| *count += more);
        self.changed += other.changed;
    }
}

/// The points of a share and the groups they are in.
#[derive(Debug, kahn::Digest)]
pub struct Assigned<'env, T> {
    share: Share<'env, T>,
    dimensions: usize,
    unit: i32,
    kernel: Kernel,
    groups: Vec<u32>,
    /// How many points changed their group in the last round that was told by `regroup`.
    changed: u64,
}

impl<'env, T: Number> Assigned<'env, T> {
    /// Starts with no point in a group.
    pub(super) fn new(share: Share<'env, T>, points: &Points<T>) -> Self {
        let groups = vec![NO_GROUP; share.count];
        let (dimensions, unit, kernel) = (points.dimensions(), points.unit(), points.kernel());
        Self { share, dimensions, unit, kernel, groups, changed: 0 }
    }

    /// Puts every point into the group of the nearest mean and adds up.
    pub fn assign(&mut self, means: &[T]) -> Sums {
        let mut sums = self.no_sums(means);
        for piece in 0..self.pieces(means) {
            self.assign_piece(piece, means, &mut sums);
        }
        sums
    }

    /// Gives the sums of no points.
    pub(super) fn no_sums(&self, means: &[T]) -> Sums {
        Sums::new(means.len() / self.dimensions, self.dimensions)
    }

    /// Gives the number of pieces, of some milliseconds each, that the work of a round has.
    pub(super) fn pieces(&self, means: &[T]) -> usize {
        self.groups.len().div_ceil(self.points_in_piece(means))
    }

    fn points_in_piece(&self, means: &[T]) -> usize {
        points_in_piece(means.len() / self.dimensions)
    }

    /// Puts the points of a piece into the group of the nearest mean and adds them up.
    pub(super) fn assign_piece(&mut self, piece: usize, means: &[T], sums: &mut Sums) {
        let points = self.points_in_piece(means);
        let start = piece * points;
        let end = (start + points).min(self.groups.len());
        let tiles =
            self.share.coordinates[start * self.dimensions..].chunks_exact(self.dimensions * LANES);
        for (tile, groups) in tiles.zip(self.groups[start..end].chunks_mut(LANES)) {
            let nearest = self.kernel.nearest(tile, means, self.dimensions);
            for (lane, (group, nearest)) in groups.iter_mut().zip(nearest).enumerate() {
                sums.changed += u64::from(*group != nearest);
                *group = nearest;
                let nearest = nearest as usize;
                sums.counts[nearest] += 1;
                let start = nearest * self.dimensions;
                let sums = &mut sums.coordinates[start..start + self.dimensions];
                for (sum, row) in sums.iter_mut().zip(tile.chunks_exact(LANES)) {
                    *sum += row[lane].units(self.unit);
                }
            }
        }
    }

    /// Puts every point into the group of the nearest mean, and tells `each` the group and the point,
    /// by its place among all points.
    pub(super) fn regroup(&mut self, means: &[T], mut each: impl FnMut(u32, usize)) {
        self.changed = 0;
        let tiles = self.share.coordinates.chunks_exact(self.dimensions * LANES);
        let mut place = self.share.first;
        for (tile, groups) in tiles.zip(self.groups.chunks_mut(LANES)) {
            let nearest = self.kernel.nearest(tile, means, self.dimensions);
            for (group, nearest) in groups.iter_mut().zip(nearest) {
                self.changed += u64::from(*group != nearest);
                *group = nearest;
                each(nearest, place);
                place += 1;
            }
        }
    }

    /// Gives how many points `regroup` has put into another group.
    pub(super) fn changed(&self) -> u64 {
        self.changed
    }

    /// Gives the group of each point.
    pub(super) fn into_groups(self) -> Vec<u32> {
        self.groups
    }
}

impl<'env, T: Number> Beside<&'env Points<T>> for Assigned<'env, T> {
    fn encode(&self, points: &'env Points<T>, into: &mut Vec<u8>) {
        self.share.encode(points, into);
        self.groups.encode((), into);
        self.changed.encode((), into);
    }

    fn decode(points: &'env Points<T>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let share = Share::decode(points, bytes)?;
        let (groups, changed) = <(Vec<u32>, u64)>::decode((), bytes)?;
        if groups.len() != share.count {
            return Err(format!("{} points with {} groups", share.count, groups.len()).into());
        }
        Ok(Self { groups, changed, ..Self::new(share, points) })
    }
}

/// Gives how many points are a piece of the work, with so many groups.
fn points_in_piece(groups: usize) -> usize {
    (PIECE / groups).next_multiple_of(LANES).max(LANES)
}

/// The means from round to round.
#[derive(Debug)]
pub struct Rounds<'env, T> {
    points: &'env Points<T>,
    means: Vec<T>,
    epsilon: Option<f64>,
    count: u64,
    /// How far a mean has moved in this round, at most.
    farthest: f64,
    /// The means of each round as lines, if they are kept.
    course: Option<Vec<u8>>,
}

impl<'env, T: Number> Rounds<'env, T> {
    pub(super) fn new(points: &'env Points<T>, means: Vec<T>, epsilon: Option<f64>) -> Self {
        Self { points, means, epsilon, count: 0, farthest: 0.0, course: None }
    }

    /// Keeps the means of each round as lines.
    pub(super) fn keep_course(mut self) -> Self {
        self.course = Some(Vec::new());
        self
    }

    /// Gives the means as a line, comma separated.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = Vec::new();
        super::write_row(&mut line, &self.means).expect("it is memory");
        line
    }

    /// Gives the means that the next round assigns to.
    pub fn means(&self) -> &[T] {
        &self.means
    }

    /// Gives how many points are a piece of the work, of some milliseconds.
    pub(super) fn points_in_piece(&self) -> usize {
        points_in_piece(self.means.len() / self.points.dimensions())
    }

    /// Moves the means to the middle of their groups. Says whether that was the last round.
    #[must_use]
    pub fn finish(&mut self, sums: &Sums) -> bool {
        let (dimensions, unit) = (self.points.dimensions(), self.points.unit());
        let groups = sums.coordinates.chunks_exact(dimensions).zip(&sums.counts).enumerate();
        for (group, (sums, &count)) in groups.filter(|(_, (_, count))| **count > 0) {
            self.move_mean(group, sums.iter().map(|&sum| T::mean(sum, count, unit)));
        }
        self.is_last(sums.changed)
    }

    /// Moves the mean of a group.
    pub(super) fn move_mean(&mut self, group: usize, to: impl IntoIterator<Item = T>) {
        let dimensions = self.points.dimensions();
        let mean = &mut self.means[group * dimensions..][..dimensions];
        let mut square = 0.0;
        for (coordinate, moved) in mean.iter_mut().zip(to) {
            square = f64::add_square(square, moved.to_real(), coordinate.to_real());
            *coordinate = moved;
        }
        self.farthest = self.farthest.max(square.sqrt());
    }

    /// Ends a round in which so many points changed their group. Says whether it was the last.
    #[must_use]
    pub(super) fn is_last(&mut self, changed: u64) -> bool {
        self.count += 1;
        let line = self.course.is_some().then(|| self.line());
        self.course.iter_mut().zip(line).for_each(|(course, line)| course.extend(line));
        let farthest = std::mem::take(&mut self.farthest);
        changed == 0 || self.epsilon.is_some_and(|epsilon| farthest <= epsilon)
    }

    /// Gives the result, with the groups of all shares in order.
    pub(super) fn into_solution(mut self, groups: Vec<Vec<u32>>) -> Solution<T> {
        self.take_solution(groups)
    }

    /// Gives the result, and keeps no means.
    pub(super) fn take_solution(&mut self, groups: Vec<Vec<u32>>) -> Solution<T> {
        let (means, course) = (std::mem::take(&mut self.means), self.course.take());
        Solution { means, groups, rounds: self.count, course }
    }
}

/// The means of the last round, and the group of each point.
#[derive(Debug, Clone, PartialEq, kahn::Digest)]
pub(super) struct Solution<T> {
    pub(super) means: Vec<T>,
    /// By share, in order.
    pub(super) groups: Vec<Vec<u32>>,
    pub(super) rounds: u64,
    /// The means of each round, if they were kept.
    pub(super) course: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points<T: Number>(rows: &[[T; 2]]) -> Points<T> {
        let mut points = Points::new(2);
        for row in rows {
            points.push(row);
        }
        points
    }

    #[test]
    fn of_equally_near_means_the_first_wins() {
        let points = points(&[[0, 0], [4, 0], [2, 0]]);
        let mut assigned = Assigned::new(points.share(0, 1), &points);
        let sums = assigned.assign(&[0, 0, 4, 0]);
        assert_eq!(assigned.into_groups(), [0, 1, 0]);
        assert_eq!(sums.counts, [2, 1]);
        assert_eq!(sums.coordinates, [2, 0, 4, 0]);
    }

    #[test]
    fn a_round_in_many_pieces_is_the_same_round() {
        // A million means: a piece is eight points.
        let mut points = Points::new(1);
        (0..20).for_each(|n| points.push(&[n]));
        let means: Vec<i64> = (0..2_000_000).map(|n| n / 2).collect();
        let mut assigned = Assigned::new(points.share(0, 1), &points);
        assert_eq!(assigned.pieces(&means), 3);
        let sums = assigned.assign(&means);
        let expected: Vec<u32> = (0..20).map(|n| 2 * n).collect();
        assert_eq!((assigned.into_groups(), sums.changed), (expected, 20));
    }

    #[test]
    fn before_the_first_round_no_point_has_a_group() {
        let points = points(&[[0.0, 0.0], [1.0, 0.0]]);
        let mut assigned = Assigned::new(points.share(0, 1), &points);
        assert_eq!(assigned.assign(&[0.0, 0.0, 1.0, 0.0]).changed, 2);
        assert_eq!(assigned.assign(&[0.0, 0.0, 1.0, 0.0]).changed, 0);
    }

    #[test]
    fn an_empty_group_keeps_its_mean() {
        let points = points(&[[0, 0], [3, 1]]);
        let mut rounds = Rounds::new(&points, vec![0, 0, 50, 60], None);
        let mut assigned = Assigned::new(points.share(0, 1), &points);
        assert!(!rounds.finish(&assigned.assign(&[0, 0, 50, 60])));
        // 3 / 2 and 1 / 2, cut off.
        assert_eq!(rounds.means(), [1, 0, 50, 60]);
    }

    #[test]
    fn epsilon_ends_after_the_round_in_which_no_mean_moves_farther() {
        let points = points(&[[0.0, 0.0], [6.0, 8.0]]);
        for (epsilon, last) in [(None, false), (Some(4.999), false), (Some(5.0), true)] {
            let mut rounds = Rounds::new(&points, vec![0.0, 0.0], epsilon);
            let mut assigned = Assigned::new(points.share(0, 1), &points);
            // The mean moves from (0, 0) to (3, 4): by 5.
            assert_eq!(rounds.finish(&assigned.assign(&[0.0, 0.0])), last, "{epsilon:?}");
        }
    }
}
