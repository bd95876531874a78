//! `kahn snet`: the command of `kahn-snet`, with what `kahn-command` has for every run.

use std::process::ExitCode;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _, Subcommand as _};
use kahn_command::{Failure, SeenArguments, Stopper};
use kahn_snet::command::{self, RunArguments, Seeing, Streams};

/// Makes the part of the command that belongs to S-Net.
pub(crate) fn command() -> Command {
    let snet = Command::new("snet").subcommand_required(true).arg_required_else_help(true);
    // What is said about a command comes last: the arguments bring the comments on their types.
    command::Command::augment_subcommands(snet)
        .about("Runs, checks, formats and draws S-Net programs")
        .mut_subcommand("run", |run| {
            let about = run.get_about().cloned().unwrap_or_default();
            let run = SeenArguments::augment_args(run.next_help_heading("Options of every run"));
            run.about(about).args(["record", "bundle"].map(not_recorded))
        })
}

/// An option of other programs that is refused with the reason.
fn not_recorded(option: &'static str) -> clap::Arg {
    let refused = |_: &str| {
        Err::<String, _>(
            "an S-Net program cannot be recorded: where streams meet, what comes first decides",
        )
    };
    clap::Arg::new(option).long(option).value_name("FILE").hide(true).value_parser(refused)
}

/// What is said of a run by the other runtime, to one who asks what everything waits for.
const FRONT: &str = "  workers carry records, or wait for input and for boxes to return: `--runtime network` has \
                     processes, and tells what each waits for";

/// Does what was typed behind `snet`; returns its exit code.
pub(crate) fn perform(own: &ArgMatches) -> Result<ExitCode, Failure> {
    match (command::Command::from_arg_matches(own)?, own.subcommand()) {
        (command::Command::Run(arguments), Some((_, typed))) => {
            run(&arguments, &SeenArguments::from_arg_matches(typed)?)
        }
        (other, _) => Ok(command::main(&other)),
    }
}

/// Runs a program that is seen as the programs of the menu are.
fn run(arguments: &RunArguments, seen: &SeenArguments) -> Result<ExitCode, Failure> {
    if let Some(option) = seen.first().filter(|_| !arguments.has_processes()) {
        let what = format!("{option} has no effect on `--runtime front`");
        let why = "its workers carry records from component to component: there are no processes to see; add \
                   `--runtime network`, which gives the same records";
        return Err(Failure::input(what).with_help(why));
    }
    let name = arguments.file.file_stem().unwrap_or_default().to_string_lossy();
    let seen = seen.start(&name)?;
    let observer = seen.observer();
    let (mut seen, mut told) = (Some(seen), Ok(()));
    let mut during = |handle: &kahn_snet::runtime::Handle, work: &mut dyn FnMut() -> bool| {
        let stopped = handle.clone();
        let stop = move || stopped.stop();
        let stopper = if arguments.has_processes() {
            Stopper::of(handle.clone(), stop)
        } else {
            Stopper::new(stop, || FRONT.to_owned())
        };
        if let Some(seen) = seen.take() {
            told = seen.during(stopper, work);
        }
    };
    let seeing = Seeing { observer, during: &mut during };
    let code = command::run_seen(arguments, &mut Streams::of_process(), seeing);
    told.map(|()| ExitCode::from(code))
}
