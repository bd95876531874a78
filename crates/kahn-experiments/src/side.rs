//! One side of a comparison: which rows, which quantity, or a figure of the paper.

use std::collections::BTreeMap;
use std::fmt;

use crate::claim::show;
use crate::experiment::{Study, View};
use crate::interval::Interval;
use crate::point::Value;
use crate::rows::{Row, Rows, Spot};

/// A quantity of one row of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Pick {
    study: &'static str,
    parameters: Vec<(String, Value)>,
    quantity: String,
    /// Whether it is how much the quantity differs from the round before.
    change: bool,
}

impl Pick {
    /// Takes a quantity of a study.
    pub fn of(study: &Study, quantity: &str) -> Self {
        let (parameters, quantity) = (Vec::new(), quantity.to_owned());
        Self { study: study.name, parameters, quantity, change: false }
    }

    /// Takes only rows with this parameter. If several are left, the one with the least figure is
    /// meant: the best number of workers, say.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.push((name.to_owned(), value.into()));
        self
    }

    /// Takes how much the quantity differs from the round before, as a share: how much it varies.
    #[must_use]
    pub fn change(self) -> Self {
        Self { change: true, ..self }
    }

    /// Sums up what is picked, at the place 0, if it is measured.
    pub(crate) fn spot(&self, view: &View) -> Option<Spot> {
        Rows::spot(self.row(view).ok()?, 0.0, &self.quantity)
    }

    /// Gives the figure of each round.
    fn figures(&self, row: &Row) -> BTreeMap<usize, f64> {
        let figures: BTreeMap<_, _> = row.figures(&self.quantity).collect();
        if !self.change {
            return figures;
        }
        let before = |round: usize| figures.get(&round.checked_sub(1)?).copied();
        let changes = figures.iter().filter_map(|(round, figure)| {
            let before = before(*round)?;
            Some((*round, (figure - before).abs() / before))
        });
        changes.collect()
    }

    /// Whether a row of that study has these parameters.
    fn takes(&self, row: &Row) -> bool {
        self.parameters.iter().all(|(name, value)| row.point.get(name) == Some(value))
    }

    fn row<'view>(&self, view: &'view View) -> Result<&'view Row, Missing> {
        let rows = view.studies.get(self.study);
        let taken: Vec<_> =
            rows.into_iter().flat_map(Rows::iter).filter(|row| self.takes(row)).collect();
        let measured = taken.iter().copied().filter_map(|row| {
            let figures: Vec<f64> = row.figures(&self.quantity).map(|(_, figure)| figure).collect();
            (!figures.is_empty()).then(|| (Interval::of(&figures).median, row))
        });
        let least = measured.min_by(|(a, _), (b, _)| a.total_cmp(b));
        least.map(|(_, row)| row).ok_or_else(|| {
            let refused = taken.iter().find_map(|row| row.refused.as_ref());
            Missing(match refused {
                Some(refused) => format!("not measured here: {refused}"),
                // Where the rest is measured, this machine does not count it.
                None if taken.iter().any(|row| !row.runs.is_empty()) => {
                    format!("not measured here: {self}")
                }
                None => format!("not measured: {self}"),
            })
        })
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}{} of {}",
            if self.change { "change of " } else { "" },
            self.quantity,
            self.study
        )?;
        self.parameters.iter().try_for_each(|(name, value)| write!(f, ", {name} {value}"))
    }
}

/// There are no figures, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing(pub(crate) String);

/// A product and quotient of picked quantities, times a number; or the number alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    above: Vec<Pick>,
    below: Vec<Pick>,
    times: f64,
}

impl Side {
    /// Stands for a figure of the paper.
    pub fn paper(figure: f64) -> Self {
        Self { above: Vec::new(), below: Vec::new(), times: figure }
    }

    /// Multiplies by a number.
    #[must_use]
    pub fn times(self, number: f64) -> Self {
        Self { times: self.times * number, ..self }
    }

    /// Divides by another quantity, round by round.
    #[must_use]
    pub fn over(mut self, pick: Pick) -> Self {
        self.below.push(pick);
        self
    }

