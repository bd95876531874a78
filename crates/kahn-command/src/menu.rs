//! Programs by name, behind the subcommands `run`, `verify`, `graph`, `replay` and `resume`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, FromArgMatches as _};

use crate::again::Recorded;
use crate::arguments::{GraphArguments, RunArguments, Verb, VerifyArguments};
use crate::program::Program;
use crate::{Cluster, Failure, again, graph, ranks, run, verify};

/// Several programs, for a command that has others besides: `run NAME`, `verify NAME`, `graph NAME`,
/// `replay FILE`, `resume FILE`.
///
/// [`main`](crate::main) is the whole of a command that has one.
///
/// # Examples
///
/// ```no_run
/// use clap::{ArgMatches, Command};
/// use kahn::Network;
/// use kahn_command::{
///     Answer, Failure, Form, Menu, Pending, Prepared, Program, Purpose, Settings, start,
/// };
/// use std::process::ExitCode;
///
/// /// Numbers up to N; `tool run count`, `tool verify count`, `tool graph count`.
/// struct Count(u32);
///
/// impl Program for Count {
///     fn command(&self) -> Command {
///         Command::new("count").about("counts")
///     }
///
///     fn prepare(
///         &self,
///         _matches: &ArgMatches,
///         _settings: Settings,
///     ) -> Result<Box<dyn Prepared + '_>, Failure> {
///         Ok(Box::new(Ready(self.0)))
///     }
/// }
///
/// struct Ready(u32);
///
/// impl Prepared for Ready {
///     fn build<'env>(
///         &'env self,
///         _form: Form,
///         network: &mut Network<'env>,
///         _purpose: Purpose,
///     ) -> Result<Pending<'env>, Failure> {
///         let numbers = network.source("numbers", 0..self.0);
///         let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
///         Ok(Box::new(move || Some(Answer::from(sum))))
///     }
/// }
///
/// fn main() -> ExitCode {
///     start("tool", || {
///         let menu = Menu::new(&[&Count(10)]);
///         let command = Command::new("tool").subcommands(menu.subcommands());
///         let matches = command.try_get_matches().map_err(|error| menu.explain(error, ""))?;
///         menu.perform(&matches).unwrap_or(Ok(()))
///     })
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Menu<'a> {
    programs: &'a [&'a dyn Program],
    cluster: Option<&'a dyn Cluster>,
}

