//! What can be typed after `kahn snet`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::record::Format;
use crate::runtime::Concurrency;

/// What can be done with an S-Net program.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Run a program over records
    Run(RunArguments),
    /// Check a program without running it
    Check(CheckArguments),
    /// Print a program in the one form
    Fmt(FmtArguments),
    /// Draw the hierarchy of a program
    Graph(GraphArguments),
}

/// The arguments of `kahn snet run`.
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    /// The program
    pub file: PathBuf,
    /// The net to run; the last of the file if none is named
    #[arg(long)]
    pub net: Option<String>,
    /// A shared library or C file with boxes; may be given several times
    #[arg(long, value_name = "LIB_OR_C_FILE")]
    pub boxes: Vec<PathBuf>,
    /// Where records come from; standard input if not given
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// The form of records that come in and go out
    #[arg(long, value_enum, default_value = "json")]
    pub format: FormatArgument,
    /// Threads; as many as there are cores if not given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Calls of a box at once: `4`, or `4 1:slow,other` with limits for some
    #[arg(long, value_name = "SPEC", value_parser = concurrency, default_value = "")]
    pub concurrency: Concurrency,
    /// What carries the records
    #[arg(long, value_enum, default_value = "front")]
    pub runtime: RuntimeArgument,
    /// The policy that runs the processes of `--runtime network`: one of `kahn list`
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Fail if a call of a box takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub box_limit: Option<f64>,
    /// Tell on standard error what the run did
    #[arg(long)]
    pub report: bool,
    /// Show every record before and after every net and box, on standard error
    #[arg(long)]
    pub trace_records: bool,
    /// Fail if the input ends with half-filled synchro-cells
    #[arg(long)]
    pub strict: bool,
}

impl RunArguments {
    /// Returns whether the program is run by processes, which can be traced and looked at.
    ///
    /// # Examples
    ///
    /// ```
    /// use clap::Parser as _;
    ///
    /// #[derive(clap::Parser)]
    /// struct Typed {
    ///     #[command(flatten)]
    ///     run: kahn_snet::command::RunArguments,
    /// }
    ///
    /// let typed = Typed::parse_from(["run", "main.snet", "--runtime", "network"]);
    /// assert!(typed.run.has_processes());
    /// ```
    pub fn has_processes(&self) -> bool {
        self.runtime == RuntimeArgument::Network
    }
}

/// The arguments of `kahn snet check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArguments {
    /// The program
    pub file: PathBuf,
    /// Print the inferred signature of every net
    #[arg(long)]
    pub types: bool,
}

/// The arguments of `kahn snet fmt`.
#[derive(Debug, Clone, Args)]
pub struct FmtArguments {
    /// The program
    pub file: PathBuf,
    /// Write the file instead of printing it
    #[arg(long, conflicts_with = "check")]
    pub write: bool,
    /// Only tell whether printing would change it
    #[arg(long)]
    pub check: bool,
}

/// The arguments of `kahn snet graph`.
#[derive(Debug, Clone, Args)]
pub struct GraphArguments {
    /// The program
    pub file: PathBuf,
    /// The net to draw; the last of the file if none is named
    #[arg(long)]
    pub net: Option<String>,
    /// Write a picture to a file, instead of printing the graph
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// The forms of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArgument {
    /// A line of JSON each
    Json,
    /// An element of XML each
    Xml,
}

impl From<FormatArgument> for Format {
    fn from(argument: FormatArgument) -> Self {
        match argument {
            FormatArgument::Json => Self::Json,
            FormatArgument::Xml => Self::Xml,
        }
    }
}

/// The runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuntimeArgument {
    /// Records carried by workers
    Front,
    /// A process for each component
    Network,
}

/// Reads a time that is neither nothing nor for ever.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=1e9).contains(seconds));
    seconds.ok_or_else(|| "expected seconds, such as 10 or 0.5".to_owned())
}

/// Reads `4`, `4D`, `1:slow,other` or several of those, in any order.
fn concurrency(text: &str) -> Result<Concurrency, String> {
    let mut found = Concurrency { default: None, named: BTreeMap::new() };
    for part in text.split([' ', ';']).filter(|part| !part.is_empty()) {
        let (limit, names) = match part.split_once(':') {
            None => (part, None),
            Some((limit, names)) => (limit, Some(names)),
        };
        if limit.ends_with('N') {
            return Err(format!("`{part}`: the order of a box is always kept; leave the `N` out"));
        }
        let limit = limit.strip_suffix('D').unwrap_or(limit);
        let limit = limit.parse::<usize>().ok().filter(|limit| (1..=65536).contains(limit));
        let Some(limit) = limit else {
            return Err(format!("`{part}` is no limit: expected `4` or `4:box,other`"));
        };
        match names {
            None => found.default = Some(limit),
            Some(names) => {
                for name in names.split(',') {
                    found.named.insert(name.to_owned(), limit);
                }
            }
        }
    }
    Ok(found)
}
