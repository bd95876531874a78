//! Campaigns: many cases drawn from seeds, each held against what an interpreter says.

use crate::draw::{Choice, Counts, Draw};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

/// A kind of case: how one is drawn, checked and made smaller.
///
/// `kahn-bench soak` runs each by its name; a new kind is a new implementation.
pub trait Campaign {
    /// What is drawn; its text is what is shown of a failure.
    type Case: Display;

    /// The name, as given on the command line.
    const NAME: &'static str;

    /// All questions that the generator asks.
    fn choices(&self) -> &'static [&'static [&'static Choice]];

    /// Draws a case.
    fn draw(&self, draw: &mut Draw) -> Self::Case;

    /// Runs a case under schedules drawn from `draw`, and compares.
    ///
    /// # Errors
    ///
    /// [`Trouble::Refused`] if the case cannot be compared, [`Trouble::Broken`] if a run does not
    /// agree with the interpreter or with another run.
    fn check(&self, case: &Self::Case, draw: &mut Draw, tally: &mut Tally) -> Result<(), Trouble>;

    /// Returns cases a little smaller than this one.
    fn smaller(&self, case: &Self::Case) -> Vec<Self::Case>;
}

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It cannot be compared, for this reason.
    Refused(&'static str),
    /// A promise is broken: which, and what was expected and came.
    Broken(&'static str, String),
}

/// What a campaign has done.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub schedules: u64,
    /// Messages compared with the interpreter's.
    pub messages: u64,
    /// What else is worth a number, by its text.
    pub notes: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Counts something by its text.
    pub fn note(&mut self, what: &'static str) {
        *self.notes.entry(what).or_default() += 1;
    }
}

/// A promise that was broken, and the first case that broke it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The promise.
    pub promise: &'static str,
    /// The cases that broke it.
    pub cases: u64,
    /// The seed that draws it.
    pub seed: u64,
    /// The smallest that still fails.
    pub case: String,
    /// What the smallest broke.
    pub trouble: String,
    /// What the case that was drawn broke.
    pub first: String,
}

/// The outcome of a campaign.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The campaign's name.
    pub name: &'static str,
    /// The first seed.
    pub seed: u64,
    /// The cases compared.
    pub cases: u64,
    /// The cases that could not be compared, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Runs, messages and notes.
    pub tally: Tally,
    /// How often each answer was drawn for the cases compared; answers never drawn have 0.
    pub counts: Counts,
    /// The promises that were broken.
    pub failures: Vec<Failure>,
}

/// The cases from which on an answer that was never drawn is an error.
pub const MANY: u64 = 300;

impl Summary {
    /// Returns the answers that were never drawn, if there were cases enough to draw each.
    pub fn never_drawn(&self) -> Vec<(&'static str, &'static str)> {
        if self.cases < MANY || !self.failures.is_empty() {
            return Vec::new();
        }
        self.counts.iter().filter(|(_, count)| **count == 0).map(|(answer, _)| *answer).collect()
    }

    /// Returns whether nothing failed and every answer was drawn.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && self.never_drawn().is_empty()
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, seed, cases, refused, tally, counts, failures } = self;
        write!(f, "{name}: seed {seed}, {cases} cases, {} schedules, ", tally.schedules)?;
        writeln!(f, "{} messages compared", tally.messages)?;
        for (reason, count) in refused {
            writeln!(f, "  {count} more not run: {reason}")?;
        }
        for (what, count) in &tally.notes {
            writeln!(f, "  {count} {what}")?;
        }
        writeln!(f, "drawn:")?;
        let mut last = "";
        for ((question, answer), count) in counts {
            if *question != last {
                if !last.is_empty() {
                    writeln!(f)?;
                }
                write!(f, "  {question}:")?;
                last = question;
            }
            write!(f, " {answer} {count};")?;
        }
        writeln!(f)?;
        for (question, answer) in self.never_drawn() {
            writeln!(f, "never drawn: {question}: {answer}")?;
        }
        for Failure { promise, cases, seed, case, trouble, first } in failures {
            writeln!(f, "\nFAILED in {cases} cases: {promise}")?;
            writeln!(f, "The first, at seed {seed}: {first}")?;
            writeln!(f, "The smallest case found that fails: {trouble}\n{case}")?;
            writeln!(f, "Again: kahn-bench soak --kind {name} --networks 1 --seed {seed}")?;
        }
        Ok(())
    }
}

