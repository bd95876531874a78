//! `--record` and `--bundle`: what is read of an input, in a file; and `kgz replay`, which does the same from that
//! file alone.
//!
//! A recording comes from anywhere, so of what was typed for its run only that is done which reads and writes no
//! file: the input is in the recording, and nothing is written.

use super::arguments::{self, Arguments, Asked, Kept};
use super::messages::{self, Messages};
use super::work;
use crate::Compress;
use crate::network::Run;
use kahn::observe::{Observer, Wants};
use kahn::{Options, Report};
use kahn_observe::record::{Bundle, Header, Recorder, Replay};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

const PROGRAM: &str = "kgz";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How what comes from outside gets into a run, and whether it is kept.
#[derive(Default)]
pub(super) enum Outside {
    /// From there.
    #[default]
    Live,
    /// From there, and into a file.
    Recorded(Arc<Recorder>, PathBuf),
    /// From there, and into a folder that goes if all is well.
    Bundled { bundle: Bundle, path: PathBuf, report: Arc<LastReport> },
    /// From a file.
    Replayed { replay: Arc<Replay>, path: PathBuf, workers: Option<usize> },
}

/// The report of a run, if it came to its end.
#[derive(Default)]
pub(super) struct LastReport(OnceLock<Report>);

impl Observer for LastReport {
    fn wants(&self) -> Wants {
        Wants::NOTHING
    }

    fn reports(&self, report: &Report) -> Vec<String> {
        let _ = self.0.set(report.clone());
        Vec::new()
    }
}

impl Outside {
    /// Has a run recorded, if it was asked for.
    pub(super) fn of(arguments: &Arguments, typed: &[OsString]) -> Result<Self, String> {
        let Some(kept) = &arguments.kept else { return Ok(Self::Live) };
        let (Kept::File(path) | Kept::Folder(path)) = kept;
        if path.symlink_metadata().is_ok() {
            return Err(format!(
                "`{}` is there already: name a new one, for a recording is written over nothing",
                path.display()
            ));
        }
        // Which network it is depends on it, and on this machine if nothing was typed.
        let parts = format!("--processes={}", arguments.parts());
        let typed = typed.iter().map(|typed| {
            let text = typed.to_str().map(str::to_owned);
            text.ok_or_else(|| {
                format!("`{}` is no UTF-8 text, and cannot be recorded", typed.display())
            })
        });
        let header = Header {
            program: PROGRAM.to_owned(),
            version: VERSION.to_owned(),
            arguments: [Ok(parts)].into_iter().chain(typed).collect::<Result<_, _>>()?,
            ..Header::default()
        };
        match kept {
            Kept::File(path) => {
                Ok(Self::Recorded(Arc::new(Recorder::new(path, header)), path.to_owned()))
            }
            Kept::Folder(path) => match Bundle::create(path, header, "kgz replay") {
                Ok(bundle) => {
                    Ok(Self::Bundled { bundle, path: path.to_owned(), report: Arc::default() })
                }
                Err(error) => Err(format!("{}: {error}", path.display())),
            },
        }
    }

    /// How a network is run that works on so many blocks at once.
    pub(super) fn run(&self, parts: usize) -> Run {
        let options = Options::new().workers(parts);
        match self {
            Self::Live => Run::new(options),
            Self::Recorded(recorder, _) => Run::new(options.observer(Arc::clone(recorder))),
            Self::Bundled { bundle, report, .. } => {
                Run::new(options.observer(bundle.recorder()).observer(Arc::clone(report)))
            }
            Self::Replayed { replay, workers, .. } => {
                let script = Arc::clone(replay);
                Run {
                    options: options.workers(workers.unwrap_or(parts)).observer(Arc::clone(replay)),
                    prepare: Box::new(move |network| {
                        network.replay(Arc::clone(&script) as _);
                        let handle = network.stop_handle();
                        script.when_different(move || handle.stop());
                    }),
                    has_no_input: Arc::new(AtomicBool::new(true)),
                }
            }
        }
    }

