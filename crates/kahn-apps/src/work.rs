//! Synthetic work: processor time that is spent by computing, not by sleeping.
//!
//! One loop whose steps depend on each other, so that no compiler and no processor can do two at a
//! time. How much of it is said in one of two ways:
//!
//! | said as      | a unit is     | the result of the loop                                        |
//! |--------------|---------------|---------------------------------------------------------------|
//! | a time       | a nanosecond  | is thrown away: no output depends on how fast a machine is    |
//! | iterations   | a step        | goes on in place of the seed: the same on every machine       |
//!
//! How many steps a nanosecond has is measured once in each program, when a time is first asked for.
//! As far as outputs are concerned, a time is zero iterations.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a unit of work takes, and whether its result counts.
///
/// For work whose amount stands in the messages; where it is always the same, see [`Work`].
///
/// ```
/// use kahn_apps::work::Pace;
///
/// let seed = 17;
/// assert_eq!(Pace::nanoseconds().spend(1000, seed), seed);
/// assert_ne!(Pace::iterations().spend(1000, seed), seed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Steps in a unit, times 2^32.
    steps: u64,
    result_counts: bool,
}

impl Pace {
    /// Makes a unit a step of the loop.
    pub fn iterations() -> Self {
        Self { steps: 1 << 32, result_counts: true }
    }

    /// Makes a unit a nanosecond; the first call measures for some milliseconds.
    pub fn nanoseconds() -> Self {
        static STEPS: OnceLock<u64> = OnceLock::new();
        Self { steps: *STEPS.get_or_init(calibrate), result_counts: false }
    }

    /// Spends `units` of work. Returns what the loop makes of `seed` if that counts, else `seed`.
    pub fn spend(self, units: u64, seed: u64) -> u64 {
        self.run(self.iterations_of(units), seed)
    }

    fn iterations_of(self, units: u64) -> u64 {
        let (low, high) = units.carrying_mul(self.steps, 0);
        high.checked_mul(1 << 32).map_or(u64::MAX, |high| high | (low >> 32))
    }

    fn run(self, iterations: u64, seed: u64) -> u64 {
        let result = turn(iterations, seed);
        if self.result_counts {
            return result;
        }
        black_box(result);
        seed
    }
}

/// An amount of work, the same each time.
///
/// ```
/// use std::time::Duration;
/// use kahn_apps::work::Work;
///
/// assert_eq!(Work::none().spend(5), 5);
/// assert_eq!(Work::time(Duration::from_micros(1)).spend(5), 5);
/// assert_eq!(Work::iterations(100).spend(5), Work::iterations(100).spend(5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    units: u64,
    iterations: u64,
    pace: Pace,
}

impl Work {
    /// Makes no work.
    pub fn none() -> Self {
        Self::iterations(0)
    }

    /// Makes work of so many steps of the loop.
    pub fn iterations(steps: u64) -> Self {
        Self::of(steps, Pace::iterations())
    }

    /// Makes work that takes so long, if nothing disturbs it; the first call measures the machine.
    pub fn time(time: Duration) -> Self {
        Self::of(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Pace::nanoseconds())
    }

    fn of(units: u64, pace: Pace) -> Self {
        Self { units, iterations: pace.iterations_of(units), pace }
    }

    /// Says how many units it is: steps or nanoseconds.
    pub fn units(self) -> u64 {
        self.units
    }

    /// Says what a unit is.
    pub fn pace(self) -> Pace {
        self.pace
    }

    /// Spends it. Returns what the loop makes of `seed` if that counts, else `seed`.
    pub fn spend(self, seed: u64) -> u64 {
        self.pace.run(self.iterations, seed)
    }

    /// Returns the part between two fractions of it. The parts of a whole make the whole.
    ///
    /// ```
    /// use kahn_apps::work::Work;
    ///
    /// let work = Work::iterations(10);
    /// let thirds = [0, 1, 2].map(|third| work.between(third, third + 1, 3).units());
    /// assert_eq!(thirds, [3, 3, 4]);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `from` is greater than `to`, `to` greater than `whole`, or `whole` 0.
    #[must_use]
    pub fn between(self, from: u64, to: u64, whole: u64) -> Self {
        assert!(from <= to && to <= whole && whole > 0, "{from} to {to} of {whole}");
        let until = |part: u64| {
            let units = u128::from(self.units) * u128::from(part) / u128::from(whole);
            u64::try_from(units).expect("a part is not more than the whole")
        };
        Self::of(until(to) - until(from), self.pace)
    }
}

