//! Where a figure comes to lie on an axis, and which figures stand there.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::{Axis, Spread};
use crate::point::float;

/// An axis with its range: a coordinate of the plotting library.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    spread: Spread,
    range: Range<f64>,
    /// Whether all figures are powers of two: numbers of workers, bytes.
    binary: bool,
}

impl Scale {
    /// Makes the axis reach over all figures.
    pub(super) fn over(axis: &Axis, figures: impl Iterator<Item = f64>) -> Self {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        let logarithmic = axis.spread == Spread::Logarithmic;
        let mut binary = true;
        for figure in figures.filter(|figure| figure.is_finite()) {
            if !logarithmic || figure > 0.0 {
                least = least.min(figure);
                most = most.max(figure);
                binary &= figure.log2().fract().abs() < 1e-9;
            }
        }
        if least > most {
            (least, most) = (1.0, 2.0);
        }
        most = axis.reach.map_or(most, |reach| most.max(reach));
        let range = match &axis.spread {
            Spread::Linear => least.min(0.0)..nice_above(most),
            Spread::Logarithmic => widened(least, most),
            Spread::Steps(names) => -0.5..float(names.len().max(1)) - 0.5,
        };
        Self { spread: axis.spread.clone(), range, binary }
    }

    /// Where a figure lies, from 0 to 1.
    fn place(&self, figure: f64) -> f64 {
        let Range { start, end } = self.range;
        let share = match self.spread {
            Spread::Logarithmic => {
                let figure = figure.max(start);
                (figure / start).ln() / (end / start).ln()
            }
            Spread::Linear | Spread::Steps(_) => (figure - start) / (end - start),
        };
        share.clamp(0.0, 1.0)
    }

    /// The figures that stand at the axis, so many at most.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let Range { start, end } = self.range;
        match &self.spread {
            Spread::Linear => {
                let step = nice_step((end - start) / float(most.max(2)));
                let count = ((end - start) / step).floor();
                whole_numbers(count).map(|n| start + n * step).collect()
            }
            Spread::Logarithmic => logarithmic_ticks(start, end, most, self.binary),
            Spread::Steps(names) => {
                let stride = names.len().div_ceil(most.max(1)).max(1);
                (0..names.len()).step_by(stride).map(float).collect()
            }
        }
    }
}

/// The whole numbers from 0 to `last`.
fn whole_numbers(last: f64) -> impl Iterator<Item = f64> {
    (0..=1000).map(f64::from).take_while(move |n| *n <= last + 1e-9)
}

/// The smallest of 1, 2, 5 times a power of ten that is not less.
fn nice_step(least: f64) -> f64 {
    let unit = 10.0_f64.powf(least.log10().floor());
    let times = [1.0, 2.0, 5.0].into_iter().find(|times| times * unit >= least * 0.999);
    times.unwrap_or(10.0) * unit
}

/// An end for a linear axis: a little more than the greatest figure, and a round number.
fn nice_above(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let step = nice_step(most / 5.0);
    (most * 1.02 / step).ceil() * step
}

/// The ends of a logarithmic axis: a little more than the figures take.
fn widened(least: f64, most: f64) -> Range<f64> {
    let margin = (most / least).powf(0.04).max(1.05);
    least / margin..most * margin
}

/// Powers of two between powers of two, else powers of ten, and with them their double and their half
/// tenfold where there is room.
fn logarithmic_ticks(start: f64, end: f64, most: usize, binary: bool) -> Vec<f64> {
    let powers = |base: f64| {
        let first = (start.ln() / base.ln()).floor();
        let last = (end.ln() / base.ln()).ceil();
        whole_numbers(last - first).map(move |n| base.powf(first + n))
    };
    let within = |tick: &f64| (start..=end).contains(tick);
    let ticks: Vec<f64> = if binary {
        powers(2.0).filter(within).collect()
    } else {
        let close = powers(10.0).flat_map(|power| [power, 2.0 * power, 5.0 * power]);
        let close: Vec<_> = close.filter(within).collect();
        let wide: Vec<_> = powers(10.0).filter(within).collect();
        if close.len() <= most || wide.len() < 2 { close } else { wide }
    };
    let stride = ticks.len().div_ceil(most.max(1)).max(1);
    ticks.into_iter().step_by(stride).collect()
}

impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    #[expect(clippy::cast_possible_truncation, reason = "a pixel")]
    fn map(&self, figure: &f64, (from, to): (i32, i32)) -> i32 {
        from + (self.place(*figure) * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks(hint.bold_points()) }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, figure: &f64) -> String {
        let axis = Axis { label: String::new(), spread: self.spread.clone(), reach: None };
        match self.spread {
            Spread::Steps(_) => axis.name_of(*figure),
            Spread::Linear | Spread::Logarithmic => short(*figure),
        }
    }
}

/// Writes a figure at an axis: as short as it can be told from its neighbours.
fn short(figure: f64) -> String {
    let (figure, unit) = match figure.abs() {
        size if size >= 1e9 => (figure / 1e9, "G"),
        size if size >= 1e6 => (figure / 1e6, "M"),
        size if size >= 1e4 => (figure / 1e3, "k"),
        _ => (figure, ""),
    };
    let text = format!("{figure:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "" | "-" | "0" if figure != 0.0 => format!("{figure:.0e}"),
        text => format!("{text}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_begins_at_zero_and_ends_above_the_greatest() {
        let scale = Scale::over(&Axis::linear(""), [3.0, 7.4].into_iter());
        assert_eq!(scale.range, 0.0..8.0);
        assert_eq!(scale.ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(scale.map(&8.0, (0, 100)), 100);
    }

    #[test]
    fn an_axis_reaches_as_far_as_that_of_the_paper() {
        let scale = Scale::over(&Axis::linear("CPUs").to(8.0), [1.0, 2.0].into_iter());
        assert!(scale.range.end >= 8.0);
        let scale = Scale::over(&Axis::linear("CPUs").to(8.0), [16.0].into_iter());
        assert!(scale.range.end >= 16.0);
    }

    #[test]
    fn a_logarithmic_axis_has_the_middle_between() {
        let scale = Scale::over(&Axis::logarithmic(""), [8.0, 512.0].into_iter());
        assert!((scale.place(64.0) - 0.5).abs() < 1e-9);
        assert_eq!(scale.ticks(9), [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
    }

    #[test]
    fn a_logarithmic_axis_has_round_figures() {
        let ticks =
            |figures: &[f64]| Scale::over(&Axis::logarithmic(""), figures.iter().copied()).ticks(7);
        assert_eq!(ticks(&[3.0, 70.0]), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(ticks(&[3.0, 70_000.0]), [10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
    }

    #[test]
    fn figures_that_cannot_be_drawn_do_not_break_an_axis() {
        for axis in [Axis::linear(""), Axis::logarithmic(""), Axis::steps("", ["a"])] {
            let scale = Scale::over(&axis, [f64::NAN, 0.0, -1.0].into_iter());
            assert!(scale.place(0.0).is_finite(), "{axis:?}");
        }
    }

    #[test]
    fn names_at_the_axis_are_short() {
        assert_eq!([0.25, 200.0, 1e6, 0.0].map(short), ["0.25", "200", "1M", "0"]);
    }
}
