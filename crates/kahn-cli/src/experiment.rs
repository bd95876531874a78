//! `kahn experiment`: the tables and figures of the papers, measured again.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kahn_apps::Failure;
use kahn_experiments::{EXPERIMENTS, Order, Size, Watcher, perform};

use crate::{messages, result};

/// What is typed after `kahn experiment`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExperimentArguments {
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
pub(crate) const NOTES: &str = "\
Every measurement is on disk as soon as it is made: interrupt at any time, and type the same again to
go on. Measurements of another size, version or machine are not mixed: they are made again.

Examples:
  kahn experiment list                              what there is
  kahn experiment native-fig-3 --quick              one figure, small
  kahn experiment all --out results                 all of them, about two hours on two cores";

fn names() -> PossibleValuesParser {
    let experiments = EXPERIMENTS.iter().map(|experiment| experiment.name);
    PossibleValuesParser::new(experiments.chain(["all", "list"]))
}

/// Lists experiments or carries them out.
pub(crate) fn experiment(arguments: &ExperimentArguments) -> Result<(), Failure> {
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
    perform(&order, &mut Bar::new())
}

fn list() -> Result<(), Failure> {
    let width = EXPERIMENTS.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    result::write(|out| {
        for experiment in EXPERIMENTS {
            writeln!(out, "{:width$}  {}", experiment.name, experiment.summary)?;
        }
        Ok(())
    })
}

/// A bar on standard error; without a terminal, a line for each study and page.
struct Bar {
    bar: ProgressBar,
    watched: bool,
}

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        Self { bar, watched: io::stderr().is_terminal() }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| messages::note(text));
    }
}

impl Watcher for Bar {
    fn begin(&mut self, study: &str, there: usize, total: usize) {
        let mut text = format!("{study}: {total} measurements");
        if there > 0 {
            let _ = write!(text, ", {there} of them there already");
        }
        if self.watched {
            self.bar.reset();
            self.bar.set_length(total as u64);
            self.bar.set_position(there as u64);
            self.bar.reset_eta();
            let template =
                format!("{study} {{wide_bar}} {{pos}} of {{len}}, {{eta}} left  {{msg}}");
            let style = ProgressStyle::with_template(&template);
            self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        } else {
            self.say(&text);
        }
    }

    fn measuring(&mut self, what: &str) {
        if self.watched {
            self.bar.set_message(what.chars().take(60).collect::<String>());
        }
    }

    fn measured(&mut self) {
        self.bar.inc(1);
    }

    fn written(&mut self, page: &Path) {
        self.say(&format!("wrote {}", page.display()));
    }

    fn note(&mut self, text: &str) {
        self.say(text);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
