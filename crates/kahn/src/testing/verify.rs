//! Runs a network in many ways and compares.

use super::compare::{Difference, Mismatch, Run};
use super::schedule::{Case, Schedules};
use super::watchdog::guarded;
use crate::network::execute;
use crate::{Name, Network, Report, RunError, Summary};
use std::error::Error;
use std::fmt;

/// What runs of a network under many schedules have in common: everything that counts.
///
/// Prints in one line, and a few more if there is something to mind. If no channel was compared by
/// contents, that line says *equal by count only*: processes that take something from elsewhere may
/// be among them.
///
/// # Examples
///
/// ```
/// use kahn::testing;
///
/// let verified = testing::verify(|network| {
///     let numbers = network.source("numbers", 0..10_u32);
///     network.for_each("ignore", numbers, |_| {});
/// })?;
/// assert_eq!((verified.by_contents, verified.by_count), (1, 0));
/// assert!(verified.to_string().starts_with("equal under"));
/// # Ok::<(), testing::VerifyError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verified<A = ()> {
    /// How many schedules it was run under.
    pub schedules: usize,
    /// How many channels were compared message by message, in the first run.
    pub by_contents: usize,
    /// How many were compared by the number of their messages: they have no digest.
    pub by_count: usize,
    /// The types of their messages, in the order of their names.
    pub types_by_count: Vec<&'static str>,
    /// Runs that were cut short: what was received until then was the same.
    pub cut: Vec<Cut>,
    /// The report of the run that the others were compared with.
    pub report: Report,
    /// The result of that run.
    pub result: A,
}

/// A run that was cut short at a moment that depends on the schedule.
///
/// # Examples
///
/// ```
/// use kahn::policy::SEQUENTIAL;
/// use kahn::Summary;
/// use kahn::testing::Schedules;
///
/// let verified = Schedules::new().policies([SEQUENTIAL]).capacities([1]).verify(|network| {
///     let numbers = network.source("numbers", 0_u64..);
///     let handle = network.stop_handle();
///     network.for_each("stop", numbers, move |n| if n == 9 { handle.stop() });
/// })?;
/// // What was received until then is compared all the same.
/// assert_eq!(verified.cut[0].outcome, Summary::Stopped);
/// # Ok::<(), kahn::testing::VerifyError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cut {
    /// How it was run.
    pub schedule: Case,
    /// Over budget, misuse, or stopped.
    pub outcome: Summary,
    /// What the report says of the outcome.
    pub explanation: String,
}

/// Types of messages that are shown.
const TYPES: usize = 5;

impl<A> Verified<A> {
    /// Returns whether no channel was compared by contents: then nothing is known but how many messages
    /// there were.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing;
    ///
    /// /// It has no digest, and is no ordinary type.
    /// struct Opaque;
    ///
    /// let verified = testing::verify(|network| {
    ///     let parts = network.source("parts", [Opaque, Opaque]);
    ///     network.for_each("ignore", parts, |_| {});
    /// })?;
    /// assert!(verified.is_by_count_only());
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
    pub fn is_by_count_only(&self) -> bool {
        self.by_contents == 0
    }
}

impl<A> fmt::Display for Verified<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = if self.is_by_count_only() { " by count only" } else { "" };
        write!(
            f,
            "equal{only} under {} schedules: {} messages, {} channels compared by contents, {} by count",
            self.schedules,
            self.report.messages(),
            self.by_contents,
            self.by_count
        )?;
        if !self.types_by_count.is_empty() {
            let shown = self.types_by_count.iter().take(TYPES);
            let names: Vec<_> = shown.map(|name| format!("`{name}`")).collect();
            write!(f, "\nby count, for there is no digest: {}", names.join(", "))?;
            if let more @ 1.. = self.types_by_count.len().saturating_sub(TYPES) {
                write!(f, " and {more} more")?;
            }
        }
        if self.is_by_count_only() && self.by_count > 0 {
            write!(
                f,
                "\nhelp: derive `kahn::Digest` (feature `derive`) for a type, and name it by \
                 `Schedules::digest` or its channel by `Channel::digest`"
            )?;
        }
        if self.report.chooses {
            write!(
                f,
                "\nprocesses that choose (`kahn-csp`) took part: they may compute something else under \
                 a schedule that was not tried"
            )?;
        }
        if let Some(Cut { schedule, explanation, .. }) = self.cut.first() {
            let count = self.cut.len();
            write!(f, "\n{count} of the runs were cut short; the first with {schedule}:\n")?;
            write!(f, "{}", explanation.trim_end())?;
        }
        Ok(())
    }
}

