//! What a program is.
//!
//! A program goes through four values, each made from the one before:
//!
//! ```text
//!   App ──prepare──► Program ──build──► Pending ──after the run──► Answer
//!   a line of the    input read,        processes are in the       the result, complete,
//!   table            checked, mapped    network, nothing ran       not yet written
//! ```
//!
//! A [`Program`] owns its input (mapped files, points), and the network borrows from it: so
//! messages are slices of the files, and nothing is copied on the way.

use std::fmt;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{ArgMatches, Command};
use kahn::ranks::Beside;
use kahn::{Channel, Digest, Name, Network, Receiver, Sender};
#[cfg(feature = "communicating")]
use kahn_csp as csp;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::table::{APPS, OF_SOME_VARIANTS};
use crate::{Failure, Progress};
#[cfg(feature = "communicating")]
use crate::{Ran, Stop};

/// A line of the table: a program by name, and how to get it ready.
pub struct App {
    /// The name, as typed.
    pub name: &'static str,
    /// What it does, in one line that completes "this program …".
    pub summary: &'static str,
    /// What to type, as shown at the end of its help.
    pub examples: &'static str,
    /// Its forms, the default first.
    pub variants: &'static [Variant],
    /// How many parts its work is split into unless the caller says otherwise.
    pub default_parts: usize,
    /// The most parts it takes.
    pub most_parts: usize,
    /// Adds its own arguments to a command.
    pub arguments: fn(Command) -> Command,
    /// Reads and checks its arguments and input, so that only the run is left.
    pub prepare: Prepare,
}

impl App {
    /// Finds a program by its name.
    ///
    /// ```
    /// assert_eq!(kahn_apps::App::named("sieve").map(|app| app.name), Some("sieve"));
    /// assert!(kahn_apps::App::named("nothing").is_none());
    /// ```
    pub fn named(name: &str) -> Option<&'static Self> {
        APPS.iter().find(|app| app.name == name)
    }

    /// Returns whether a form heeds an option of the program's own, which is named by its id.
    ///
    /// ```
    /// use kahn_apps::{App, Variant};
    ///
    /// let wordcount = App::named("wordcount").expect("it is in the table");
    /// assert!(wordcount.heeds(Variant::MapReduce, "combine"));
    /// assert!(!wordcount.heeds(Variant::Network, "combine"));
    /// ```
    pub fn heeds(&self, variant: Variant, option: &str) -> bool {
        let mut of_some = OF_SOME_VARIANTS.iter();
        let row = of_some.find(|(app, known, _)| (*app, *known) == (self.name, option));
        row.is_none_or(|(.., variants)| variants.contains(&variant))
    }

    /// Prepares the program from its arguments as one would type them.
    ///
    /// ```
    /// let sieve = kahn_apps::App::named("sieve").expect("it is in the table");
    /// let program = sieve.prepare_from(&["10"], None, 0)?;
    /// let mut text = Vec::new();
    /// (program.sequential()?.lines)(&mut text)?;
    /// assert_eq!(text, b"2\n3\n5\n7\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if an argument or the input is wrong.
    pub fn prepare_from(
        &self,
        arguments: &[&str],
        parts: Option<usize>,
        seed: u64,
    ) -> Result<Box<dyn Program>, Failure> {
        let command = (self.arguments)(Command::new(self.name).no_binary_name(true));
        let matches = command.try_get_matches_from(arguments)?;
        (self.prepare)(&matches, &self.settings(parts, seed)?)
    }

    /// Checks what holds for every program, and fills in what was not said.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if there are more parts than the program takes, or none.
    pub fn settings(&self, parts: Option<usize>, seed: u64) -> Result<Settings, Failure> {
        let parts = parts.unwrap_or(self.default_parts);
        if parts == 0 {
            return Err(Failure::input("--parts must be 1 or more"));
        }
        if parts > self.most_parts {
            return Err(Failure::input(format!(
                "--parts {parts} is more than `{}` takes: at most {}",
                self.name, self.most_parts
            )));
        }
        Ok(Settings { parts, seed })
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A form in which a program is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As a network of processes.
    Network,
    /// As a network of the one shape that all MapReduce jobs have.
    MapReduce,
    /// As communicating processes, which meet, share and choose; the default of programs that are
    /// about these, so that its name is `network` too.
    Communicating,
    /// As communicating processes, where there is a Kahn network besides.
    Rendezvous,
    /// As communicating processes that share out the data of each round, to compare with.
    DataParallel,
    /// As communicating processes that come to a standstill, to see it explained.
    Deadlock,
    /// The same, put right.
    Corrected,
    /// With a thread of the system for each process, to compare with.
    Threads,
    /// As an ordinary program on one thread, to compare with.
    Sequential,
}

