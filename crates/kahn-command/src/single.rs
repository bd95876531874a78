//! A command that has one network.

use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{ArgMatches, Args, Command};
use kahn::{Network, Progress};

use crate::again::Recorded;
use crate::arguments::Verb;
use crate::program::{Form, Parts, Pending, Prepared, Program, Purpose, Settings};
use crate::{Answer, BoxError, Failure, menu, start};

/// Makes a command of a network: all of a program's `main`.
///
/// The command has the subcommands `run`, `verify` and `graph`, each with the program's own arguments and
/// with the options that every network has, `replay` and `resume`; see the [crate]. `build` gets the arguments and writes
/// the network down; what it returns is written once the network has finished. It is called for each run
/// anew (`verify` has many), and must do the same each time: what is read from elsewhere, such as standard
/// input, is read by the function that [`main_with`] takes before it.
///
/// The comment on the type of the arguments is what the help says of the program.
///
/// # Examples
///
/// ```no_run
/// use kahn_command::Answer;
/// use std::process::ExitCode;
///
/// /// Adds up the squares of the numbers from 1 to N.
/// #[derive(clap::Args)]
/// struct Arguments {
///     /// The last number
///     #[arg(value_name = "N")]
///     last: u64,
/// }
///
/// fn main() -> ExitCode {
///     kahn_command::main(|arguments: &Arguments, network| {
///         let numbers = network.source("numbers", 1..=arguments.last);
///         let squares = network.map("square", numbers, |n| n * n);
///         let sum = network.fold("sum", squares, 0, |sum, n| sum + n);
///         Ok(Answer::from(sum))
///     })
/// }
/// ```
pub fn main<A: Args + Send + Sync + 'static>(
    build: impl for<'env> Fn(&'env A, &mut Network<'env>) -> Result<Answer<'env>, BoxError> + Sync,
) -> ExitCode {
    main_with(Ok, build)
}

/// Makes a command of a network that has input: `prepare` reads and checks it once, before anything runs.
///
/// The network borrows from what `prepare` returns. An error of either is bad input: it is shown, with
/// its causes, and the command ends with 2; a [`Failure`] adds what to do about it.
///
/// # Examples
///
/// ```no_run
/// use kahn_command::{Answer, read};
/// use std::path::PathBuf;
/// use std::process::ExitCode;
///
/// /// Tells how long the longest line of a text is.
/// #[derive(clap::Args)]
/// struct Arguments {
///     /// The text; `-` is standard input
///     file: PathBuf,
/// }
///
/// fn main() -> ExitCode {
///     kahn_command::main_with(
///         |arguments: Arguments| Ok(String::from_utf8(read(&arguments.file)?)?),
///         |text, network| {
///             let lines = network.source("lines", text.lines());
///             let lengths = network.map("measure", lines, str::len);
///             Ok(network.fold("longest", lengths, 0, usize::max).into())
///         },
///     )
/// }
/// ```
pub fn main_with<A: Args, I: Send + Sync + 'static>(
    prepare: impl Fn(A) -> Result<I, BoxError> + Sync,
    build: impl for<'env> Fn(&'env I, &mut Network<'env>) -> Result<Answer<'env>, BoxError> + Sync,
) -> ExitCode {
    start_single(None, prepare, |input, _parts, network| build(input, network))
}

/// Makes a command of a network some stage of which is shared among processes: `--parts N` says how many.
///
/// `build` gets their number. The result must not depend on it: `verify` runs the network with 1, 2 and 3 of
/// them, or with each number of `--parts 2,3,8`, under every schedule, and compares the results over all. Memory that is used
/// again and influences results, such as a compressor that was reset, is found by that.
///
/// # Examples
///
/// ```no_run
/// use kahn_command::{Answer, Parts, read};
/// use std::path::PathBuf;
/// use std::process::ExitCode;
///
/// /// Tells how long the longest line of a text is.
/// #[derive(clap::Args)]
/// struct Arguments {
///     /// The text; `-` is standard input
///     file: PathBuf,
/// }
///
/// fn main() -> ExitCode {
///     kahn_command::main_with_parts(
///         Parts { default: 4, most: 64 },
///         |arguments: Arguments| Ok(String::from_utf8(read(&arguments.file)?)?),
///         |text, parts, network| {
///             let lines = network.source("lines", text.lines());
///             let lengths = network.parallel_map("measure", lines, parts, str::len);
///             Ok(network.fold("longest", lengths, 0, usize::max).into())
///         },
///     )
/// }
/// ```
pub fn main_with_parts<A: Args, I: Send + Sync + 'static>(
    parts: Parts,
    prepare: impl Fn(A) -> Result<I, BoxError> + Sync,
    build: impl for<'env> Fn(&'env I, usize, &mut Network<'env>) -> Result<Answer<'env>, BoxError>
    + Sync,
) -> ExitCode {
    start_single(Some(parts), prepare, build)
}

