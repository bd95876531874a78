//! The command `kahn`: runs programs that are process networks, checks them, draws them.
//!
//! What a command does with a network is the crate `kahn-command`, which any program may use; here are
//! the programs ([`apps`]), the papers' figures ([`experiment`]), lists, completions and pages of the
//! manual.

mod apps;
#[cfg(feature = "experiments")]
mod experiment;
mod list;
#[cfg(feature = "pages")]
mod pages;
#[cfg(feature = "snet")]
mod snet;

use std::cell::Cell;
use std::process::ExitCode;

use clap::Command;
use clap::error::ErrorKind;
use kahn_command::{Cluster, Failure, Menu};

/// Does what was typed, and returns the exit code; programs run over the ranks of a cluster, if this is one.
///
/// # Examples
///
/// The command `kahn` itself:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     kahn_cli::main(None)
/// }
/// ```
#[must_use]
pub fn main(cluster: Option<&dyn Cluster>) -> ExitCode {
    let code = Cell::new(ExitCode::SUCCESS);
    let started = match cluster {
        Some(cluster) => {
            kahn_command::start_over(cluster, "kahn-mpi", || perform(&code, Some(cluster)))
        }
        None => kahn_command::start("kahn", || perform(&code, None)),
    };
    if started == ExitCode::SUCCESS { code.get() } else { started }
}

/// Does it; `code` is another exit code than that of success, if the program has one.
#[cfg_attr(
    not(feature = "snet"),
    expect(unused_variables, reason = "only S-Net programs have one")
)]
fn perform(code: &Cell<ExitCode>, cluster: Option<&dyn Cluster>) -> Result<(), Failure> {
    apps::with_menu(|menu| {
        let menu = match cluster {
            Some(cluster) => menu.over(cluster),
            None => menu,
        };
        let matches = command(menu).try_get_matches().map_err(|error| menu.explain(error, LIST))?;
        if let Some(done) = menu.perform(&matches) {
            return done;
        }
        if cluster.is_some_and(|cluster| cluster.rank() != 0) {
            return Ok(());
        }
        match matches.subcommand() {
            Some(("trace", own)) => kahn_command::trace::perform(own),
            Some(("list", _)) => list::list(),
            #[cfg(feature = "pages")]
            Some(("completions", own)) => pages::completions(own, command(menu)),
            #[cfg(feature = "pages")]
            Some(("man", own)) => pages::manual(own, command(menu)),
            #[cfg(feature = "experiments")]
            Some(("experiment", own)) => experiment::experiment(own),
            #[cfg(feature = "snet")]
            Some(("snet", own)) => {
                code.set(snet::perform(own)?);
                Ok(())
            }
            _ => Err(incomplete(command(menu)).into()),
        }
    })
}

/// Says that something is missing; the parser has seen to it that nothing is.
fn incomplete(mut command: Command) -> clap::Error {
    command.error(ErrorKind::MissingSubcommand, "expected a command; see `kahn --help`")
}

/// Where all programs are listed.
const LIST: &str = if cfg!(all(feature = "communicating", feature = "streamit")) {
    "`kahn list` shows all programs"
} else {
    "`kahn list` shows all programs; there are more if it is built with `--features full`"
};

/// Makes the whole command from the tables.
fn command(menu: Menu<'_>) -> Command {
    let command = Command::new("kahn")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs programs that are networks of processes joined by channels")
        .after_help(examples())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(100)
        .subcommands(menu.subcommands());
    #[cfg(feature = "snet")]
    let command = command.subcommand(snet::command());
    #[cfg(feature = "experiments")]
    let command = command.subcommand(experiment::command());
    let command = command.subcommand(kahn_command::trace::command()).subcommand(
        Command::new("list").about("Lists programs, with their variants, and policies"),
    );
    #[cfg(feature = "pages")]
    let command =
        command.subcommand(pages::completions_command()).subcommand(pages::manual_command());
    command
}

/// What to type, of what this build can do.
fn examples() -> String {
    let mut text = EXAMPLES.to_owned();
    if cfg!(feature = "pages") {
        text += "\n  kahn completions bash > ~/.local/share/bash-completion/completions/kahn";
        text += "\n  kahn man ~/.local/share/man/man1               the manual: `man kahn`";
    }
    if cfg!(feature = "snet") {
        text += "\n  kahn snet run factorial.snet --input records.json      records through an S-Net program";
    }
    if cfg!(feature = "experiments") {
        text += "\n  kahn experiment list                           the tables and figures of the papers";
    }
    text
}

