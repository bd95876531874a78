//! Measurements summed up: a row a point, curves of rows.

use std::collections::BTreeMap;

use crate::experiment::{Outcome, Refused, Statistic};
use crate::point::{Point, Value};

/// A point with the figures of all its rounds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The point.
    pub point: Point,
    /// The figures of each quantity, a round each, in order.
    pub figures: BTreeMap<String, Vec<f64>>,
    /// Why there are none.
    pub refused: Option<Refused>,
}

/// A quantity summed up, at a place on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The place on the other axis.
    pub x: f64,
    /// The median or the mean.
    pub y: f64,
    /// The least, or the mean less the deviation.
    pub low: f64,
    /// The most, or the mean and the deviation.
    pub high: f64,
    /// The first and the third quartile.
    pub quartiles: (f64, f64),
}

impl Spot {
    /// Makes a spot of a figure that has no others beside it.
    pub fn exact(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, quartiles: (y, y) }
    }

    /// Sums up figures; there is nothing to sum up if there are none.
    fn of(x: f64, figures: &[f64], statistic: Statistic) -> Option<Self> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let quartiles = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
        let (y, low, high) = match statistic {
            Statistic::Median => (quantile(&sorted, 0.5), first, last),
            Statistic::Mean => {
                let mean = mean(&sorted);
                let deviation = deviation(&sorted, mean);
                (mean, mean - deviation, mean + deviation)
            }
        };
        Some(Self { x, y, low, high, quartiles })
    }
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / crate::point::float(figures.len())
}

/// The standard deviation of a sample.
fn deviation(figures: &[f64], mean: f64) -> f64 {
    if figures.len() < 2 {
        return 0.0;
    }
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    (squares / crate::point::float(figures.len() - 1)).sqrt()
}

/// Gives the figure that this share of the others is below, between neighbours if need be.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * crate::point::float(sorted.len() - 1);
    let (below, rest) = (place.floor() as usize, place.fract());
    let next = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + rest * (next - sorted[below])
}

/// Rows of a study, all or some.
#[derive(Clone, Debug)]
pub struct Rows {
    statistic: Statistic,
    rows: Vec<Row>,
}

impl Rows {
    /// Collects the rounds of each point; points of which nothing is measured are left out.
    pub(crate) fn collect<'a>(
        statistic: Statistic,
        points: Vec<Point>,
        rounds: usize,
        find: impl Fn(&Point, usize) -> Option<&'a Outcome>,
    ) -> Self {
        let row = |point: Point| {
            let mut row = Row { point, figures: BTreeMap::new(), refused: None };
            for round in 0..rounds {
                match find(&row.point, round) {
                    Some(Outcome::Measured(measured)) => {
                        for (quantity, figure) in &measured.0 {
                            row.figures.entry(quantity.clone()).or_default().push(*figure);
                        }
                    }
                    Some(Outcome::Refused(refused)) => row.refused = Some(refused.clone()),
                    None => {}
                }
            }
            row
        };
        let rows = points.into_iter().map(row);
        let rows = rows.filter(|row| !row.figures.is_empty() || row.refused.is_some());
        Self { statistic, rows: rows.collect() }
    }

    /// Gives the rows.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Keeps the rows that have this parameter.
    #[must_use]
    pub fn with(&self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let rows = self.rows.iter().filter(|row| row.point.get(name) == Some(&value));
        Self { statistic: self.statistic, rows: rows.cloned().collect() }
    }

    /// Gives the values of a parameter, each once, in order.
    pub fn values(&self, name: &str) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        for value in self.rows.iter().filter_map(|row| row.point.get(name)) {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        values.sort_by(Value::order);
        values
    }

    /// Gives the numbers that a parameter has, each once, by size.
    pub fn numbers(&self, name: &str) -> Vec<f64> {
        let numbers = self.values(name).into_iter().filter_map(|value| match value {
            Value::Number(number) => Some(number),
            Value::Text(_) => None,
        });
        numbers.collect()
    }

    /// Sums up a quantity of a row.
    pub fn spot(&self, row: &Row, x: f64, quantity: &str) -> Option<Spot> {
        Spot::of(x, row.figures.get(quantity)?, self.statistic)
    }

    /// Gives a quantity of the first row that has it.
    pub fn figure(&self, quantity: &str) -> Option<f64> {
        self.rows.iter().find_map(|row| self.spot(row, 0.0, quantity)).map(|spot| spot.y)
    }

    /// Draws a quantity over a parameter.
    pub fn curve(&self, parameter: &str, quantity: &str) -> Curve {
        let spots = self.rows.iter().filter_map(|row| {
            let Value::Number(x) = row.point.get(parameter)? else { return None };
            self.spot(row, *x, quantity)
        });
        let mut spots: Vec<_> = spots.collect();
        spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve(spots)
    }

    /// Gives what the machine refused.
    pub fn refusals(&self) -> impl Iterator<Item = (&Point, &Refused)> {
        self.rows.iter().filter_map(|row| Some((&row.point, row.refused.as_ref()?)))
    }
}

