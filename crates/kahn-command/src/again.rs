//! `replay` and `resume`: runs that are recorded, done again, or gone on with.
//!
//! A recording comes from anywhere, so nothing that is written in it is done in a *replay* but the run: options that
//! name files are dropped (see [`RunArguments::again`]), as are the files of the result. Only `--with-effects`, which
//! is typed for the replay, has the program act again. To *resume* a run is to have it act, as it was typed; so its
//! recording must be one's own (see [`Resume`]), and what was typed is shown.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use kahn_observe::record::{Header, ReadError, Replay, Resume};

use crate::arguments::{RunArguments, Verb, policies, workers};
use crate::program::Program;
use crate::ranks::ranks;
use crate::recording::{Outside, Place, Replayed, called, version};
use crate::{Failure, messages, run};

/// What is typed after both.
#[derive(Debug, Args)]
struct AgainArguments {
    /// What `run --record FILE` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Runs on N threads, whatever the recorded run had: the same happens on any number
    #[arg(long, value_name = "N", value_parser = workers)]
    workers: Option<usize>,

    /// Which process runs next, whatever it was
    #[arg(long, value_name = "P", value_parser = policies())]
    policy: Option<String>,
}

/// What is typed after `replay`.
#[derive(Debug, Args)]
struct ReplayArguments {
    #[command(flatten)]
    again: AgainArguments,

    /// Holds PROCESS before its N-th receive, lets all others go on until nothing can, and shows on
    /// standard output what waits for what and which messages stand in channels with a written form
    #[arg(long, value_name = "PROCESS@N")]
    until: Option<Place>,

    /// Runs on N ranks within this program, wherever the recorded run was
    #[arg(long, value_name = "N", value_parser = ranks)]
    ranks: Option<usize>,

    /// Writes files and runs processes that only act, so that their effects happen again
    #[arg(long)]
    with_effects: bool,
}

/// What is typed to have a recording replayed.
pub(crate) const REPLAY: &str = "replay";

/// What is typed to have a run go on that was cut short.
const RESUME: &str = "resume";

/// Makes the subcommands `replay` and `resume`.
pub(crate) fn commands() -> [Command; 2] {
    let replay = ReplayArguments::augment_args(Command::new(REPLAY));
    let replay = replay.about("Runs again what `run --record` has recorded, from that file alone");
    let resume = AgainArguments::augment_args(Command::new(RESUME));
    let resume =
        resume.about("Goes on with a run that was recorded and cut short, to the same result");
    [
        replay.after_help(
            "\
The same messages pass on every channel, and the same failures come at the same message. What came
from outside is in the recording; processes that act outside are not run, and no files are written.
Files that the program reads by itself must be what they were.
Exit codes: those of `run`; 1 as well if the run is not the one that was recorded: where it parts
from it first is shown, and it goes no further. 2 for a file that is no recording, and for a
recording of another program or network.",
        ),
        resume.after_help(
            "\
The run is computed again from its input, with what came from outside and is recorded, and writes
the files that it was typed to write; it is typed where it was typed first. A file that the network
writes goes on behind what was saved of it. It is traced and shown as it was, and
replaces no trace that is there. What cannot go on is named before anything runs, and
begins again: a source that had not ended must send what it sent. The run is recorded on in FILE,
so it may be cut short again. FILE must be yours alone: mode 0600, no link, written by no other run.
Exit codes: those of `run`; 1 as well if the run is not the one that was recorded; 2 if it cannot
go on.",
        ),
    ]
}

/// A recording whose run is to be done again.
#[derive(Debug)]
pub(crate) struct Recorded {
    asked: AgainArguments,
    how: How,
}

#[derive(Debug)]
enum How {
    Replay { replay: Replay, until: Option<Place>, with_effects: bool, ranks: Option<usize> },
    Resume(Resume),
}

