//! Numbers the lines of a text, for `docs/replay.md`: if it is killed, it goes on.
//!
//! ```sh
//! cargo run -p kahn-command --example number -- run Cargo.toml numbered --record run.rec
//! ```

use kahn::{Channel, process};
use kahn_command::Answer;
use std::path::PathBuf;
use std::process::ExitCode;

/// Numbers the lines of a text.
#[derive(clap::Args)]
struct Arguments {
    /// The text
    text: PathBuf,
    /// Where the lines are written
    numbered: PathBuf,
}

pub(crate) fn main() -> ExitCode {
    kahn_command::main(|arguments: &Arguments, network| {
        let lines = network.lines(Channel::named("lines").wire(), process::open(&arguments.text));
        let mut number = 0;
        let numbered = network.map("number", lines, move |line| {
            number += 1;
            format!("{number} {line}\n")
        });
        network.write_file("write", numbered, &arguments.numbered);
        Ok(Answer::nothing())
    })
}