/// Spots by increasing `x`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve(pub Vec<Spot>);

impl Curve {
    /// Gives the figure at a place.
    pub fn at(&self, x: f64) -> Option<f64> {
        self.0.iter().find(|spot| spot.x.total_cmp(&x).is_eq()).map(|spot| spot.y)
    }

    /// Gives the figure at the last place.
    pub fn last(&self) -> Option<f64> {
        self.0.last().map(|spot| spot.y)
    }

    /// Gives the least figure.
    pub fn least(&self) -> Option<Spot> {
        self.0.iter().copied().min_by(|a, b| a.y.total_cmp(&b.y))
    }

    /// Gives the greatest figure.
    pub fn most(&self) -> Option<Spot> {
        self.0.iter().copied().max_by(|a, b| a.y.total_cmp(&b.y))
    }

    /// Divides by another curve, where both have a figure; the reach becomes that of both.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let spots = self.0.iter().filter_map(|spot| {
            let below = other.0.iter().find(|other| other.x.total_cmp(&spot.x).is_eq())?;
            Some(Spot {
                x: spot.x,
                y: spot.y / below.y,
                low: spot.low / below.high,
                high: spot.high / below.low,
                quartiles: (
                    spot.quartiles.0 / below.quartiles.1,
                    spot.quartiles.1 / below.quartiles.0,
                ),
            })
        });
        Self(spots.collect())
    }

    /// Divides a number by every figure: the speed-up over it.
    #[must_use]
    pub fn speed_up_over(&self, one: f64) -> Self {
        self.map(|figure| one / figure)
    }

    /// Changes every figure.
    #[must_use]
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        let spots = self.0.iter().map(|spot| {
            let (low, high) = (change(spot.low), change(spot.high));
            let (first, third) = (change(spot.quartiles.0), change(spot.quartiles.1));
            Spot {
                x: spot.x,
                y: change(spot.y),
                low: low.min(high),
                high: low.max(high),
                quartiles: (first.min(third), first.max(third)),
            }
        });
        Self(spots.collect())
    }

    /// Puts the places at equal distances: what stands at place `n` of `order` comes to `n`.
    #[must_use]
    pub fn in_steps(&self, order: &[f64]) -> Self {
        let spots = self.0.iter().filter_map(|spot| {
            let place = order.iter().position(|x| x.total_cmp(&spot.x).is_eq())?;
            Some(Spot { x: crate::point::float(place), ..*spot })
        });
        Self(spots.collect())
    }

    /// Finds where the curve first reaches `height`, between its spots on a logarithmic axis.
    pub fn reaches(&self, height: f64) -> Option<f64> {
        let first = self.0.iter().position(|spot| spot.y >= height)?;
        let above = self.0[first];
        let Some(below) = first.checked_sub(1).map(|index| self.0[index]) else {
            return Some(above.x);
        };
        let share = (height - below.y) / (above.y - below.y);
        Some(below.x * (above.x / below.x).powf(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        let spot = Spot::of(0.0, &[4.0, 1.0, 2.0, 3.0], Statistic::Median).unwrap();
        assert_eq!((spot.y, spot.low, spot.high), (2.5, 1.0, 4.0));
        assert_eq!(spot.quartiles, (1.75, 3.25));
    }

    #[test]
    fn the_mean_reaches_as_far_as_the_deviation() {
        let spot = Spot::of(0.0, &[1.0, 3.0], Statistic::Mean).unwrap();
        assert!((spot.high - spot.y - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spot::of(0.0, &[], Statistic::Mean), None);
    }

    #[test]
    fn a_crossover_lies_between_the_spots_around_it() {
        let spots = [(16.0, 0.5), (64.0, 1.5)].map(|(x, y)| Spot::exact(x, y));
        assert_eq!(Curve(spots.to_vec()).reaches(1.0), Some(32.0));
        assert_eq!(Curve(spots.to_vec()).reaches(2.0), None);
    }
}
