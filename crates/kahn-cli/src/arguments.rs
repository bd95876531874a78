//! What can be typed, and what it asks for.
//!
//! The programs and their own arguments come from the table [`APPS`], the policies from
//! [`POLICIES`]: parser, help and completions are made from them and know nothing else.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{
    Arg, ArgMatches, Args, Command, FromArgMatches as _, Subcommand as _, ValueEnum, value_parser,
};
use clap_complete::Shell;
use kahn::policy::PolicyChoice;
use kahn::{Accounting, Detection, Options};
use kahn_apps::{APPS, App, Failure, Variant, at_least_one, size};
use kahn_policies::POLICIES;
use kahn_snet::command::Command as Snet;

use crate::experiment::{self, ExperimentArguments};
use crate::placing::Placing;

/// What the command is asked to do.
pub(crate) enum Request {
    Run(&'static App, ArgMatches, Box<RunArguments>),
    Verify(&'static App, ArgMatches, VerifyArguments),
    Graph(&'static App, ArgMatches, GraphArguments),
    /// Something about S-Net, whose crate brings its own command line.
    Snet(Box<Snet>),
    Experiment(ExperimentArguments),
    List,
    Completions(Shell),
}

/// What decides the network and its input, for every program.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shape {
    /// The form of the program; `kahn list` shows them
    #[arg(long, value_name = "V", global = true)]
    variant: Option<String>,

    /// Shares the work of each stage among N processes; the output does not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, global = true)]
    pub(crate) parts: Option<usize>,

    /// Seed of generated input, and of the order of steps under the policy `seeded`
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, global = true)]
    pub(crate) seed: u64,
}

/// What is typed after `kahn run`, besides the program's own arguments.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every run")]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) shape: Shape,

    #[command(flatten)]
    schedule: Schedule,

    /// Shows on standard error what the run cost, and measures times unless --accounting says otherwise
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "short",
        global = true
    )]
    pub(crate) report: Option<ReportForm>,

    /// Writes what the run cost as JSON
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) report_json: Option<PathBuf>,

    /// Draws into FILE where time and messages went, and measures times likewise
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) svg: Option<PathBuf>,
}

/// How much of a report is shown.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ReportForm {
    /// What limits the run, then families of processes and channels
    Short,
    /// Each process, channel and worker
    Full,
}

/// What decides how a network is run. Its output does not depend on any of it.
#[derive(Debug, Clone, Args)]
struct Schedule {
    /// Runs on N threads instead of one for each core
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, global = true)]
    workers: Option<usize>,

    /// Which process runs next; `kahn list` explains them
    #[arg(long, value_name = "P", value_parser = policies(), global = true)]
    policy: Option<String>,

    #[command(flatten)]
    placing: Placing,

    /// Gives every channel room for N messages at the start
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>, global = true)]
    capacity: Option<u32>,

    /// Gives no channel more room than for N messages at the start, but its own if that is less
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>, global = true)]
    capacity_at_most: Option<u32>,

    /// Bounds what all channels and their messages take, not processes: bytes, or with K, M, G
    #[arg(long, value_name = "SIZE", value_parser = size::parse, global = true)]
    budget: Option<u64>,

    /// How to find that processes wait for each other
    #[arg(long, value_name = "D", global = true)]
    detection: Option<DetectionName>,

    /// How much to measure
    #[arg(long, value_name = "A", global = true)]
    accounting: Option<AccountingName>,

    /// Keeps each worker on a core of its own
    #[arg(long, global = true)]
    pin: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DetectionName {
    /// Off the path of the messages, by idle workers
    Deferred,
    /// Under one lock, at every wait, growing by one, as in the papers
    Central,
    /// Not at all
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AccountingName {
    /// Nothing
    Off,
    /// Events and messages
    Counters,
    /// Times too
    Timing,
}

/// What is typed after `kahn verify`, besides the program's own arguments.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every verification")]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) shape: Shape,

    #[command(flatten)]
    pub(crate) placing: Placing,
}

/// What is typed after `kahn graph`, besides the program's own arguments.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every graph")]
pub(crate) struct GraphArguments {
    #[command(flatten)]
    pub(crate) shape: Shape,

    /// Draws the network into FILE instead, as SVG
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) svg: Option<PathBuf>,
}

impl Shape {
    /// Finds the form that is asked for: the first of the program unless said otherwise.
    pub(crate) fn variant(&self, app: &App) -> Result<Variant, Failure> {
        self.variant_among(app, app.variants)
    }

    /// Finds the form that is asked for, where only networks will do.
    pub(crate) fn network(&self, app: &App) -> Result<Variant, Failure> {
        let networks: Vec<_> = app.variants.iter().copied().filter(|v| v.is_network()).collect();
        self.variant_among(app, &networks)
    }

