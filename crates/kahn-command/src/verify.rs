//! `verify`: one program under many schedules.
//!
//! The runs are compared with each other by what was received on every channel, and by the output;
//! all of them with what the program computes without any network, if it can. A program with parts is run
//! with several numbers of them: the runs with one number are compared so, and the outputs over all. Ctrl-C stops the run and
//! with it the comparison: the command says so and ends with 130.

use std::cell::OnceCell;
use std::fmt;
use std::time::Duration;

use clap::ArgMatches;
use kahn::policy::SEQUENTIAL;
use kahn::testing::{self, Schedules, VerifyError};
use kahn::{Network, Progress};

use crate::arguments::{Shape, VerifyArguments};
use crate::program::{Form, Pending, Prepared, Program, Purpose, form_of};
use crate::{Answer, Failure, Interrupt, messages, progress, ranks, result};

/// How long one run may take. Far more than it needs: a run that hangs is explained and given up.
const TIME_LIMIT: Duration = Duration::from_secs(3600);

/// Runs the network of a program under many schedules and compares.
pub(crate) fn verify(
    program: &dyn Program,
    matches: &ArgMatches,
    arguments: &VerifyArguments,
) -> Result<(), Failure> {
    let shape = Shape::of(matches);
    let placing = &arguments.placing;
    let form = form_of(program, matches, shape.variant.as_deref(), true)?;
    let interrupt = Interrupt::new(|| messages::note("what is verified is not traced"));
    let mut prepared = Vec::new();
    for settings in shape.all_settings(program)? {
        prepared.push((settings.parts, program.prepare(matches, settings)?));
    }
    let [(first, one), ..] = &prepared[..] else { return Ok(()) };
    if !arguments.ranks.ranks.is_empty() {
        let name = program.command().get_name().to_owned();
        for (_, prepared) in &prepared {
            ranks::verify(&name, &**prepared, form, &arguments.ranks, &interrupt)?;
        }
        return Ok(());
    }
    let reference = Reference::new(one.expected()?.map(Answer::into_bytes));
    let check = Check { form, prepared: &prepared, interrupt: &interrupt, reference };
    // What is wrong with the network itself is told as it is by `run`.
    for (_, prepared) in &prepared {
        drop(prepared.build(form, &mut Network::new(), Purpose::Verify)?);
    }
    let mut policies = placing.policies()?;
    // The oracle first: the others are compared with it.
    policies.sort_by_key(|policy| policy.name() != SEQUENTIAL.name());
    let schedules = Schedules::new().policies(policies).time_limit(TIME_LIMIT);
    let numbers: Vec<_> = prepared.iter().map(|(parts, _)| *parts).collect();
    let total = (schedules.list().len() * numbers.len()) as u64;
    let done = Progress::new("schedules", Some(total));
    let each = |_: testing::Ran<'_>| done.add(1);
    let verified = progress::watched_by(&done, || match &numbers[..] {
        [_] => schedules.verify_with(
            |network| check.build(network, *first),
            |built| check.result(built),
            each,
        ),
        _ => schedules.verify_parts(
            numbers.iter().copied(),
            |network, parts| check.build(network, parts),
            |built| check.result(built),
            each,
        ),
    });
    if interrupt.ended() {
        let done = done.done();
        messages::note(format_args!("interrupted after {done} of {total} schedules: no verdict"));
        return Err(Failure::Interrupted);
    }
    let verified = verified.map_err(|error| {
        match &error {
            VerifyError::Refused { error: refused, .. } => placing.refused(refused),
            _ => None,
        }
        .unwrap_or_else(|| Failure::Difference(error.to_string()))
    })?;
    match &verified.result {
        _ if !verified.cut.is_empty() => Err(Failure::Difference(verified.to_string())),
        Output::Other(what) => {
            Err(Failure::Difference(format!("in every run the result is {what}")))
        }
        Output::Same(_) => {
            let command = program.command();
            let name = command.get_name();
            result::write(|out| match &numbers[..] {
                [] | [_] => writeln!(out, "{name}: {verified}"),
                [all @ .., last] => {
                    let all: Vec<_> = all.iter().map(usize::to_string).collect();
                    let all = all.join(", ");
                    writeln!(out, "{name} with {all} and {last} parts: {verified}")
                }
            })
        }
    }
}

