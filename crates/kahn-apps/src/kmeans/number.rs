//! The two arithmetics of k-means: real and integer numbers.
//!
//! Both add coordinates exactly, so a sum does not depend on the order in which it is made, and
//! with it the result not on the number of parts. Floating-point addition would depend on it:
//! `(0.1 + 0.2) + 0.3` is not `0.1 + (0.2 + 0.3)`.

use std::fmt::{Debug, Display};

use kahn::Digest;
use kahn::ranks::Beside;

/// A coordinate, a squared distance or a mean.
pub trait Number:
    Copy
    + Default
    + PartialOrd
    + From<u16>
    + Debug
    + Digest
    + Display
    + Beside<()>
    + Send
    + Sync
    + 'static
{
    /// More than any distance, or as much.
    const FARTHEST: Self;

    /// Reads a number whose magnitude is at most [`limit`](Self::limit).
    fn parse(text: &str, dimensions: usize) -> Option<Self>;

    /// Says what [`parse`](Self::parse) expects.
    fn expected(dimensions: usize) -> String;

    /// Gives the largest magnitude at which no squared distance and no sum overflows.
    fn limit(dimensions: usize) -> Self;

    /// Adds the square of `self - other` to a squared distance.
    fn add_square(distance: Self, this: Self, other: Self) -> Self;

    /// Gives the exponent of the unit, a power of two, in which numbers are added.
    ///
    /// For integers the unit is one. For real numbers it is so fine that `count` numbers, none
    /// larger in magnitude than `largest`, just cannot overflow 127 bits: with a million numbers,
    /// 2^-105 of the largest. What is finer is rounded away, for each number by itself and so in
    /// the same way wherever it is added; a coordinate itself has only 53 bits.
    fn unit(largest: Self, count: usize) -> i32;

    /// Gives the number as a multiple of the unit.
    fn units(self, unit: i32) -> i128;

    /// Gives the mean of `count` numbers, at least one, from their sum.
    fn mean(sum: i128, count: u64, unit: i32) -> Self;

    /// Gives the magnitude.
    #[must_use]
    fn magnitude(self) -> Self;

    /// Gives the number as a real one.
    fn to_real(self) -> f64;
}

impl Number for f64 {
    const FARTHEST: Self = Self::INFINITY;

    fn parse(text: &str, dimensions: usize) -> Option<Self> {
        let number = text.parse::<Self>().ok()?;
        (number.abs() <= Self::limit(dimensions)).then_some(number)
    }

    fn expected(dimensions: usize) -> String {
        format!("a number from {:e} to {:e}", -Self::limit(dimensions), Self::limit(dimensions))
    }

    fn limit(_dimensions: usize) -> Self {
        1e150
    }

    #[expect(clippy::inline_always, reason = "it is compiled for the instructions of its caller")]
    #[inline(always)]
    fn add_square(distance: Self, this: Self, other: Self) -> Self {
        let difference = this - other;
        distance + difference * difference
    }

    fn unit(largest: Self, count: usize) -> i32 {
        // 2^above is more than `largest`, and 2^bits of its units, `count` times, fit.
        let above = exponent(largest) + 53;
        let bits = 126 - (usize::BITS - count.leading_zeros()).cast_signed();
        above - bits
    }

    #[inline]
    fn units(self, unit: i32) -> i128 {
        let mantissa = i128::from(mantissa(self));
        match exponent(self) - unit {
            // By `unit`, a shift to the left stays below 127 bits.
            left @ 0.. => mantissa << left,
            right @ -63..0 => (mantissa + (1 << (-right - 1))) >> -right,
            _ => 0,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest is what is wanted")]
    fn mean(sum: i128, count: u64, unit: i32) -> Self {
        // In two steps, for 2^unit alone may be too small for a float.
        sum as Self / count as Self * power_of_two(unit / 2) * power_of_two(unit - unit / 2)
    }

    fn magnitude(self) -> Self {
        self.abs()
    }

    fn to_real(self) -> f64 {
        self
    }
}

/// The power of two that [`mantissa`] is to be multiplied with.
#[inline]
fn exponent(number: f64) -> i32 {
    let biased = (number.to_bits() >> 52 & 0x7FF) as i32;
    biased.max(1) - 1075
}

/// The bits of a finite number as an integer with its sign.
#[inline]
fn mantissa(number: f64) -> i64 {
    let bits = number.to_bits();
    let hidden = if number.is_subnormal() || number == 0.0 { 0 } else { 1 << 52 };
    let magnitude = (bits & ((1 << 52) - 1) | hidden).cast_signed();
    if number.is_sign_negative() { -magnitude } else { magnitude }
}

/// Makes 2^exponent, for an exponent of a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).cast_unsigned()) << 52)
}

impl Number for i64 {
    const FARTHEST: Self = Self::MAX;

