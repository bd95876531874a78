//! `--trace`: what happened in a run, for Perfetto's viewer; and `trace`, which reads such files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, ValueEnum, value_parser};
use kahn::Options;
use kahn::observe::Observer;
use kahn_net::Clock;
use kahn_observe::trace::{Level, OtherRank, RankTrace, Stream, Timeline, Trace};
use parking_lot::Mutex;

use crate::{Failure, messages, output, result};

/// What is typed to have a run traced.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TraceArguments {
    /// Writes into FILE when each process ran and what it waited for, to be opened in ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Writes such a file into the directory DIR if the run fails
    #[arg(long, value_name = "DIR")]
    trace_on_failure: Option<PathBuf>,

    /// Shows on standard error where the time of each process went
    #[arg(long)]
    trace_summary: bool,

    /// How much is traced
    #[arg(long, value_name = "LEVEL")]
    trace_level: Option<LevelName>,

    /// Keeps the last N events of each worker, 65536 if not told
    #[arg(long, value_name = "N", value_parser = events)]
    trace_events: Option<usize>,

    /// Writes FILE while the run goes on, with all events and not only the last
    #[arg(long)]
    trace_stream: bool,

    /// Which arrows lead from process to process
    #[arg(long, value_name = "FLOWS")]
    trace_flows: Option<Flows>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Flows {
    /// To where one runs again, from what ended its wait
    Wakes,
    /// And for each message, to where it is received from where it is sent
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LevelName {
    /// When each process ran, and what it waited for
    Schedule,
    /// And how full channels were
    Messages,
}

/// The most events of a worker: 1 GiB for 24 workers.
const MOST_EVENTS: usize = 1 << 20;

fn events(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_EVENTS).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_EVENTS}"))
}

impl TraceArguments {
    /// The options that ask for a trace, and whether each was typed.
    pub(crate) fn typed(&self) -> [(&'static str, bool); 3] {
        [
            ("--trace", self.trace.is_some()),
            ("--trace-on-failure", self.trace_on_failure.is_some()),
            ("--trace-summary", self.trace_summary),
        ]
    }

    /// Whether what is typed is for a run on one rank.
    pub(crate) fn is_streamed(&self) -> bool {
        self.trace_stream
    }

    /// Makes what is traced into, if that is asked for.
    pub(crate) fn trace(&self) -> Option<Arc<Trace>> {
        self.typed().iter().any(|(_, is_typed)| *is_typed).then(|| {
            let draws_all = self.trace_flows == Some(Flows::All);
            let level = match self.trace_level {
                None | Some(LevelName::Schedule) => Level::Schedule,
                Some(LevelName::Messages) => Level::Messages,
            };
            let trace = Trace::new(level);
            let trace = if draws_all { trace.all_flows() } else { trace };
            Arc::new(match self.trace_events {
                Some(events) => trace.events(events),
                None => trace,
            })
        })
    }

    /// Refuses to write over the trace that a run has left which was cut short.
    pub(crate) fn keep_what_is_there(&self) -> Result<(), Failure> {
        match &self.trace {
            Some(path) if path.is_file() => {
                let what =
                    "it is there from before, and the trace of what goes on would replace it";
                Err(Failure::file(path, what).with_help("move it away, and resume again"))
            }
            _ => Ok(()),
        }
    }

    /// Checks where files are to go, before anything runs, and makes what is traced into.
    pub(crate) fn start(&self, name: &str) -> Result<Tracing, Failure> {
        if let Some(path) = &self.trace {
            output::check_writable(path)?;
        }
        if let Some(folder) = &self.trace_on_failure {
            fs::create_dir_all(folder).map_err(|cause| {
                let what = format!("{}: {cause}", folder.display());
                Failure::input(what).with_help("name a directory, or one that can be made")
            })?;
        }
        let is_asked_for = self.typed().iter().any(|(_, is_typed)| *is_typed);
        for (option, is_typed) in [
            ("--trace-level", self.trace_level.is_some()),
            ("--trace-events", self.trace_events.is_some()),
            ("--trace-flows", self.trace_flows.is_some()),
            ("--trace-stream", self.trace_stream),
        ] {
            if is_typed && !is_asked_for {
                let what = format!("{option} has no effect without a trace");
                let help = "add --trace FILE, --trace-on-failure DIR or --trace-summary";
                return Err(Failure::input(what).with_help(help));
            }
        }
        let draws_all = self.trace_flows == Some(Flows::All);
        if draws_all && matches!(self.trace_level, Some(LevelName::Schedule)) {
            let what = "--trace-flows all has no effect with --trace-level schedule";
            return Err(Failure::input(what).with_help("leave --trace-level out"));
        }
        let trace = self.trace();
        let stream = match (&trace, &self.trace) {
            (Some(trace), Some(path)) if self.trace_stream => Some(start_stream(trace, path)?),
            (_, None) if self.trace_stream => {
                let what = "--trace-stream has no effect without --trace FILE";
                return Err(Failure::input(what).with_help("add --trace FILE"));
            }
            _ => None,
        };
        let stream = Arc::new(Mutex::new(stream));
        let (asked, name, others) = (self.clone(), name.to_owned(), Arc::default());
        Ok(Tracing { asked, name, trace, stream, others })
    }
}

/// Begins to write a file: what is there already is not kept.
fn start_stream(trace: &Arc<Trace>, path: &Path) -> Result<Stream, Failure> {
    let started = fs::File::create(path).and_then(|file| Stream::start(trace, file));
    started.map_err(|cause| Failure::Output { path: path.to_owned(), cause })
}

/// The trace of a run, if there is one.
#[derive(Clone, Debug)]
pub(crate) struct Tracing {
    asked: TraceArguments,
    name: String,
    trace: Option<Arc<Trace>>,
    /// What writes the file while the run goes on.
    stream: Arc<Mutex<Option<Stream>>>,
    /// What other ranks have kept, when the run is over.
    others: Arc<Mutex<Vec<Other>>>,
}

/// What another rank has kept, and how its clock goes.
#[derive(Debug)]
pub(crate) struct Other {
    pub(crate) rank: usize,
    pub(crate) trace: RankTrace,
    pub(crate) clock: Clock,
}

impl Tracing {
    /// What is told of the run, if it is traced.
    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.trace.as_ref().map(|trace| Arc::clone(trace) as Arc<dyn Observer>)
    }

