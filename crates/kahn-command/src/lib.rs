//! A command line for any Kahn network.
//!
//! [`main`] makes a command of a network and of arguments of its own:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! /// Counts the words of a text.
//! #[derive(clap::Args)]
//! struct Arguments {
//!     /// The text
//!     text: String,
//! }
//!
//! fn main() -> ExitCode {
//!     kahn_command::main(|arguments: &Arguments, network| {
//!         let words = network.source("words", arguments.text.split_whitespace());
//!         Ok(network.fold("count", words, 0, |count, _| count + 1).into())
//!     })
//! }
//! ```
//!
//! | typed | what happens |
//! |---|---|
//! | `words run "to be"` | the network runs, on all cores; its result goes to standard output |
//! | … `--report`, `--report-json FILE` | what the run cost, for people and for programs |
//! | … `--trace FILE`, `--trace-summary`, `--trace-on-failure DIR` | when each process ran and what it waited for |
//! | … `--record FILE` | what came from outside is kept |
//! | … `--bundle DIR` | … and the report, in a folder, if the run does not end well |
//! | … `--live`, `--live=json`, `--serve ADDR` | what each process does while it runs: on the terminal, an object a line, as a page; the first and the last with the feature `live` |
//! | … `--workers`, `--policy`, `--capacity`, `--budget`, … | other ways to run it; the output is the same |
//! | `words verify "to be"` | runs it under many schedules and compares what passed on each channel |
//! | … `--parts 2,3,8` | … with each of these numbers of processes that share the work, in place of 1, 2 and 3; see [`main_with_parts`] |
//! | `words replay FILE` | runs again what was recorded, from that file alone |
//! | … `--until PROCESS@N` | … until that process is to receive its N-th message, and shows what is there |
//! | `words resume FILE` | goes on with a run that was recorded and cut short, to the same result |
//! | `words graph "to be"` | the network as a drawing; `--svg FILE` |
//!
//! Standard output carries the result and nothing else; report, progress and errors go to standard
//! error. The exit code is 0 if the program finished, 1 if the run failed (or its result could not be
//! written), 2 for wrong usage or bad input, and 130 after Ctrl-C, which stops the network. The
//! signal QUIT (Ctrl-\ at a terminal) has it say what every process waits for, and go on. A reader of
//! standard output that leaves early (`words … | head`) is no failure. A run of more than a second shows
//! how far it is, if a person is watching.
//!
//! | module | answers |
//! |---|---|
//! | `single` | what does a command do that has one network? |
//! | `menu` | … and one that has several programs? ([`Menu`]) |
//! | `program` | what is a program, and what are its forms? ([`Program`], for authors of a menu) |
//! | `arguments`, `placing`, `size` | what can be typed for each, and what is wrong with it? |
//! | `run`, `recording`, `again`, `verify`, `graph`, [`trace`], `live` | what is done? |
//! | `seen` | … with a run that is no program of a menu? ([`SeenArguments`]) |
//! | `answer`, `result`, `input`, `output` | how are input and results read and written? |
//! | `failure`, `messages`, `progress`, `interrupt` | what is a person told, and when does it end? |

mod again;
mod answer;
mod arguments;
mod failure;
mod graph;
mod input;
mod interrupt;
mod live;
mod menu;
mod messages;
pub mod output;
mod placed;
mod placing;
mod program;
mod progress;
mod ranks;
mod recording;
mod result;
mod run;
mod seen;
mod single;
pub mod size;
pub mod trace;
mod verify;
mod watching;

use std::process::ExitCode;

use clap::error::ErrorKind;

pub use answer::{Answer, Writer};
pub use failure::{BoxError, Failure};
pub use input::read;
pub use interrupt::{Interrupt, Stopper};
pub use menu::Menu;
pub use messages::note;
pub use program::{Form, Kind, Parts, Pending, Prepared, Program, Purpose, Settings};
pub use progress::Bar;
pub use ranks::Cluster;
pub use result::write;
pub use seen::{Seen, SeenArguments};
pub use single::{main, main_with, main_with_parts};

/// Does something as a command of this name: tells of a failure, and returns the exit code.
///
/// Help that was asked for is a result: it goes to standard output. Where MPI has started the command several
/// times (`OMPI_COMM_WORLD_SIZE` or `PMI_SIZE` says so), it is refused, with exit code 2.
///
/// # Examples
///
/// ```
/// use kahn_command::{Failure, start, write};
/// use std::process::ExitCode;
///
/// let code = start("tool", || write(|out| writeln!(out, "42")));
/// assert_eq!(code, ExitCode::SUCCESS);
/// // Standard error has `tool: error: points.csv: no such file`.
/// let code = start("tool", || Err(Failure::input("points.csv: no such file")));
/// assert_eq!(code, ExitCode::from(2));
/// ```
pub fn start(name: &'static str, work: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    started(name, || ranks::refuse_mpi().and_then(|()| work()))
}

/// Does something as a command of this name that runs on several ranks: only rank 0 tells of a failure.
///
/// # Examples
///
/// ```
/// use kahn_command::{Cluster, Menu, start_over};
/// use std::process::ExitCode;
///
/// fn main_of(cluster: &dyn Cluster, menu: Menu<'_>) -> ExitCode {
///     start_over(cluster, "tool", || {
///         let command = clap::Command::new("tool").subcommands(menu.subcommands());
///         menu.over(cluster).perform(&command.try_get_matches()?).unwrap_or(Ok(()))
///     })
/// }
/// ```
pub fn start_over(
    cluster: &dyn Cluster,
    name: &'static str,
    work: impl FnOnce() -> Result<(), Failure>,
) -> ExitCode {
    if cluster.rank() == 0 {
        return started(name, work);
    }
    // What has failed here has ended the run, and rank 0 tells.
    let _ = work();
    ExitCode::SUCCESS
}

fn started(name: &'static str, work: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    messages::set_name(name);
    let failure = match work() {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(help)) if is_help(&help) => {
            let Err(failure) = result::write_styled(&help.render().ansi().to_string()) else {
                return ExitCode::SUCCESS;
            };
            failure
        }
        Err(failure) => failure,
    };
    messages::failure(&failure);
    ExitCode::from(failure.exit_code())
}

fn is_help(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}