    fn parse(text: &str, dimensions: usize) -> Option<Self> {
        let number = text.parse::<Self>().ok()?;
        let limit = Self::limit(dimensions);
        (-limit..=limit).contains(&number).then_some(number)
    }

    fn expected(dimensions: usize) -> String {
        let limit = Self::limit(dimensions);
        format!("an integer from {} to {limit}", -limit)
    }

    fn limit(dimensions: usize) -> Self {
        // Two numbers are at most twice the limit apart, in every dimension.
        let dimensions = Self::try_from(dimensions).unwrap_or(Self::MAX);
        (Self::MAX / dimensions.max(1)).isqrt() / 2
    }

    #[expect(clippy::inline_always, reason = "it is compiled for the instructions of its caller")]
    #[inline(always)]
    fn add_square(distance: Self, this: Self, other: Self) -> Self {
        let difference = this - other;
        distance + difference * difference
    }

    fn unit(_largest: Self, _count: usize) -> i32 {
        0
    }

    #[inline]
    fn units(self, _unit: i32) -> i128 {
        i128::from(self)
    }

    fn mean(sum: i128, count: u64, _unit: i32) -> Self {
        let mean = sum / i128::from(count);
        Self::try_from(mean).expect("a mean lies between the numbers it is of")
    }

    fn magnitude(self) -> Self {
        self.abs()
    }

    #[expect(clippy::cast_precision_loss, reason = "the limit is far below 2^53")]
    fn to_real(self) -> f64 {
        self as f64
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these sums and means are exact, and the tests are about it")]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mean(numbers: &[f64]) -> f64 {
        let largest = numbers.iter().fold(0.0, |largest: f64, n| largest.max(n.abs()));
        let unit = f64::unit(largest, numbers.len());
        let sum = numbers.iter().map(|n| n.units(unit)).sum();
        f64::mean(sum, numbers.len() as u64, unit)
    }

    #[test]
    fn means_computed_by_hand() {
        assert_eq!(mean(&[1.0, 2.0]), 1.5);
        assert_eq!(mean(&[1.0, 1.0, 0.0]), 2.0 / 3.0);
        assert_eq!(mean(&[-0.25, -0.5, -0.75, 0.0]), -0.375);
        assert_eq!(mean(&[0.0, -0.0]), 0.0);
        // Added one by one as floats, the ones would be lost beside 2^60.
        let wide = [1_152_921_504_606_846_976.0, 1.0, 1.0, -1_152_921_504_606_846_976.0];
        assert_eq!(mean(&wide), 0.5);
    }

    #[test]
    fn the_extremes_are_their_own_means() {
        for number in [1e150, -1e150, 5e-324, -5e-324, f64::MIN_POSITIVE, 1e-310] {
            assert_eq!(mean(&[number]), number);
            assert_eq!(mean(&[number; 4]), number);
        }
    }

    #[test]
    fn integer_means_are_cut_off_towards_zero() {
        assert_eq!(i64::mean(7, 2, 0), 3);
        assert_eq!(i64::mean(-7, 2, 0), -3);
    }

    #[test]
    fn at_the_limit_no_distance_overflows() {
        for dimensions in [1, 2, 3, 1000] {
            let limit = i64::limit(dimensions);
            let apart = (0..dimensions).fold(0, |d, _| i64::add_square(d, limit, -limit));
            assert!(apart > 0);
            assert!(i64::parse(&(limit + 1).to_string(), dimensions).is_none());
        }
    }

    proptest! {
        #[test]
        fn the_mean_is_near_the_usual_one_and_of_any_order(
            numbers in prop::collection::vec(-1e6..1e6, 1..100)
        ) {
            let usual = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let exact = mean(&numbers);
            prop_assert!((exact - usual).abs() <= 1e-6);
            let mut numbers = numbers;
            numbers.sort_by(f64::total_cmp);
            prop_assert_eq!(mean(&numbers), exact);
        }

        #[test]
        fn whole_numbers_have_the_mean_that_floats_give(
            numbers in prop::collection::vec(-1000i32..1000, 1..100)
        ) {
            let sum: i32 = numbers.iter().sum();
            let reals: Vec<f64> = numbers.iter().copied().map(f64::from).collect();
            prop_assert_eq!(mean(&reals), f64::from(sum) / numbers.len() as f64);
        }
    }
}
