//! The command `kahn snet …` on its own: `cargo run --example snet -- run FILE.snet`.

use std::process::ExitCode;

use clap::Parser;
use kahn_snet::command::{self, Command};

/// Runs, checks, prints and draws S-Net programs
#[derive(Debug, Parser)]
#[command(name = "snet")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    command::main(&Arguments::parse().command)
}
