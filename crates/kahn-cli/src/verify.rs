//! `kahn verify`: one program under many schedules.
//!
//! The runs are compared with each other by what was received on every channel, and all of them
//! with the sequential form of the program, which knows no schedule at all, by the output. Ctrl-C
//! has its usual effect here: there is no result to lose.

use std::fmt;
use std::time::Duration;

use clap::ArgMatches;
use kahn::policy::SEQUENTIAL;
use kahn::testing::{Schedules, VerifyError};
use kahn_apps::{Answer, App, Compare, Failure, Pending, Progress};

use crate::arguments::VerifyArguments;
use crate::{progress, result};

/// How long one run may take. Far more than it needs: a run that hangs is explained and given up.
const TIME_LIMIT: Duration = Duration::from_hours(1);

/// Runs the network of a program under many schedules and compares.
pub(crate) fn verify(
    app: &App,
    matches: &ArgMatches,
    arguments: &VerifyArguments,
) -> Result<(), Failure> {
    let VerifyArguments { shape, placing } = arguments;
    let variant = shape.network(app)?;
    let settings = app.settings(shape.parts, shape.seed)?;
    let program = (app.prepare)(matches, &settings)?;
    let expected = bytes(&program.sequential()?);
    let mut policies = placing.policies()?;
    // The oracle first: the others are compared with it.
    policies.sort_by_key(|policy| policy.name() != SEQUENTIAL.name());
    let schedules = Schedules::new().policies(policies).time_limit(TIME_LIMIT);
    let progress = Progress::new("schedules", Some(schedules.list().len() as u64));
    let verified = progress::watched(&progress, || {
        schedules.verify_with(
            |network| {
                let pending = kahn_apps::build(&*program, variant, network, Compare::Contents);
                pending.expect("the form is one of the program's")
            },
            |pending: Pending<'_>| Output::of(pending().as_ref(), &expected),
            |_| progress.add(1),
        )
    });
    let verified = verified.map_err(|error| {
        match &error {
            VerifyError::Refused { error: refused, .. } => placing.refused(refused, app.name),
            _ => None,
        }
        .unwrap_or_else(|| Failure::Difference(error.to_string()))
    })?;
    match &verified.result {
        Output::Other(what) => Err(Failure::Difference(format!("in every run {what}"))),
        Output::Expected if !verified.cut.is_empty() => {
            Err(Failure::Difference(verified.to_string()))
        }
        Output::Expected => result::write(|out| writeln!(out, "{}: {verified}", app.name)),
    }
}

/// What a run gave, beside what the sequential form gives.
#[derive(PartialEq)]
enum Output {
    Expected,
    /// Where it differs first.
    Other(String),
}

impl Output {
    fn of(answer: Option<&Answer<'_>>, expected: &[u8]) -> Self {
        let Some(answer) = answer else { return Self::Other("there is no output".to_owned()) };
        first_difference(expected, &bytes(answer)).map_or(Self::Expected, Self::Other)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expected => "as without a network",
            Self::Other(what) => what,
        })
    }
}

/// Gives all that a run would write.
fn bytes(answer: &Answer<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let writers = [&answer.lines].into_iter().chain(answer.files.iter().map(|(_, lines)| lines));
    for lines in writers {
        lines(&mut bytes).expect("writing to memory does not fail");
    }
    bytes
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