/// A network that was written down, unless Ctrl-C was pressed before.
type Built<'env> = Option<Result<Pending<'env>, Failure>>;

/// What is run again and again.
struct Check<'env> {
    form: Form,
    /// The program for each number of parts.
    prepared: &'env [(usize, Box<dyn Prepared + 'env>)],
    interrupt: &'env Interrupt,
    reference: Reference,
}

impl<'env> Check<'env> {
    fn build(&self, network: &mut Network<'env>, parts: usize) -> Built<'env> {
        // Empty networks end at once: what is left of the list takes no time.
        if self.interrupt.is_pressed() {
            return None;
        }
        self.interrupt.running(network.stop_handle());
        let (_, prepared) = self.prepared.iter().find(|(number, _)| *number == parts)?;
        Some(prepared.build(self.form, network, Purpose::Verify))
    }

    fn result(&self, built: Built<'env>) -> Output {
        match built {
            Some(Ok(pending)) => self.reference.compare(pending()),
            Some(Err(failure)) => {
                Output::Other(format!("none: it cannot be built again: {failure}"))
            }
            None => Output::Other("none: interrupted".to_owned()),
        }
    }
}

/// What a result is compared with: what the program computes without a network, or what the first run gave.
struct Reference {
    bytes: OnceCell<Vec<u8>>,
    /// What it is called.
    name: &'static str,
}

impl Reference {
    fn new(expected: Option<Vec<u8>>) -> Self {
        match expected {
            Some(bytes) => Self { bytes: bytes.into(), name: "what it is without a network" },
            None => Self { bytes: OnceCell::new(), name: "that of the first run" },
        }
    }

    /// Compares the result of a run. There is none if it was cut short.
    fn compare(&self, answer: Option<Answer<'_>>) -> Output {
        let Some(answer) = answer else { return Output::Other("none".to_owned()) };
        let found = answer.into_bytes();
        let expected = self.bytes.get_or_init(|| found.clone());
        first_difference(expected, &found).map_or(Output::Same(self.name), Output::Other)
    }
}

/// What a run gave.
#[derive(PartialEq)]
enum Output {
    /// What all others give, by its name.
    Same(&'static str),
    /// Where it differs first.
    Other(String),
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(name) => f.write_str(name),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// The longest line that is shown.
const LONGEST: usize = 60;

/// Says where a result differs first from what is expected.
fn first_difference(expected: &[u8], found: &[u8]) -> Option<String> {
    if expected == found {
        return None;
    }
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    let mut pairs = lines(expected).zip(lines(found)).zip(1..);
    let shown = |line| str::from_utf8(line).ok().filter(|line| line.chars().count() <= LONGEST);
    if let Some(((expected, found), number)) = pairs.find(|((a, b), _)| a != b)
        && let (Some(expected), Some(found)) = (shown(expected), shown(found))
    {
        return Some(format!("`{found}` in line {number} instead of `{expected}`"));
    }
    let same = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    Some(format!(
        "another from byte {} on, and {} bytes instead of {}",
        same + 1,
        found.len(),
        expected.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        let text = first_difference(b"a\nb\nc\n", b"a\nx\nc\n").unwrap();
        assert_eq!(text, "`x` in line 2 instead of `b`");
        // The shorter output ends where the longer one goes on.
        let text = first_difference(b"a\nb\n", b"a\n").unwrap();
        assert_eq!(text, "`` in line 2 instead of `b`");
    }

    #[test]
    fn what_is_no_text_is_told_by_its_place() {
        let text = first_difference(&[1, 200, 3, 4], &[1, 200, 7]).unwrap();
        assert_eq!(text, "another from byte 3 on, and 3 bytes instead of 4");
    }
}