/// Why a network could not be verified.
///
/// # Examples
///
/// ```
/// use kahn::policy::SHARED;
/// use kahn::testing::{Schedules, VerifyError};
///
/// let error = Schedules::new().workers([]).policies([SHARED]).verify(|_network| {});
/// assert!(matches!(error, Err(VerifyError::NoSchedule)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// Two runs differ.
    Differs(Box<Difference>),
    /// The network could not be run.
    Refused {
        /// With this schedule.
        schedule: Case,
        /// For this reason.
        error: Box<RunError>,
    },
    /// A run did not end in time.
    Hangs {
        /// With this schedule.
        schedule: Case,
        /// Which process waited for which.
        explanation: String,
    },
    /// The network is asked from outside, in an order that is another in each run.
    FromOutside {
        /// The process that is asked.
        process: Name,
    },
    /// The result depends on the number of parts that share the work.
    Parts {
        /// A number of parts, and the result.
        first: (usize, String),
        /// Another, and another result.
        other: (usize, String),
        /// The message that the others probably come from: of the channels that do not belong to the parts.
        mismatch: Option<Box<Mismatch>>,
    },
    /// There is nothing to run it with.
    NoSchedule,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(difference) => write!(f, "{difference}"),
            Self::Refused { schedule, error } => write!(f, "with {schedule}: {error}"),
            Self::Hangs { schedule, explanation } => write!(f, "with {schedule}: {explanation}"),
            Self::FromOutside { process } => write!(
                f,
                "the order in which `{process}` is asked comes from outside the network, so runs cannot \
                 be compared: write the network with a source in its place, which sends the same \
                 questions each time"
            ),
            Self::Parts { first: (one, first), other: (many, other), mismatch } => {
                write!(
                    f,
                    "with {} the result is {first}, and with {} {other}",
                    Of(*one),
                    Of(*many)
                )?;
                if let Some(Mismatch::Message { channel, from, number, .. }) = mismatch.as_deref() {
                    write!(f, ": message {number} on channel `{channel}`")?;
                    if let Some(from) = from {
                        write!(f, ", written by process `{from}`")?;
                    }
                    write!(f, ", is the first that is another")?;
                }
                write!(
                    f,
                    "; something influences results that depends on which part does what, such as memory \
                     that is used again"
                )
            }
            Self::NoSchedule => f.write_str(
                "there is no schedule to run the network with: name policies, workers, capacities, \
                 seeds",
            ),
        }
    }
}

impl Error for VerifyError {}

/// A number of parts, in words.
pub(super) struct Of(pub(super) usize);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 part"),
            parts => write!(f, "{parts} parts"),
        }
    }
}

/// How far verifying has got; see [`Schedules::verify_with`].
///
/// # Examples
///
/// ```
/// use kahn::policy::SEQUENTIAL;
/// use kahn::testing::{Ran, Schedules};
///
/// let mut lines = Vec::new();
/// let each = |progress: Ran<'_>| lines.push(format!("{} of {}", progress.done, progress.of));
/// Schedules::new().policies([SEQUENTIAL]).capacities([1, 2]).verify_with(|_network| {}, drop, each)?;
/// assert_eq!(lines, ["1 of 2", "2 of 2"]);
/// # Ok::<(), kahn::testing::VerifyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ran<'a> {
    /// Runs that have ended.
    pub done: usize,
    /// Runs in all.
    pub of: usize,
    /// The schedule of the last run.
    pub schedule: &'a Case,
}

