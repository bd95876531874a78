//! `--record` and `--bundle`: what a run got from outside, in a file or a folder; and where a run gets it from.

use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, Command};
use kahn::observe::{Observable as _, Observer};
use kahn::process::WholeFile;
use kahn::{Activity, Detail, Network, Options, Report, Summary};
use kahn_observe::record::{Bundle, Header, Recorder, Replay, Resume};

use crate::arguments::at_least_one;
use crate::{Failure, again, messages, output};

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

    /// Has files that the network writes on the disk after each N messages, and records how far they are,
    /// for `resume` to go on from there [default: 65536]
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>)]
    save_each: Option<u64>,
}

impl RecordArguments {
    pub(crate) fn is_asked_for(&self) -> bool {
        self.record.is_some() || self.bundle.is_some()
    }

    /// After how many messages files are saved, if that was typed.
    pub(crate) fn save_each(&self) -> Option<u64> {
        self.save_each
    }
}

/// How what comes from outside gets into a run, and whether it is kept.
#[derive(Debug)]
pub(crate) enum Outside {
    /// From there.
    Live,
    /// From there, and into a file.
    Recorded(Arc<Recorder>, PathBuf),
    /// From there, and into a folder that is made when nothing is in the way of the run any more.
    ToBundle(Planned),
    /// From there, and into a folder that goes unless the run fails.
    Bundled(Option<Bundle>, PathBuf),
    /// From a file.
    Replayed(Replayed),
    /// From a file as far as it goes, then from there, and into the same file.
    Resumed(Arc<Resume>, PathBuf),
}

/// A folder that is to be made.
#[derive(Debug)]
pub(crate) struct Planned {
    path: PathBuf,
    header: Header,
    with_messages: bool,
    saves_each: Option<u64>,
}

impl Outside {
    /// Has a run recorded, if it was asked for.
    pub(crate) fn of(
        asked: &RecordArguments,
        command: &Command,
        seed: u64,
        untyped_ranks: Option<usize>,
    ) -> Result<Self, Failure> {
        let RecordArguments { record, bundle, bundle_without_messages, save_each } = asked;
        let Some(path) = record.as_ref().or(bundle.as_ref()) else {
            return match save_each {
                None => Ok(Self::Live),
                Some(_) => Err(Failure::input("--save-each is for --record and --bundle")
                    .with_help(
                        "without a recording no run goes on; leave it out, or record the run",
                    )),
            };
        };
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
        // A replay is to know that it was of several ranks, which a launcher has started.
        let ranks = untyped_ranks.map(|ranks| Ok(format!("--ranks={ranks}")));
        let arguments = arguments.chain(ranks);
        let header = Header {
            program: command.get_name().to_owned(),
            version: version(command),
            arguments: arguments.collect::<Result<_, _>>()?,
            seed,
            ..Header::default()
        };
        let (path, saves_each) = (path.to_owned(), *save_each);
        if record.is_some() {
            let recorder = Recorder::new(&path, header);
            let recorder = match saves_each {
                Some(messages) => recorder.saves_each(messages),
                None => recorder,
            };
            // The file is made when the run starts.
            return Ok(Self::Recorded(Arc::new(recorder), path));
        }
        let with_messages = !bundle_without_messages;
        Ok(Self::ToBundle(Planned { path, header, with_messages, saves_each }))
    }

    /// Makes what is to be there before the run starts, of which [`end`](Self::end) knows.
    pub(crate) fn begin(&mut self) -> Result<(), Failure> {
        let Self::ToBundle(planned) = self else { return Ok(()) };
        let Planned { path, header, with_messages, saves_each } = planned;
        let header = header.clone();
        let bundle = if *with_messages {
            Bundle::create(&path, header, &format!("{} {}", called(), again::REPLAY))
        } else {
            Bundle::create_without_messages(&path, header)
        };
        let bundle = bundle.map_err(|error| Failure::file(path, error))?;
        let bundle = match saves_each {
            Some(messages) => bundle.saves_each(*messages),
            None => bundle,
        };
        *self = Self::Bundled(Some(bundle), std::mem::take(path));
        Ok(())
    }

