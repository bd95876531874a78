//! What the command runs.
//!
//! ```text
//!   Program ──prepare──► Prepared ──build──► Pending ──after the run──► Answer
//!   a name, arguments,   input read,        processes are in the       the result, complete,
//!   forms                checked            network, nothing ran       not yet written
//! ```

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use kahn::{Network, Options, Progress, Report};

use crate::arguments::PARTS;
use crate::{Answer, Failure, Interrupt};

/// A program by name, with arguments of its own.
///
/// # Examples
///
/// ```
/// use clap::{Arg, ArgMatches, Command, value_parser};
/// use kahn::Network;
/// use kahn_command::{
///     Answer, Failure, Form, Parts, Pending, Prepared, Program, Purpose, Settings,
/// };
///
/// /// Adds up the squares of the numbers up to N.
/// struct Squares;
///
/// impl Program for Squares {
///     fn command(&self) -> Command {
///         let last = Arg::new("N").required(true).value_parser(value_parser!(u64));
///         Command::new("squares").about("adds up squares").arg(last)
///     }
///
///     fn parts(&self) -> Option<Parts> {
///         Some(Parts { default: 4, most: 64 })
///     }
///
///     fn prepare(
///         &self,
///         matches: &ArgMatches,
///         settings: Settings,
///     ) -> Result<Box<dyn Prepared + '_>, Failure> {
///         let last = *matches.get_one("N").ok_or_else(|| Failure::input("how many?"))?;
///         Ok(Box::new(UpTo { last, parts: settings.parts }))
///     }
/// }
///
/// struct UpTo {
///     last: u64,
///     parts: usize,
/// }
///
/// impl Prepared for UpTo {
///     fn build<'env>(
///         &'env self,
///         _form: Form,
///         network: &mut Network<'env>,
///         _purpose: Purpose,
///     ) -> Result<Pending<'env>, Failure> {
///         let numbers = network.source("numbers", 1..=self.last);
///         let squares = network.parallel_map("square", numbers, self.parts, |n| n * n);
///         let sum = network.fold("sum", squares, 0, |sum, n| sum + n);
///         Ok(Box::new(move || Some(Answer::from(sum))))
///     }
/// }
///
/// assert_eq!(Squares.command().get_name(), "squares");
/// ```
pub trait Program: Sync {
    /// Makes the command line: the name, what the program does, its own arguments.
    fn command(&self) -> Command;

    /// Returns the forms that the program has, the default first.
    fn forms(&self) -> &[Form] {
        &[Form { name: "network", kind: Kind::Network }]
    }

    /// Returns how many processes may share the work of a stage, if there is such a stage.
    fn parts(&self) -> Option<Parts> {
        None
    }

    /// Returns whether a form heeds an argument of the program's own, named by its id; typed for one that does not, it is
    /// refused.
    fn heeds(&self, form: Form, argument: &str) -> bool {
        let _ = (form, argument);
        true
    }

    /// Reads and checks arguments and input, so that only the run is left.
    ///
    /// It is called once, and to verify with several numbers of parts once for each.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if an argument or the input is wrong.
    fn prepare(
        &self,
        matches: &ArgMatches,
        settings: Settings,
    ) -> Result<Box<dyn Prepared + '_>, Failure>;
}

/// A form in which a program is written.
///
/// # Examples
///
/// ```
/// use kahn_command::{Form, Kind};
///
/// const FORMS: &[Form] = &[
///     Form { name: "network", kind: Kind::Network },
///     Form { name: "sequential", kind: Kind::Sequential },
/// ];
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// What is typed after `--variant`.
    pub name: &'static str,
    /// What it is, which decides the options that it heeds.
    pub kind: Kind,
}

/// What runs a form of a program.
///
/// # Examples
///
/// ```
/// use kahn_command::{Form, Kind};
///
/// // `--workers` says something about it, `--capacity` does not: it is refused.
/// let form = Form { name: "rendezvous", kind: Kind::Communicating };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A Kahn network: the command builds it, runs it, verifies it and draws it.
    Network,
    /// Communicating processes, which choose: they heed workers, policies and seeds.
    Communicating,
    /// Threads of the system, for each process one.
    Threads,
    /// A loop on one thread.
    Sequential,
}

/// How many processes may share the work of a stage. No output depends on it.
///
/// # Examples
///
/// ```
/// use kahn_command::Parts;
///
/// // Four, if nothing is typed; `--parts 65` is refused.
/// let parts = Parts { default: 4, most: 64 };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Unless `--parts` says otherwise.
    pub default: usize,
    /// At most.
    pub most: usize,
}

/// What is asked of every program.
///
/// # Examples
///
/// ```
/// use kahn_command::Settings;
///
/// // What [`Program::prepare`](kahn_command::Program::prepare) is given after `--parts 8 --seed 1`.
/// let settings = Settings { parts: 8, seed: 1 };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many processes share the work of a stage; one if no stage is shared.
    pub parts: usize,
    /// The seed of generated input.
    pub seed: u64,
}

/// What a network is built for.
///
/// # Examples
///
/// ```
/// use kahn_command::Purpose;
///
/// /// A digest costs time, and only a comparison needs it.
/// fn needs_digests(purpose: Purpose) -> bool {
///     purpose == Purpose::Verify
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be run, once.
    Run,
    /// To be run under many schedules and compared: channels whose messages have a digest of the
    /// program's own are given it.
    Verify,
    /// To be drawn.
    Graph,
    /// To be run on several ranks: channels whose messages can be written are given their written form.
    Ranks,
    /// The same, to be compared: channels whose messages have a digest are given that as well.
    VerifyRanks,
}

