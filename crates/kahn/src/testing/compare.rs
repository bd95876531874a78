//! What two runs of a network must have in common, and the first thing that they have not.
//!
//! | of a channel's history, | if its reader | must be |
//! |---|---|---|
//! | all | could be observed to its end | equal |
//! | a beginning | could be pruned, or is dead | the beginning of the other |
//! | a beginning | is of a run that was cut short | the beginning of the other |
//!
//! A difference spreads downstream, so the one that is named is one whose writer received the same
//! in both runs, if there is such a one: that process is no function of what it received. Of
//! several, and in rings, it is the one with the lowest message number, then the channel that was
//! created first.

use super::schedule::Case;
use crate::channel::table::ChannelRecord;
use crate::network::Outcome;
use kahn_report::{FailureReport, Name, ProcessEnd, Summary};
#[cfg(feature = "json")]
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The first difference between two runs of a network.
///
/// # Examples
///
/// ```
/// use kahn::testing::{self, VerifyError};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// // What is sent depends on how often the network has run: on shared memory.
/// let runs = AtomicU32::new(0);
/// let error = testing::verify(|network| {
///     let run = runs.fetch_add(1, Relaxed);
///     let numbers = network.source("numbers", [run]);
///     network.for_each("ignore", numbers, |_| {});
/// })
/// .expect_err("it differs");
/// let VerifyError::Differs(difference) = error else { panic!("{error}") };
/// assert_eq!(difference.expected.policy, "sequential");
/// assert!(difference.to_string().starts_with("message 1 on channel `numbers`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[non_exhaustive]
pub struct Difference {
    /// How the run went that the others are compared with.
    pub expected: Case,
    /// How the run went that differs.
    pub found: Case,
    /// What differs.
    pub mismatch: Mismatch,
}

/// What differs between two runs.
///
/// # Examples
///
/// ```
/// use kahn::testing::{self, Mismatch, VerifyError};
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// let has_run = AtomicBool::new(false);
/// let error = testing::verify(|network| {
///     let again = has_run.swap(true, Relaxed);
///     network.process("fail", (), async move |()| if again { Err("again") } else { Ok(()) });
/// })
/// .expect_err("it differs");
/// let VerifyError::Differs(difference) = error else { panic!("{error}") };
/// let Mismatch::Failures { expected, found } = difference.mismatch else { panic!("it fails") };
/// assert_eq!((expected.len(), found[0].message.as_str()), (0, "again"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Mismatch {
    /// A message.
    Message {
        /// The channel.
        channel: Name,
        /// The process that wrote it.
        from: Option<Name>,
        /// The process that received it.
        to: Option<Name>,
        /// The number of the message; the first is 1.
        number: u64,
        /// In what it differs.
        unlike: Unlike,
        /// Whether the writer received the same in both runs, as far as its channels tell.
        from_same_input: bool,
    },
    /// A channel exists in one of the two runs only.
    Channel {
        /// The channel.
        channel: Name,
        /// Whether it is there in the run that the others are compared with.
        expected: bool,
    },
    /// The failures that count.
    Failures {
        /// In the run that the others are compared with.
        expected: Vec<FailureReport>,
        /// In the other.
        found: Vec<FailureReport>,
    },
    /// The outcome.
    Outcome {
        /// Of the run that the others are compared with.
        expected: Summary,
        /// Of the other.
        found: Summary,
    },
    /// How a process ended, or that there was one.
    Process {
        /// The process.
        process: Name,
        /// How it ended in the run that the others are compared with.
        expected: Option<ProcessEnd>,
        /// How it ended in the other.
        found: Option<ProcessEnd>,
    },
    /// The result.
    Result {
        /// Of the run that the others are compared with, printed.
        expected: String,
        /// Of the other.
        found: String,
    },
}

