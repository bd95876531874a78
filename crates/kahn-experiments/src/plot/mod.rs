//! Plots: what is drawn, apart from how.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Panel`], [`Series`], [`Axis`]: a plot as data |
//! | `scale` | where a figure comes to lie, and which figures stand at the axis |
//! | `draw` | panels beside and below each other, as SVG |
//! | `png` | the same as PNG, with a font of our own, so that it needs nothing of the system |

mod draw;
mod png;
mod scale;

pub(crate) use draw::svg;
pub(crate) use png::png;

use crate::rows::{Curve, Spot};

/// How the figures of an axis are spread.
#[derive(Clone, Debug, PartialEq)]
pub enum Spread {
    /// Evenly, from zero.
    Linear,
    /// By their logarithm.
    Logarithmic,
    /// Steps at equal distances, with these names: step *n* is at *n*.
    Steps(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is on it, and the unit.
    pub label: String,
    /// How it is spread.
    pub spread: Spread,
    /// Up to where it reaches at least: that of the paper does.
    pub reach: Option<f64>,
}

impl Axis {
    fn new(label: impl Into<String>, spread: Spread) -> Self {
        Self { label: label.into(), spread, reach: None }
    }

    /// Has it reach so far at least, as that of the paper does.
    #[must_use]
    pub fn to(self, reach: f64) -> Self {
        Self { reach: Some(reach), ..self }
    }

    /// Makes an axis that begins at zero.
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label, Spread::Linear)
    }

    /// Makes a logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self::new(label, Spread::Logarithmic)
    }

    /// Makes an axis of steps.
    pub fn steps<N: ToString>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        let names = names.into_iter().map(|name| name.to_string());
        Self::new(label, Spread::Steps(names.collect()))
    }

    /// Gives the name of a place, as tables show it.
    pub(crate) fn name_of(&self, place: f64) -> String {
        match &self.spread {
            Spread::Steps(names) => {
                let name = names
                    .iter()
                    .enumerate()
                    .find(|(index, _)| crate::point::float(*index).total_cmp(&place).is_eq());
                name.map_or_else(|| place.to_string(), |(_, name)| name.clone())
            }
            Spread::Linear | Spread::Logarithmic => place.to_string(),
        }
    }
}

/// How the spots of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Joined, with bars for how far they reach.
    Line,
    /// As columns beside those of other series.
    Columns,
    /// As boxes with whiskers: quartiles, least and most.
    Boxes,
    /// Joined by a broken line: a prediction, what a paper says.
    Broken,
    /// A thin broken line without spots: a bound.
    Bound,
}

/// Spots that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What they are of.
    pub label: String,
    /// The spots.
    pub spots: Vec<Spot>,
    /// How they are drawn.
    pub marks: Marks,
}

impl Series {
    /// Joins the spots of a curve.
    pub fn line(label: impl Into<String>, curve: &Curve) -> Self {
        Self::drawn(label, curve, Marks::Line)
    }

    /// Draws columns.
    pub fn columns(label: impl Into<String>, curve: &Curve) -> Self {
        Self::drawn(label, curve, Marks::Columns)
    }

    /// Draws boxes with whiskers.
    pub fn boxes(label: impl Into<String>, curve: &Curve) -> Self {
        Self::drawn(label, curve, Marks::Boxes)
    }

    /// Draws what a paper says: figures at places, without how far they reach.
    pub fn quoted(label: impl Into<String>, spots: &[(f64, f64)], marks: Marks) -> Self {
        let spots = spots.iter().map(|(x, y)| Spot::exact(*x, *y)).collect();
        Self { label: label.into(), spots, marks }
    }

    fn drawn(label: impl Into<String>, curve: &Curve, marks: Marks) -> Self {
        Self { label: label.into(), spots: curve.0.clone(), marks }
    }
}

/// One plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// The axis of places.
    pub x: Axis,
    /// The axis of figures.
    pub y: Axis,
    /// What is on it.
    pub series: Vec<Series>,
}

impl Panel {
    /// Makes a plot with nothing on it.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, series: Vec::new() }
    }

    /// Adds the line of linear speed-up over numbers of processors: as many times as there are.
    #[must_use]
    pub fn with_linear(self, cpus: usize) -> Self {
        let most = crate::point::float(cpus);
        self.and(Series::quoted("linear", &[(1.0, 1.0), (most, most)], Marks::Bound))
    }

    /// Adds the line of linear speed-up on so many processors, over anything else.
    #[must_use]
    pub fn with_most(self, cpus: usize) -> Self {
        let most = crate::point::float(cpus);
        let places = || self.series.iter().flat_map(|series| &series.spots).map(|spot| spot.x);
        let ends = [places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max)];
        if cpus < 2 || ends[0] > ends[1] {
            return self;
        }
        self.and(Series::quoted("linear", &ends.map(|x| (x, most)), Marks::Bound))
    }

    /// Adds a series, unless there is nothing in it.
    #[must_use]
    pub fn and(mut self, series: Series) -> Self {
        if !series.spots.is_empty() {
            self.series.push(series);
        }
        self
    }
}
