//! What can be typed for every program, and what is wrong with it.
//!
//! Options are shown in the help of a program only if one of its forms heeds them; typed for a form that
//! does not, they are refused.

use std::path::PathBuf;
use std::str::FromStr;
use std::thread;

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, ValueEnum, value_parser};
use kahn::policy::PolicyChoice;
use kahn::{Accounting, Detection, Options};
use kahn_policies::POLICIES;

use crate::live::LiveArguments;
use crate::placing::Placing;
use crate::program::{Form, Kind, Parts, Program, Settings};
use crate::ranks::{RankArguments, SeveralRanks};
use crate::recording::RecordArguments;
use crate::trace::TraceArguments;
use crate::{Failure, size};

/// The most threads that are asked for by hand: more than that is a slip.
const MOST_WORKERS: usize = 4096;

/// What decides the network and its input. A program has only those that say something about it.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) variant: Option<String>,
    /// Several to verify with, one otherwise; none if it was not typed.
    parts: Vec<usize>,
    seed: u64,
}

impl Shape {
    /// Reads what was typed.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        Self {
            variant: typed::<String>(matches, VARIANT),
            parts: all_typed(matches, PARTS),
            seed: typed::<u64>(matches, SEED).unwrap_or_default(),
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Checks what holds for every program, and fills in what was not typed.
    pub(crate) fn settings(&self, program: &dyn Program) -> Result<Settings, Failure> {
        let parts = self.parts.first().copied();
        Ok(Settings { parts: checked(program, parts)?, seed: self.seed })
    }

    /// The same for each number of parts: those typed, or a few if the program has parts and none was.
    pub(crate) fn all_settings(&self, program: &dyn Program) -> Result<Vec<Settings>, Failure> {
        let numbers: Vec<_> = match (&self.parts[..], program.parts()) {
            ([], None) => return Ok(vec![self.settings(program)?]),
            ([], Some(Parts { most, .. })) => {
                FEW_PARTS.into_iter().filter(|parts| *parts <= most).collect()
            }
            (typed, _) => typed.to_vec(),
        };
        let with = |parts| Ok(Settings { parts: checked(program, Some(parts))?, seed: self.seed });
        numbers.into_iter().map(with).collect()
    }
}

/// Checks a number of parts, or takes that of the program.
fn checked(program: &dyn Program, parts: Option<usize>) -> Result<usize, Failure> {
    let command = program.command();
    let name = command.get_name();
    match (program.parts(), parts) {
        (None, None) => Ok(1),
        (None, Some(_)) => {
            let what = format!("--parts has no effect on `{name}`");
            let help = "it has no stage that is split; leave --parts out";
            Err(Failure::input(what).with_help(help))
        }
        (Some(Parts { default, .. }), None) => Ok(default),
        (Some(Parts { most, .. }), Some(parts)) if parts > most => Err(Failure::input(format!(
            "--parts {parts} is more than `{name}` takes: at most {most}"
        ))),
        (Some(_), Some(parts)) => Ok(parts),
    }
}

/// What is compared unless numbers are typed: one part, and two numbers that deal work out differently.
const FEW_PARTS: [usize; 3] = [1, 2, 3];

const VARIANT: &str = "variant";
pub(crate) const PARTS: &str = "parts";
const SEED: &str = "seed";

fn variant() -> Arg {
    let help = "The form of the program";
    Arg::new(VARIANT).long(VARIANT).value_name("V").help(help)
}

/// Takes several numbers, for those that compare them.
fn parts(verb: Verb) -> Arg {
    let parser = ValueParser::new(at_least_one::<usize>);
    let arg = Arg::new(PARTS).long(PARTS).value_name("N").value_parser(parser);
    match verb {
        Verb::Verify => arg.value_name("N,…").value_delimiter(',').help(
            "Shares the work of each stage among N processes, and compares the outputs of all these \
             numbers; 1,2,3 unless set",
        ),
        Verb::Run | Verb::Graph => arg.help(
            "Shares the work of each stage among N processes; the output does not depend on it",
        ),
    }
}

