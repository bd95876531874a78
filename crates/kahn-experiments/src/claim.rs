//! A promise of a paper, the rows that it compares, and the verdict that follows from them.
//!
//! Every claim has the same form: what is *ours* is so many times better than its *rival*. The
//! factor is computed in each round, for a round measures both, and its median is compared with the
//! paper's, by an interval of 99 % (see the file `interval`). So every claim can be lost, and it is
//! lost if the rows of the two change places.
//!
//! | kind | the paper says | if the interval is | verdict |
//! |---|---|---|---|
//! | advantage | better by this factor | above it, by more than what counts as equal | better |
//! | | | nowhere below it | reproduced |
//! | | | below it altogether | worse |
//! | effect | there is a difference | above what counts as equal | reproduced |
//! | | | not above it | paper's effect absent here |
//! | both | | on both sides of the bound | cannot tell |
//!
//! *Cannot tell* is also what is not measured, has too few rounds, or rows that were not quiet. If the
//! paper had more cores, *reproduced* and *better* become *consistent*.

use std::fmt;

use crate::experiment::View;
use crate::interval::{Interval, LEAST_ROUNDS};
use crate::point::float;
use crate::side::{Missing, Side};

/// What counts as equal, unless a claim says otherwise: one part in twenty.
const EQUAL: f64 = 1.05;

/// How what we find compares with what a paper promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same, or what a paper calls so.
    Reproduced,
    /// More of what the paper strives for.
    Better,
    /// Less of it.
    Worse,
    /// The difference that the paper saw is none here.
    Absent,
    /// The measurements do not decide.
    CannotTell,
    /// As the paper has it, on so many cores, where the paper had more.
    Consistent(usize),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reproduced => f.write_str("reproduced"),
            Self::Better => f.write_str("better"),
            Self::Worse => f.write_str("worse"),
            Self::Absent => f.write_str("paper's effect absent here"),
            Self::CannotTell => f.write_str("cannot tell"),
            Self::Consistent(1) => f.write_str("consistent on 1 core"),
            Self::Consistent(cores) => write!(f, "consistent on {cores} cores"),
        }
    }
}

impl Verdict {
    /// Orders verdicts by how much they say for the promise.
    fn rank(self) -> u8 {
        match self {
            Self::Worse | Self::Absent => 0,
            Self::CannotTell => 1,
            Self::Reproduced | Self::Consistent(_) => 2,
            Self::Better => 3,
        }
    }
}

/// What the paper says of the factor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// It is so large, and larger is better.
    Advantage(f64),
    /// There is a difference; in the paper it is so large, if it says how large.
    Effect(Option<f64>),
}

/// One promise: what is compared, and with which factor of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    promise: String,
    kind: Kind,
    pairs: Vec<(Side, Side)>,
    /// Whether more is better of what is measured.
    rates: bool,
    /// What counts as equal.
    equal: f64,
    /// Whether one pair is enough, and not all are needed.
    one_is_enough: bool,
    /// The cores that the paper had.
    cores: usize,
}

impl Claim {
    /// Promises that ours is `factor` times better than its rival.
    ///
    /// ```
    /// use kahn_experiments::Claim;
    ///
    /// let claim = Claim::advantage("6.5 times faster than threads", 6.5);
    /// assert_eq!(claim.promise(), "6.5 times faster than threads");
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the factor is below 1: then the rival is better, and the two have to change places.
    pub fn advantage(promise: impl Into<String>, factor: f64) -> Self {
        assert!(factor >= 1.0, "a factor of {factor}: ours and its rival have to change places");
        Self::new(promise.into(), Kind::Advantage(factor))
    }

    /// Promises a difference: ours is better than its rival.
    pub fn effect(promise: impl Into<String>) -> Self {
        Self::new(promise.into(), Kind::Effect(None))
    }

    /// Promises a difference, which in the paper is so large.
    pub fn effect_of(promise: impl Into<String>, factor: f64) -> Self {
        Self::new(promise.into(), Kind::Effect(Some(factor)))
    }

    /// Promises a speed-up, which was so large on so many cores of the paper: the same share here.
    pub fn scaling(promise: impl Into<String>, speed_up: f64, paper: usize, here: usize) -> Self {
        let share = speed_up / float(paper);
        Self::advantage(promise, (share * float(here)).max(1.0)).on(paper)
    }

    fn new(promise: String, kind: Kind) -> Self {
        let pairs = Vec::new();
        Self { promise, kind, pairs, rates: false, equal: EQUAL, one_is_enough: false, cores: 1 }
    }

    /// Compares these; with several pairs the promise must hold for all.
    #[must_use]
    pub fn between(mut self, ours: impl Into<Side>, rival: impl Into<Side>) -> Self {
        self.pairs.push((ours.into(), rival.into()));
        self
    }

    /// Says that more is better of what is measured.
    #[must_use]
    pub fn rates(self) -> Self {
        Self { rates: true, ..self }
    }

    /// Says by which factor two figures may differ that count as equal.
    #[must_use]
    pub fn within(self, equal: f64) -> Self {
        Self { equal, ..self }
    }

    /// Says that the promise holds if it does for one of the pairs.
    #[must_use]
    pub fn for_one(self) -> Self {
        Self { one_is_enough: true, ..self }
    }

    /// Says how many cores the paper had.
    #[must_use]
    pub fn on(self, cores: usize) -> Self {
        Self { cores, ..self }
    }

    /// Says what is promised.
    pub fn promise(&self) -> &str {
        &self.promise
    }

    /// Says what is compared, ours first.
    pub fn pairs(&self) -> &[(Side, Side)] {
        &self.pairs
    }