/// Takes the result out of a network after its run: there is one if the network has finished.
pub type Pending<'env> = Box<dyn FnOnce() -> Option<Answer<'env>> + 'env>;

/// A program whose arguments are understood and whose input is read and checked.
///
/// # Examples
///
/// What can be computed without any network is what `verify` compares with:
///
/// ```
/// use kahn::Network;
/// use kahn_command::{Answer, Failure, Form, Pending, Prepared, Purpose};
///
/// struct Text(String);
///
/// impl Prepared for Text {
///     fn build<'env>(
///         &'env self,
///         _form: Form,
///         network: &mut Network<'env>,
///         _purpose: Purpose,
///     ) -> Result<Pending<'env>, Failure> {
///         let lines = network.source("lines", self.0.lines());
///         let lengths = network.map("measure", lines, str::len);
///         let longest = network.fold("longest", lengths, 0, usize::max);
///         Ok(Box::new(move || Some(Answer::from(longest))))
///     }
///
///     fn expected(&self) -> Result<Option<Answer<'_>>, Failure> {
///         let longest = self.0.lines().map(str::len).max().unwrap_or(0);
///         Ok(Some(Answer::new(move |out| writeln!(out, "{longest}"))))
///     }
/// }
/// ```
pub trait Prepared: Sync {
    /// Writes processes and channels of a form that is a network into `network`.
    ///
    /// It is called for each run anew, and must do the same each time.
    ///
    /// # Errors
    ///
    /// Returns why the network cannot be written down; [`Failure::Input`] as a rule.
    fn build<'env>(
        &'env self,
        form: Form,
        network: &mut Network<'env>,
        purpose: Purpose,
    ) -> Result<Pending<'env>, Failure>;

    /// Runs a form that is no Kahn network. `interrupt` is to be told what can be stopped; `--live` shows it, if it
    /// can be [looked at](crate::Stopper::of).
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Run`] if it does not finish.
    fn perform(
        &self,
        form: Form,
        _options: Options,
        _interrupt: &Interrupt,
    ) -> Result<(Answer<'_>, Option<Report>), Failure> {
        Err(Failure::input(format!("this program has no variant `{}`", form.name)))
    }

    /// Computes, without any network, what all of its forms must print, if it can.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Run`] if there is no result.
    fn expected(&self) -> Result<Option<Answer<'_>>, Failure> {
        Ok(None)
    }

    /// Returns what the one who started the program must know before it ends, such as an address.
    fn announcement(&self) -> Option<String> {
        None
    }

    /// Returns what counts how far a run has got, if the program counts it; messages are counted otherwise.
    /// `bytes` are shown as such.
    fn progress(&self) -> Option<Progress> {
        None
    }
}

/// Finds the form that `--variant` names, among those of these kinds, the first if it names none; and refuses what is
/// typed and that does not heed.
pub(crate) fn form_of(
    program: &dyn Program,
    matches: &ArgMatches,
    typed: Option<&str>,
    only_networks: bool,
) -> Result<Form, Failure> {
    let form = form_named(program, typed, only_networks)?;
    let heeds = |form: Form, id: &str| {
        let has_stages = id != PARTS || form.kind != Kind::Sequential;
        has_stages && program.heeds(form, id)
    };
    let command = program.command();
    let own = command.get_arguments().map(|arg| (arg.get_id().as_str(), arg.get_long()));
    let is_typed = |id: &str| {
        // Not every program has parts.
        let is_known = matches.try_contains_id(id).is_ok();
        is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let mut all = own.chain([(PARTS, Some(PARTS))]).filter(|(id, _)| is_typed(id));
    let Some((id, long)) = all.find(|(id, _)| !heeds(form, id)) else { return Ok(form) };
    let option = long.map_or_else(|| id.to_owned(), |long| format!("--{long}"));
    let (name, form) = (command.get_name(), form.name);
    let what = format!("{option} has no effect on the variant `{form}` of `{name}`");
    let others = program.forms().iter().filter(|other| heeds(**other, id));
    let others: Vec<_> = others.map(|other| other.name).collect();
    let help = format!("leave it out, or choose another with --variant: {}", others.join(", "));
    Err(Failure::input(what).with_help(help))
}

fn form_named(
    program: &dyn Program,
    typed: Option<&str>,
    only_networks: bool,
) -> Result<Form, Failure> {
    let command = program.command();
    let name = command.get_name();
    let is_meant = |form: &Form| !only_networks || form.kind == Kind::Network;
    let forms: Vec<_> = program.forms().iter().copied().filter(is_meant).collect();
    let Some(&first) = forms.first() else {
        return Err(Failure::input(format!("`{name}` is no Kahn network")).with_help(
            "its processes choose (see `kahn-csp`): what they are is known only as they run, \
             and no other schedule need give the same",
        ));
    };
    let Some(typed) = typed else { return Ok(first) };
    if let Some(form) = forms.iter().find(|form| form.name == typed) {
        return Ok(*form);
    }
    let is_other = program.forms().iter().any(|form| form.name == typed);
    let names: Vec<_> = forms.iter().map(|form| form.name).collect();
    let (what, has) = if is_other {
        (format!("variant `{typed}` of `{name}` is no Kahn network"), "these are")
    } else {
        (format!("`{name}` has no variant `{typed}`"), "it has")
    };
    Err(Failure::input(what).with_help(format!("{has}: {}", names.join(", "))))
}
