//! `kahn snet …`: the command, apart from the process around it.
//!
//! [`Command`] is the part of the command line that belongs to S-Net; a binary mounts it as a
//! subcommand and calls [`main`]. Results go to standard output, everything else to standard
//! error. Exit codes: 0 done, 1 the run failed or `fmt --check` found something, 2 wrong usage
//! or bad input, 130 the run was stopped. A binary that traces, shows and stops runs has them
//! [seen](run_seen).

mod arguments;
mod graph;
mod run;
mod seeing;
mod streams;

pub use arguments::{CheckArguments, Command, FmtArguments, GraphArguments, RunArguments};
pub use seeing::Seeing;
pub use streams::Streams;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use kahn::process::WholeFile;

use crate::program::Program;
use crate::syntax;

/// Why there is no result: what to tell, and the exit code.
#[derive(Debug)]
struct Refusal {
    code: u8,
    message: String,
}

impl Refusal {
    /// The input is wrong, or the usage.
    fn input(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// The run failed.
    fn run(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    fn help(mut self, help: impl AsRef<str>) -> Self {
        self.message.push_str("\nhelp: ");
        self.message.push_str(help.as_ref());
        self
    }
}

/// Does what the command line says, with the streams of this process.
pub fn main(command: &Command) -> ExitCode {
    let mut streams = Streams::of_process();
    ExitCode::from(perform(command, &mut streams))
}

/// Does what the command line says; returns the exit code.
pub fn perform(command: &Command, streams: &mut Streams<'_>) -> u8 {
    let result = match command {
        Command::Run(arguments) => run::run(arguments, streams, None),
        Command::Check(arguments) => check(arguments, streams),
        Command::Fmt(arguments) => fmt(arguments, streams),
        Command::Graph(arguments) => graph::graph(arguments, streams),
    };
    code_of(result, streams)
}

/// Does `kahn snet run`, and has the run seen; returns the exit code.
///
/// # Examples
///
/// ```
/// use clap::Parser as _;
/// use kahn_snet::command::{self, RunArguments, Seeing, Streams};
///
/// #[derive(clap::Parser)]
/// struct Typed {
///     #[command(flatten)]
///     run: RunArguments,
/// }
///
/// let typed = Typed::parse_from(["run", "no such file"]);
/// let mut during = |_run: &_, work: &mut dyn FnMut() -> bool| drop(work());
/// let seeing = Seeing { observer: None, during: &mut during };
/// assert_eq!(command::run_seen(&typed.run, &mut Streams::of_process(), seeing), 2);
/// ```
pub fn run_seen(arguments: &RunArguments, streams: &mut Streams<'_>, seeing: Seeing<'_>) -> u8 {
    let result = run::run(arguments, streams, Some(seeing));
    code_of(result, streams)
}

/// Tells why there is no result, and returns the exit code.
fn code_of(result: Result<(), Refusal>, streams: &mut Streams<'_>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(refusal) => {
            if !refusal.message.is_empty() {
                streams.tell(&format!("error: {}", refusal.message));
            }
            refusal.code
        }
    }
}

/// Reads a file that a person wrote.
fn text_of(path: &Path) -> Result<String, Refusal> {
    let bytes = std::fs::read(path)
        .map_err(|error| Refusal::input(format!("cannot read {}: {error}", path.display())))?;
    // Editors on other systems begin a file with this mark; it is no part of the text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").map_or(bytes.clone(), <[u8]>::to_vec);
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let (line, column) = syntax::line_column(&text, at);
        let name = path.display();
        Refusal::input(format!("{name}: line {line}, column {column}: the file is not UTF-8"))
    })
}

/// Reads a program and tells what is wrong or doubtful about it.
fn program_of(path: &Path, streams: &mut Streams<'_>) -> Result<Program, Refusal> {
    let program = Program::read(path.display().to_string(), text_of(path)?);
    let messages = program.render(streams.colour);
    if !messages.is_empty() {
        streams.tell(&messages);
    }
    if program.is_valid() { Ok(program) } else { Err(Refusal { code: 2, message: String::new() }) }
}

fn check(arguments: &CheckArguments, streams: &mut Streams<'_>) -> Result<(), Refusal> {
    let program = program_of(&arguments.file, streams)?;
    if arguments.types {
        let text: String = program.signatures().iter().map(ToString::to_string).collect();
        streams.print(&text)?;
    }
    Ok(())
}

fn fmt(arguments: &FmtArguments, streams: &mut Streams<'_>) -> Result<(), Refusal> {
    let path = &arguments.file;
    let source = text_of(path)?;
    let printed = match syntax::format(&source) {
        Ok(printed) => printed,
        Err(diagnostics) => {
            let name = path.display().to_string();
            for diagnostic in &diagnostics {
                let text = crate::diagnostics::render(diagnostic, &name, &source, streams.colour);
                streams.tell(&text);
            }
            return Err(Refusal { code: 2, message: String::new() });
        }
    };
    if arguments.check {
        if printed == source {
            return Ok(());
        }
        let message = format!("{} is not in the one form", path.display());
        let help = format!("kahn snet fmt {} --write", path.display());
        return Err(Refusal::run(message).help(help));
    }
    if arguments.write {
        return if printed == source { Ok(()) } else { write_whole(path, printed.as_bytes()) };
    }
    streams.print(&printed)
}

/// Writes a file whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let refused =
        |error: std::io::Error| Refusal::run(format!("cannot write {}: {error}", path.display()));
    let mut file = WholeFile::create(path).map_err(refused)?;
    file.write_all(bytes).map_err(refused)?;
    file.finish().map_err(refused)
}