impl<'a> Menu<'a> {
    /// Makes a menu of these programs, in the order of its help.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::{Menu, Program};
    ///
    /// fn of_two<'a>(programs: &'a [&'a dyn Program; 2]) -> Menu<'a> {
    ///     Menu::new(programs)
    /// }
    /// ```
    pub fn new(programs: &'a [&'a dyn Program]) -> Self {
        Self { programs, cluster: None }
    }

    /// Has `run` run programs over these ranks; whatever else is typed, rank 0 does alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::{Cluster, Menu, Program};
    ///
    /// fn over<'a>(programs: &'a [&'a dyn Program], cluster: &'a dyn Cluster) -> Menu<'a> {
    ///     Menu::new(programs).over(cluster)
    /// }
    /// ```
    #[must_use]
    pub fn over(self, cluster: &'a dyn Cluster) -> Self {
        Self { cluster: Some(cluster), ..self }
    }

    /// Makes the subcommands `run`, `verify`, `graph`, `replay` and `resume`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_command::Menu;
    ///
    /// let names = Menu::new(&[]).subcommands().map(|command| command.get_name().to_owned());
    /// assert!(names.eq(["run", "verify", "graph", "replay", "resume"]));
    /// ```
    pub fn subcommands(self) -> impl Iterator<Item = Command> {
        subcommands(move |verb| self.subcommand(verb))
    }

    fn named(self, name: &str) -> Option<&'a dyn Program> {
        self.programs.iter().copied().find(|program| program.command().get_name() == name)
    }

    /// Does again what is recorded, or goes on with it.
    fn again(self, recorded: Recorded) -> Result<(), Failure> {
        let typed = recorded.matches(self.subcommand(Verb::Run))?;
        let own = typed.subcommand().filter(|(name, _)| *name == recorded.program());
        let run = own.and_then(|(name, own)| Some((self.named(name)?, own)));
        let Some((program, own)) = run else {
            return Err(Failure::input(format!("there is no program `{}`", recorded.program())));
        };
        recorded.run(program, own)
    }

    fn subcommand(self, verb: Verb) -> Command {
        let programs = self.programs.iter().map(|program| {
            let command = verb.hide_unheeded(*program, program.command());
            command.hide(!verb.takes_any(*program))
        });
        let command =
            Command::new(verb.name()).about(about(verb, "a program")).after_help(notes(verb));
        verb.augment_all(command)
            .subcommands(programs)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_value_name(PLACE)
            .subcommand_help_heading("Programs")
            .disable_help_subcommand(true)
    }

    /// Does what was typed, if it was one of the subcommands of this menu.
    ///
    /// # Examples
    ///
    /// ```
    /// use clap::Command;
    /// use kahn_command::Menu;
    ///
    /// let menu = Menu::new(&[]);
    /// let tool = Command::new("tool").subcommands(menu.subcommands());
    /// let matches = tool.subcommand(Command::new("list")).get_matches_from(["tool", "list"]);
    /// assert!(menu.perform(&matches).is_none(), "it is for the tool to do");
    /// ```
    ///
    /// # Errors
    ///
    /// Returns why there is no result.
    pub fn perform(self, matches: &ArgMatches) -> Option<Result<(), Failure>> {
        let (name, matches) = matches.subcommand()?;
        if let Some(cluster) = self.cluster {
            if name == Verb::Run.name() {
                let (name, own) = matches.subcommand()?;
                let arguments = RunArguments::from_arg_matches(own);
                let program = self.named(name)?;
                return Some(match arguments {
                    Ok(arguments) => ranks::run_over(cluster, program, own, arguments),
                    Err(error) => Err(error.into()),
                });
            }
            if cluster.rank() != 0 {
                return Some(Ok(()));
            }
        }
        match Recorded::open(name, matches) {
            Ok(None) => {}
            Ok(Some(recorded)) => return Some(self.again(recorded)),
            Err(failure) => return Some(Err(failure)),
        }
        let verb = Verb::ALL.into_iter().find(|verb| verb.name() == name)?;
        let (name, own) = matches.subcommand()?;
        Some(perform(verb, self.named(name)?, own))
    }

    /// Says it better than the parser if a program was meant that there is not. `list` tells where all are
    /// listed.
    ///
    /// # Examples
    ///
    /// ```
    /// use clap::Command;
    /// use kahn_command::Menu;
    /// # use kahn_command::{Failure, Prepared, Program, Settings};
    /// # struct Count;
    /// # impl Program for Count {
    /// #     fn command(&self) -> Command { Command::new("count") }
    /// #     fn prepare(&self, _: &clap::ArgMatches, _: Settings)
    /// #         -> Result<Box<dyn Prepared + '_>, Failure> { Err(Failure::input("not here")) }
    /// # }
    ///
    /// let menu = Menu::new(&[&Count]);
    /// let tool = Command::new("tool").subcommands(menu.subcommands());
    /// let error = tool.try_get_matches_from(["tool", "run", "nosuch"]).unwrap_err();
    /// let failure = menu.explain(error, "`tool list` shows all programs");
    /// assert_eq!(failure.to_string(), "there is no program `nosuch`");
    /// ```
    #[must_use]
    pub fn explain(self, error: clap::Error, list: &str) -> Failure {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => texts.first().cloned(),
            Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
            _ => None,
        };
        let is_here = text(ContextKind::Usage).is_some_and(|usage| usage.contains(PLACE));
        match text(ContextKind::InvalidSubcommand) {
            Some(typed) if error.kind() == ErrorKind::InvalidSubcommand && is_here => {
                let help = match text(ContextKind::SuggestedSubcommand) {
                    Some(nearest) => format!("is `{nearest}` meant? {list}"),
                    None => list.to_owned(),
                };
                Failure::input(format!("there is no program `{typed}`")).with_help(help)
            }
            _ => error.into(),
        }
    }
}

/// What stands for the name of a program in usages.
const PLACE: &str = "APP";

impl std::fmt::Debug for Menu<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.programs.iter().map(|program| program.command().get_name().to_owned());
        f.debug_tuple("Menu").field(&names.collect::<Vec<_>>()).finish()
    }
}

/// All subcommands of a command for programs, of which `of` makes those that say something about them.
pub(crate) fn subcommands(of: impl FnMut(Verb) -> Command) -> impl Iterator<Item = Command> {
    Verb::ALL.into_iter().map(of).chain(again::commands())
}

/// Does something with a program.
pub(crate) fn perform(
    verb: Verb,
    program: &dyn Program,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    match verb {
        Verb::Run => {
            run::run(program, matches, &RunArguments::from_arg_matches(matches)?, None, None)
        }
        Verb::Verify => {
            verify::verify(program, matches, &VerifyArguments::from_arg_matches(matches)?)
        }
        Verb::Graph => graph::graph(program, matches, &GraphArguments::from_arg_matches(matches)?),
    }
}

/// Says what a subcommand does.
pub(crate) fn about(verb: Verb, what: &str) -> String {
    match verb {
        Verb::Run => format!("Runs {what}; its result goes to standard output"),
        Verb::Verify => format!("Runs {what} under many schedules and compares"),
        Verb::Graph => format!("Writes the network of {what} as DOT, or draws it as SVG"),
    }
}

/// What is said at the end of the help of a subcommand.
pub(crate) fn notes(verb: Verb) -> &'static str {
    match verb {
        Verb::Run => {
            "\
Exit codes: 0 finished, 1 the run failed, 2 wrong usage or bad input, 130 stopped by Ctrl-C."
        }
        Verb::Verify => {
            "\
Exit codes: 0 every schedule gives the same messages on every channel and the same output, 1 not:
the first difference is shown, 2 wrong usage or bad input, 130 stopped by Ctrl-C, without a verdict."
        }
        Verb::Graph => "A network that grows as it runs is shown as it starts.",
    }
}