    fn variant_among(&self, app: &App, variants: &[Variant]) -> Result<Variant, Failure> {
        let Some(&first) = variants.first() else {
            return Err(Failure::input(format!("`{}` is no Kahn network", app.name)).with_help(
                "its processes choose (see `kahn-csp`): what they are is known only as they run, \
                 and no other schedule need give the same",
            ));
        };
        let Some(name) = &self.variant else { return Ok(first) };
        Variant::named(name, variants).ok_or_else(|| {
            let is_other = app.variants.iter().any(|variant| variant.name() == name);
            let names: Vec<_> = variants.iter().copied().map(Variant::name).collect();
            let (what, has) = if is_other {
                (format!("variant `{name}` of `{}` is no Kahn network", app.name), "these are")
            } else {
                (format!("`{}` has no variant `{name}`", app.name), "it has")
            };
            Failure::input(what).with_help(format!("{has}: {}", names.join(", ")))
        })
    }
}

impl RunArguments {
    /// Where processes are to belong.
    pub(crate) fn placing(&self) -> &Placing {
        &self.schedule.placing
    }

    /// Refuses what this form of the program would not heed.
    fn check_heeded(&self, app: &App, variant: Variant) -> Result<(), Failure> {
        let Schedule { workers, policy, placing, accounting, pin, .. } = &self.schedule;
        let Schedule { capacity, capacity_at_most, budget, detection, .. } = &self.schedule;
        // Heeded by every kind of network, and by Kahn networks alone.
        let scheduled = [
            ("--workers", workers.is_some()),
            ("--policy", policy.is_some()),
            ("--accounting", accounting.is_some()),
            ("--pin", *pin),
        ];
        let of_networks = [
            ("--capacity", capacity.is_some()),
            ("--capacity-at-most", capacity_at_most.is_some()),
            ("--budget", budget.is_some()),
            ("--detection", detection.is_some()),
            ("--placement", placing.has_placement()),
            ("--tau", placing.has_tau()),
        ];
        let why = match variant {
            Variant::Network | Variant::MapReduce => return Ok(()),
            Variant::Sequential => "it runs on one thread, in a loop",
            Variant::Threads => "the system schedules its threads",
            _ => {
                "its processes choose: their channels have the room that the program gives them, and their workers are found as they run"
            }
        };
        let mut unheeded = scheduled.iter().filter(|_| !variant.chooses()).chain(&of_networks);
        let Some((option, _)) = unheeded.find(|(_, is_typed)| *is_typed) else {
            return Ok(());
        };
        let (app, variant) = (app.name, variant.name());
        let what = format!("{option} has no effect on the variant `{variant}` of `{app}`");
        Err(Failure::input(what).with_help(format!("{why}; leave {option} out")))
    }

    /// Understands the options of a run of this form.
    pub(crate) fn options(&self, app: &App, variant: Variant) -> Result<Options, Failure> {
        self.check_heeded(app, variant)?;
        let Schedule {
            workers,
            policy,
            placing,
            capacity,
            capacity_at_most,
            budget,
            detection,
            accounting,
            pin,
        } = &self.schedule;
        let policy = placing.policy(policy.as_deref())?;
        let mut options = Options::new().policy(policy).seed(self.shape.seed).pin(*pin);
        // The user of the command has not the source of its programs.
        options = options.places(false);
        if let Some(workers) = workers {
            options = options.workers(*workers);
        }
        if let Some(capacity) = capacity {
            options = options.capacity(*capacity);
        }
        if let Some(messages) = capacity_at_most {
            options = options.capacity_at_most(*messages);
        }
        if let Some(budget) = budget {
            options = options.budget(*budget);
        }
        if let Some(detection) = detection {
            options = options.detection(match detection {
                DetectionName::Deferred => Detection::Deferred,
                DetectionName::Central => Detection::Central,
                DetectionName::Off => Detection::Off,
            });
        }
        let asks_for_times = self.report.is_some() || self.svg.is_some();
        let unset = asks_for_times.then_some(AccountingName::Timing);
        if let Some(accounting) = accounting.or(unset) {
            options = options.accounting(match accounting {
                AccountingName::Off => Accounting::Off,
                AccountingName::Counters => Accounting::Counters,
                AccountingName::Timing => Accounting::Timing,
            });
        }
        Ok(options)
    }
}

