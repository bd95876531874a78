//! The result on standard output.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};

use crate::Failure;

/// Writes a result that is complete, and makes sure that all of it has left.
///
/// That the reader has left early is fine: it has what it wanted.
///
/// # Examples
///
/// ```
/// kahn_command::write(|out| writeln!(out, "42"))?;
/// # Ok::<(), kahn_command::Failure>(())
/// ```
///
/// # Errors
///
/// Returns [`Failure::Output`] if it cannot be written.
pub fn write(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
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

/// Writes text that has colours, which are left out where they would not be seen.
pub(crate) fn write_styled(text: &str) -> Result<(), Failure> {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => write(|out| write!(out, "{}", strip_str(text))),
        _ => write(|out| out.write_all(text.as_bytes())),
    }
}