/// Runs a network under every schedule of [`Schedules::new`], and compares.
///
/// # Errors
/// As for [`Schedules::verify`].
///
/// # Examples
///
/// Shared memory lets the schedule into a result; this finds it:
///
/// ```
/// use kahn::testing;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let error = testing::verify(|network| {
///     let shared = std::sync::Arc::new(AtomicU32::new(0));
///     for name in ["a", "b"] {
///         let shared = shared.clone();
///         let (out, tickets) = network.channel(name);
///         network.process(name, out, async move |mut out| {
///             for _ in 0..100 {
///                 out.send(shared.fetch_add(1, Ordering::Relaxed)).await;
///             }
///         });
///         network.for_each(format!("ignore {name}"), tickets, |_| {});
///     }
/// })
/// .expect_err("it depends on which is first");
/// // Such as: message 1 on channel `b`, written by process `b`, differs between two runs: …
/// assert!(error.to_string().starts_with("message "), "{error}");
/// ```
pub fn verify<'env, R>(build: impl Fn(&mut Network<'env>) -> R) -> Result<Verified, VerifyError> {
    Schedules::new().verify(build)
}

/// Runs a network under every schedule of [`Schedules::new`], compares, and returns the result that
/// is the same in all.
///
/// `build` writes the network down and returns what `result` finds the result by after each run;
/// see the [module's example](crate::testing).
///
/// # Examples
///
/// ```
/// use kahn::testing;
///
/// let sum = testing::assert_same(
///     |network| {
///         let numbers = network.source("numbers", 1..=4_u32);
///         network.fold("sum", numbers, 0, |sum, n| sum + n)
///     },
///     |sum| sum.take(),
/// );
/// assert_eq!(sum, Some(10));
/// ```
///
/// # Panics
/// Panics if two runs or two results differ, if the network cannot be run, if a run hangs, and if a
/// run was cut short: by the byte budget, by misuse, or from outside.
#[track_caller]
pub fn assert_same<'env, R, A: PartialEq + fmt::Debug>(
    build: impl Fn(&mut Network<'env>) -> R,
    result: impl Fn(R) -> A,
) -> A {
    match Schedules::new().verify_with(build, result, |_| {}) {
        Ok(verified) if verified.cut.is_empty() => verified.result,
        Ok(verified) => panic!("{verified}"),
        Err(error) => panic!("{error}"),
    }
}

impl Schedules {
    /// Runs a network under these schedules and compares all runs with the first.
    ///
    /// Compared is what was received on each channel: message by message where messages have a
    /// [digest](crate::Digest), by number elsewhere. Those of ordinary types have one, and those of
    /// types named by [`digest`](Self::digest); other channels are given it when they are
    /// [created](crate::Channel::digest). Then failures, outcomes, and how the
    /// processes ended. Of readers that could not be observed any more, and of runs that were cut
    /// short, what one received must be the beginning of what the other did.
    ///
    /// `build` is called for each run anew, and must do the same each time.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing::Schedules;
    ///
    /// let verified = Schedules::new().capacities([1]).seeds([7]).verify(|network| {
    ///     let numbers = network.source("numbers", 0..10_u32);
    ///     network.for_each("ignore", numbers, |_| {});
    /// })?;
    /// assert!(verified.cut.is_empty());
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    ///
    /// # Errors
    /// [`VerifyError::Differs`] names the first difference; the other errors tell why a run did not
    /// come about or did not end.
    ///
    /// # Panics
    /// Aborts if a run that hangs cannot be stopped; see [`within`](super::within).
    pub fn verify<'env, R>(
        &self,
        build: impl Fn(&mut Network<'env>) -> R,
    ) -> Result<Verified, VerifyError> {
        self.verify_with(build, drop, |_| {})
    }

