//! `--record`: what a run got from outside, in a file; and `replay`, which runs the same from it alone.
//!
//! A recording comes from anywhere, so nothing that is written in it is done but the run: options that name
//! files are dropped (see [`RunArguments::again`]), as are the files of the result. Only `--with-effects`, which
//! is typed for the replay, has the program act again.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use kahn::{Activity, Detail, Network, Options, Report};
use kahn_observe::record::{Bundle, Header, Recorder, Replay};

use crate::arguments::{RunArguments, Verb, policies, workers};
use crate::program::Program;
use crate::{Failure, messages, output, run};

/// What is typed to have a run recorded.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RecordArguments {
    /// Writes into the new file FILE what comes from outside, for `replay` to run the same again
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Makes the new directory DIR and, if the run does not end well, leaves there a recording, the
    /// report, an explanation and the command that runs the same again
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    bundle: Option<PathBuf>,

    /// Leaves digests there in place of messages: what cannot be given away stays here
    #[arg(long, requires = "bundle")]
    bundle_without_messages: bool,
}

impl RecordArguments {
    pub(crate) fn is_asked_for(&self) -> bool {
        self.record.is_some() || self.bundle.is_some()
    }
}

/// How what comes from outside gets into a run, and whether it is kept.
#[derive(Debug)]
pub(crate) enum Outside {
    /// From there.
    Live,
    /// From there, and into a file.
    Recorded(Arc<Recorder>, PathBuf),
    /// From there, and into a folder that goes unless the run fails.
    Bundled(Option<Bundle>, PathBuf),
    /// From a file.
    Replayed(Again),
}

impl Outside {
    /// Has a run recorded, if it was asked for.
    pub(crate) fn of(
        asked: &RecordArguments,
        command: &Command,
        seed: u64,
    ) -> Result<Self, Failure> {
        let RecordArguments { record, bundle, bundle_without_messages } = asked;
        let Some(path) = record.as_ref().or(bundle.as_ref()) else { return Ok(Self::Live) };
        if path.symlink_metadata().is_ok() {
            return Err(Failure::file(path, "there is such a file or directory")
                .with_help("name another one, or remove it: a recording is written over nothing"));
        }
        output::check_writable(path)?;
        let arguments = env::args_os().skip(1).map(|argument| {
            argument.into_string().map_err(|argument| {
                let argument = argument.display();
                Failure::input(format!("`{argument}` is no UTF-8 text, and cannot be recorded"))
            })
        });
        let header = Header {
            program: command.get_name().to_owned(),
            version: version(command),
            arguments: arguments.collect::<Result<_, _>>()?,
            seed,
            ..Header::default()
        };
        if record.is_some() {
            // The file is made when the run starts.
            return Ok(Self::Recorded(Arc::new(Recorder::new(path, header)), path.to_owned()));
        }
        let bundle = if *bundle_without_messages {
            Bundle::create_without_messages(path, header)
        } else {
            Bundle::create(path, header, &format!("{} {NAME}", called()))
        };
        let bundle = bundle.map_err(|error| Failure::file(path, error))?;
        Ok(Self::Bundled(Some(bundle), path.to_owned()))
    }

    /// Has the options observe the run.
    pub(crate) fn observe(&self, options: Options) -> Options {
        match self {
            Self::Live | Self::Bundled(None, _) => options,
            Self::Recorded(recorder, _) => options.observer(Arc::clone(recorder)),
            Self::Bundled(Some(bundle), _) => options.observer(bundle.recorder()),
            Self::Replayed(again) => options.observer(Arc::clone(&again.replay)),
        }
    }

    /// Prepares a network that has no process yet.
    pub(crate) fn prepare(&self, network: &mut Network<'_>) {
        if let Self::Replayed(Again { replay, .. }) = self {
            network.replay(Arc::clone(replay) as _);
            let handle = network.stop_handle();
            replay.when_different(move || handle.stop());
        }
    }