fn policies() -> PossibleValuesParser {
    PossibleValuesParser::new(POLICIES.iter().map(PolicyChoice::name))
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Request, clap::Error> {
    request(&command().try_get_matches()?)
}

fn request(matches: &ArgMatches) -> Result<Request, clap::Error> {
    let Some((name, matches)) = matches.subcommand() else { return Err(incomplete()) };
    match name {
        "list" => return Ok(Request::List),
        "experiment" => {
            return Ok(Request::Experiment(ExperimentArguments::from_arg_matches(matches)?));
        }
        "snet" => return Ok(Request::Snet(Box::new(Snet::from_arg_matches(matches)?))),
        "completions" => {
            let shell = matches.get_one::<Shell>("shell").copied();
            return shell.map(Request::Completions).ok_or_else(incomplete);
        }
        _ => {}
    }
    let app = matches.subcommand().and_then(|(app, own)| Some((App::named(app)?, own)));
    let Some((app, own)) = app else { return Err(incomplete()) };
    let matches = own.clone();
    Ok(match name {
        "run" => {
            let arguments = RunArguments::from_arg_matches(own)?;
            Request::Run(app, matches, Box::new(arguments))
        }
        "verify" => Request::Verify(app, matches, VerifyArguments::from_arg_matches(own)?),
        _ => Request::Graph(app, matches, GraphArguments::from_arg_matches(own)?),
    })
}

/// Says that something is missing; the parser has seen to it that nothing is.
fn incomplete() -> clap::Error {
    command().error(ErrorKind::MissingSubcommand, "expected a command; see `kahn --help`")
}

/// Makes the whole command from the tables.
pub(crate) fn command() -> Command {
    // What is said about a command comes last: the arguments bring the comments on their types.
    let run = RunArguments::augment_args(with_apps("run"))
        .about("Runs a program; its result goes to standard output")
        .after_help(EXIT_CODES);
    let verify = VerifyArguments::augment_args(with_apps("verify"))
        .about("Runs a program under many schedules and compares")
        .after_help(VERDICTS);
    let graph = GraphArguments::augment_args(with_apps("graph"))
        .about("Writes a program's network as DOT, or draws it as SVG")
        .after_help("A network that grows as it runs is shown as it starts.");
    let experiment = ExperimentArguments::augment_args(Command::new("experiment"))
        .about("Measures the tables and figures of the papers again")
        .after_help(experiment::NOTES);
    let shell = Arg::new("shell").required(true).value_parser(value_parser!(Shell));
    Command::new("kahn")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs programs that are networks of processes joined by channels")
        .after_help(EXAMPLES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommands([run, verify, graph])
        .subcommand(snet())
        .subcommand(experiment)
        .subcommand(Command::new("list").about("Lists programs, with their variants, and policies"))
        .subcommand(Command::new("completions").about("Writes completions for a shell").arg(shell))
}

/// Makes the part of the command that belongs to S-Net.
fn snet() -> Command {
    let snet = Command::new("snet").subcommand_required(true).arg_required_else_help(true);
    // What is said about a command comes last, as above.
    Snet::augment_subcommands(snet).about("Runs, checks, formats and draws S-Net programs")
}

/// Makes a command that goes on with the name of a program and its arguments.
fn with_apps(name: &'static str) -> Command {
    let apps = APPS.iter().map(|app| {
        let parts = match app.default_parts {
            1 => "--parts has no effect: this program has no stage that is split.".to_owned(),
            parts => format!("--parts is {parts} unless set, at most {}.", app.most_parts),
        };
        let help = format!("{parts}\n\n{}", app.examples);
        (app.arguments)(Command::new(app.name)).about(app.summary).after_help(help)
    });
    Command::new(name)
        .subcommands(apps)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("APP")
        .subcommand_help_heading("Programs")
        .disable_help_subcommand(true)
}

const EXAMPLES: &str = "\
Examples:
  kahn run wordcount book.txt                    the words of a file, the most frequent first
  kahn run kmeans points.csv --groups 8 --report eight groups, and what it cost to find them
  kahn run wordcount book.txt --variant mapreduce        the same as two MapReduce jobs
  kahn verify wordcount book.txt                 the same under every schedule?
  kahn graph kmeans --random 100 --groups 3 --svg kmeans.svg        a picture of the network
  kahn snet run factorial.snet --input records.json      records through an S-Net program
  kahn experiment list                           the tables and figures of the papers
  kahn completions bash > ~/.local/share/bash-completion/completions/kahn";

const VERDICTS: &str = "\
Exit codes: 0 every schedule gives the same messages on every channel and the same output, 1 not:
the first difference is shown, 2 wrong usage or bad input.";

const EXIT_CODES: &str = "\
Exit codes: 0 finished, 1 the run failed, 2 wrong usage or bad input, 130 stopped by Ctrl-C.
`kahn run APP --help` shows the arguments of a program.";

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Request, clap::Error> {
        request(&command().try_get_matches_from(line.split(' '))?)
    }

    #[test]
    fn the_command_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn options_may_stand_before_and_behind_the_program() {
        for line in ["kahn run --parts 3 sieve 10", "kahn run sieve 10 --parts 3"] {
            let Ok(Request::Run(app, _, arguments)) = typed(line) else { panic!("{line}") };
            assert_eq!((app.name, arguments.shape.parts), ("sieve", Some(3)));
        }
    }

    #[test]
    fn nothing_that_must_be_one_or_more_can_be_zero() {
        for option in ["--workers", "--capacity", "--parts"] {
            for number in ["0", "-1", "x", "1.5"] {
                let line = format!("kahn run sieve 10 {option}={number}");
                assert!(typed(&line).is_err(), "{line}");
            }
        }
        assert!(typed("kahn run kmeans p.csv --groups 0").is_err());
    }

    #[test]
    fn every_policy_of_the_table_can_be_typed_and_no_other() {
        for policy in POLICIES {
            assert!(typed(&format!("kahn run sieve 10 --policy {}", policy.name())).is_ok());
        }
        assert!(typed("kahn run sieve 10 --policy nothing").is_err());
    }
}