fn start_single<A: Args, I: Send + Sync + 'static>(
    parts: Option<Parts>,
    prepare: impl Fn(A) -> Result<I, BoxError> + Sync,
    build: impl for<'env> Fn(&'env I, usize, &mut Network<'env>) -> Result<Answer<'env>, BoxError>
    + Sync,
) -> ExitCode {
    let name = name();
    let single = Single {
        name,
        parts,
        prepare,
        build,
        input: OnceLock::new(),
        arguments: PhantomData::<fn() -> A>,
    };
    start(name, || {
        let command = command(&single);
        let matches = command.try_get_matches()?;
        let (typed, own) = matches.subcommand().ok_or_else(|| Failure::input("nothing to do"))?;
        if let Some(recorded) = Recorded::open(typed, own)? {
            let typed = recorded.matches(subcommand(&single, Verb::Run))?;
            return recorded.run(&single, &typed);
        }
        let verb = Verb::ALL.into_iter().find(|verb| verb.name() == typed);
        let verb = verb.ok_or_else(|| Failure::input("nothing to do"))?;
        menu::perform(verb, &single, own)
    })
}

/// Makes the whole command line of one program.
fn command(program: &dyn Program) -> Command {
    let own = program.command();
    let command = Command::new(own.get_name().to_owned().leak() as &str)
        .about(own.get_about().cloned().unwrap_or_default())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100);
    let command = match own.get_version() {
        Some(version) => command.version(version.to_owned().leak() as &str),
        None => command,
    };
    command.subcommands(menu::subcommands(|verb| subcommand(program, verb)))
}

fn subcommand(program: &dyn Program, verb: Verb) -> Command {
    let own = program.command().name(verb.name()).after_help(menu::notes(verb));
    verb.augment_one(program, own.about(menu::about(verb, "the network")))
}

/// How the command is called: as its file.
fn name() -> &'static str {
    let path = std::env::args_os().next().unwrap_or_default();
    let stem = Path::new(&path).file_stem().and_then(|stem| stem.to_str());
    // Once in a program.
    stem.unwrap_or("network").to_owned().leak()
}

/// A network and what it is made from.
struct Single<A, I, P, B> {
    name: &'static str,
    parts: Option<Parts>,
    prepare: P,
    build: B,
    /// What was prepared: once, for it may have come by standard input.
    input: OnceLock<I>,
    arguments: PhantomData<fn() -> A>,
}

impl<A, I, P, B> Program for Single<A, I, P, B>
where
    A: Args,
    I: Send + Sync + 'static,
    P: Fn(A) -> Result<I, BoxError> + Sync,
    B: for<'env> Fn(&'env I, usize, &mut Network<'env>) -> Result<Answer<'env>, BoxError> + Sync,
{
    fn command(&self) -> Command {
        A::augment_args(Command::new(self.name))
    }

    fn parts(&self) -> Option<Parts> {
        self.parts
    }

    fn prepare(
        &self,
        matches: &ArgMatches,
        settings: Settings,
    ) -> Result<Box<dyn Prepared + '_>, Failure> {
        let input = if let Some(input) = self.input.get() {
            input
        } else {
            let input = (self.prepare)(A::from_arg_matches(matches)?)?;
            self.input.get_or_init(|| input)
        };
        Ok(Box::new(Built {
            input,
            parts: settings.parts,
            build: &self.build,
            progress: OnceLock::new(),
        }))
    }
}

/// A network whose input is there.
struct Built<'a, I, B> {
    input: &'a I,
    parts: usize,
    build: &'a B,
    /// That of the network, once it is built.
    progress: OnceLock<Progress>,
}

impl<I, B> Prepared for Built<'_, I, B>
where
    I: Sync,
    B: for<'env> Fn(&'env I, usize, &mut Network<'env>) -> Result<Answer<'env>, BoxError> + Sync,
{
    fn build<'env>(
        &'env self,
        _form: Form,
        network: &mut Network<'env>,
        _purpose: Purpose,
    ) -> Result<Pending<'env>, Failure> {
        let answer = (self.build)(self.input, self.parts, network)?;
        if let Some(progress) = &answer.progress {
            self.progress.get_or_init(|| progress.clone());
        }
        Ok(Box::new(move || Some(answer)))
    }

    fn progress(&self) -> Option<Progress> {
        self.progress.get().cloned()
    }
}