impl Recorded {
    /// Opens the recording that was typed after this, if it is `replay` or `resume`.
    pub(crate) fn open(verb: &str, matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        let refused = |asked: &AgainArguments, error: ReadError| {
            Failure::file(&asked.file, error)
                .with_help("`run --record FILE` writes one that is read here")
        };
        Ok(Some(match verb {
            REPLAY => {
                let ReplayArguments { again: asked, until, ranks, with_effects } =
                    ReplayArguments::from_arg_matches(matches)?;
                if until.is_some() && ranks.is_some() {
                    let what = "--until shows a run on one rank: how many messages stand in a channel between two \
                                depends on time";
                    let help = "leave --ranks out: on one rank the same passes on every channel, wherever the \
                                recorded run was";
                    return Err(Failure::input(what).with_help(help));
                }
                let replay = Replay::open(&asked.file).map_err(|error| refused(&asked, error))?;
                Self { asked, how: How::Replay { replay, until, with_effects, ranks } }
            }
            RESUME => {
                let asked = AgainArguments::from_arg_matches(matches)?;
                let resume = Resume::open(&asked.file).map_err(|error| refused(&asked, error))?;
                Self { asked, how: How::Resume(resume) }
            }
            _ => return Ok(None),
        }))
    }

    fn header(&self) -> &Header {
        match &self.how {
            How::Replay { replay, .. } => replay.header(),
            How::Resume(resume) => resume.header(),
        }
    }

    /// Which program it is of.
    pub(crate) fn program(&self) -> &str {
        &self.header().program
    }

    /// What was typed for its run, as `run` understands it.
    pub(crate) fn matches(&self, run: Command) -> Result<ArgMatches, Failure> {
        // Behind the options of the whole command, if that has some.
        let typed = self.header().arguments.iter();
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
        self.check(program)?;
        let Self { asked: AgainArguments { file, workers, policy }, how } = self;
        let typed = RunArguments::from_arg_matches(matches)?;
        match how {
            How::Replay { replay, until, with_effects, ranks } => {
                if let Some(why) = replay.ends_early() {
                    let path = file.display();
                    messages::note(format_args!(
                        "{path} ends before the run did, which is done again so far: {why}"
                    ));
                }
                let replay = replay.with_effects(with_effects);
                let replay = Arc::new(match &until {
                    Some(Place { process, receive }) => replay.until(process, *receive),
                    None => replay,
                });
                let again = Replayed { replay, has_effects: with_effects, until };
                let arguments = typed.again(workers, policy, ranks);
                run::run(program, matches, &arguments, Some(Outside::Replayed(again)), None)
            }
            How::Resume(resume) => {
                let line: Vec<_> =
                    resume.header().arguments.iter().map(|word| quoted(word)).collect();
                messages::note(format_args!("goes on with: {} {}", called(), line.join(" ")));
                let resume = resume.tells(|line| messages::note(line));
                let resume = match typed.record.save_each() {
                    Some(messages) => resume.saves_each(messages),
                    None => resume,
                };
                let arguments = typed.resumed(workers, policy)?;
                let outside = Outside::Resumed(Arc::new(resume), file);
                run::run(program, matches, &arguments, Some(outside), None)
            }
        }
    }

    /// Refuses a recording of another program, and tells of another version.
    fn check(&self, program: &dyn Program) -> Result<(), Failure> {
        let command = program.command();
        let (header, file) = (self.header(), &self.asked.file);
        let (recorded, here) = (&header.program, command.get_name());
        if recorded != here {
            let what = format!("this is a recording of `{recorded}`, not of `{here}`");
            return Err(Failure::file(file, what));
        }
        let (recorded, here) = (&header.version, version(&command));
        if *recorded != here {
            let path = file.display();
            messages::note(format_args!("{path} was recorded by {recorded}; this is {here}"));
        }
        Ok(())
    }
}

/// A word as it is typed, for a person to read: what is not plain is shown as such.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.escape_debug())
}