    /// Runs a network under these schedules and compares results as well; calls `each` after each
    /// run.
    ///
    /// `result` gets what `build` returned, after the run. The results of runs that were cut short
    /// are not compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::policy::SEEDED;
    /// use kahn::testing::Schedules;
    ///
    /// let text = String::from("to be or not to be");
    /// let verified = Schedules::new().policies([SEEDED]).capacities([1]).verify_with(
    ///     |network| {
    ///         let words = network.source("words", text.split(' '));
    ///         network.fold("count", words, 0, |count, _| count + 1)
    ///     },
    ///     |count| count.take(),
    ///     |progress| println!("{} of {}: {}", progress.done, progress.of, progress.schedule),
    /// )?;
    /// assert_eq!(verified.result, Some(6));
    /// # Ok::<(), kahn::testing::VerifyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`verify`](Self::verify).
    ///
    /// # Panics
    /// As for [`verify`](Self::verify).
    pub fn verify_with<'env, R, A: PartialEq + fmt::Debug>(
        &self,
        build: impl Fn(&mut Network<'env>) -> R,
        result: impl Fn(R) -> A,
        mut each: impl FnMut(Ran<'_>),
    ) -> Result<Verified<A>, VerifyError> {
        let of = self.list().len();
        let each = |done, schedule: &Case| each(Ran { done, of, schedule });
        Ok(self.runs(None, build, result, each)?.verified(of))
    }

    /// Runs a network under these schedules, as one of so many parts if that is told, and compares; tells `each` how
    /// many have run.
    pub(super) fn runs<'env, R, A: PartialEq + fmt::Debug>(
        &self,
        parts: Option<usize>,
        build: impl Fn(&mut Network<'env>) -> R,
        result: impl Fn(R) -> A,
        mut each: impl FnMut(usize, &Case),
    ) -> Result<Runs<A>, VerifyError> {
        let mut cut = Vec::new();
        let mut first: Option<(Run, A)> = None;
        for (index, (schedule, options)) in self.options().enumerate() {
            let schedule = Case { parts, ..schedule };
            let mut network = Network::new();
            network.record_by(&self.digests);
            let handed = build(&mut network);
            if let Some(process) = network.asked_from_outside() {
                return Err(VerifyError::FromOutside { process });
            }
            let ran = guarded(self.time_limit, |watchdog| {
                watchdog.watch(&network);
                execute(network, options)
            });
            let outcome = match ran {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => {
                    return Err(VerifyError::Refused { schedule, error: Box::new(error) });
                }
                Err(explanation) => return Err(VerifyError::Hangs { schedule, explanation }),
            };
            if let Some(process) = outcome.from_outside.first() {
                return Err(VerifyError::FromOutside { process: process.clone() });
            }
            let found = (Run::new(schedule, outcome), result(handed));
            if found.0.is_cut() {
                cut.push(Cut {
                    schedule: found.0.schedule.clone(),
                    outcome: found.0.summary(),
                    explanation: found.0.outcome.report.explanation(),
                });
            }
            if let Some(expected) = &first
                && let Some(mismatch) = compare(expected, &found)
            {
                return Err(VerifyError::Differs(Box::new(Difference {
                    expected: expected.0.schedule.clone(),
                    found: found.0.schedule,
                    mismatch,
                })));
            }
            each(index + 1, &found.0.schedule);
            // A run that was cut short says less than one that was not.
            if first.as_ref().is_none_or(|first| first.0.is_cut() && !found.0.is_cut()) {
                first = Some(found);
            }
        }
        let (run, result) = first.ok_or(VerifyError::NoSchedule)?;
        Ok(Runs { run, result, cut })
    }
}

/// Runs that are the same in all that counts.
pub(super) struct Runs<A> {
    /// The one that the others were compared with.
    pub(super) run: Run,
    /// Its result.
    pub(super) result: A,
    pub(super) cut: Vec<Cut>,
}

impl<A> Runs<A> {
    /// What they have in common, told of so many schedules.
    pub(super) fn verified(self, schedules: usize) -> Verified<A> {
        let Self { run, result, cut } = self;
        let (by_contents, by_count) = run.channel_counts();
        let types_by_count = run.types_by_count();
        let report = run.outcome.report;
        Verified { schedules, by_contents, by_count, types_by_count, cut, report, result }
    }
}

fn compare<A: PartialEq + fmt::Debug>(expected: &(Run, A), found: &(Run, A)) -> Option<Mismatch> {
    let mismatch = expected.0.compare(&found.0);
    let is_cut = expected.0.is_cut() || found.0.is_cut();
    mismatch.or_else(|| {
        (!is_cut && expected.1 != found.1).then(|| Mismatch::Result {
            expected: format!("{:?}", expected.1),
            found: format!("{:?}", found.1),
        })
    })
}
