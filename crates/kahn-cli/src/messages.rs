//! What goes to standard error, and the exit code that goes with it.
//!
//! ```text
//! kahn: error: points.csv: line 3: expected 2 numbers as in line 1, found 1
//! help: …
//! ```

use std::fmt::Display;
use std::io::{self, Write as _};

use kahn::Summary;
use kahn_apps::Failure;

/// The exit code of a command that Ctrl-C ended, as shells have it: 128 and the signal's number.
pub(crate) const INTERRUPTED: u8 = 130;

/// Tells why there is no result.
pub(crate) fn failure(failure: &Failure) {
    match failure {
        // The parser's text says by itself what to do. It begins with `error: `, unless nothing
        // was typed at all: then it is the help.
        Failure::Usage(error) => {
            let text = error.render().to_string();
            let name = if text.starts_with("error: ") { "kahn: " } else { "" };
            say(format_args!("{name}{text}"));
        }
        Failure::Input { message, help: Some(advice) } => {
            say(format_args!("kahn: error: {message}\nhelp: {advice}"));
        }
        other => say(format_args!("kahn: error: {other}")),
    }
}

/// Tells something that is neither a result nor an error.
pub(crate) fn note(message: impl Display) {
    say(format_args!("kahn: {message}"));
}

/// Writes to standard error, as one piece, so that lines of several threads do not mix.
pub(crate) fn say(message: impl Display) {
    let text = message.to_string();
    // If even standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// Gives the exit code of a failure.
pub(crate) fn exit_code(failure: &Failure) -> u8 {
    match failure {
        Failure::Input { .. } | Failure::Usage(_) => 2,
        Failure::Output { .. } | Failure::Difference(_) => 1,
        Failure::Run(_) | Failure::Communicating(_) => {
            match failure.report().map(|report| report.outcome) {
                Some(Summary::Stopped) => INTERRUPTED,
                _ => 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_better_input_would_cure_exits_with_2() {
        assert_eq!(exit_code(&Failure::input("a file is missing")), 2);
        let cause = io::ErrorKind::StorageFull.into();
        assert_eq!(exit_code(&Failure::Output { path: PathBuf::new(), cause }), 1);
    }
}
