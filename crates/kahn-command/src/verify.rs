//! `verify`: one program under many schedules.
//!
//! The runs are compared with each other by what was received on every channel, and by the output;
//! all of them with what the program computes without any network, if it can. Ctrl-C stops the run and
//! with it the comparison: the command says so and ends with 130.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use clap::ArgMatches;
use kahn::Network;
use kahn::policy::SEQUENTIAL;
use kahn::testing::{Schedules, VerifyError};

use crate::arguments::{Shape, VerifyArguments};
use crate::program::{Program, Progress, Purpose, form_of};
use crate::{Answer, Failure, Interrupt, messages, progress, result};

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
    let form = form_of(program, shape.variant.as_deref(), true)?;
    let interrupt = Interrupt::new();
    let prepared = program.prepare(matches, shape.settings(program)?)?;
    let expected = prepared.expected()?.map(Answer::into_bytes);
    // What is wrong with the network itself is told as it is by `run`.
    drop(prepared.build(form, &mut Network::new(), Purpose::Verify)?);
    let mut policies = placing.policies()?;
    // The oracle first: the others are compared with it.
    policies.sort_by_key(|policy| policy.name() != SEQUENTIAL.name());
    let schedules = Schedules::new().policies(policies).time_limit(TIME_LIMIT);
    let total = schedules.list().len() as u64;
    let done = AtomicU64::new(0);
    let seen = || Progress { done: done.load(Relaxed), total: Some(total), unit: "schedules" };
    let verified = progress::watched(&seen, || {
        schedules.verify_with(
            |network| {
                // Empty networks end at once: what is left of the list takes no time.
                if interrupt.is_pressed() {
                    return None;
                }
                interrupt.running(network.stop_handle());
                Some(prepared.build(form, network, Purpose::Verify))
            },
            |built| match built {
                Some(Ok(pending)) => Output::of(pending(), expected.as_deref()),
                Some(Err(failure)) => Output::Other(format!("cannot be built again: {failure}")),
                None => Output::Other("interrupted".to_owned()),
            },
            |_| {
                done.fetch_add(1, Relaxed);
            },
        )
    });
    if interrupt.ended() {
        let done = done.load(Relaxed);
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
        Output::Other(what) => Err(Failure::Difference(format!("in every run {what}"))),
        _ if !verified.cut.is_empty() => Err(Failure::Difference(verified.to_string())),
        _ => {
            let command = program.command();
            result::write(|out| writeln!(out, "{}: {verified}", command.get_name()))
        }
    }
}

/// What a run gave.
#[derive(PartialEq)]
enum Output {
    /// What the program gives without a network.
    Expected,
    /// Something, and there is nothing else to compare it with.
    Alone(Vec<u8>),
    /// Where it differs first from what is expected.
    Other(String),
}

impl Output {
    fn of(answer: Option<Answer<'_>>, expected: Option<&[u8]>) -> Self {
        let Some(answer) = answer else { return Self::Other("there is no output".to_owned()) };
        let found = answer.into_bytes();
        let Some(expected) = expected else { return Self::Alone(found) };
        first_difference(expected, &found).map_or(Self::Expected, Self::Other)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected => f.write_str("as without a network"),
            Self::Alone(bytes) => write!(f, "`{}`", String::from_utf8_lossy(bytes).trim_end()),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Says where two outputs differ first.
fn first_difference(expected: &[u8], found: &[u8]) -> Option<String> {
    if expected == found {
        return None;
    }
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    let mut pairs = lines(expected).zip(lines(found)).zip(1..);
    let ((expected, found), number) = pairs.find(|((a, b), _)| a != b)?;
    let show = |line| String::from_utf8_lossy(line).into_owned();
    let (expected, found) = (show(expected), show(found));
    Some(format!("line {number} of the output is `{found}`, and `{expected}` without a network"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(first_difference(b"a\nb\n", b"a\nb\n"), None);
        let text = first_difference(b"a\nb\nc\n", b"a\nx\nc\n").unwrap();
        assert_eq!(text, "line 2 of the output is `x`, and `b` without a network");
        // The shorter output ends where the longer one goes on.
        let text = first_difference(b"a\nb\n", b"a\n").unwrap();
        assert!(text.starts_with("line 2"), "{text}");
    }
}