const EXAMPLES: &str = "\
Examples:
  kahn run wordcount book.txt                    the words of a file, the most frequent first
  kahn run kmeans points.csv --groups 8 --report eight groups, and what it cost to find them
  kahn run wordcount book.txt --variant mapreduce        the same as two MapReduce jobs
  kahn verify wordcount book.txt                 the same under every schedule?
  kahn graph kmeans --random 100 --groups 3 --svg kmeans.svg        a picture of the network
  kahn run sieve 100 --trace run.perfetto-trace  what each process did: https://ui.perfetto.dev
  kahn trace diff a.perfetto-trace b.perfetto-trace      what is other in the second run";

#[cfg(test)]
mod tests {
    use super::*;
    use kahn_policies::POLICIES;

    fn typed(line: &str) -> Result<clap::ArgMatches, clap::Error> {
        apps::with_menu(|menu| command(menu).try_get_matches_from(line.split(' ')))
    }

    #[test]
    fn the_command_is_well_formed() {
        apps::with_menu(|menu| command(menu).debug_assert());
    }

    #[test]
    fn options_may_stand_before_and_behind_the_program() {
        for line in ["kahn run --parts 3 aes", "kahn run aes --parts 3"] {
            let matches = typed(line).unwrap();
            let (_, run) = matches.subcommand().unwrap();
            let (name, own) = run.subcommand().unwrap();
            assert_eq!((name, own.get_one::<usize>("parts")), ("aes", Some(&3)), "{line}");
        }
        // Also those which the program does not show, for it does not heed them: they are refused.
        let matches = typed("kahn run --parts 3 sieve 10").unwrap();
        let (_, own) = matches.subcommand().unwrap().1.subcommand().unwrap();
        assert_eq!(own.get_one::<usize>("parts"), Some(&3));
    }

    #[test]
    fn nothing_that_must_be_one_or_more_can_be_zero() {
        for option in ["--workers", "--capacity", "--parts"] {
            for number in ["0", "-1", "x", "1.5"] {
                let line = format!("kahn run sieve 10 {option}={number}");
                assert!(typed(&line).is_err(), "{line}");
            }
        }
        assert!(typed("kahn run kmeans p.csv --groups 0").is_err());
    }

    #[test]
    fn help_lists_what_a_subcommand_can_do_with_a_program_and_nothing_else() {
        let cases = [
            ("run aes", "--parts", true),
            ("run sieve", "--parts", false),
            ("run sieve", "--capacity", true),
            ("graph wordcount", "--svg", true),
            ("graph wordcount", "--workers", false),
            ("graph aes", "--variant", false),
            ("verify", "sieve", true),
            ("run sieve", "--tau", cfg!(feature = "partition")),
        ];
        // Processes that choose have no capacities, and only run.
        let choosing = [
            ("run commstime", "--workers", true),
            ("run commstime", "--capacity", false),
            ("run proxy", "--variant", false),
            ("run", "  bank ", true),
            ("verify", "  bank ", false),
        ];
        let choosing = choosing.into_iter().filter(|_| cfg!(feature = "communicating"));
        for (subcommand, word, is_there) in cases.into_iter().chain(choosing) {
            let help = typed(&format!("kahn {subcommand} --help")).unwrap_err().to_string();
            // Examples are of any subcommand.
            let help = help.split("Examples:").next().unwrap_or_default();
            assert_eq!(help.contains(word), is_there, "{subcommand}: {word}\n{help}");
        }
    }

    #[test]
    fn examples_are_of_what_this_build_can_do() {
        for line in examples().lines().filter_map(|line| line.trim().strip_prefix("kahn ")) {
            let name = line.split(' ').next().unwrap_or_default();
            let is_there = apps::with_menu(|menu| command(menu).find_subcommand(name).is_some());
            assert!(is_there, "{line}");
        }
    }

    #[test]
    fn every_policy_of_the_table_can_be_typed_and_no_other() {
        for policy in POLICIES {
            assert!(typed(&format!("kahn run sieve 10 --policy {}", policy.name())).is_ok());
        }
        assert!(typed("kahn run sieve 10 --policy nothing").is_err());
    }
}