    /// Ends a recording of a run that may have failed, and tells if another run was the one that was recorded. Returns
    /// whether it was the same.
    pub(super) fn end(self, failure: Option<&str>, messages: &mut Messages) -> bool {
        match self {
            Self::Live => {}
            Self::Recorded(recorder, path) => {
                // It is not what the run is for, and ends without it.
                if let Err(error) = recorder.finish() {
                    messages.note(&path, format_args!("the recording ends early: {error}"));
                }
            }
            Self::Bundled { bundle, path, report } => {
                let Some(failure) = failure else { return true };
                // A run that may still wait for the system has none: its report is not waited for.
                match bundle.keep(failure, report.0.get()) {
                    Ok(()) => {
                        let text = "has what is needed to do this again: see README.md there";
                        messages.note(&path, text);
                    }
                    Err(error) => messages.note(&path, format_args!("is not whole: {error}")),
                }
            }
            Self::Replayed { replay, path, .. } => {
                if let Some(what) = replay.difference() {
                    let what = format!("this is not the run that was recorded: {what}");
                    messages.error(&path, &what);
                    return false;
                }
            }
        }
        true
    }
}

/// Does a recorded run again, if that is what was typed.
pub(super) fn replay(typed: &[OsString]) -> Option<ExitCode> {
    let (verb, typed) = typed.split_first()?;
    if verb != OsStr::new("replay") {
        return None;
    }
    Some(match parse(typed) {
        Ok((path, workers)) => {
            let mut messages = Messages::new(false);
            if let Err(error) = again(&path, workers, &mut messages) {
                messages.error(&path, &error);
            }
            messages.exit_code()
        }
        Err(error) => messages::usage(&error),
    })
}

/// Reads which recording is replayed, and on how many threads.
fn parse(typed: &[OsString]) -> Result<(PathBuf, Option<usize>), lexopt::Error> {
    use lexopt::{Arg, ValueExt as _};
    let mut parser = lexopt::Parser::from_args(typed.iter().cloned());
    let (mut file, mut workers) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('p') | Arg::Long("processes" | "workers") => {
                let count = parser.value()?.parse()?;
                // As many threads as blocks can be worked on at once.
                let fits = Compress::new().parts(count).check();
                fits.map_err(|error| lexopt::Error::Custom(error.to_string().into()))?;
                workers = Some(count);
            }
            Arg::Value(path) if file.is_none() => file = Some(path.into()),
            other => return Err(other.unexpected()),
        }
    }
    let missing =
        "which recording? `kgz replay FILE`; a file of that name is compressed by `kgz ./replay`";
    Ok((file.ok_or(missing)?, workers))
}

fn again(path: &Path, workers: Option<usize>, messages: &mut Messages) -> Result<(), String> {
    let replay = Replay::open(path).map_err(|error| error.to_string())?;
    let Header { program, version, arguments: typed, .. } = replay.header();
    if program != PROGRAM {
        return Err(format!("this is a recording of `{program}`, not of `{PROGRAM}`"));
    }
    if version != VERSION {
        messages.note(path, format_args!("it was recorded by kgz {version}; this is {VERSION}"));
    }
    if let Some(why) = replay.ends_early() {
        let text = "it ends before the run did, which is done again so far";
        messages.note(path, format_args!("{text}: {why}"));
    }
    let wrong = |error: &str| format!("kgz does not take the arguments of its run: {error}");
    let arguments = match arguments::parse(typed.iter().map(OsString::from)) {
        Ok(Asked::Work(arguments)) => *arguments,
        Ok(Asked::Help | Asked::Version) => return Err(wrong("they do not run it")),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    // Whatever they name is neither read nor written.
    let arguments = Arguments { output: None, index: false, kept: None, ..arguments };
    let input = match &*arguments.files {
        [file] if file.as_os_str() != "-" => file.as_path(),
        [] | [_] => Path::new(work::STANDARD),
        _ => return Err(wrong("they name several files")),
    };
    let outside = Outside::Replayed { replay: Arc::new(replay), path: path.to_owned(), workers };
    work::again(input, &arguments, outside, messages);
    Ok(())
}
