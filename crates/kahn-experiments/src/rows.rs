//! Measurements summed up: a row a point, curves of rows.

use std::collections::BTreeMap;

use crate::experiment::{Outcome, Refused};
use crate::interval::{Interval, quantile};
use crate::measure::Meanwhile;
use crate::point::{Point, Value};

/// The figures of one round.
#[derive(Clone, Debug)]
pub struct Run {
    /// The round.
    pub round: usize,
    /// The figures, by quantity.
    pub figures: BTreeMap<String, f64>,
}

/// A point with the figures of all its rounds.
#[derive(Clone, Debug)]
pub struct Row {
    /// The point.
    pub point: Point,
    /// What was measured, by rounds.
    pub runs: Vec<Run>,
    /// Why there is nothing.
    pub refused: Option<Refused>,
}

impl Row {
    /// Gives a quantity of each round that has it.
    pub fn figures<'row>(
        &'row self,
        quantity: &'row str,
    ) -> impl Iterator<Item = (usize, f64)> + 'row {
        self.runs.iter().filter_map(|run| Some((run.round, *run.figures.get(quantity)?)))
    }

    /// How many rounds were not quiet, and how many there are.
    pub fn loud(&self) -> (usize, usize) {
        let loud = self.runs.iter().filter(|run| !Meanwhile::was_quiet(&run.figures)).count();
        (loud, self.runs.len())
    }
}

/// A quantity summed up, at a place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// The place on the other axis.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// Where the interval of 99 % begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// The first and the third quartile.
    pub quartiles: (f64, f64),
    /// Each figure that it sums up.
    pub all: Vec<f64>,
}

impl Spot {
    /// Makes a spot of a figure that has no others beside it.
    pub fn exact(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, quartiles: (y, y), all: Vec::new() }
    }

    /// Sums up figures; there is nothing to sum up if there are none.
    fn of(x: f64, mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        let Interval { median, low, high, figures: 1.. } = Interval::of(&figures) else {
            return None;
        };
        let quartiles = (quantile(&figures, 0.25), quantile(&figures, 0.75));
        Some(Self { x, y: median, low, high, quartiles, all: figures })
    }

    /// Moves it to another place.
    #[must_use]
    pub fn at(self, x: f64) -> Self {
        Self { x, ..self }
    }
}

/// Rows of a study, all or some.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: Vec<Row>,
}

impl Rows {
    /// Collects the rounds of each point, in the order in which the points come first.
    pub(crate) fn collect<'a>(
        outcomes: impl Iterator<Item = (&'a Point, usize, &'a Outcome)>,
    ) -> Self {
        let mut places = BTreeMap::new();
        let mut rows: Vec<Row> = Vec::new();
        for (point, round, outcome) in outcomes {
            let place = *places.entry(point.key()).or_insert_with(|| {
                rows.push(Row { point: point.clone(), runs: Vec::new(), refused: None });
                rows.len() - 1
            });
            match outcome {
                Outcome::Measured(measured) => {
                    rows[place].runs.push(Run { round, figures: measured.0.clone() });
                }
                Outcome::Refused(refused) => rows[place].refused = Some(refused.clone()),
            }
        }
        Self { rows }
    }

    /// Gives the rows.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }

    #[cfg(test)]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
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
        Self { rows: rows.cloned().collect() }
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
    pub fn spot(row: &Row, x: f64, quantity: &str) -> Option<Spot> {
        Spot::of(x, row.figures(quantity).map(|(_, figure)| figure).collect())
    }

    /// Gives a quantity of the first row that has it.
    pub fn figure(&self, quantity: &str) -> Option<f64> {
        self.rows.iter().find_map(|row| Self::spot(row, 0.0, quantity)).map(|spot| spot.y)
    }

    /// Draws a quantity over a parameter.
    pub fn curve(&self, parameter: &str, quantity: &str) -> Curve {
        let spots = self.rows.iter().filter_map(|row| {
            let Value::Number(x) = row.point.get(parameter)? else { return None };
            Self::spot(row, *x, quantity)
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
        self.0.iter().cloned().min_by(|a, b| a.y.total_cmp(&b.y))
    }

    /// Gives the greatest figure.
    pub fn most(&self) -> Option<Spot> {
        self.0.iter().cloned().max_by(|a, b| a.y.total_cmp(&b.y))
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
                all: Vec::new(),
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
                all: spot.all.iter().map(|figure| change(*figure)).collect(),
            }
        });
        Self(spots.collect())
    }

    /// Puts the places at equal distances: what stands at place `n` of `order` comes to `n`.
    #[must_use]
    pub fn in_steps(&self, order: &[f64]) -> Self {
        let spots = self.0.iter().filter_map(|spot| {
            let place = order.iter().position(|x| x.total_cmp(&spot.x).is_eq())?;
            Some(spot.clone().at(crate::point::float(place)))
        });
        Self(spots.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_has_its_median_interval_and_quartiles() {
        let spot = Spot::of(0.0, vec![4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((spot.y, spot.low, spot.high), (2.5, 1.0, 4.0));
        assert_eq!(spot.quartiles, (1.75, 3.25));
        assert_eq!(Spot::of(0.0, vec![]), None);
    }

    #[test]
    fn no_interval_of_times_goes_below_zero() {
        let spot = Spot::of(0.0, vec![0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 9.0]).unwrap();
        assert!(spot.low > 0.0, "{spot:?}");
    }
}