    /// Returns what observes the run, on rank 0 if there are several.
    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(match self {
            Self::Live | Self::ToBundle(_) | Self::Bundled(None, _) => return None,
            Self::Recorded(recorder, _) => Arc::clone(recorder) as _,
            Self::Bundled(Some(bundle), _) => bundle.recorder() as _,
            Self::Replayed(again) => Arc::clone(&again.replay) as _,
            Self::Resumed(resume, _) => Arc::clone(resume) as _,
        })
    }

    /// Has the options observe the run.
    pub(crate) fn observe(&self, options: Options) -> Options {
        match self.observer() {
            Some(observer) => options.observed_by(observer),
            None => options,
        }
    }

    /// Returns what a run is recorded by.
    pub(crate) fn recorder(&self) -> Option<Arc<Recorder>> {
        match self {
            Self::Recorded(recorder, _) => Some(Arc::clone(recorder)),
            Self::Bundled(Some(bundle), _) => Some(bundle.recorder()),
            _ => None,
        }
    }

    /// Returns the recording that is done again.
    pub(crate) fn replay(&self) -> Option<Arc<Replay>> {
        match self {
            Self::Replayed(again) => Some(Arc::clone(&again.replay)),
            _ => None,
        }
    }

    /// Prepares the network of another rank than the first, which has no process yet.
    pub(crate) fn prepare_another(&self, network: &mut Network<'_>) {
        if let Some(replay) = self.replay() {
            network.replay(replay as _);
        }
    }

    /// Prepares a network that has no process yet.
    pub(crate) fn prepare(&self, network: &mut Network<'_>) {
        let handle = network.stop_handle();
        match self {
            Self::Replayed(Replayed { replay, .. }) => {
                network.replay(Arc::clone(replay) as _);
                replay.when_different(move || handle.stop());
            }
            Self::Resumed(resume, _) => {
                network.replay(Arc::clone(resume) as _);
                resume.when_different(move || handle.stop());
            }
            _ => {}
        }
    }

    /// Whether some processes are not run.
    pub(crate) fn is_done_again(&self) -> bool {
        matches!(self, Self::Replayed(_) | Self::Resumed(..))
    }

    /// Whether what the program does outside is not done.
    pub(crate) fn acts_not(&self) -> bool {
        matches!(self, Self::Replayed(again) if !again.has_effects)
    }

    /// Removes what those have left beside a file of the result that ran this before and were killed.
    pub(crate) fn clean(&self, target: &Path) {
        if let Self::Resumed(resume, _) = self {
            resume.programs().iter().for_each(|program| WholeFile::remove_left(target, *program));
        }
    }

    /// What is told of a run in which a process was held.
    ///
    /// # Errors
    /// Fails if one was to be held and ended before.
    pub(crate) fn held(&self, report: &Report) -> Result<Option<String>, Failure> {
        let Self::Replayed(Replayed { replay, until: Some(Place { process, receive }), .. }) = self
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
        let report = failure.and_then(Failure::report);
        let is_stopped = report.is_some_and(|report| report.outcome == Summary::Stopped);
        match self {
            Self::Live | Self::ToBundle(_) => {}
            Self::Recorded(recorder, path) => {
                if is_stopped {
                    recorder.stopped();
                }
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
                    if is_stopped {
                        bundle.recorder().stopped();
                    }
                    match bundle.keep(&failure.to_string(), Some(report)) {
                        Ok(()) => messages::note(format_args!(
                            "{path} has what is needed to run this again: see {path}/README.md"
                        )),
                        Err(error) => messages::note(format_args!("{path} is not whole: {error}")),
                    }
                }
            }
            Self::Replayed(Replayed { replay, .. }) => {
                if let Some(what) = replay.difference() {
                    let what = format!("this is not the run that was recorded: {what}");
                    return Err(Failure::Difference(what));
                }
            }
            Self::Resumed(resume, path) => {
                if is_stopped {
                    resume.stopped();
                }
                let recorded = resume.finish();
                if let Some(what) = resume.difference() {
                    let what = format!("this is not the run that was recorded: {what}");
                    return Err(Failure::Difference(what));
                }
                if let Err(error) = recorded {
                    let path = path.display();
                    messages::note(format_args!("{path}: the recording ends early: {error}"));
                }
            }
        }
        Ok(())
    }
}

/// What this command is called, for a person to type.
pub(crate) fn called() -> String {
    let path = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a program is a version of, for those who run it again: its own, and that of what runs it.
pub(crate) fn version(command: &Command) -> String {
    let runtime = concat!("kahn ", env!("CARGO_PKG_VERSION"));
    match command.get_version() {
        Some(version) => format!("{version}, {runtime}"),
        None => runtime.to_owned(),
    }
}

/// A recording, and how it is replayed.
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    pub(crate) replay: Arc<Replay>,
    pub(crate) has_effects: bool,
    pub(crate) until: Option<Place>,
}

/// A receive of a process, as it is typed: `add@12`.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) process: String,
    /// Its first is 1.
    pub(crate) receive: u64,
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
