//! The result on standard output.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use kahn_apps::Failure;

/// Writes a result that is complete, and makes sure that all of it has left.
///
/// That the reader has left early is fine: it has what it wanted.
pub(crate) fn write(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    match content(&mut out).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Output { path: PathBuf::from("standard output"), cause })
        }
        _ => {
            // After a broken pipe the rest must not be tried again.
            let (_stdout, _rest) = out.into_parts();
            Ok(())
        }
    }
}