/// In what a message differs.
///
/// # Examples
///
/// ```
/// use kahn::testing::{self, Mismatch, Unlike, VerifyError};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let runs = AtomicU32::new(0);
/// let error = testing::verify(|network| {
///     let more = runs.fetch_add(1, Relaxed);
///     let numbers = network.source("numbers", 0..=more);
///     network.for_each("ignore", numbers, |_| {});
/// })
/// .expect_err("it differs");
/// let VerifyError::Differs(difference) = error else { panic!("{error}") };
/// let Mismatch::Message { number, unlike, .. } = difference.mismatch else { panic!("a message") };
/// assert_eq!((number, unlike), (2, Unlike::Extra));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Serialize))]
#[cfg_attr(feature = "json", serde(rename_all = "kebab-case"))]
pub enum Unlike {
    /// Its contents.
    Contents,
    /// It was received only in the run that the others are compared with.
    Missing,
    /// It was received only in the run that differs.
    Extra,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, found) = (&self.expected, &self.found);
        match &self.mismatch {
            Mismatch::Message { channel, from, to, number, unlike, from_same_input } => {
                write!(f, "message {number} on channel `{channel}`")?;
                if let Some(from) = from {
                    write!(f, ", written by process `{from}`")?;
                }
                match unlike {
                    Unlike::Contents => writeln!(f, ", differs between two runs:")?,
                    Unlike::Missing | Unlike::Extra => {
                        let reader = to.as_ref().map_or("no process", Name::as_str);
                        writeln!(
                            f,
                            ", was received by process `{reader}` in one of two runs only:"
                        )?;
                    }
                }
                let here = |is: bool| if is { "there" } else { "not there" };
                match unlike {
                    Unlike::Contents => writeln!(f, "  with {expected}\n  with {found}")?,
                    Unlike::Missing | Unlike::Extra => writeln!(
                        f,
                        "  {} with {expected}\n  {} with {found}",
                        here(*unlike == Unlike::Missing),
                        here(*unlike == Unlike::Extra),
                    )?,
                }
                if *from_same_input {
                    write!(
                        f,
                        "what the writer received was the same: it or the reader takes something \
                         from elsewhere, such as shared memory, a clock, random numbers, the order \
                         of a hash map"
                    )
                } else {
                    write!(f, "what the writer received was not the same either")
                }
            }
            Mismatch::Channel { channel, expected: is } => {
                let (with, without) = if *is { (expected, found) } else { (found, expected) };
                write!(f, "channel `{channel}` is there with {with}, and not with {without}")
            }
            Mismatch::Failures { expected: a, found: b } => {
                writeln!(f, "different processes failed:\nwith {expected}")?;
                list(f, a)?;
                writeln!(f, "with {found}")?;
                list(f, b)
            }
            Mismatch::Outcome { expected: a, found: b } => {
                write!(f, "the outcome is {a:?} with {expected}, and {b:?} with {found}")
            }
            Mismatch::Process { process, expected: a, found: b } => {
                let how = |ending: &Option<ProcessEnd>| {
                    ending.as_ref().map_or("is not there".into(), |how| format!("ended: {how}"))
                };
                write!(
                    f,
                    "process `{process}` {} with {expected}, and {} with {found}",
                    how(a),
                    how(b)
                )
            }
            Mismatch::Result { expected: a, found: b } => {
                write!(f, "the result is\n  {a}\nwith {expected}, and\n  {b}\nwith {found}")
            }
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, failures: &[FailureReport]) -> fmt::Result {
    failures.iter().try_for_each(|failure| writeln!(f, "  {failure}"))?;
    if failures.is_empty() { writeln!(f, "  none") } else { Ok(()) }
}

/// A run, to be compared with others.
pub(super) struct Run {
    pub(super) schedule: Case,
    pub(super) outcome: Outcome,
}

/// A channel whose histories differ, and where.
struct Unequal<'a> {
    record: &'a ChannelRecord,
    number: u64,
    unlike: Unlike,
}

impl Run {
    pub(super) fn new(schedule: Case, outcome: Outcome) -> Self {
        Self { schedule, outcome }
    }

    pub(super) fn summary(&self) -> Summary {
        self.outcome.report.outcome
    }

    /// Whether it was cut short at a moment that depends on the schedule.
    pub(super) fn is_cut(&self) -> bool {
        matches!(
            self.summary(),
            Summary::OverBudget | Summary::Misuse | Summary::Stopped | Summary::OutOfThreads
        )
    }

    /// How many channels are compared by contents, and how many by count.
    pub(super) fn channel_counts(&self) -> (usize, usize) {
        let all = self.outcome.channels.len();
        let has_digest = |record: &&ChannelRecord| record.history.is_some();
        let by_contents = self.outcome.channels.iter().filter(has_digest).count();
        (by_contents, all - by_contents)
    }

    /// The types of messages of the channels that are compared by count.
    pub(super) fn types_by_count(&self) -> Vec<&'static str> {
        let without = self.outcome.channels.iter().filter(|record| record.history.is_none());
        without.map(|record| record.type_name).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Finds the first thing in which `found` differs from this run.
    pub(super) fn compare(&self, found: &Self) -> Option<Mismatch> {
        let channels = self.compare_channels(found);
        if self.is_cut() || found.is_cut() {
            return channels;
        }
        channels.or_else(|| self.compare_ends(found))
    }

    /// Finds the message in which a run of another network of the same program differs first, on channels that
    /// are there in both. Those of which one network has more, such as those of parts that share the work, are
    /// left out.
    pub(super) fn first_unlike(&self, found: &Self) -> Option<Mismatch> {
        let ((ours, our_families), (theirs, their_families)) = (by_name(self), by_name(found));
        let both = ours.iter().filter_map(|(name, record)| Some((*record, *theirs.get(name)?)));
        let unequal: Vec<_> = both
            .filter(|(record, _)| {
                let text = text_of(&record.name);
                our_families.get(&text) == their_families.get(&text)
            })
            .filter_map(|(a, b)| first_unequal((a, self.is_cut()), (b, found.is_cut())))
            .collect();
        root(&unequal)
    }

