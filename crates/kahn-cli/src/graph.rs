//! `kahn graph`: the network of a program, as DOT or as a picture.

use clap::ArgMatches;
use kahn::Network;
use kahn_apps::{App, Compare, Failure, output};

use crate::arguments::GraphArguments;
use crate::result;

/// Writes the network as DOT to standard output, or as a picture to where it is asked for.
pub(crate) fn graph(
    app: &App,
    matches: &ArgMatches,
    arguments: &GraphArguments,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.svg {
        output::check_writable(path)?;
    }
    let variant = arguments.shape.network(app)?;
    let settings = app.settings(arguments.shape.parts, arguments.shape.seed)?;
    let program = (app.prepare)(matches, &settings)?;
    let mut network = Network::new();
    let _pending = kahn_apps::build(&*program, variant, &mut network, Compare::Numbers)?;
    match &arguments.svg {
        Some(path) => {
            let picture = network.svg();
            output::write_whole(path, &|out| out.write_all(picture.as_bytes()))
        }
        None => result::write(|out| out.write_all(network.dot().as_bytes())),
    }
}