    /// What it is traced into.
    pub(crate) fn trace(&self) -> Option<Arc<Trace>> {
        self.trace.clone()
    }

    /// Takes what another rank has kept.
    pub(crate) fn hears(&self, other: Other) {
        self.others.lock().push(other);
    }

    /// What is kept here, and on other ranks when the run is over.
    fn timeline(&self, trace: &Trace) -> Timeline {
        let others = std::mem::take(&mut *self.others.lock());
        if others.is_empty() {
            return trace.timeline();
        }
        let clocks: Vec<_> = others.iter().map(|other| other.clock).collect();
        let here: Vec<_> = clocks.iter().map(|clock| |there| clock.here(there)).collect();
        let others = others.into_iter().zip(&here).map(|(other, here)| OtherRank {
            rank: other.rank,
            trace: other.trace,
            here,
            error: other.clock.error(),
        });
        trace.timeline_with(&others.collect::<Vec<_>>())
    }

    /// Has a run traced.
    pub(crate) fn observe(&self, options: Options) -> Options {
        match &self.trace {
            Some(trace) => options.observer(Arc::clone(trace)),
            None => options,
        }
    }

    /// Returns what does so, and says what hinders it.
    pub(crate) fn on_signal(&self) -> impl Fn() + Send + 'static {
        let this = self.clone();
        move || {
            if let Err(failure) = this.leave() {
                messages::failure(&failure);
            }
        }
    }

    /// Leaves what has happened till now, while the run goes on: in a new file where its traces go, or as
    /// figures.
    pub(crate) fn leave(&self) -> Result<(), Failure> {
        let Some(trace) = &self.trace else {
            messages::note("this run is not traced: `--trace FILE` has it traced");
            return Ok(());
        };
        let TraceArguments { trace: file, trace_on_failure, .. } = &self.asked;
        let beside = || Some(file.as_ref()?.parent()?.to_owned());
        let timeline = trace.timeline();
        match trace_on_failure.clone().or_else(beside) {
            Some(folder) => {
                let path = free_name(&folder, &self.name);
                write(&timeline, &path)?;
                messages::note(format_args!("what happened till now is in {}", path.display()));
            }
            None => messages::say(timeline.summary()),
        }
        Ok(())
    }

    /// Writes and shows what was asked for.
    pub(crate) fn tell(self, has_failed: bool) -> Result<(), Failure> {
        let Some(trace) = &self.trace else { return Ok(()) };
        let mut timeline = self.timeline(trace);
        let TraceArguments { trace: file, trace_on_failure, trace_summary, .. } = self.asked;
        let stream = self.stream.lock().take();
        let is_streamed = stream.is_some();
        if let Some((stream, path)) = stream.zip(file.as_deref()) {
            tell_stream(stream.finish(), path);
            // It has more than what is kept. If it ended early, what is kept is all there is.
            if trace_summary && let Ok(all) = read_file(path) {
                timeline = all;
            }
        }
        if trace_summary {
            messages::say(timeline.summary());
        }
        if let Some(path) = file.filter(|_| !is_streamed) {
            write(&timeline, &path)?;
            let error = timeline.clock_error();
            if error > 0 {
                messages::note(format_args!(
                    "times of one rank may be wrong by {:.1?} beside those of another in {}",
                    Duration::from_nanos(error),
                    path.display()
                ));
            }
            if timeline.lost() > 0 {
                messages::note(format_args!(
                    "{} older events are not in {}: `--trace-events N` keeps more",
                    timeline.lost(),
                    path.display()
                ));
            }
        }
        if let Some(folder) = trace_on_failure.filter(|_| has_failed) {
            let path = free_name(&folder, &self.name);
            write(&timeline, &path)?;
            messages::note(format_args!("what happened last is in {}", path.display()));
        }
        Ok(())
    }
}

