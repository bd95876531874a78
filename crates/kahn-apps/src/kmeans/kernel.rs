//! The distances of a tile of points to all means: where the time of k-means goes.
//!
//! One portable function, compiled for several instruction sets; the processor decides at run time
//! which is called. All give the same bits: each lane does the same operations in the same order,
//! and no compiler may join a multiplication and an addition into one rounding.

use super::number::Number;
use super::points::LANES;

/// How the nearest mean is found. The result is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, kahn::Digest)]
pub enum Kernel {
    /// One point at a time, as one would write it first; to compare with what does so.
    Plain,
    /// Several points at a time, in vector registers.
    #[default]
    Vector,
}

impl Kernel {
    /// Finds, for each point of a tile, the first of the nearest means.
    #[inline]
    pub(super) fn nearest<T: Number>(
        self,
        tile: &[T],
        means: &[T],
        dimensions: usize,
    ) -> [u32; LANES] {
        match self {
            Self::Plain => nearest_one_by_one(tile, means, dimensions),
            Self::Vector => nearest(tile, means, dimensions),
        }
    }
}

/// Looks at one point after the other.
#[inline(never)]
fn nearest_one_by_one<T: Number>(tile: &[T], means: &[T], dimensions: usize) -> [u32; LANES] {
    let mut point = vec![T::default(); dimensions];
    std::array::from_fn(|lane| {
        for (coordinate, row) in point.iter_mut().zip(tile.as_chunks::<LANES>().0) {
            *coordinate = row[lane];
        }
        let (mut nearest, mut least) = (0, T::FARTHEST);
        for (group, mean) in (0..).zip(means.chunks_exact(dimensions)) {
            let coordinates = point.iter().zip(mean);
            let distance = coordinates.fold(T::default(), |distance, (this, other)| {
                T::add_square(distance, *this, *other)
            });
            if distance < least {
                (nearest, least) = (group, distance);
            }
        }
        nearest
    })
}

#[inline]
fn nearest<T: Number>(tile: &[T], means: &[T], dimensions: usize) -> [u32; LANES] {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            // SAFETY: the processor has the instructions that the function is compiled to.
            return unsafe { nearest_avx512(tile, means, dimensions) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that the function is compiled to.
            return unsafe { nearest_avx2(tile, means, dimensions) };
        }
    }
    nearest_portable(tile, means, dimensions)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn nearest_avx512<T: Number>(tile: &[T], means: &[T], dimensions: usize) -> [u32; LANES] {
    nearest_portable(tile, means, dimensions)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn nearest_avx2<T: Number>(tile: &[T], means: &[T], dimensions: usize) -> [u32; LANES] {
    nearest_portable(tile, means, dimensions)
}

#[expect(clippy::inline_always, reason = "it is compiled for the instructions of its caller")]
#[inline(always)]
fn nearest_portable<T: Number>(tile: &[T], means: &[T], dimensions: usize) -> [u32; LANES] {
    let mut nearest = [0; LANES];
    let mut least = [T::FARTHEST; LANES];
    for (group, mean) in (0..).zip(means.chunks_exact(dimensions)) {
        let mut distances = [T::default(); LANES];
        for (row, coordinate) in tile.as_chunks::<LANES>().0.iter().zip(mean) {
            for lane in 0..LANES {
                distances[lane] = T::add_square(distances[lane], row[lane], *coordinate);
            }
        }
        for lane in 0..LANES {
            let nearer = distances[lane] < least[lane];
            least[lane] = if nearer { distances[lane] } else { least[lane] };
            nearest[lane] = if nearer { group } else { nearest[lane] };
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_instruction_set_finds_the_same_means(
            tile in prop::collection::vec(-1e3..1e3, 3 * LANES),
            means in prop::collection::vec(-1e3..1e3, 3..90),
        ) {
            let means = &means[..means.len() / 3 * 3];
            let nearest = nearest_portable(&tile, means, 3);
            prop_assert_eq!(Kernel::Vector.nearest(&tile, means, 3), nearest);
            prop_assert_eq!(Kernel::Plain.nearest(&tile, means, 3), nearest);
        }

        #[test]
        fn every_instruction_set_decides_ties_for_the_first(
            tile in prop::collection::vec(-3_i64..3, 2 * LANES),
            means in prop::collection::vec(-3_i64..3, 2..60),
        ) {
            let means = &means[..means.len() / 2 * 2];
            let nearest = nearest_portable(&tile, means, 2);
            prop_assert_eq!(Kernel::Vector.nearest(&tile, means, 2), nearest);
            prop_assert_eq!(Kernel::Plain.nearest(&tile, means, 2), nearest);
        }
    }
}
