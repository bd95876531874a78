//! `graph`: the network of a program, as DOT or as a picture.

use clap::ArgMatches;
use kahn::Network;

use crate::arguments::{GraphArguments, Shape};
use crate::program::{Program, Purpose, form_of};
use crate::{Failure, output, ranks, result};

/// Writes the network as DOT to standard output, or as a picture to where it is asked for.
pub(crate) fn graph(
    program: &dyn Program,
    matches: &ArgMatches,
    arguments: &GraphArguments,
) -> Result<(), Failure> {
    let shape = Shape::of(matches);
    if let Some(path) = &arguments.svg {
        output::check_writable(path)?;
    }
    let form = form_of(program, matches, shape.variant.as_deref(), true)?;
    let prepared = program.prepare(matches, shape.settings(program)?)?;
    let mut network = Network::new();
    let ranks = arguments.ranks.ranks;
    let purpose = if ranks.is_some() { Purpose::Ranks } else { Purpose::Graph };
    let _pending = prepared.build(form, &mut network, purpose)?;
    if let Some(count) = ranks {
        let table = ranks::table(&network, count, &arguments.ranks.placement()?)?;
        return result::write(|out| writeln!(out, "{table}"));
    }
    match &arguments.svg {
        Some(path) => {
            let picture = network.svg();
            output::write_whole(path, |out| out.write_all(picture.as_bytes()))
        }
        None => result::write(|out| out.write_all(network.dot().as_bytes())),
    }
}
