//! The interval in which a median lies with a confidence of 99 %.
//!
//! It reaches from one of the least figures to one of the greatest, and assumes nothing of how they
//! are spread: of n figures, each is above the true median with a probability of one half, so that
//! the k-th least is above it with that of fewer than k heads in n throws. Eight figures are needed,
//! and then it reaches from the least to the greatest. With 95 % one claim in twenty would be wrong.

use std::fmt;

use crate::claim::show;
use crate::point::float;

/// The confidence.
const CONFIDENCE: f64 = 0.99;

/// So few figures have an interval.
pub(crate) const LEAST_ROUNDS: usize = 8;

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many figures there are.
    pub figures: usize,
}

impl Interval {
    /// Finds the median and its interval; with fewer than eight figures it reaches over all of them
    /// and is narrower than it should be.
    ///
    /// ```
    /// use kahn_experiments::Interval;
    ///
    /// let interval = Interval::of(&[3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 8.0, 7.0, 6.0]);
    /// assert_eq!((interval.low, interval.median, interval.high), (1.0, 5.0, 9.0));
    /// ```
    pub fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let outside = outside(sorted.len());
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self {
            median: quantile(&sorted, 0.5),
            low: at(outside),
            high: at(last.saturating_sub(outside)),
            figures: figures.len(),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, low, high] = [self.median, self.low, self.high].map(show);
        if self.figures < LEAST_ROUNDS {
            return write!(f, "{median} times, of {} rounds, 8 needed", self.figures);
        }
        write!(f, "{median} times, {low} to {high}")
    }
}

/// How many figures may stand outside at each end.
fn outside(figures: usize) -> usize {
    let mut outside = 0;
    // Of so many throws, none is heads; then one more in each step.
    let mut exactly = 0.5_f64.powi(i32::try_from(figures).unwrap_or(i32::MAX));
    let mut fewer = exactly;
    loop {
        exactly *= float(figures - outside) / float(outside + 1);
        fewer += exactly;
        if 1.0 - 2.0 * fewer < CONFIDENCE || outside + 1 >= figures {
            return outside;
        }
        outside += 1;
    }
}

/// Gives the figure that this share of the others is below, between neighbours if need be.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * float(last);
    let (below, rest) = (place.floor() as usize, place.fract());
    let next = sorted[(below + 1).min(last)];
    if rest == 0.0 { sorted[below] } else { sorted[below] + rest * (next - sorted[below]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // Of 12 throws at most one is heads in 13 of 4096 cases: twice that is less than one in a hundred.
        for (figures, out) in [(0, 0), (1, 0), (8, 0), (11, 0), (12, 1), (15, 2), (20, 3), (30, 7)]
        {
            assert_eq!(outside(figures), out, "{figures}");
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        assert_eq!(Interval::of(&[4.0, 1.0, 2.0, 3.0]).median.to_string(), "2.5");
        assert!(Interval::of(&[]).median.is_nan());
    }

    #[test]
    fn few_figures_have_no_interval_and_say_so() {
        assert_eq!(Interval::of(&[2.0; 3]).to_string(), "2.00 times, of 3 rounds, 8 needed");
        assert_eq!(Interval::of(&[2.0; 9]).to_string(), "2.00 times, 2.00 to 2.00");
    }
}
