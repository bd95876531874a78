//! `kahn snet graph`.

use super::run::net_of;
use super::{GraphArguments, Refusal, Streams, program_of, write_whole};
use crate::plan::{dot, svg};

pub(super) fn graph(arguments: &GraphArguments, streams: &mut Streams<'_>) -> Result<(), Refusal> {
    let program = program_of(&arguments.file, streams)?;
    let net = net_of(&program, arguments.net.as_deref())?;
    match &arguments.svg {
        None => streams.print(&dot(program.plan(), net)),
        Some(path) => write_whole(path, svg(program.plan(), net).as_bytes()),
    }
}