fn seed() -> Arg {
    let help = "Seed of generated input, and of the order of steps under the policy `seeded`";
    Arg::new(SEED).long(SEED).value_name("N").value_parser(value_parser!(u64)).help(help)
}

/// What was typed for an option, if the program has it.
fn typed<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Option<T> {
    matches.try_get_one::<T>(name).ok().flatten().cloned()
}

/// All that was typed for an option, if the program has it.
fn all_typed<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
    let typed = matches.try_get_many::<T>(name).ok().flatten();
    typed.into_iter().flatten().cloned().collect()
}

/// What is typed after `run`, besides the program's own arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    schedule: Schedule,

    /// Shows on standard error what the run cost, and measures times unless --accounting says otherwise
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "short"
    )]
    pub(crate) report: Option<ReportForm>,

    /// Writes what the run cost as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report_json: Option<PathBuf>,

    /// Draws into FILE where time and messages went, and measures times likewise
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) record: RecordArguments,

    #[command(flatten)]
    pub(crate) trace: TraceArguments,

    #[command(flatten)]
    pub(crate) live: LiveArguments,

    #[command(flatten)]
    pub(crate) ranks: RankArguments,
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
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<usize>,

    /// Which process runs next
    #[arg(long, value_name = "P", value_parser = policies())]
    policy: Option<String>,

    #[command(flatten)]
    placing: Placing,

    /// Gives every channel room for N messages at the start
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>)]
    capacity: Option<u32>,

    /// Gives no channel more room than for N messages at the start, but its own if that is less
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>)]
    capacity_at_most: Option<u32>,

    /// Bounds what all channels and their messages take, not processes: bytes, or with K, M, G
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    budget: Option<u64>,

    /// How to find that processes wait for each other
    #[arg(long, value_name = "D")]
    detection: Option<DetectionName>,

    /// How much to measure
    #[arg(long, value_name = "A")]
    accounting: Option<AccountingName>,

    /// Keeps each worker on a core of its own
    #[arg(long)]
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

/// What is typed after `verify`, besides the program's own arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) placing: Placing,

    #[command(flatten)]
    pub(crate) ranks: SeveralRanks,
}

/// What is typed after `graph`, besides the program's own arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArguments {
    /// Draws the network into FILE instead, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) ranks: RankArguments,
}

/// Options that only scheduled forms heed, and those that only Kahn networks do.
const OF_SCHEDULED: [&str; 12] = [
    "workers",
    "policy",
    "accounting",
    "pin",
    "svg",
    "trace",
    "trace_on_failure",
    "trace_summary",
    "trace_level",
    "trace_events",
    "trace_stream",
    "trace_flows",
];
const OF_NETWORKS: [&str; 12] = [
    "record",
    "save_each",
    "bundle",
    "bundle_without_messages",
    "capacity",
    "capacity_at_most",
    "budget",
    "detection",
    "placement",
    "tau",
    "ranks",
    "place",
];

/// What a subcommand does with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Run,
    Verify,
    Graph,
}

