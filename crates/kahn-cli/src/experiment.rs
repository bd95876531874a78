//! `kahn experiment`: the tables and figures of the papers, measured again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use kahn_command::{Bar, Failure, write as write_result};
use kahn_experiments::{EXPERIMENTS, Order, Size, Watcher, perform};

use crate::apps::failure;

/// What is typed after `kahn experiment`.
#[derive(Debug, Clone, Args)]
struct ExperimentArguments {
    /// An experiment, `all` of them, or `list`: a line each, the name first
    #[arg(value_name = "NAME", value_parser = names(), hide_possible_values = true)]
    name: String,

    /// Small: under a minute each
    #[arg(long, conflicts_with = "paper")]
    quick: bool,

    /// As large as in the papers: hours, days for some
    #[arg(long)]
    paper: bool,

    /// Where pages, plots, figures and measurements go
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    out: PathBuf,

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
  kahn experiment all --out results                 all of them, about two hours on two cores";

/// Makes the part of the command that belongs to the experiments.
pub(crate) fn command() -> Command {
    // What is said about a command comes last: the arguments bring the comments on their types.
    ExperimentArguments::augment_args(Command::new("experiment"))
        .about("Measures the tables and figures of the papers again")
        .after_help(NOTES)
}

fn names() -> PossibleValuesParser {
    let experiments = EXPERIMENTS.iter().map(|experiment| experiment.name);
    PossibleValuesParser::new(experiments.chain(["all", "list"]))
}

/// Lists experiments or carries them out.
pub(crate) fn experiment(matches: &ArgMatches) -> Result<(), Failure> {
    let arguments = &ExperimentArguments::from_arg_matches(matches)?;
    if arguments.name == "list" {
        return list();
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
        measure: !arguments.pages,
    };
    perform(&order, &mut Shown(Bar::new())).map_err(failure)
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
