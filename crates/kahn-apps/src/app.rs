//! What a program is, and the table of all of them.
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
use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use kahn::{Channel, Digest, Name, Network, Receiver, Sender};

use crate::{
    Failure, Progress, aes, hamming, kmeans, pipeline, random_network, ring, scatter_gather, sieve,
    wordcount,
};

/// Every program, in the order in which `kahn list` shows them.
pub const APPS: &[App] = &[
    App {
        name: "wordcount",
        summary: "counts how often each word stands in files",
        examples: wordcount::EXAMPLES,
        variants: &[Variant::Network, Variant::MapReduce, Variant::Sequential],
        default_parts: wordcount::DEFAULT_PARTS,
        most_parts: wordcount::MOST_PARTS,
        arguments: wordcount::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = wordcount::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(wordcount::WordCount::prepare(&arguments, settings)?))
        },
    },
    App {
        name: "kmeans",
        summary: "groups points around K means",
        examples: kmeans::EXAMPLES,
        variants: &[Variant::Network, Variant::MapReduce, Variant::Sequential],
        default_parts: kmeans::DEFAULT_PARTS,
        most_parts: kmeans::MOST_PARTS,
        arguments: kmeans::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = kmeans::Arguments::from_arg_matches(matches)?;
            kmeans::prepare(&arguments, settings)
        },
    },
    App {
        name: "sieve",
        summary: "finds the primes up to N, with one process a prime",
        examples: sieve::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: sieve::Arguments::augment_args,
        prepare: |matches, _| {
            Ok(Box::new(sieve::Sieve::new(sieve::Arguments::from_arg_matches(matches)?.limit)))
        },
    },
    App {
        name: "hamming",
        summary: "finds the first N numbers with no prime factor beyond five",
        examples: hamming::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: hamming::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = hamming::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(hamming::Hamming::prepare(arguments.count)?))
        },
    },
    App {
        name: "ring",
        summary: "passes tokens round a ring of processes",
        examples: ring::EXAMPLES,
        variants: &[Variant::Network, Variant::Threads, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: ring::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = ring::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(ring::RingProgram::prepare(&arguments)?))
        },
    },
    App {
        name: "scatter-gather",
        summary: "hands tasks out to many processes and awaits all, in rounds",
        examples: scatter_gather::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: scatter_gather::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = scatter_gather::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(scatter_gather::ScatterGatherProgram::new(&arguments)))
        },
    },
    App {
        name: "pipeline",
        summary: "passes messages of a size through stages in a row",
        examples: pipeline::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: pipeline::Arguments::augment_args,
        prepare: |matches, _| {
            let arguments = pipeline::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(pipeline::PipelineProgram::prepare(&arguments)?))
        },
    },
    App {
        name: "random",
        summary: "passes work through layers of processes joined at random, with cycles",
        examples: random_network::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: 1,
        most_parts: usize::MAX,
        arguments: random_network::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = random_network::Arguments::from_arg_matches(matches)?;
            Ok(Box::new(random_network::RandomProgram::prepare(&arguments, settings)?))
        },
    },
    App {
        name: "aes",
        summary: "encrypts a file with AES-128, or a block of memory many times",
        examples: aes::EXAMPLES,
        variants: &[Variant::Network, Variant::Sequential],
        default_parts: aes::DEFAULT_PARTS,
        most_parts: aes::MOST_PARTS,
        arguments: aes::Arguments::augment_args,
        prepare: |matches, settings| {
            let arguments = aes::Arguments::from_arg_matches(matches)?;
            aes::prepare(&arguments, settings)
        },
    },
];

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
            Self::Network => "network",
            Self::MapReduce => "mapreduce",
            Self::Threads => "threads",
            Self::Sequential => "sequential",
        }
    }

    /// Finds a form by its name.
    ///
    /// ```
    /// use kahn_apps::Variant;
    ///
    /// assert_eq!(Variant::named("network"), Some(Variant::Network));
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        [Self::Network, Self::MapReduce, Self::Threads, Self::Sequential]
            .into_iter()
            .find(|variant| variant.name() == name)
    }

    /// Says whether the form is a network: one that can be drawn, and run under any schedule.
    pub fn is_network(self) -> bool {
        matches!(self, Self::Network | Self::MapReduce)
    }
}

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
    /// After the network has finished, the result is behind the returned [`Pending`].
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env>;

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

/// What of the messages of a network can be compared with other runs.
///
/// Recording contents takes time and memory for every message, so only `kahn verify` asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// How many there were.
    Numbers,
    /// What they were.
    Contents,
}

impl Compare {
    /// Describes a channel whose messages can be compared so.
    pub(crate) fn named<T: Send + Digest>(self, name: impl Into<Name>) -> Channel<T> {
        match self {
            Self::Numbers => Channel::named(name),
            Self::Contents => Channel::named(name).digest(),
        }
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
}

impl fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("notes", &self.notes).finish_non_exhaustive()
    }
}