    fn compare_channels(&self, found: &Self) -> Option<Mismatch> {
        let (mut unequal, mut single) = (Vec::new(), None);
        let mut theirs = found.outcome.channels.iter().peekable();
        let mut ours = self.outcome.channels.iter().peekable();
        // Both lists are sorted by identity.
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.identity.cmp(&b.identity),
            };
            let ours = ours.next_if(|_| order.is_le());
            let theirs = theirs.next_if(|_| order.is_ge());
            match (ours, theirs) {
                (Some(a), Some(b)) => {
                    unequal.extend(first_unequal((a, self.is_cut()), (b, found.is_cut())));
                }
                // A run that was cut short need not have come to making it.
                (Some(only), _) if !found.is_cut() => single = single.or(Some((only, true))),
                (_, Some(only)) if !self.is_cut() => single = single.or(Some((only, false))),
                _ => {}
            }
        }
        root(&unequal).or_else(|| {
            single.map(|(record, expected)| Mismatch::Channel {
                channel: record.name.clone(),
                expected,
            })
        })
    }

    fn compare_ends(&self, found: &Self) -> Option<Mismatch> {
        let (ours, theirs) = (&self.outcome.report, &found.outcome.report);
        if ours.failures != theirs.failures {
            let (expected, found) = (ours.failures.clone(), theirs.failures.clone());
            return Some(Mismatch::Failures { expected, found });
        }
        if ours.outcome != theirs.outcome {
            return Some(Mismatch::Outcome { expected: ours.outcome, found: theirs.outcome });
        }
        let (mut a, mut b) = (ours.processes.iter(), theirs.processes.iter());
        loop {
            let (a, b) = (a.next(), b.next());
            let process = a.or(b)?.name.clone();
            let is_same = match (a, b) {
                (Some(a), Some(b)) => a.name == b.name && a.ending == b.ending,
                _ => false,
            };
            if !is_same {
                let b = b.filter(|b| b.name == process);
                return Some(Mismatch::Process {
                    process,
                    expected: a.map(|a| a.ending.clone()),
                    found: b.map(|b| b.ending.clone()),
                });
            }
        }
    }
}

/// Finds the first message in which two histories of a channel differ.
fn first_unequal<'a>(
    (ours, our_run_is_cut): (&'a ChannelRecord, bool),
    (theirs, their_run_is_cut): (&'a ChannelRecord, bool),
) -> Option<Unequal<'a>> {
    if let (Some(a), Some(b)) = (&ours.history, &theirs.history)
        && let Some(place) = a.digests.iter().zip(&b.digests).position(|(a, b)| a != b)
    {
        return Some(Unequal { record: ours, number: place as u64 + 1, unlike: Unlike::Contents });
    }
    let (a, b) = (ours.counts.received, theirs.counts.received);
    let ours_is_whole = !our_run_is_cut && !ours.is_cut;
    let theirs_is_whole = !their_run_is_cut && !theirs.is_cut;
    // A history that is whole is at least as long as any other of its channel.
    if a > b && theirs_is_whole {
        Some(Unequal { record: ours, number: b + 1, unlike: Unlike::Missing })
    } else if b > a && ours_is_whole {
        Some(Unequal { record: theirs, number: a + 1, unlike: Unlike::Extra })
    } else {
        None
    }
}

/// Chooses the difference that the others probably come from.
fn root(unequal: &[Unequal<'_>]) -> Option<Mismatch> {
    let changed_readers: BTreeSet<&Name> =
        unequal.iter().filter_map(|unequal| unequal.record.to.as_ref()).collect();
    let reads_the_same = |unequal: &&Unequal<'_>| {
        unequal.record.from.as_ref().is_some_and(|from| !changed_readers.contains(from))
    };
    let key = |unequal: &&Unequal<'_>| (unequal.number, unequal.record.identity);
    let root = unequal.iter().filter(reads_the_same).min_by_key(key).map(|root| (root, true));
    let root = root.or_else(|| Some((unequal.iter().min_by_key(key)?, false)));
    root.map(|(Unequal { record, number, unlike }, from_same_input)| Mismatch::Message {
        channel: record.name.clone(),
        from: record.from.clone(),
        to: record.to.clone(),
        number: *number,
        unlike: *unlike,
        from_same_input,
    })
}

/// A name without its numbers.
fn text_of(name: &Name) -> String {
    name.as_str().chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The channels that are alone with their name, by name, and how many there are with names of one text.
fn by_name(run: &Run) -> (BTreeMap<&Name, &ChannelRecord>, BTreeMap<String, usize>) {
    let (mut alone, mut families) = (BTreeMap::new(), BTreeMap::new());
    let mut twice = BTreeSet::new();
    for record in &run.outcome.channels {
        *families.entry(text_of(&record.name)).or_insert(0) += 1;
        if alone.insert(&record.name, record).is_some() {
            twice.insert(&record.name);
        }
    }
    alone.retain(|name, _| !twice.contains(name));
    (alone, families)
}