/// Says what is not in the file, in a line.
fn tell_stream(finished: io::Result<u64>, path: &Path) {
    let path = path.display();
    match finished {
        Ok(0) => {}
        Ok(lost) => messages::note(format_args!(
            "{lost} events are not in {path}, which was written too slowly: `--trace-events N` keeps more meanwhile"
        )),
        Err(cause) => messages::note(format_args!("the trace in {path} ends early: {cause}")),
    }
}

fn write(timeline: &Timeline, path: &Path) -> Result<(), Failure> {
    output::write_whole(path, |mut out| timeline.write(&mut out))
}

/// A file that there is not yet: no failure writes over the trace of one before.
fn free_name(folder: &Path, name: &str) -> PathBuf {
    let names = (1..).map(|number| folder.join(format!("{name}-{number}.perfetto-trace")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

/// Makes the subcommand `trace`, which reads what `run --trace` wrote.
///
/// # Examples
///
/// ```
/// let command = kahn_command::trace::command();
/// assert!(command.try_get_matches_from(["trace", "summary", "a.perfetto-trace"]).is_ok());
/// ```
pub fn command() -> Command {
    let file = |name: &'static str, help: &'static str| {
        let path = Arg::new(name).value_name(name).required(true).help(help);
        path.value_parser(value_parser!(PathBuf))
    };
    let summary = Command::new("summary")
        .about("Sums up where the time of a run went")
        .arg(file("FILE", "What `run --trace` wrote"));
    let diff = Command::new("diff")
        .about("Compares two runs: the first difference, new and longer waits, slower processes")
        .arg(file("A", "What `run --trace` wrote of the earlier run"))
        .arg(file("B", "… of the later one"));
    let picture = Command::new("picture")
        .about("Draws on standard output, as SVG, what workers and processes did, and when")
        .arg(file("FILE", "What `run --trace` wrote"));
    Command::new("trace")
        .about("Reads traces of runs: sums them up, compares them, draws them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([summary, diff, picture])
}

/// Does what was typed behind `trace`.
///
/// # Errors
///
/// Returns [`Failure::Input`] for a file that is no trace.
///
/// # Examples
///
/// ```
/// let command = kahn_command::trace::command();
/// let matches = command.try_get_matches_from(["trace", "summary", "no such file"])?;
/// assert_eq!(kahn_command::trace::perform(&matches).unwrap_err().exit_code(), 2);
/// # Ok::<(), clap::Error>(())
/// ```
pub fn perform(matches: &ArgMatches) -> Result<(), Failure> {
    let text = match matches.subcommand() {
        Some(("diff", files)) => {
            let (before, after) = (read(files, "A")?, read(files, "B")?);
            before.difference(&after).to_string()
        }
        Some(("picture", files)) => read(files, "FILE")?.svg(),
        Some((_, files)) => read(files, "FILE")?.summary().to_string(),
        None => return Err(Failure::input("expected `summary`, `diff` or `picture`")),
    };
    result::write(|out| out.write_all(text.as_bytes()))
}

fn read(matches: &ArgMatches, name: &str) -> Result<Timeline, Failure> {
    read_file(matches.get_one::<PathBuf>(name).map_or(Path::new(""), PathBuf::as_path))
}

fn read_file(path: &Path) -> Result<Timeline, Failure> {
    let bytes = fs::read(path).map_err(|error| Failure::file(path, error))?;
    Timeline::read(&bytes).map_err(|error| {
        Failure::file(path, error).with_help("`run --trace FILE` writes one that is read here")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_writes_over_no_trace_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let first = free_name(folder.path(), "count");
        assert!(first.ends_with("count-1.perfetto-trace"));
        fs::write(&first, "").unwrap();
        assert!(free_name(folder.path(), "count").ends_with("count-2.perfetto-trace"));
    }

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        trace: TraceArguments,
    }

    fn started(line: &str) -> Result<Tracing, Failure> {
        let words = ["run"].into_iter().chain(line.split(' '));
        <Typed as clap::Parser>::try_parse_from(words)
            .expect("it is typed well")
            .trace
            .start("count")
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        for (line, told) in [
            ("--trace-summary --trace-stream", "--trace-stream has no effect without --trace FILE"),
            ("--trace-flows all", "--trace-flows has no effect without a trace"),
            (
                "--trace-summary --trace-level schedule --trace-flows all",
                "--trace-flows all has no effect with --trace-level schedule",
            ),
        ] {
            assert!(started(line).unwrap_err().to_string().contains(told), "{line}");
        }
    }

    #[test]
    fn a_stream_has_what_is_kept_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.perfetto-trace");
        let line = format!("--trace-stream --trace-events 4096 --trace {}", path.display());
        let tracing = started(&line).unwrap();
        let mut network = kahn::Network::new();
        let (out, numbers) = network.channel_with(kahn::Channel::named("numbers").capacity(1));
        // Each part of it takes a quarter of the ring, and waits until the file has grown: so the thread that writes
        // the file has read all but three parts at most.
        let length = || fs::metadata(&path).map_or(0, |file| file.len());
        network.process("write", out, async |mut out| {
            for part in 0..12_u32 {
                let before = length();
                out.send_all((0..200).map(|number| 200 * part + number)).await;
                while length() == before {
                    std::thread::yield_now();
                }
            }
        });
        network.for_each("read", numbers, |_| {});
        network.run_with(tracing.observe(Options::new().workers(1))).unwrap();
        let kept = tracing.trace.as_ref().unwrap().timeline();
        tracing.tell(false).unwrap();
        let written = read_file(&path).unwrap();
        assert!(kept.lost() > 1000);
        assert_eq!(written.lost(), 0);
        assert!(written.summary().to_string().contains("for room in numbers"));
    }

    #[test]
    fn a_worker_keeps_one_event_or_more() {
        assert_eq!((events("1"), events("1048576")), (Ok(1), Ok(1 << 20)));
        for text in ["0", "-1", "x", "1048577", ""] {
            assert!(events(text).unwrap_err().starts_with("expected a whole number from 1"));
        }
    }
}
