//! Compressing and decompressing as networks of processes.
//!
//! ```text
//! compress:    read ──► pack ──► write        decompress:   read ──► cut ──► unpack ──► write
//!               ▲                │                               ▲                 │
//!               └──── spare ◄────┘                               └──── spare ◄─────┘
//! ```
//!
//! The loop carries buffers back. It bounds what is read and not yet written exactly, whatever the
//! capacities of channels are. Errors travel in the stream, in the place of the block that they are
//! about: so what comes before is written first, and what comes after is not.

mod compress;
mod cut;
mod decompress;
mod piece;

pub(crate) use compress::compress_telling;
pub use compress::{Packed, compress, compress_with};
pub(crate) use decompress::{Part, decompress_telling};
pub use decompress::{Unpacked, decompress, decompress_with};

use crate::Error;
use kahn::{Network, Options};
use std::sync::mpsc;

/// Runs a network whose last process tells what came out, and returns that.
///
/// The outcome is told as soon as it is known: a reader that is still in a call of the system does not
/// hold it up.
fn run<T>(
    network: Network<'_>,
    options: Options,
    outcome: &mpsc::Receiver<Result<T, Error>>,
) -> Result<T, Error> {
    let ran = network.run_with(options);
    match outcome.try_recv() {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Run(ran.err().map_or_else(
            || "the network ended without an outcome".to_owned(),
            |error| error.to_string(),
        ))),
    }
}
