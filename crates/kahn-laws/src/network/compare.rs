//! What came against what was to come, and what runs have in common.

use super::interpreter::{Ending, Meaning};
use super::program::Program;
use super::schedule::Schedule;
use super::translate::{Ran, run};
use crate::campaign::{Tally, Trouble};
use crate::draw::Draw;
use kahn::{Report, RunError, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A promise, and how it was broken.
pub(super) type Broken = (&'static str, String);

/// What must be equal in all runs that were not cut short.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    failures: Vec<String>,
    unobserved: Vec<String>,
    endings: BTreeMap<String, String>,
    received: BTreeMap<String, u64>,
}

/// Runs a program under schedules, and compares.
pub(super) fn check(
    program: &Program,
    meaning: &Meaning,
    schedules: usize,
    draw: &mut Draw,
    tally: &mut Tally,
) -> Result<(), Trouble> {
    tally_meaning(meaning, tally);
    let mut first: Option<(Schedule, Told)> = None;
    for number in 0..schedules {
        let schedule = if number == 0 { Schedule::oracle() } else { Schedule::drawn(draw) };
        let ran = run(program, schedule.options(), schedule.cut(), None);
        tally.schedules += 1;
        let broken = |(promise, what)| Err(Trouble::Broken(promise, format!("{schedule}: {what}")));
        let report = match &ran.report {
            Ok(Ok(report)) => report,
            Ok(Err(RunError::Ended(report))) => report,
            Ok(Err(RunError::Check(_))) if has_unheld_ends(program) => {
                tally.note("cases refused for an end that no process holds");
                return Ok(());
            }
            Ok(Err(RunError::Check(_))) if schedule.budget.is_some() => {
                tally.note("runs refused for their capacities and a small budget");
                continue;
            }
            Err(panic) => return broken(("no hang and no panic", panic.clone())),
            Ok(Err(error)) => {
                return broken(("a network runs", format!("the run was refused: {error}")));
            }
        };
        if has_unheld_ends(program) {
            return broken(("every end is held", "an end that no process holds passed".to_owned()));
        }
        let cut = match report.outcome {
            // Whether a channel without bound meets the budget may depend on the schedule.
            Summary::OverBudget => true,
            // Without detection, and if a quiescent end is normal, a failure is all that is told.
            Summary::Failed => schedule.is_cut() && schedule.quiescence && is_left(report),
            Summary::Stopped | Summary::Deadlock | Summary::Quiescent => schedule.is_cut(),
            _ => false,
        };
        if cut {
            tally.note("runs cut short");
        }
        if let Err(what) = histories(meaning, &ran, cut, tally) {
            return broken(what);
        }
        if cut {
            continue;
        }
        if let Err((promise, what)) = outcome(meaning, report, schedule.quiescence) {
            return broken((promise, format!("{what}\n{}", report.explanation())));
        }
        let told = told(meaning, report);
        match &first {
            None => first = Some((schedule, told)),
            Some((before, other)) if *other != told => {
                let mut text = format!("{schedule} and {before} tell different things:");
                let promise = differences(&mut text, &told, other);
                return Err(Trouble::Broken(promise, text));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// What a run that was not cut short breaks.
pub(super) fn broken_by(
    meaning: &Meaning,
    ran: &Ran,
    report: &Report,
    quiescence: bool,
    tally: &mut Tally,
) -> Result<(), Broken> {
    histories(meaning, ran, false, tally)?;
    outcome(meaning, report, quiescence)
}

impl Told {
    /// The promise that is broken by another run, if one is.
    pub(super) fn difference(&self, other: &Self) -> Option<Broken> {
        (self != other).then(|| {
            let mut text = String::new();
            (differences(&mut text, self, other), text)
        })
    }
}

/// Counts what kind of program it is.
pub(super) fn tally_meaning(meaning: &Meaning, tally: &mut Tally) {
    let any = |what: &dyn Fn(&Ending) -> bool| {
        meaning.processes.values().any(|process| what(&process.ending))
    };
    for (is, what) in [
        (meaning.stuck, "cases with processes that wait for ever"),
        (!meaning.failures.is_empty(), "cases with failures that count"),
        (
            any(&|ending| *ending == Ending::Failed) && meaning.failures.is_empty(),
            "cases with failures, none of which counts",
        ),
        (
            meaning.processes.values().any(|process| process.may_be_pruned),
            "cases with processes that some schedule prunes",
        ),
        (
            meaning.processes.keys().any(|name| name.contains('.')),
            "cases that create processes while they run",
        ),
        (
            meaning.channels.keys().any(|name| name.contains('.')),
            "cases that create channels while they run",
        ),
        (meaning.ends_by_pruning_of_loops, "cases with a loop that ends for nothing sees it"),
        (
            !meaning.open.is_empty(),
            "cases in which the model does not say whether a failure counts: processes wait for ever",
        ),
        (
            !meaning.as_pruned.is_empty(),
            "cases with failures told as pruned: only what may be pruned could see that they were not",
        ),
    ] {
        if is {
            tally.note(what);
        }
    }
}

fn has_unheld_ends(program: &Program) -> bool {
    let held: usize = program.processes.iter().map(|process| process.ports.len()).sum();
    held < 2 * program.channels.len()
}

/// Histories and effects, prefixes where a process may have been pruned or the run was cut.
fn histories(meaning: &Meaning, ran: &Ran, cut: bool, tally: &mut Tally) -> Result<(), Broken> {
    for name in ran.record.received.keys() {
        if !meaning.channels.contains_key(name) {
            return Err(("history", format!("channel {name} should not be there")));
        }
    }
    let nothing = Vec::new();
    for (name, history) in &meaning.channels {
        let came = ran.record.received.get(name).unwrap_or(&nothing);
        let exact = history.exact && !cut;
        let shared = came.len().min(history.messages.len());
        tally.messages += shared as u64;
        let prefix = came[..shared] == history.messages[..shared];
        if !prefix || (exact && came.len() != history.messages.len()) {
            let how = if exact { "exactly" } else { "a prefix of" };
            let should = &history.messages;
            let what = format!("channel {name}: received {came:?}, and should {how} {should:?}");
            return Err((if prefix { "length of a history" } else { "history" }, what));
        }
    }
    for (name, process) in &meaning.processes {
        let came = ran.record.effects.get(name).unwrap_or(&nothing);
        let fits = if cut { process.effects.starts_with(came) } else { process.effects == *came };
        // Only those that declare effects have any, and they are never pruned.
        if !fits {
            let should = &process.effects;
            return Err((
                "effects",
                format!("process {name}: did {came:?}, and should {should:?}"),
            ));
        }
    }
    Ok(())
}

fn outcome(meaning: &Meaning, report: &Report, quiescence: bool) -> Result<(), Broken> {
    let failed: BTreeSet<String> =
        report.failures.iter().map(|failure| failure.process.to_string()).collect();
    let differ: Vec<&String> = meaning
        .failures
        .symmetric_difference(&failed)
        .filter(|name| !meaning.open.contains(*name))
        .collect();
    if !differ.is_empty() {
        let should = &meaning.failures;
        let swallowed = should.iter().any(|name| !failed.contains(name));
        let promise = if swallowed { "no failure is swallowed" } else { "no failure too many" };
        return Err((promise, format!("the failures that count are {failed:?}, not {should:?}")));
    }
    let expected = match (meaning.stuck, failed.is_empty()) {
        (true, true) if quiescence => Summary::Quiescent,
        (true, _) if !quiescence => Summary::Deadlock,
        (false, true) => Summary::Finished,
        _ => Summary::Failed,
    };
    if report.outcome != expected {
        let promise = if report.outcome == Summary::Misuse { "no misuse" } else { "outcome" };
        return Err((promise, format!("the outcome is {:?}, not {expected:?}", report.outcome)));
    }
    for process in &report.processes {
        let name = process.name.to_string();
        let Some(outlook) = meaning.processes.get(&name) else {
            return Err(("processes", format!("process {name} should not be there")));
        };
        let ending = words(&process.ending);
        let ending = ending.as_str();
        let fits = match &outlook.ending {
            _ if meaning.as_pruned.contains(&name) && !meaning.open.contains(&name) => {
                is_good_end(ending)
            }
            // A party is told of a mark or of the end of the run, and ends as it likes.
            _ if outlook.may_be_pruned || outlook.party || meaning.open.contains(&name) => true,
            Ending::Finished => is_good_end(ending),
            // One that does not count may as well have been pruned.
            Ending::Failed if !meaning.failures.contains(&name) => {
                is_good_end(ending) || has_failed(ending)
            }
            Ending::Failed => has_failed(ending),
            Ending::FailedWith(_) => is_good_end(ending) || has_failed(ending),
            // Whether it began to wait before its readers left is not told.
            Ending::Stuck if outlook.is_unread => !ending.contains("fail"),
            Ending::Stuck => !is_good_end(ending) && !ending.contains("fail"),
        };
        if !fits {
            let expected = &outlook.ending;
            return Err(("ending", format!("process {name}: {ending}, not {expected:?}")));
        }
    }
    if report.processes.len() != meaning.processes.len() {
        let (came, should) = (report.processes.len(), meaning.processes.len());
        return Err(("processes", format!("{came} processes, and should be {should}")));
    }
    Ok(())
}

/// Whether a process has not ended.
fn is_left(report: &Report) -> bool {
    report.processes.iter().any(|process| process.ending == kahn::ProcessEnd::Never)
}

fn words(ending: &impl ToString) -> String {
    ending.to_string()
}

fn has_failed(ending: &str) -> bool {
    ending.contains("fail") || ending.contains("panic")
}

/// Finished and pruned count as one.
fn is_good_end(ending: &str) -> bool {
    ending.starts_with("finished") || ending.starts_with("pruned")
}

pub(super) fn told(meaning: &Meaning, report: &Report) -> Told {
    // Failures that do not count are told as text, if at all.
    let explanation = report.explanation();
    let unobserved = explanation.lines().filter(|line| line.contains("(unobserved)"));
    let endings = report.processes.iter().map(|process| {
        let name = process.name.to_string();
        let ending = words(&process.ending);
        let good = is_good_end(&ending);
        (name, if good { "finished or pruned".to_owned() } else { ending })
    });
    let received = report.channels.iter().filter_map(|channel| {
        let name = channel.name.to_string();
        let exact = meaning.channels.get(&name)?.exact;
        exact.then_some((name, channel.received))
    });
    Told {
        failures: report.failures.iter().map(ToString::to_string).collect(),
        unobserved: unobserved.map(str::to_owned).collect(),
        endings: endings.collect(),
        received: received.collect(),
    }
}

/// Writes down what differs, and returns the promise that it breaks.
fn differences(text: &mut String, one: &Told, other: &Told) -> &'static str {
    let mut promise = "all runs tell the same";
    // Writing to a string does not fail.
    for (name, received) in &one.received {
        if other.received.get(name) != Some(received) {
            let other = other.received.get(name);
            let _ = write!(text, "\nchannel {name}: {received} received, and {other:?}");
            promise = "all runs count the same messages";
        }
    }
    for (name, ending) in &one.endings {
        if other.endings.get(name) != Some(ending) {
            let _ = write!(text, "\nprocess {name}: {ending}, and {:?}", other.endings.get(name));
            promise = "all runs tell the same endings";
        }
    }
    if one.unobserved != other.unobserved {
        let (one, other) = (&one.unobserved, &other.unobserved);
        let _ = write!(text, "\nunobserved failures {one:?}\n                and {other:?}");
        promise = "all runs tell the same unobserved failures";
    }
    if one.failures != other.failures {
        let _ = write!(text, "\nfailures {:?}\n     and {:?}", one.failures, other.failures);
        promise = "all runs tell the same failures";
    }
    promise
}