/// How much of a campaign is run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The seed of the first case; the next has the next seed.
    pub seed: u64,
    /// The most cases.
    pub cases: u64,
    /// The time after which no case is begun.
    pub time: Option<Duration>,
    /// How long the first case that breaks a promise is made smaller.
    pub shrinking: Duration,
}

/// Runs a campaign. Of each promise that is broken the first case is made smaller.
pub fn soak<C: Campaign>(campaign: &C, extent: Extent) -> Summary {
    let begin = now();
    let mut summary = Summary {
        name: C::NAME,
        seed: extent.seed,
        cases: 0,
        refused: BTreeMap::new(),
        tally: Tally::default(),
        counts: Counts::new(),
        failures: Vec::new(),
    };
    for choice in campaign.choices().iter().copied().flatten() {
        for (answer, _) in choice.answers {
            summary.counts.insert((choice.name, answer), 0);
        }
    }
    for number in 0..extent.cases {
        if extent.time.is_some_and(|time| begin.elapsed() >= time) {
            break;
        }
        let seed = extent.seed.wrapping_add(number);
        *CURRENT.lock() = Some((C::NAME, seed));
        let mut draw = Draw::new(seed);
        let case = campaign.draw(&mut draw);
        match campaign.check(&case, &mut draw, &mut summary.tally) {
            Ok(()) => {
                summary.cases += 1;
                for (answer, count) in draw.into_counts() {
                    *summary.counts.entry(answer).or_default() += count;
                }
            }
            Err(Trouble::Refused(reason)) => {
                *summary.refused.entry(reason).or_default() += 1;
            }
            Err(Trouble::Broken(promise, first)) => {
                summary.cases += 1;
                let known = summary.failures.iter_mut().find(|known| known.promise == promise);
                if let Some(known) = known {
                    known.cases += 1;
                    continue;
                }
                let broken = Broken { case, seed, promise, trouble: first.clone() };
                let Broken { case, trouble, .. } = shrink(campaign, broken, extent.shrinking);
                let case = case.to_string();
                summary.failures.push(Failure { promise, cases: 1, seed, case, trouble, first });
            }
        }
    }
    summary
}

struct Broken<C> {
    case: C,
    seed: u64,
    promise: &'static str,
    trouble: String,
}

/// How often a smaller case is tried: what depends on the schedule does not fail each time.
const TRIES: u64 = 4;

fn shrink<C: Campaign>(
    campaign: &C,
    mut broken: Broken<C::Case>,
    time: Duration,
) -> Broken<C::Case> {
    let begin = now();
    'smaller: loop {
        for less in campaign.smaller(&broken.case) {
            for again in 0..TRIES {
                if begin.elapsed() >= time {
                    return broken;
                }
                let mut draw = Draw::new(broken.seed.wrapping_add(again << 32));
                match campaign.check(&less, &mut draw, &mut Tally::default()) {
                    Err(Trouble::Broken(promise, trouble)) if promise == broken.promise => {
                        broken = Broken { case: less, trouble, ..broken };
                        continue 'smaller;
                    }
                    Err(Trouble::Refused(_)) => break,
                    Err(Trouble::Broken(..)) | Ok(()) => {}
                }
            }
        }
        return broken;
    }
}

/// The case that is being checked.
static CURRENT: Mutex<Option<(&str, u64)>> = Mutex::new(None);

/// Says on standard error which case is being checked, for what ends this program.
#[expect(clippy::print_stderr, reason = "this program may be aborted next")]
pub(crate) fn say_case() {
    if let Some((name, seed)) = *CURRENT.lock() {
        eprintln!("in case: kahn-bench soak --kind {name} --networks 1 --seed {seed}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a campaign is given a time, and no network sees it")]
fn now() -> Instant {
    Instant::now()
}
