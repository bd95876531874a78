//! The command `kahn`: runs programs that are process networks, checks them, draws them.
//!
//! Standard output carries the result and nothing else; report, progress and errors go to
//! standard error. The exit code is 0 if the program finished, 1 if the run failed (or its result
//! could not be written), 2 for wrong usage or bad input, and 130 after Ctrl-C. A reader of
//! standard output that leaves early (`kahn … | head`) is no failure.
//!
//! Three steps, each in modules of its own: what was typed ([`arguments`], [`placing`]), what is done
//! ([`run`], [`verify`], [`graph`], [`experiment`], [`list`]) and what a person is told
//! ([`messages`], [`progress`], [`interrupt`], [`result`]).

mod arguments;
mod experiment;
mod graph;
mod interrupt;
mod list;
mod messages;
mod placing;
mod progress;
mod result;
mod run;
mod verify;

use std::process::ExitCode;

use clap::error::ErrorKind;
use kahn_apps::Failure;

use crate::arguments::Request;

fn main() -> ExitCode {
    match answer() {
        Ok(code) => code,
        Err(failure) => {
            messages::failure(&failure);
            ExitCode::from(messages::exit_code(&failure))
        }
    }
}

fn answer() -> Result<ExitCode, Failure> {
    match arguments::parse() {
        Ok(request) => perform(request),
        Err(help) if is_help(&help) => {
            result::write(|out| write!(out, "{}", help.render())).map(|()| ExitCode::SUCCESS)
        }
        Err(error) => Err(error.into()),
    }
}

fn perform(request: Request) -> Result<ExitCode, Failure> {
    let done = match request {
        Request::Snet(command) => return Ok(kahn_snet::command::main(&command)),
        Request::Run(app, matches, arguments) => run::run(app, &matches, &arguments),
        Request::Verify(app, matches, arguments) => verify::verify(app, &matches, &arguments),
        Request::Graph(app, matches, arguments) => graph::graph(app, &matches, &arguments),
        Request::Experiment(arguments) => experiment::experiment(&arguments),
        Request::List => list::list(),
        Request::Completions(shell) => result::write(|out| {
            // The generator panics when it cannot write, so it writes to memory first.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut arguments::command(), "kahn", &mut script);
            out.write_all(&script)
        }),
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn is_help(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}
