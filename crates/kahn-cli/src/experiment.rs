//! `kahn experiment`: the tables and figures of the papers, measured again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use kahn_command::{Bar, Failure, write as write_result};
use kahn_experiments::{EXPERIMENTS, Order, Size, Watcher, judge, perform};

/// What is typed after `kahn experiment`.
#[derive(Debug, Clone, Args)]
struct ExperimentArguments {
    /// An experiment, `all` of them; `list`: a line each, the name first; or `judge`: verdicts from
    /// the raw data in DIR
    #[arg(value_name = "NAME", value_parser = names(), hide_possible_values = true)]
    name: String,

    /// For `judge`: a folder with raw data, STUDY.jsonl or STUDY.jsonl.gz, whatever measured it
    #[arg(value_name = "DIR")]
    data: Option<PathBuf>,

    /// Small: under a minute each
    #[arg(long, conflicts_with = "paper")]
    quick: bool,

    /// As large as in the papers: hours, days for some
    #[arg(long)]
    paper: bool,

    /// Where pages, plots, figures and measurements go
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    out: PathBuf,

    /// How often each point is measured: 9 or 10, 3 if --quick; a verdict needs 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// What the order of the points in each round is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What this program was built from, for the pages: a commit
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    source: String,

    /// Measures nothing: writes pages and plots from the measurements there are, of any version
    #[arg(long)]
    pages: bool,
}

/// What is said at the end of the help.
const NOTES: &str = "\
Every measurement is on disk as soon as it is made: interrupt at any time, and type the same again to
go on. Measurements of another size, version or machine are not mixed: they are made again.

Examples:
  kahn experiment list                              what there is
  kahn experiment native-fig-3 --quick              one figure, small
  kahn experiment all --out results                 all of them, hours on two cores
  kahn experiment judge results/measurements/default    what follows from raw data, in Markdown";

/// Makes the part of the command that belongs to the experiments.
pub(crate) fn command() -> Command {
    // What is said about a command comes last: the arguments bring the comments on their types.
    ExperimentArguments::augment_args(Command::new("experiment"))
        .about("Measures the tables and figures of the papers again")
        .after_help(NOTES)
}

fn names() -> PossibleValuesParser {
    let experiments = EXPERIMENTS.iter().map(|experiment| experiment.name);
    PossibleValuesParser::new(experiments.chain(["all", "judge", "list"]))
}

/// Lists experiments or carries them out.
pub(crate) fn experiment(matches: &ArgMatches) -> Result<(), Failure> {
    let arguments = &ExperimentArguments::from_arg_matches(matches)?;
    if arguments.name == "list" {
        return list();
    }
    if arguments.name == "judge" {
        return judge_data(arguments);
    }
    if let Some(data) = &arguments.data {
        let what = format!("{}: only `judge` takes a folder of raw data", data.display());
        return Err(Failure::input(what).with_help("--out names the folder that is written to"));
    }
    let chosen = |name: &str| arguments.name == "all" || arguments.name == name;
    let experiments = EXPERIMENTS.iter().copied().filter(|experiment| chosen(experiment.name));
    let size = match (arguments.quick, arguments.paper) {
        (true, _) => Size::Quick,
        (_, true) => Size::Paper,
        _ => Size::Default,
    };
    let order = Order {
        experiments: experiments.collect(),
        size,
        out: arguments.out.clone(),
        rounds: arguments.rounds.map(|rounds| rounds as usize),
        seed: arguments.seed,
        peers: peers(),
        source: arguments.source.clone(),
        measure: !arguments.pages,
    };
    perform(&order, &mut Shown(Bar::new()))
}

/// The folders of other programs that the environment names.
fn peers() -> BTreeMap<String, PathBuf> {
    let named = std::env::vars_os().filter_map(|(name, folder)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("KAHN_PEER_"))?;
        Some((name, PathBuf::from(folder)))
    });
    named.collect()
}

/// Writes what follows from raw data.
fn judge_data(arguments: &ExperimentArguments) -> Result<(), Failure> {
    let Some(data) = &arguments.data else {
        let help =
            "kahn experiment judge DIR: `kahn experiment` writes raw data to OUT/measurements/SIZE";
        return Err(Failure::input("judge needs a folder of raw data").with_help(help));
    };
    let unheeded = [
        (arguments.quick, "--quick"),
        (arguments.paper, "--paper"),
        (arguments.pages, "--pages"),
        (arguments.rounds.is_some(), "--rounds"),
    ];
    if let Some((_, option)) = unheeded.into_iter().find(|(given, _)| *given) {
        let what = format!("judge measures nothing: {option} has no effect");
        return Err(
            Failure::input(what).with_help("leave it out: the raw data say what was measured")
        );
    }
    let evaluation = judge(data)?;
    write_result(|out| write!(out, "{evaluation}"))
}

fn list() -> Result<(), Failure> {
    let width = EXPERIMENTS.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    write_result(|out| {
        for experiment in EXPERIMENTS {
            writeln!(out, "{:width$}  {}", experiment.name, experiment.summary)?;
        }
        Ok(())
    })
}

/// What the experiments tell while they measure.
struct Shown(Bar);

impl Watcher for Shown {
    fn begin(&mut self, study: &str, there: usize, total: usize) {
        let mut text = format!("{study}: {total} measurements");
        if there > 0 {
            let _ = write!(text, ", {there} of them there already");
        }
        self.0.begin(study, there as u64, total as u64, &text);
    }

    fn measuring(&mut self, what: &str) {
        self.0.doing(what);
    }

    fn measured(&mut self) {
        self.0.advance();
    }

    fn written(&mut self, page: &Path) {
        self.0.note(&format!("wrote {}", page.display()));
    }

    fn note(&mut self, text: &str) {
        self.0.note(text);
    }
}
