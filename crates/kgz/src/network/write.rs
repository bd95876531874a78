//! Writing, and telling what came of it.
//!
//! ```text
//!   check ──► write ──► tell        puts, written
//!     └───────────────────▲         verdict
//! ```
//!
//! What is right and what is wrong is decided before `write`, by a process that does nothing else: so it is decided
//! anew when a run is replayed, in which nothing is written. `tell` learns from `write` that all which came is written,
//! or that it cannot be; that was recorded.

use super::written;
use crate::Error;
use kahn::{Network, Process, Receiver, Sender};
use std::io::Write;
use std::ops::Range;
use std::sync::mpsc;

/// What is written next.
pub(super) enum Put<M> {
    /// A part of this memory, which then goes back.
    Part { memory: M, range: Range<usize> },
    /// These bytes, which the format has around blocks.
    Bytes(Vec<u8>),
    /// Nothing more, for something is wrong. That is what is told, whatever else may fail now.
    Nothing,
}

/// Memory with bytes to be written.
pub(super) trait Memory: Send {
    fn bytes(&self) -> &[u8];
}

/// Has the network write, and tell the verdict if that could be done.
pub(super) fn write<'env, M, T>(
    network: &mut Network<'env>,
    mut output: impl Write + Send + 'env,
    (puts, spare): (Receiver<Put<M>>, Sender<M>),
    verdict: Receiver<Result<T, Error>>,
    tell: mpsc::Sender<Result<T, Error>>,
) where
    M: Memory + 'env,
    T: Send + 'env,
{
    let (written_out, written) = network.channel_with(written::channel("written"));
    let write = Process::named("write").effects();
    network.blocking_with(write, (puts, spare, written_out), move |(puts, spare, mut written)| {
        let done: Result<(), Error> = put_all(&mut output, puts, spare);
        if done.is_err() {
            // What is right so far is written, if it can be; the first error is the one that is told.
            let _ = output.flush();
        }
        written.send_blocking(done);
    });
    network.process("tell", (written, verdict), async move |(mut written, mut verdict)| {
        let outcome = match written.recv().await {
            Some(Ok(())) => verdict.recv().await,
            Some(Err(error)) => Some(Err(error)),
            None => None,
        };
        if let Some(outcome) = outcome {
            // The caller may have gone.
            let _ = tell.send(outcome);
        }
    });
}

fn put_all<M: Memory>(
    output: &mut impl Write,
    mut puts: Receiver<Put<M>>,
    mut spare: Sender<M>,
) -> Result<(), Error> {
    let mut written = 0;
    let mut put = |output: &mut dyn Write, bytes: &[u8]| {
        output.write_all(bytes).map_err(|source| Error::Write { written, source })?;
        written += bytes.len() as u64;
        Ok(())
    };
    while let Some(next) = puts.recv_blocking() {
        match next {
            Put::Part { memory, range } => {
                put(output, &memory.bytes()[range])?;
                spare.send_blocking(memory);
            }
            Put::Bytes(bytes) => put(output, &bytes)?,
            Put::Nothing => {
                let _ = output.flush();
                return Ok(());
            }
        }
    }
    output.flush().map_err(|source| Error::Write { written, source })
}
