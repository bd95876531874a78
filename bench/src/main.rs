//! Benchmarks: ours, what one would take instead, and the floor, in turn and in the same run.
//!
//! ```text
//! cargo run --profile dist -p kahn-bench -- list
//! cargo run --profile dist -p kahn-bench -- run ring --tokens 64 --workers 1,2 --peers tokio-kanal,go
//! cargo run --profile dist -p kahn-bench -- table --json run.jsonl
//! cargo run --profile dist -p kahn-bench -- table --from run.jsonl
//! cargo run --profile dist -p kahn-bench -- instructions
//! cargo run --profile dist -p kahn-bench -- soak --networks 10000 --seed 1
//! ```
//!
//! Every metric is a cost: smaller is better. A line is the median and the minimum of the runs, and
//! the ratio of the median to that of the first runtime, ours. `params` are equal for all that are
//! compared: forms that take many messages at a time are apart from those that take one.

mod child;
mod contest;
mod data;
mod floor;
mod instructions;
mod lines;
mod measure;
mod peers;
mod readme;
mod session;
mod snet;
mod soak;
mod table;
mod work;
mod workloads;

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use contest::{Settings, Workload};
use data::{Conditions, Data};
use kahn_apps::output;
use kahn_experiments::Machine;
use lines::Line;
use peers::PEERS;
use session::{Selection, Session, say};
use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use workloads::{PROCESSES, WORKLOADS};

#[derive(Parser)]
#[command(about, version, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the workloads and the peers, one line each.
    List,
    /// Run workloads, or `all`.
    Run {
        /// Names of workloads, or `all`.
        #[arg(required = true, value_name = "WORKLOAD")]
        workloads: Vec<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Run all workloads and print a table: ours beside the best peer, with machine and versions, and what is lost.
    Table {
        #[command(flatten)]
        options: Options,
        /// Measure nothing: print the table of what `--json` wrote, which may be compressed by gzip.
        #[arg(long, value_name = "FILE", conflicts_with_all = MEASURING)]
        from: Option<PathBuf>,
        /// Print the rows of the README instead.
        #[arg(long)]
        readme: bool,
    },
    /// Print the instructions that send, receive, block, wake and spawn take, under valgrind.
    Instructions {
        /// Count steps of whole programs, and how many of their instructions lock the bus.
        #[arg(long)]
        locked: bool,
        /// Of these programs only.
        #[arg(value_name = "ROW", requires = "locked")]
        rows: Vec<String>,
        /// Numbers of workers of whole programs.
        #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,2")]
        #[arg(value_parser = kahn_apps::at_least_one::<usize>)]
        workers: Vec<usize>,
    },
    /// Run random programs under random schedules, and compare with what an interpreter says.
    ///
    /// Prints how often the generator drew each of its choices, and the smallest case found that
    /// breaks a promise. The exit code is 1 if there is one.
    Soak(soak::Soak),
    /// Measure one entry once: what this program calls itself with.
    #[command(hide = true)]
    Measure {
        /// The entry, as JSON.
        order: String,
    },
    /// Run the operations that `instructions` counts: what it calls itself with.
    #[command(hide = true)]
    Operations {
        /// A whole program instead.
        #[arg(requires_all = ["workers", "size"])]
        row: Option<String>,
        workers: Option<usize>,
        size: Option<u32>,
    },
}

/// The options that have no meaning where nothing is measured.
const MEASURING: [&str; 8] =
    ["workers", "repeat", "again", "source", "peers", "tokens", "quick", "json"];

#[derive(Args, Clone)]
struct Options {
    /// Numbers of workers.
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,2")]
    #[arg(value_parser = kahn_apps::at_least_one::<usize>)]
    workers: Vec<usize>,
    /// Times each is measured.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = kahn_apps::at_least_one::<usize>)]
    repeat: usize,
    /// Times it is measured again if something else ran meanwhile: others used a tenth of a core, or the host of a
    /// virtual machine took half a per cent of the time. Never with `--quick`.
    #[arg(long, value_name = "N", default_value_t = 3)]
    again: usize,
    /// What it was built from, a commit: it is kept with what was measured.
    #[arg(long, value_name = "COMMIT", default_value = "")]
    source: String,
    /// Peers beside ours: `all`, `none` or names.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', default_value = "all")]
    peers: Vec<String>,
    /// Numbers of tokens in the ring, 1 to 255.
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,64")]
    #[arg(value_parser = tokens)]
    tokens: Vec<u32>,
    /// Smaller sizes, for a look.
    #[arg(long)]
    quick: bool,
    /// Write JSON lines to this file as well.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// With as many tokens as processes the ring must grow, and peers would hang.
fn tokens(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| (1..PROCESSES).contains(n));
    number.ok_or_else(|| format!("expected a whole number from 1 to {}", PROCESSES - 1))
}

