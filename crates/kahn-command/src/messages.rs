//! What goes to standard error.
//!
//! ```text
//! kahn: error: points.csv: line 3: expected 2 numbers as in line 1, found 1
//! help: …
//! ```
//!
//! `error` and `help` are coloured if standard error is a terminal that has colours and `NO_COLOR` is
//! not set.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};

use crate::Failure;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HELP: Style = AnsiColor::Green.on_default().bold();

/// The name of the command, before each message.
static NAME: OnceLock<&'static str> = OnceLock::new();

/// Says once how the command is called.
pub(crate) fn set_name(name: &'static str) {
    // A second command in one program is called as the first.
    let _ = NAME.set(name);
}

fn name() -> &'static str {
    NAME.get().copied().unwrap_or("kahn")
}

/// Tells why there is no result.
pub(crate) fn failure(failure: &Failure) {
    let name = name();
    match failure {
        // The parser's text says by itself what to do. It begins with `error: `, unless nothing
        // was typed at all: then it is the help.
        Failure::Usage(error) => {
            let text = error.render();
            let is_error = text.to_string().starts_with("error: ");
            let name = if is_error { format!("{name}: ") } else { String::new() };
            say(format_args!("{name}{}", about_numbers(text.ansi().to_string())));
        }
        Failure::Input { message, help: Some(advice) } => {
            say(format_args!(
                "{name}: {ERROR}error:{ERROR:#} {message}\n{HELP}help:{HELP:#} {advice}"
            ));
        }
        // It has said so when it was pressed.
        Failure::Interrupted => {}
        other => say(format_args!("{name}: {ERROR}error:{ERROR:#} {other}")),
    }
}

/// Tells something that is neither a result nor an error, on standard error.
///
/// # Examples
///
/// ```
/// kahn_command::note(format_args!("wrote {} pages", 12));
/// ```
pub fn note(message: impl Display) {
    say(format_args!("{}: {message}", name()));
}

/// Writes to standard error, as one piece, so that lines of several threads do not mix.
pub(crate) fn say(message: impl Display) {
    let text = message.to_string();
    // If even standard error is gone there is nobody left to tell.
    let _ = writeln!(anstream::stderr().lock(), "{}", text.trim_end());
}

/// What the standard library says of a number that is none, in words for people that type one.
fn about_numbers(text: String) -> String {
    let words = [
        ("invalid digit found in string", "expected a whole number"),
        ("number too large to fit in target type", "the number is too large"),
        ("cannot parse integer from empty string", "expected a whole number"),
        ("invalid float literal", "expected a number"),
    ];
    words.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}