    /// Gives the figure of each round, or that of the paper.
    pub(crate) fn figures(&self, view: &View) -> Result<Figures, Missing> {
        let mut rounds: Option<BTreeMap<usize, f64>> = None;
        let above = self.above.iter().map(|pick| (pick, false));
        for (pick, divides) in above.chain(self.below.iter().map(|pick| (pick, true))) {
            let row = pick.row(view)?;
            let (loud, all) = row.loud();
            if loud > 0 {
                let text = format!("{loud} of {all} rounds were not quiet: {pick}");
                return Err(Missing(text));
            }
            let mut figures = pick.figures(row);
            if divides {
                for figure in figures.values_mut() {
                    *figure = 1.0 / *figure;
                }
            }
            rounds = Some(match rounds {
                None => figures,
                // Rounds that both have.
                Some(before) => before
                    .into_iter()
                    .filter_map(|(round, figure)| Some((round, figure * figures.get(&round)?)))
                    .collect(),
            });
        }
        Ok(match rounds {
            None => Figures::Paper(self.times),
            Some(mut rounds) => {
                for figure in rounds.values_mut() {
                    *figure *= self.times;
                }
                Figures::Rounds(rounds)
            }
        })
    }

    #[cfg(test)]
    pub(crate) fn picks(&self) -> impl Iterator<Item = &Pick> {
        self.above.iter().chain(&self.below)
    }
}

impl From<Pick> for Side {
    fn from(pick: Pick) -> Self {
        Self { above: vec![pick], below: Vec::new(), times: 1.0 }
    }
}

/// The figures of a side.
#[derive(Clone, Debug)]
pub(crate) enum Figures {
    /// One that the paper has.
    Paper(f64),
    /// One for each round.
    Rounds(BTreeMap<usize, f64>),
}

impl Figures {
    /// Pairs them with those of another side, by rounds.
    pub(crate) fn rounds(&self, other: &Self) -> Vec<(f64, f64)> {
        match (self, other) {
            (Self::Paper(one), Self::Paper(other)) => vec![(*one, *other)],
            (Self::Paper(one), Self::Rounds(others)) => {
                others.values().map(|other| (*one, *other)).collect()
            }
            (Self::Rounds(ones), Self::Paper(other)) => {
                ones.values().map(|one| (*one, *other)).collect()
            }
            (Self::Rounds(ones), Self::Rounds(others)) => {
                ones.iter().filter_map(|(round, one)| Some((*one, *others.get(round)?))).collect()
            }
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paper(figure) => write!(f, "the paper's {}", show(*figure)),
            Self::Rounds(rounds) => {
                let figures: Vec<f64> = rounds.values().copied().collect();
                f.write_str(&show(Interval::of(&figures).median))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    impl Pick {
        /// Sets the figures of the rows that are picked.
        pub(crate) fn set(&self, view: &mut View, figure: impl Fn(usize) -> f64) {
            let rows = view.studies.get_mut(self.study).expect("the experiment names its studies");
            let mut there = false;
            for row in rows.iter_mut().filter(|row| self.takes(row)) {
                let mut before = 1.0;
                for run in &mut row.runs {
                    if self.change {
                        before *= 1.0 + figure(run.round);
                    } else {
                        before = figure(run.round);
                    }
                    run.figures.insert(self.quantity.clone(), before);
                    there = true;
                }
            }
            assert!(there, "there is no such row: {self}");
        }
    }

    impl Side {
        /// What rows have to measure so that the side comes to `figure`, all other picks being 1.
        pub(crate) fn set(&self, view: &mut View, figure: impl Fn(usize) -> f64) -> bool {
            let Some(first) = self.above.first() else { return false };
            for pick in self.picks() {
                pick.set(view, |_| 1.0);
            }
            first.set(view, |round| figure(round) / self.times);
            true
        }

        /// The figure of the paper, if that is what the side is.
        pub(crate) fn is_paper(&self) -> Option<f64> {
            self.above.is_empty().then_some(self.times)
        }
    }
}