impl Variant {
    /// Says the name, as typed after `--variant`.
    ///
    /// ```
    /// assert_eq!(kahn_apps::Variant::Sequential.name(), "sequential");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Network | Self::Communicating => "network",
            Self::MapReduce => "mapreduce",
            Self::Rendezvous => "rendezvous",
            Self::DataParallel => "data-parallel",
            Self::Deadlock => "deadlock",
            Self::Corrected => "corrected",
            Self::Threads => "threads",
            Self::Sequential => "sequential",
        }
    }

    /// Finds a form by its name, among those that a program has.
    ///
    /// ```
    /// use kahn_apps::Variant;
    ///
    /// let forms = [Variant::Network, Variant::Sequential];
    /// assert_eq!(Variant::named("network", &forms), Some(Variant::Network));
    /// assert_eq!(Variant::named("threads", &forms), None);
    /// ```
    pub fn named(name: &str, among: &[Self]) -> Option<Self> {
        among.iter().copied().find(|variant| variant.name() == name)
    }

    /// Says whether the form is a Kahn network: one that can be drawn, and gives the same under any
    /// schedule.
    pub fn is_network(self) -> bool {
        matches!(self, Self::Network | Self::MapReduce)
    }

    /// Says whether the processes of the form may choose, so that what they come to is not the same
    /// under every schedule by itself, but only if the program sees to it.
    pub fn chooses(self) -> bool {
        matches!(
            self,
            Self::Communicating
                | Self::Rendezvous
                | Self::DataParallel
                | Self::Deadlock
                | Self::Corrected
        )
    }
}

/// The most processes that a number typed may ask for: more than that is a slip of the hand.
pub(crate) const MOST_PROCESSES: i64 = 1_000_000;

/// Reads a number that counts something there must be one of, such as processes.
///
/// ```
/// assert_eq!(kahn_apps::at_least_one("3"), Ok(3_usize));
/// assert!(kahn_apps::at_least_one::<u32>("0").is_err());
/// ```
///
/// # Errors
///
/// Returns what was expected.
pub fn at_least_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse::<N>().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

/// Reads a whole number of a range, and says which if it is none.
pub(crate) fn whole(
    range: RangeInclusive<i64>,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync {
    move |text| {
        let number = text.parse::<i64>().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| {
            format!("expected a whole number from {} to {}", range.start(), range.end())
        })
    }
}

/// What holds for every program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many processes share the work of a stage. The output does not depend on it.
    pub parts: usize,
    /// The seed of generated input.
    pub seed: u64,
}

/// A program whose arguments are understood and whose input is read and checked.
pub trait Program: Sync {
    /// Writes the processes and channels into `network`, which borrows the input from here.
    ///
    /// After the network has finished, the result is behind the returned [`Pending`]. A program that
    /// is not in the table with [`Variant::Network`] writes nothing and has no result.
    fn build<'env>(&'env self, _network: &mut Network<'env>, _compare: Compare) -> Pending<'env> {
        Box::new(|| None)
    }

    /// Writes the program as MapReduce jobs, if it is in the table with [`Variant::MapReduce`].
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if it is not.
    fn mapreduce<'env>(
        &'env self,
        _network: &mut Network<'env>,
        _compare: Compare,
    ) -> Result<Pending<'env>, Failure> {
        Err(Failure::input("this program has no variant `mapreduce`"))
    }

    /// Runs the program as communicating processes, in one of the forms that
    /// [choose](Variant::chooses). It ends early if `stop` asks for it.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if it is not in the table with this form, [`Failure::Run`] if it
    /// did not finish.
    #[cfg(feature = "communicating")]
    fn communicate(
        &self,
        variant: Variant,
        _options: csp::Options,
        _stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        Err(Failure::input(format!("this program has no variant `{}`", variant.name())))
    }

    /// Says what the one who started it must know before it ends, such as an address.
    fn announcement(&self) -> Option<String> {
        None
    }

    /// Computes the same result on the caller's thread, without a network.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Run`] if there is no result.
    fn sequential(&self) -> Result<Answer<'_>, Failure>;

    /// Computes the same result with a thread of the system for each process, if the program is in
    /// the table with [`Variant::Threads`].
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if it is not, or if the system refuses so many threads.
    fn threads(&self) -> Result<Answer<'_>, Failure> {
        Err(Failure::input("this program has no variant `threads`"))
    }

    /// Tells how far the run has got, while it runs.
    fn progress(&self) -> &Progress;
}

