//! A promise of a paper, what we find, and the verdict that follows.

use std::fmt;

/// How what we find compares with what a paper promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same, or within what a paper calls so.
    Reproduced,
    /// More of what the paper strives for.
    Better,
    /// Less of it.
    Worse,
    /// This machine cannot show it.
    NotHere,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NotHere => "not reproducible here",
        })
    }
}

impl Verdict {
    /// Judges a figure of which more is better.
    ///
    /// `least` is what the paper has: less is worse, from `better` on it is better.
    ///
    /// ```
    /// use kahn_experiments::Verdict;
    ///
    /// assert_eq!(Verdict::at_least(2.0, 3.0, 6.7), Verdict::Worse);
    /// assert_eq!(Verdict::at_least(4.0, 3.0, 6.7), Verdict::Reproduced);
    /// assert_eq!(Verdict::at_least(9.0, 3.0, 6.7), Verdict::Better);
    /// ```
    pub fn at_least(figure: f64, least: f64, better: f64) -> Self {
        if figure > better {
            Self::Better
        } else if figure >= least {
            Self::Reproduced
        } else {
            Self::Worse
        }
    }

    /// Judges a figure of which less is better.
    ///
    /// `most` is what the paper has: more is worse, below `better` it is better.
    pub fn at_most(figure: f64, most: f64, better: f64) -> Self {
        if figure < better {
            Self::Better
        } else if figure <= most {
            Self::Reproduced
        } else {
            Self::Worse
        }
    }

    /// Judges what holds or does not.
    pub fn holds(holds: bool) -> Self {
        if holds { Self::Reproduced } else { Self::Worse }
    }
}

/// One promise, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What the paper says.
    pub promise: String,
    /// What we find, in figures.
    pub ours: String,
    /// What follows.
    pub verdict: Verdict,
    /// Why it is so.
    pub why: String,
}

impl Claim {
    /// Compares a promise with what was found, if it was measured.
    ///
    /// A figure that is missing, for the points are not measured or were refused, makes the promise
    /// one that this machine cannot show.
    ///
    /// ```
    /// use kahn_experiments::{Claim, Verdict};
    ///
    /// let ratio = Some(7.1);
    /// let claim = Claim::judge("6.5 times faster", ratio, |ratio| {
    ///     (format!("{ratio:.1} times"), Verdict::at_least(ratio, 6.5, 8.0))
    /// });
    /// assert_eq!(claim.verdict, Verdict::Reproduced);
    /// assert_eq!(Claim::judge("…", None::<f64>, |_| unreachable!()).verdict, Verdict::NotHere);
    /// ```
    pub fn judge<T>(
        promise: &str,
        found: Option<T>,
        judge: impl FnOnce(T) -> (String, Verdict),
    ) -> Self {
        let (ours, verdict) = found.map_or_else(
            || ("not measured: see what was refused or left out".to_owned(), Verdict::NotHere),
            judge,
        );
        Self { promise: promise.to_owned(), ours, verdict, why: String::new() }
    }

    /// Says why it is so.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Self {
        Self { why: why.into(), ..self }
    }
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