impl Verb {
    pub(crate) const ALL: [Self; 3] = [Self::Run, Self::Verify, Self::Graph];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Verify => "verify",
            Self::Graph => "graph",
        }
    }

    /// Whether it can do something with a form of this kind.
    fn takes(self, kind: Kind) -> bool {
        self == Self::Run || kind == Kind::Network
    }

    /// Whether it can do something with a program.
    pub(crate) fn takes_any(self, program: &dyn Program) -> bool {
        program.forms().iter().any(|form| self.takes(form.kind))
    }

    /// Adds the options that it has for every program.
    pub(crate) fn augment(self, command: Command) -> Command {
        // What is said about a command comes last: the arguments bring the comments on their types.
        let (about, after) = (command.get_about().cloned(), command.get_after_help().cloned());
        let command = match self {
            Self::Run => RunArguments::augment_args(command.next_help_heading(OF_RUNS)),
            Self::Verify => VerifyArguments::augment_args(command.next_help_heading(OF_CHECKS)),
            Self::Graph => GraphArguments::augment_args(command.next_help_heading(OF_GRAPHS)),
        };
        command.about(about.unwrap_or_default()).after_help(after.unwrap_or_default())
    }

    /// Adds the options of [`augment`](Self::augment) and those of the shape, for a list of programs.
    pub(crate) fn augment_all(self, command: Command) -> Command {
        let all = self.augment(command).args([variant(), parts(self), seed()]);
        all.mut_args(|arg| if arg.is_positional() { arg } else { arg.global(true) })
    }

    /// Adds to one program of a list what it need not show: options that no form of it heeds.
    pub(crate) fn hide_unheeded(self, program: &dyn Program, command: Command) -> Command {
        let all = self.augment_all(Command::new(self.name()));
        let hidden =
            all.get_arguments().filter(|arg| self.is_unheeded(program, arg.get_id().as_str()));
        let hidden: Vec<_> = hidden.map(|arg| arg.clone().global(false).hide(true)).collect();
        command.args(hidden)
    }

    /// Whether no form of a program heeds an option.
    fn is_unheeded(self, program: &dyn Program, option: &str) -> bool {
        let mut forms = program.forms().iter().filter(|form| self.takes(form.kind));
        match option {
            VARIANT => forms.count() < 2,
            PARTS => program.parts().is_none(),
            _ if OF_SCHEDULED.contains(&option) => !forms.any(|form| form.kind.is_scheduled()),
            _ if OF_NETWORKS.contains(&option) => !forms.any(|form| form.kind == Kind::Network),
            _ => false,
        }
    }

    /// Adds to the one program of a command the options that say something about it.
    pub(crate) fn augment_one(self, program: &dyn Program, command: Command) -> Command {
        let mut parts = parts(self);
        if let Some(Parts { default, most }) = program.parts() {
            let help = parts.get_help().cloned().unwrap_or_default();
            parts = parts.help(match self {
                Self::Verify => format!("{help} [at most {most}]"),
                Self::Run | Self::Graph => format!("{help} [default: {default}, at most {most}]"),
            });
        }
        let shape = [variant(), parts, seed()];
        let taken = |arg: &Arg| command.get_arguments().any(|own| own.get_id() == arg.get_id());
        let shape = shape
            .into_iter()
            .filter(|arg| !taken(arg) && !self.is_unheeded(program, arg.get_id().as_str()));
        let shape: Vec<_> = shape.collect();
        self.augment(command).args(shape)
    }
}

const OF_RUNS: &str = "Options of every run";
const OF_CHECKS: &str = "Options of every verification";
const OF_GRAPHS: &str = "Options of every graph";

impl Kind {
    fn is_scheduled(self) -> bool {
        matches!(self, Self::Network | Self::Communicating)
    }
}

impl RunArguments {
    /// Where processes are to belong.
    pub(crate) fn placing(&self) -> &Placing {
        &self.schedule.placing
    }

