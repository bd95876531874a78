//! The longest lines of a text: a tool of three stages, with a command line for its network.
//!
//! ```text
//!   lines ─► measure ×N ─► longest
//! ```
//!
//! `longest run FILE`, `longest verify FILE`, `longest graph FILE`; see `longest run --help`. N is 4, or what `--parts N` says.

use kahn::Progress;
use kahn_command::{Answer, BoxError, Failure, Parts, read};
use std::path::PathBuf;
use std::process::ExitCode;

/// Tells which line of a text has the most characters.
#[derive(clap::Args)]
#[command(version)]
struct Arguments {
    /// The text; `-` is standard input
    file: PathBuf,

    /// Goes through the text again and again, until Ctrl-C
    #[arg(long)]
    endless: bool,
}

/// What the network borrows from.
struct Input {
    text: String,
    endless: bool,
}

fn prepare(Arguments { file, endless }: Arguments) -> Result<Input, BoxError> {
    let text = String::from_utf8(read(&file)?).map_err(|_| {
        let help = "`iconv -t UTF-8` converts it";
        Failure::input(format!("{}: is no UTF-8 text", file.display())).with_help(help)
    })?;
    Ok(Input { text, endless })
}

fn main() -> ExitCode {
    // The result does not depend on how many processes measure; `verify` compares 1, 2 and 3.
    let parts = Parts { default: 4, most: 64 };
    kahn_command::main_with_parts(parts, prepare, |input, parts, network| {
        let rounds = if input.endless { usize::MAX } else { 1 };
        let all = (0..rounds).flat_map(|_| input.text.lines().enumerate());
        let lines = network.source("lines", all);
        let lengths =
            network.parallel_map("measure", lines, parts, |(number, line): (usize, &str)| {
                (line.chars().count(), number + 1)
            });
        // After a second a terminal shows how far it is.
        let total = (!input.endless).then(|| input.text.lines().count() as u64);
        let progress = Progress::new("lines", total);
        let counted = progress.clone();
        let longest = network.fold("longest", lengths, (0, 0), move |longest, line| {
            counted.add(1);
            if line.0 > longest.0 { line } else { longest }
        });
        let answer = Answer::new(move |out| match longest.take() {
            Some((characters, line)) => writeln!(out, "line {line}, {characters} characters"),
            None => Ok(()),
        });
        Ok(answer.progress(&progress))
    })
}