    /// Whether what the program does outside is not done.
    pub(crate) fn acts_not(&self) -> bool {
        matches!(self, Self::Replayed(again) if !again.has_effects)
    }

    /// What is told of a run in which a process was held.
    ///
    /// # Errors
    /// Fails if one was to be held and ended before.
    pub(crate) fn held(&self, report: &Report) -> Result<Option<String>, Failure> {
        let Self::Replayed(Again { replay, until: Some(Place { process, receive }), .. }) = self
        else {
            return Ok(None);
        };
        let waits = match &report.detail {
            Some(Detail::Waits(explanation)) => Some(explanation),
            _ => None,
        };
        let is_held = |waits: &&kahn::Explanation| {
            let mut waiting = waits.waiting.iter();
            waiting.any(|waiting| matches!(waiting.activity, Activity::HeldBack { .. }))
        };
        let Some(waits) = waits.filter(is_held) else {
            let what = format!("`{process}` does not come to receive {receive}: it was not held");
            return Err(Failure::input(what).with_help("name an earlier one, counted from 1"));
        };
        let failures = report.failures.iter().map(|failure| format!("{failure}\n"));
        let left = replay.left().into_iter().map(|left| left.to_string());
        Ok(Some(failures.chain([waits.to_string()]).chain(left).collect()))
    }

    /// Ends a recording, and tells if a run was another than the recorded one.
    pub(crate) fn end(&mut self, failure: Option<&Failure>) -> Result<(), Failure> {
        match self {
            Self::Live => {}
            Self::Recorded(recorder, path) => {
                // It is not what the run is for, and ends without it.
                if let Err(error) = recorder.finish() {
                    let path = path.display();
                    messages::note(format_args!("{path}: the recording ends early: {error}"));
                }
            }
            Self::Bundled(bundle, path) => {
                // One that did not run leaves nothing.
                let ran = failure.and_then(|failure| Some((failure, failure.report()?)));
                if let (Some(bundle), Some((failure, report))) = (bundle.take(), ran) {
                    let path = path.display();
                    match bundle.keep(&failure.to_string(), Some(report)) {
                        Ok(()) => messages::note(format_args!(
                            "{path} has what is needed to run this again: see {path}/README.md"
                        )),
                        Err(error) => messages::note(format_args!("{path} is not whole: {error}")),
                    }
                }
            }
            Self::Replayed(Again { replay, .. }) => {
                if let Some(what) = replay.difference() {
                    let what = format!("this is not the run that was recorded: {what}");
                    return Err(Failure::Difference(what));
                }
            }
        }
        Ok(())
    }
}

/// What this command is called, for a person to type.
fn called() -> String {
    let path = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a program is a version of, for those who run it again: its own, and that of what runs it.
fn version(command: &Command) -> String {
    let runtime = concat!("kahn ", env!("CARGO_PKG_VERSION"));
    match command.get_version() {
        Some(version) => format!("{version}, {runtime}"),
        None => runtime.to_owned(),
    }
}

/// A recording, and how it is replayed.
#[derive(Debug, Clone)]
pub(crate) struct Again {
    replay: Arc<Replay>,
    has_effects: bool,
    until: Option<Place>,
}

/// A receive of a process, as it is typed: `add@12`.
#[derive(Debug, Clone)]
struct Place {
    process: String,
    /// Its first is 1.
    receive: u64,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let place = typed.rsplit_once('@').and_then(|(process, receive)| {
            let receive = receive.parse().ok().filter(|receive| *receive > 0)?;
            (!process.is_empty()).then(|| Self { process: process.to_owned(), receive })
        });
        let what = "expected a process, `@`, and the number of one of its receives, counted from 1: `add@12`";
        place.ok_or_else(|| what.to_owned())
    }
}

