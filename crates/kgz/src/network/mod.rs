//! Compressing and decompressing as networks of processes.
//!
//! ```text
//! compress:    read ──► pack ──► frame ──► write ──► tell
//!               ▲                  │        │         ▲
//!               └────── spare ◄────│────────┘         │
//!                                  └──── verdict ─────┘
//!
//! decompress:  read ──► cut ──► unpack ──► check ──► write ──► tell
//!                        ▲                   │        │         ▲
//!                        └────── spare ◄─────│────────┘         │
//!                                            └──── verdict ─────┘
//! ```
//!
//! The loop carries buffers back. It bounds what is read and not yet written exactly, whatever the
//! capacities of channels are. Errors travel in the stream, in the place of the block that they are
//! about: so what comes before is written first, and what comes after is not.
//!
//! `read` and `write` are all that is joined to the outside. The messages which they send have written forms: what is
//! recorded of a run is enough to come to its verdict again, without the input and the output.

mod compress;
mod cut;
mod decompress;
mod piece;
mod write;
mod written;

pub(crate) use compress::compress_telling;
pub use compress::{Packed, compress, compress_with};
pub(crate) use decompress::{Part, decompress_telling};
pub use decompress::{Unpacked, decompress, decompress_with};

use crate::Error;
use kahn::{Network, Options};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};

/// How a network is run.
pub(crate) struct Run {
    pub(crate) options: Options,
    /// What is done with it before it has a process.
    pub(crate) prepare: Box<dyn FnOnce(&mut Network<'_>) + Send>,
    /// Whether it ends by itself, for no process of it waits for input: then its end is waited for, and not its
    /// outcome alone. A recording that says how the input ended says all that the outcome rests on.
    pub(crate) has_no_input: Arc<AtomicBool>,
}

impl Run {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, prepare: Box::new(|_| {}), has_no_input: Arc::default() }
    }
}

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
