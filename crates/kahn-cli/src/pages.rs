//! What is made of the command line besides a parser: completions and the pages of the manual.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_mangen::Man;
use kahn_command::{Failure, note, write};

pub(crate) fn completions_command() -> Command {
    let shell = Arg::new("shell").required(true).value_parser(value_parser!(Shell));
    Command::new("completions").about("Writes completions for a shell").arg(shell)
}

/// Writes the completions for a shell to standard output.
pub(crate) fn completions(matches: &ArgMatches, mut command: Command) -> Result<(), Failure> {
    let Some(shell) = matches.get_one::<Shell>("shell").copied() else { return Ok(()) };
    // The generator panics when it cannot write, so it writes to memory first.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "kahn", &mut script);
    write(|out| out.write_all(&script))
}

pub(crate) fn manual_command() -> Command {
    let folder = Arg::new("folder").value_name("FOLDER").value_parser(value_parser!(PathBuf)).help(
        "Writes a page for each subcommand and program: kahn.1, kahn-run.1, kahn-run-sieve.1",
    );
    Command::new("man").about("Writes the manual: its first page, or all into a folder").arg(folder)
}

/// Writes the first page of the manual to standard output, or all pages into a folder.
pub(crate) fn manual(matches: &ArgMatches, mut command: Command) -> Result<(), Failure> {
    command.build();
    let Some(folder) = matches.get_one::<PathBuf>("folder") else {
        let page = page(command).map_err(|error| Failure::input(error.to_string()))?;
        return write(|out| out.write_all(&page));
    };
    let failed = |cause: io::Error| {
        let help = "name a folder that may be written to";
        Failure::input(format!("{}: {cause}", folder.display())).with_help(help)
    };
    fs::create_dir_all(folder).map_err(failed)?;
    let mut pages = Vec::new();
    collect("kahn", command, &mut pages);
    let count = pages.len();
    for (name, command) in pages {
        let page = page(command).map_err(failed)?;
        fs::write(folder.join(format!("{name}.1")), page).map_err(failed)?;
    }
    note(format_args!("wrote {count} pages into {}", folder.display()));
    Ok(())
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}

/// A command and all that stand below it, those that are not shown left out.
fn collect(name: &str, command: Command, into: &mut Vec<(String, Command)>) {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        if inner.get_name() != "help" {
            collect(&format!("{name}-{}", inner.get_name()), inner.clone(), into);
        }
    }
    into.push((name.to_owned(), command.name(name.to_owned().leak() as &str)));
}