/// Tells why communicating processes gave no result, and what they have cost.
#[cfg(feature = "communicating")]
pub fn failed(error: csp::RunError) -> Failure {
    let report = error.report().cloned().map(Box::new);
    Failure::Run { error: error.into(), report }
}

/// What of the messages of a network can be compared with other runs.
///
/// Recording contents takes time and memory for every message, so only `kahn verify` asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// How many there were.
    Numbers,
    /// What they were.
    Contents,
    /// How many there were; and they can be written, so that they can go to another rank.
    Written,
    /// What they were, on several ranks.
    WrittenContents,
}

impl Compare {
    /// Whether files may be written while the network runs: it runs once, for its results.
    pub(crate) fn is_for_results(self) -> bool {
        matches!(self, Self::Numbers | Self::Written)
    }

    /// Whether messages are to be written, to go to other ranks.
    pub(crate) fn is_on_ranks(self) -> bool {
        matches!(self, Self::Written | Self::WrittenContents)
    }

    /// Whether messages are to be compared by what they are.
    pub(crate) fn is_by_contents(self) -> bool {
        matches!(self, Self::Contents | Self::WrittenContents)
    }

    /// Describes a channel whose messages can be compared so.
    pub(crate) fn named<T: Send + Digest>(self, name: impl Into<Name>) -> Channel<T> {
        let channel = Channel::named(name);
        if self.is_by_contents() { channel.digest() } else { channel }
    }

    /// Describes a channel whose messages can be compared so, and written.
    pub(crate) fn carried<T>(self, name: impl Into<Name>) -> Channel<T>
    where
        T: Send + Digest + Serialize + DeserializeOwned,
    {
        let channel = self.named(name);
        if self.is_on_ranks() { channel.wire() } else { channel }
    }

    /// Makes a channel as it is described, whose messages can be written beside what every rank has.
    pub(crate) fn beside<'env, T, S>(
        self,
        network: &mut Network<'env>,
        channel: Channel<T>,
        beside: S,
    ) -> (Sender<T>, Receiver<T>)
    where
        T: Send + Beside<S> + 'env,
        S: Copy + Send + Sync + 'env,
    {
        if self.is_on_ranks() {
            network.channel_beside(channel, beside)
        } else {
            network.channel_with(channel)
        }
    }

    /// Makes a channel whose messages can be compared so, and written.
    pub(crate) fn carried_channel<'env, T>(
        self,
        network: &mut Network<'env>,
        name: impl Into<Name>,
    ) -> (Sender<T>, Receiver<T>)
    where
        T: Send + Digest + Serialize + DeserializeOwned + 'env,
    {
        network.channel_with(self.carried(name))
    }

    /// Makes a channel whose messages can be compared so.
    pub(crate) fn channel<'env, T: Send + Digest + 'env>(
        self,
        network: &mut Network<'env>,
        name: impl Into<Name>,
    ) -> (Sender<T>, Receiver<T>) {
        network.channel_with(self.named(name))
    }
}

/// Reads and checks arguments and input.
pub type Prepare = fn(&ArgMatches, &Settings) -> Result<Box<dyn Program>, Failure>;

/// Takes the result out of a network after its run: there is one if the network has finished.
pub type Pending<'env> = Box<dyn FnOnce() -> Option<Answer<'env>> + 'env>;

/// Writes a result, or a part of it.
pub type Writer<'env> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'env>;

/// A complete result. Nothing of it is written before all of it is known.
pub struct Answer<'env> {
    /// What goes to standard output.
    pub lines: Writer<'env>,
    /// Files that the caller asked for besides.
    pub files: Vec<(PathBuf, Writer<'env>)>,
    /// Facts about the run for the report, such as the number of rounds.
    pub notes: Vec<(&'static str, u64)>,
}

impl<'env> Answer<'env> {
    /// Makes a result that is only lines on standard output.
    pub fn new(lines: impl Fn(&mut dyn Write) -> io::Result<()> + 'env) -> Self {
        Self { lines: Box::new(lines), files: Vec::new(), notes: Vec::new() }
    }

    /// Makes a result that is written in a file already: nothing is left to write.
    pub fn written() -> Self {
        Self::new(|_| Ok(()))
    }

    /// Has the lines written to a file, if one is named, and not to standard output.
    #[must_use]
    pub fn to(self, file: Option<&Path>) -> Self {
        let Some(path) = file else { return self };
        let Self { lines, mut files, notes } = self;
        files.insert(0, (path.to_owned(), lines));
        Self { files, notes, ..Self::written() }
    }
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("notes", &self.notes).finish_non_exhaustive()
    }
}
