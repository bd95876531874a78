//! The points, laid out so that the distances of several are computed at once.
//!
//! ```text
//!   a tile, LANES points:   x x x x x x x x   y y y y y y y y   z z z z z z z z
//!                           └ of point 0       └ of point 0       └ of point 0
//! ```

use std::ops::Range;

use kahn::BoxError;
use kahn::ranks::Beside;

use super::kernel::Kernel;
use super::number::Number;

/// How many points are in a tile. Eight of them and what is computed of them fit into registers.
pub(super) const LANES: usize = 8;

/// Points of the same number of dimensions, in order. The last tile is filled up with zeros.
#[derive(Debug)]
pub(super) struct Points<T> {
    dimensions: usize,
    count: usize,
    coordinates: Vec<T>,
    largest: T,
    kernel: Kernel,
}

impl<T: Number> Points<T> {
    pub(super) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            count: 0,
            coordinates: Vec::new(),
            largest: T::default(),
            kernel: Kernel::default(),
        }
    }

    /// Makes room for so many points at once; says whether there is that much memory.
    pub(super) fn reserve(&mut self, count: usize) -> bool {
        let numbers = count.checked_next_multiple_of(LANES);
        let numbers = numbers.and_then(|points| points.checked_mul(self.dimensions));
        numbers.is_some_and(|numbers| self.coordinates.try_reserve_exact(numbers).is_ok())
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Says how distances of these points are computed.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Chooses how distances are computed.
    pub(super) fn set_kernel(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Gives the exponent of the unit in which these points are added.
    pub(super) fn unit(&self) -> i32 {
        T::unit(self.largest, self.count)
    }

    /// Adds a point behind the others.
    pub(super) fn push(&mut self, point: &[T]) {
        assert_eq!(point.len(), self.dimensions, "a point has as many coordinates as the others");
        let tile = self.dimensions * LANES;
        let lane = self.count % LANES;
        if lane == 0 {
            self.coordinates.resize(self.coordinates.len() + tile, T::default());
        }
        let start = self.coordinates.len() - tile;
        for (row, coordinate) in point.iter().enumerate() {
            self.coordinates[start + row * LANES + lane] = *coordinate;
            if coordinate.magnitude() > self.largest {
                self.largest = coordinate.magnitude();
            }
        }
        self.count += 1;
    }

    /// Gives the coordinates of a point.
    pub(super) fn row(&self, index: usize) -> impl Iterator<Item = T> + '_ {
        let start = index / LANES * LANES * self.dimensions;
        let lane = index % LANES;
        (0..self.dimensions).map(move |row| self.coordinates[start + row * LANES + lane])
    }

    /// Gives the points of share `part` of `parts`: nearly equal ones, in whole tiles.
    pub(super) fn share(&self, part: usize, parts: usize) -> Share<'_, T> {
        let tiles = self.count.div_ceil(LANES);
        let cut = |part| (tiles * part / parts) * LANES;
        self.run(cut(part)..cut(part + 1).min(self.count))
    }

    /// Gives the points of this range, which begins with a tile and ends with one, or with the last point.
    fn run(&self, range: Range<usize>) -> Share<'_, T> {
        let end = range.end.next_multiple_of(LANES);
        Share {
            coordinates: &self.coordinates[range.start * self.dimensions..end * self.dimensions],
            first: range.start,
            count: range.len(),
        }
    }

    /// Gives all points in shares: `parts` of them, or more if they had more than `most` points.
    pub(super) fn shares(&self, parts: usize, most: usize) -> impl Iterator<Item = Share<'_, T>> {
        let parts = parts.max(self.count.div_ceil(most));
        (0..parts).map(move |part| self.share(part, parts))
    }
}

/// A run of the points that one process assigns.
#[derive(Debug, Clone, Copy, kahn::Digest)]
pub(super) struct Share<'env, T> {
    /// Whole tiles.
    pub(super) coordinates: &'env [T],
    /// The place of the first point among all.
    pub(super) first: usize,
    /// How many points of them are points.
    pub(super) count: usize,
}

/// A share is written as where it begins and how many points it has: every rank has the points.
impl<'env, T: Number> Beside<&'env Points<T>> for Share<'env, T> {
    fn encode(&self, _points: &'env Points<T>, into: &mut Vec<u8>) {
        (self.first, self.count).encode((), into);
    }

    fn decode(points: &'env Points<T>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let (first, count) = <(usize, usize)>::decode((), bytes)?;
        let end = first.checked_add(count).filter(|end| *end <= points.count);
        let is_whole = |end: &usize| end.is_multiple_of(LANES) || *end == points.count;
        let end = end.filter(is_whole).filter(|_| first.is_multiple_of(LANES));
        let end = end.ok_or_else(|| format!("{count} points from {first} on are no share"))?;
        Ok(points.run(first..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_points_in_order_for_any_number_of_parts() {
        for count in [0u16, 1, 7, 8, 9, 100] {
            let mut points = Points::<i64>::new(2);
            for index in 0..count {
                points.push(&[i64::from(index), -i64::from(index)]);
            }
            for parts in [1, 2, 3, 8, 50] {
                let shares: Vec<_> = (0..parts).map(|part| points.share(part, parts)).collect();
                let firsts = shares.iter().flat_map(|share| {
                    let tiles = share.coordinates.chunks_exact(2 * LANES);
                    let firsts = tiles.flat_map(|tile| tile[..LANES].iter().copied());
                    firsts.take(share.count).collect::<Vec<_>>()
                });
                let expected: Vec<i64> = (0..i64::from(count)).collect();
                assert_eq!(firsts.collect::<Vec<_>>(), expected, "{count} in {parts}");
            }
        }
    }

    #[test]
    fn shares_begin_where_those_before_end_and_none_is_larger_than_asked_for() {
        let mut points = Points::<i64>::new(1);
        (0..100).for_each(|n| points.push(&[n]));
        for (parts, most) in [(1, 1000), (3, 1000), (1, 16), (40, 16)] {
            let mut next = 0;
            let mut count = 0;
            for share in points.shares(parts, most) {
                assert_eq!(share.first, next, "{parts} parts of {most} points at most");
                assert!(share.count <= most, "{} points, {most} at most", share.count);
                next += share.count;
                count += 1;
            }
            assert!(next == 100 && count >= parts);
        }
    }

    #[test]
    fn a_row_is_the_point_that_was_pushed() {
        let mut points = Points::<i64>::new(3);
        (0..20).for_each(|n| points.push(&[n, 10 * n, 100 * n]));
        assert_eq!(points.row(13).collect::<Vec<_>>(), [13, 130, 1300]);
    }
}