/// What is typed after `replay`.
#[derive(Debug, Args)]
struct ReplayArguments {
    /// What `run --record FILE` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Runs on N threads, whatever the recorded run had: the same happens on any number
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<usize>,

    /// Which process runs next, whatever it was
    #[arg(long, value_name = "P", value_parser = policies())]
    policy: Option<String>,

    /// Holds PROCESS before its N-th receive, lets all others go on until nothing can, and shows on
    /// standard output what waits for what and which messages stand in channels with a written form
    #[arg(long, value_name = "PROCESS@N")]
    until: Option<Place>,

    /// Writes files and runs processes that only act, so that their effects happen again
    #[arg(long)]
    with_effects: bool,
}

/// What is typed to have a recording replayed.
pub(crate) const NAME: &str = "replay";

/// Makes the subcommand `replay`.
pub(crate) fn command() -> Command {
    let command = ReplayArguments::augment_args(Command::new(NAME));
    command.about("Runs again what `run --record` has recorded, from that file alone").after_help(
        "\
The same messages pass on every channel, and the same failures come at the same message. What came
from outside is in the recording; processes that act outside are not run, and no files are written.
Files that the program reads by itself must be what they were.
Exit codes: those of `run`; 1 as well if the run is not the one that was recorded: where it parts
from it first is shown, and it goes no further. 2 for a file that is no recording, and for a
recording of another program or network.",
    )
}

/// A recording whose run is to be done again.
#[derive(Debug)]
pub(crate) struct Recorded {
    asked: ReplayArguments,
    replay: Replay,
}

impl Recorded {
    /// Opens the recording that was typed.
    pub(crate) fn open(matches: &ArgMatches) -> Result<Self, Failure> {
        let asked = ReplayArguments::from_arg_matches(matches)?;
        let replay = Replay::open(&asked.file).map_err(|error| {
            Failure::file(&asked.file, error)
                .with_help("`run --record FILE` writes one that is read here")
        })?;
        Ok(Self { asked, replay })
    }

    /// Which program it is of.
    pub(crate) fn program(&self) -> &str {
        &self.replay.header().program
    }

    /// What was typed for its run, as `run` understands it.
    pub(crate) fn matches(&self, run: Command) -> Result<ArgMatches, Failure> {
        // Behind the options of the whole command, if that has some.
        let typed = self.replay.header().arguments.iter();
        let typed = typed.skip_while(|argument| *argument != Verb::Run.name());
        run.try_get_matches_from(typed).map_err(|error| {
            let error = error.to_string();
            let first = error.lines().next().unwrap_or_default();
            let what = format!("this program does not take the arguments of its run: {first}");
            Failure::file(&self.asked.file, what)
        })
    }

    /// Does it again. The matches are those of the recorded run.
    pub(crate) fn run(self, program: &dyn Program, matches: &ArgMatches) -> Result<(), Failure> {
        let command = program.command();
        let Self { asked, replay } = self;
        let ReplayArguments { file, workers, policy, until, with_effects } = asked;
        let (recorded, here) = (&replay.header().program, command.get_name());
        if recorded != here {
            let what = format!("this is a recording of `{recorded}`, not of `{here}`");
            return Err(Failure::file(&file, what));
        }
        let (recorded, here) = (&replay.header().version, version(&command));
        if *recorded != here {
            let path = file.display();
            messages::note(format_args!("{path} was recorded by {recorded}; this is {here}"));
        }
        if let Some(why) = replay.ends_early() {
            let path = file.display();
            messages::note(format_args!(
                "{path} ends before the run did, which is done again so far: {why}"
            ));
        }
        let arguments = RunArguments::from_arg_matches(matches)?.again(workers, policy);
        let replay = replay.with_effects(with_effects);
        let replay = Arc::new(match &until {
            Some(Place { process, receive }) => replay.until(process, *receive),
            None => replay,
        });
        let again = Again { replay, has_effects: with_effects, until };
        run::run(program, matches, &arguments, Some(again))
    }
}