    /// Judges by the rows.
    pub fn judge(&self, view: &View) -> Finding {
        let mut found: Vec<(Verdict, Interval, String)> = Vec::new();
        let mut missing = None;
        if self.cores > 1 && view.plan.most_cpus() < 2 {
            missing = Some("one core cannot show it".to_owned());
        }
        for (ours, rival) in
            self.pairs.iter().filter(|_| view.plan.most_cpus() > 1 || self.cores == 1)
        {
            match self.factors(ours, rival, view) {
                Ok((factors, sides)) => {
                    let (verdict, interval) = self.verdict(&factors, view);
                    found.push((verdict, interval, sides));
                }
                Err(Missing(what)) => missing = missing.or(Some(what)),
            }
        }
        let weight = |(verdict, interval, _): &(Verdict, Interval, String)| {
            (verdict.rank(), interval.median)
        };
        let by = |a: &(Verdict, Interval, String), b: &(Verdict, Interval, String)| {
            let ((a, least), (b, most)) = (weight(a), weight(b));
            a.cmp(&b).then(least.total_cmp(&most))
        };
        let verdicts = found.into_iter();
        let decides = if self.one_is_enough { verdicts.max_by(by) } else { verdicts.min_by(by) };
        // A promise for all that is already broken needs no more; one for one that is kept neither.
        let decided = |verdict: Verdict| {
            if self.one_is_enough { verdict.rank() >= 2 } else { verdict.rank() == 0 }
        };
        let (ours, verdict) = match (decides, missing) {
            (Some((verdict, interval, sides)), missing)
                if missing.is_none() || decided(verdict) =>
            {
                (format!("{interval} ({sides})"), verdict)
            }
            (_, Some(what)) => (what, Verdict::CannotTell),
            (_, None) => ("not measured here".to_owned(), Verdict::CannotTell),
        };
        Finding { promise: self.promise.clone(), paper: self.paper(), ours, verdict }
    }

    /// What the paper has for the factor.
    fn paper(&self) -> String {
        let cores = match self.cores {
            1 => String::new(),
            cores => format!(", {cores} cores"),
        };
        match self.kind {
            Kind::Advantage(1.0) => format!("as good{cores}"),
            Kind::Advantage(factor) | Kind::Effect(Some(factor)) => {
                format!("{}{cores}", times(factor))
            }
            Kind::Effect(None) => format!("more than {}{cores}", times(1.0)),
        }
    }

    /// The factor of each round, and what stands on the two sides.
    fn factors(
        &self,
        ours: &Side,
        rival: &Side,
        view: &View,
    ) -> Result<(Vec<f64>, String), Missing> {
        let (one, other) = (ours.figures(view)?, rival.figures(view)?);
        let factors = one.rounds(&other).into_iter().map(|(ours, rival)| {
            let (above, below) = if self.rates { (ours, rival) } else { (rival, ours) };
            if above.total_cmp(&below).is_eq() { 1.0 } else { above / below }
        });
        Ok((factors.collect(), format!("{one} against {other}")))
    }

    fn verdict(&self, factors: &[f64], view: &View) -> (Verdict, Interval) {
        let interval = Interval::of(factors);
        if factors.len() < LEAST_ROUNDS {
            return (Verdict::CannotTell, interval);
        }
        let Interval { low, high, .. } = interval;
        let verdict = match self.kind {
            Kind::Advantage(factor) if low > factor * self.equal => Verdict::Better,
            Kind::Advantage(factor) if low >= factor / self.equal => Verdict::Reproduced,
            Kind::Advantage(factor) if high < factor / self.equal => Verdict::Worse,
            Kind::Effect(_) if low > self.equal => Verdict::Reproduced,
            Kind::Effect(_) if high <= self.equal => Verdict::Absent,
            _ => Verdict::CannotTell,
        };
        let cores = view.plan.most_cpus();
        let verdict = match verdict {
            Verdict::Better | Verdict::Reproduced if self.cores > cores => {
                Verdict::Consistent(cores)
            }
            other => other,
        };
        (verdict, interval)
    }
}

#[cfg(test)]
impl Claim {
    pub(crate) fn of_rates(&self) -> bool {
        self.rates
    }

    pub(crate) fn is_effect(&self) -> bool {
        matches!(self.kind, Kind::Effect(_))
    }

    pub(crate) fn needs_cores(&self) -> bool {
        self.cores > 1
    }

    /// The factor from which on it is kept.
    pub(crate) fn factor(&self) -> f64 {
        match self.kind {
            Kind::Advantage(factor) => factor,
            Kind::Effect(_) => self.equal,
        }
    }
}

/// A promise with what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What the paper says.
    pub promise: String,
    /// Its factor.
    pub paper: String,
    /// What we find, in figures, or why there is none.
    pub ours: String,
    /// What follows.
    pub verdict: Verdict,
}

pub(crate) fn times(factor: f64) -> String {
    format!("{} times", show(factor))
}

/// Writes a figure with three digits that count.
///
/// ```
/// use kahn_experiments::show;
///
/// assert_eq!(show(1234.5), "1234");
/// assert_eq!(show(12.345), "12.3");
/// assert_eq!(show(0.001_234_5), "0.00123");
/// assert_eq!(show(0.0), "0");
/// ```
pub fn show(figure: f64) -> String {
    if figure == 0.0 || !figure.is_finite() {
        return format!("{figure:.0}");
    }
    let digits = figure.abs().log10().floor();
    // Between none and nine digits behind the point.
    let behind = (2.0 - digits).clamp(0.0, 9.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
    let behind = behind as usize;
    format!("{figure:.behind$}")
}