fn main() -> ExitCode {
    let command = Command::parse();
    match run(command.what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Ends the program as for any other argument that is wrong: with a message, and exit code 2.
fn refuse(message: &str) -> ! {
    Command::command().error(ErrorKind::InvalidValue, message).exit()
}

#[expect(clippy::print_stdout, reason = "a command prints its results")]
fn run(what: What) -> Result<()> {
    match what {
        What::List => {
            for workload in WORKLOADS {
                println!("{:<16} {}", workload.name, workload.summary);
            }
            println!("\npeers:");
            for peer in PEERS {
                println!("{:<22} {}", peer.name, peer.summary);
            }
            Ok(())
        }
        What::Run { workloads, options } => {
            let is_of = |entry: &Workload, name: &str| name == "all" || entry.name == name;
            let unknown = |name: &&String| !WORKLOADS.iter().any(|entry| is_of(entry, name));
            if let Some(name) = workloads.iter().find(unknown) {
                refuse(&format!("there is no workload `{name}`: `list` shows what there is"));
            }
            let chosen = |entry: &&Workload| workloads.iter().any(|name| is_of(entry, name));
            let chosen: Vec<_> = WORKLOADS.iter().filter(chosen).collect();
            let headed = Cell::new(false);
            measure(&chosen, &options, |line| {
                if !headed.replace(true) {
                    println!("{}", table::HEAD);
                }
                println!("{}", table::row(line));
            })
            .map(drop)
        }
        What::Table { options, from, readme } => {
            let data = match from {
                Some(file) => {
                    Data::read(&file).unwrap_or_else(|error| refuse(&format!("{error:#}")))
                }
                None => measure(&WORKLOADS.iter().collect::<Vec<_>>(), &options, |_| {})?,
            };
            print!("{}", if readme { readme::markdown(&data) } else { table::markdown(&data) });
            Ok(())
        }
        What::Instructions { locked: false, .. } => {
            print!("{}", instructions::count()?);
            Ok(())
        }
        What::Instructions { rows, workers, .. } => {
            let known = instructions::rows();
            if let Some(row) = rows.iter().find(|row| !known.contains(&row.as_str())) {
                refuse(&format!("there is no row `{row}`: there are {}", known.join(", ")));
            }
            print!("{}", instructions::count_locked(&rows, &workers)?);
            Ok(())
        }
        What::Soak(soak) => soak.run(|summary| println!("{summary}")),
        What::Measure { order } => {
            let order: child::Order = serde_json::from_str(&order)
                .unwrap_or_else(|error| refuse(&format!("that is no order: {error}")));
            println!("{}", serde_json::to_string(&order.measure()?)?);
            Ok(())
        }
        What::Operations { row: Some(row), workers: Some(workers), size: Some(size) } => {
            instructions::run_row(&row, workers, size)
        }
        What::Operations { .. } => instructions::operations(),
    }
}

/// Measures workloads; `each` gets every line as soon as it is known.
fn measure(chosen: &[&Workload], options: &Options, each: impl Fn(&Line)) -> Result<Data> {
    let peers = Selection::of(&options.peers).unwrap_or_else(|message| refuse(&message));
    if let Some(path) = &options.json
        && let Err(error) = output::check_writable(path)
    {
        refuse(&error.to_string());
    }
    let inputs = tempfile::tempdir()?;
    let settings = Settings {
        quick: options.quick,
        tokens: options.tokens.clone(),
        steps_per_microsecond: work::steps_per_microsecond(),
        inputs: inputs.path().to_owned(),
    };
    let mut data = Data { conditions: conditions(&options.source)?, lines: Vec::new() };
    let mut session = Session {
        settings,
        workers: options.workers.clone(),
        repeat: options.repeat,
        again: if options.quick { 0 } else { options.again },
        peers,
        missing: table::Missing::new(),
    };
    for workload in chosen {
        session.run(workload, |new, missing| {
            new.iter().for_each(&each);
            data.lines.extend_from_slice(new);
            data.conditions.missing.clone_from(missing);
            // What is measured is kept, whatever becomes of the rest.
            options.json.as_deref().map_or(Ok(()), |path| data.write(path))
        })?;
    }
    Ok(data)
}

/// What is measured now, and on what.
fn conditions(source: &str) -> Result<Conditions> {
    let arguments = std::env::args().skip(1);
    let command =
        std::iter::once("kahn-bench".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ");
    Ok(Conditions {
        date: today()?,
        machine: Machine::here(source)?,
        peers: peers::versions(),
        command,
        missing: table::Missing::new(),
    })
}

/// The day, by the system's own command.
fn today() -> Result<String> {
    let said = std::process::Command::new("date")
        .args(["-u", "+%F"])
        .output()
        .context("`date` cannot be run")?;
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}