    /// Refuses what this form of the program would not heed.
    fn check_heeded(&self, program: &dyn Program, form: Form) -> Result<(), Failure> {
        let Schedule { workers, policy, placing, accounting, pin, .. } = &self.schedule;
        let Schedule { capacity, capacity_at_most, budget, detection, .. } = &self.schedule;
        // Heeded by every kind of network, and by Kahn networks alone.
        let scheduled = [
            ("--svg", self.svg.is_some()),
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
        let traced = self.trace.typed();
        if form.kind != Kind::Network && self.record.is_asked_for() {
            let command = program.command();
            let (name, form_name) = (command.get_name(), form.name);
            let what = format!("the variant `{form_name}` of `{name}` cannot be recorded");
            return Err(Failure::input(what).with_help(match form.kind {
                Kind::Communicating => {
                    "its processes choose, by what comes first: the same messages from outside may lead to another run"
                }
                _ => "it is no network: there are no messages to record",
            }));
        }
        let (live, ranks) = (self.live.typed(), self.ranks.typed());
        if form.kind == Kind::Network && self.ranks.ranks.is_some() {
            let streamed = [("--trace-stream", self.trace.is_streamed())];
            if let Some((option, _)) = streamed.iter().find(|(_, is_typed)| *is_typed) {
                let what = format!("{option} has no effect with --ranks");
                let help = "the trace of several ranks is written when the run is over; leave one of the two out";
                return Err(Failure::input(what).with_help(help));
            }
            if detection.is_some_and(|name| !matches!(name, DetectionName::Deferred)) {
                let what =
                    "on several ranks it is found in one way that processes wait for each other";
                return Err(Failure::input(what).with_help("leave --detection out"));
            }
        }
        let why = match form.kind {
            Kind::Network => return Ok(()),
            Kind::Sequential => "it runs on one thread, in a loop",
            Kind::Threads => "the system schedules its threads",
            Kind::Communicating => {
                "its processes choose: their channels have the room that the program gives them, and their workers are found as they run"
            }
        };
        let mut unheeded = scheduled
            .iter()
            .chain(&traced)
            .chain(&live)
            .filter(|_| !form.kind.is_scheduled())
            .chain(&of_networks)
            .chain(&ranks);
        let Some((option, _)) = unheeded.find(|(_, is_typed)| *is_typed) else {
            return Ok(());
        };
        let command = program.command();
        let (name, form) = (command.get_name(), form.name);
        let what = format!("{option} has no effect on the variant `{form}` of `{name}`");
        Err(Failure::input(what).with_help(format!("{why}; leave {option} out")))
    }

    /// The same run again, of which nothing is written: a recording from elsewhere may name any files.
    pub(crate) fn again(
        self,
        workers: Option<usize>,
        policy: Option<String>,
        ranks: Option<usize>,
    ) -> Self {
        let Self { mut schedule, report, ranks: recorded, .. } = self;
        schedule.workers = workers.or(schedule.workers);
        if policy.is_some() {
            // Places are those of the other policy.
            (schedule.policy, schedule.placing) = (policy, Placing::default());
        }
        let (report_json, svg) = (None, None);
        let (record, trace) = (RecordArguments::default(), TraceArguments::default());
        let (live, ranks) = (LiveArguments::default(), recorded.again(ranks));
        Self { schedule, report, report_json, svg, record, trace, live, ranks }
    }

    /// The same run, which goes on, is seen as it was, and writes what it was to write.
    ///
    /// # Errors
    ///
    /// Refuses to write a trace over that of what was cut short.
    pub(crate) fn resumed(
        self,
        workers: Option<usize>,
        policy: Option<String>,
    ) -> Result<Self, Failure> {
        self.trace.keep_what_is_there()?;
        let (report_json, svg) = (self.report_json.clone(), self.svg.clone());
        let (trace, live) = (self.trace.clone(), self.live.clone());
        Ok(Self { report_json, svg, trace, live, ..self.again(workers, policy, None) })
    }

    /// Understands the options of a run of this form.
    pub(crate) fn options(
        &self,
        program: &dyn Program,
        form: Form,
        shape: &Shape,
    ) -> Result<Options, Failure> {
        self.check_heeded(program, form)?;
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
        let mut options = Options::new().policy(policy).seed(shape.seed).pin(*pin);
        // The user of a command has not the source of its programs.
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

/// Names of policies.
pub(crate) fn policies() -> PossibleValuesParser {
    PossibleValuesParser::new(POLICIES.iter().map(PolicyChoice::name))
}

/// Reads a number that counts something there must be one of.
pub(crate) fn at_least_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse::<N>().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

/// Reads a number of workers.
pub(crate) fn workers(text: &str) -> Result<usize, String> {
    let number = at_least_one(text)?;
    if number <= MOST_WORKERS {
        return Ok(number);
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Err(format!(
        "at most {MOST_WORKERS} are possible; this machine runs {cores} at once, and more than that \
         seldom helps"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_must_be_one_or_more_can_be_zero() {
        for number in ["0", "-1", "x", "1.5", ""] {
            assert!(at_least_one::<u32>(number).is_err() && workers(number).is_err(), "{number}");
        }
        assert_eq!(workers("3"), Ok(3));
        assert!(workers("99999").unwrap_err().starts_with("at most 4096 are possible"));
    }
}