/// The loop.
fn turn(iterations: u64, seed: u64) -> u64 {
    (0..iterations).fold(seed, |x, _| {
        (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9).wrapping_add(0x9E37_79B9_7F4A_7C15)
    })
}

/// Measures the steps in a nanosecond, times 2^32.
#[expect(clippy::disallowed_methods, reason = "no output depends on it: the result is thrown away")]
fn calibrate() -> u64 {
    const STEPS: u64 = 1 << 15;
    const TRIES: u32 = 40;
    let times = (0..TRIES).map(|_| {
        let start = Instant::now();
        black_box(turn(black_box(STEPS), black_box(1)));
        start.elapsed()
    });
    // The shortest is the one that nothing has disturbed.
    let shortest = times.min().map_or(1, |time| time.as_nanos().max(1));
    u64::try_from((u128::from(STEPS) << 32) / shortest).unwrap_or(u64::MAX)
}

/// How much work, as typed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WorkArguments {
    /// Work in processor time, such as 100ns, 10us, 1.5ms; the output does not depend on it
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "iterations")]
    work: Option<Duration>,

    /// Work in steps of a loop instead, whose result is part of the output
    #[arg(long, value_name = "N")]
    iterations: Option<u64>,
}

impl WorkArguments {
    /// Understands them; `otherwise` if nothing was typed.
    pub(crate) fn or(&self, otherwise: Duration) -> Work {
        match self.iterations {
            Some(steps) => Work::iterations(steps),
            None => Work::time(self.work.unwrap_or(otherwise)),
        }
    }
}

/// Reads a time as people write it: `100ns`, `10us`, `1.5ms`, `2s`.
///
/// ```
/// use std::time::Duration;
/// use kahn_apps::work::parse_time;
///
/// assert_eq!(parse_time("1.5ms"), Ok(Duration::from_micros(1500)));
/// assert!(parse_time("10").is_err());
/// ```
///
/// # Errors
///
/// Returns what was expected.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u32); 5] = [("ns", 0), ("us", 3), ("µs", 3), ("ms", 6), ("s", 9)];
    let expected = || "expected a number with ns, us, ms or s: `100ns`, `10us`, `1.5ms`".to_owned();
    let found = UNITS.iter().find_map(|(unit, digits)| Some((text.strip_suffix(unit)?, *digits)));
    let (number, digits) = found.ok_or_else(expected)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(expected());
    }
    // What is less than a nanosecond is cut off.
    let decimals = fraction.bytes().chain(std::iter::repeat(b'0')).take(digits as usize);
    let nanoseconds = whole
        .bytes()
        .chain(decimals)
        .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| "is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_nanosecond() {
        let nanoseconds = |text| parse_time(text).map(|time| time.as_nanos());
        assert_eq!(nanoseconds("100ns"), Ok(100));
        assert_eq!(nanoseconds("10us"), Ok(10_000));
        assert_eq!(nanoseconds("10µs"), Ok(10_000));
        assert_eq!(nanoseconds("1.25ms"), Ok(1_250_000));
        assert_eq!(nanoseconds("3s"), Ok(3_000_000_000));
        assert_eq!(nanoseconds("0.0000000019s"), Ok(1));
        assert_eq!(nanoseconds("0ns"), Ok(0));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "5", "s", "1,5s", "-1s", "+1s", "1e3s", ".5s", "5.s", "1 s", "5m", "5min"]
        {
            assert!(parse_time(text).unwrap_err().starts_with("expected"), "{text:?}");
        }
        assert_eq!(parse_time("99999999999s"), Err("is too long".to_owned()));
    }

    #[test]
    fn iterations_are_steps_and_their_result_counts() {
        assert_eq!(Work::iterations(3).spend(9), turn(1, turn(2, 9)));
        assert_eq!(Pace::iterations().spend(3, 9), turn(3, 9));
        assert_eq!(Pace::iterations().iterations_of(u64::MAX), u64::MAX);
    }

    #[test]
    fn parts_make_the_whole() {
        let work = Work::iterations(1_000_003);
        let parts = (0..7).map(|part| work.between(part, part + 1, 7).units());
        assert_eq!(parts.sum::<u64>(), work.units());
        assert_eq!(work.between(0, 7, 7), work);
        assert_eq!(work.between(3, 3, 7), Work::none());
    }

    #[test]
    fn a_nanosecond_has_some_steps_but_not_many() {
        let Pace { steps, .. } = Pace::nanoseconds();
        // From 20 MHz to 20 GHz, one step in a cycle or in twenty.
        assert!((1 << 22..20 << 32).contains(&steps), "{steps}");
    }
}
