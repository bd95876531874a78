//! Benchmarks: ours, a peer and the floor, in turn and in the same run.
//!
//! ```text
//! cargo run --release -p kahn-bench -- list
//! cargo run --release -p kahn-bench -- run ring --workers 1,2 --repeat 9
//! cargo run --release -p kahn-bench -- table
//! ```
//!
//! Every metric is a cost: smaller is better. A line of the table is the median and the minimum of
//! the runs, and the ratio of the median to that of the first runtime of the workload. The runs are
//! interleaved (A B A B …), so that a noisy machine is noisy for all.

// A program for people prints, and a benchmark reads the clock.
#![expect(clippy::print_stdout, reason = "a command's output")]

mod floor;
mod measure;
mod workloads;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use measure::{Line, Runs};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use workloads::{Settings, WORKLOADS, Workload};

#[derive(Parser)]
#[command(about, version, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the workloads, one line each.
    List,
    /// Run one workload, or `all`.
    Run {
        /// The workload's name.
        workload: String,
        #[command(flatten)]
        options: Options,
    },
    /// Run all workloads and print a Markdown table, with the machine.
    Table {
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Args, Clone)]
struct Options {
    /// Numbers of workers.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<usize>,
    /// Times each is run; the median counts.
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    /// Smaller sizes, for a look.
    #[arg(long)]
    quick: bool,
    /// Write JSON lines to this file as well.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> Result<()> {
    match Command::parse().what {
        What::List => {
            for workload in WORKLOADS {
                println!("{:<16} {}", workload.name, workload.summary);
            }
            Ok(())
        }
        What::Run { workload, options } => {
            let chosen: Vec<_> = WORKLOADS
                .iter()
                .filter(|entry| workload == "all" || entry.name == workload)
                .collect();
            if chosen.is_empty() {
                bail!("there is no workload `{workload}`: `list` shows what there is");
            }
            run(&chosen, &options)
        }
        What::Table { options } => {
            println!("{}\n", machine());
            run(&WORKLOADS.iter().collect::<Vec<_>>(), &options)
        }
    }
}

fn run(chosen: &[&Workload], options: &Options) -> Result<()> {
    if options.workers.contains(&0) || options.repeat == 0 {
        bail!("--workers and --repeat are 1 or more");
    }
    let mut json = match &options.json {
        Some(path) => Some(File::create(path).with_context(|| format!("{}", path.display()))?),
        None => None,
    };
    println!("| workload | params | workers | runtime | metric | median | min | ratio |");
    println!("|---|---|---:|---|---|---:|---:|---:|");
    for workload in chosen {
        for &workers in &options.workers {
            let settings = Settings { workers, quick: options.quick };
            let mut runs = Runs::default();
            for _ in 0..options.repeat {
                (workload.run)(&settings, &mut runs)?;
            }
            for line in runs.lines(workload.name, workers) {
                show(&line);
                if let Some(file) = &mut json {
                    writeln!(file, "{}", serde_json::to_string(&line)?)?;
                }
            }
        }
    }
    Ok(())
}

fn show(line: &Line) {
    println!(
        "| {} | {} | {} | {} | {} ({}) | {:.2} | {:.2} | {:.2} |",
        line.workload,
        line.params,
        line.workers,
        line.runtime,
        line.metric,
        line.unit,
        line.median,
        line.min,
        line.ratio
    );
}

/// What the figures were taken on.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split(':').nth(1))
        .map_or("unknown processor", str::trim);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("{model}, {cores} cores, kahn-bench {}", env!("CARGO_PKG_VERSION"))
}
