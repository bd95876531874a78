//! What a trace costs: runs two processes with a trace of this level, for a counter of instructions.
//!
//! ```text
//! cargo build --release -p kahn-observe --example cost
//! valgrind --tool=callgrind target/release/examples/cost schedule 30000 1
//! ```
//!
//! The difference between 30 000 messages and 10 000 is what 20 000 of them cost.

use kahn::{Network, Options, RunError};
use kahn_observe::trace::Trace;
use std::env;
use std::sync::Arc;

fn main() -> Result<(), RunError> {
    let typed: Vec<String> = env::args().skip(1).collect();
    let number = |place: usize| typed.get(place).and_then(|word| word.parse().ok());
    let (messages, capacity) = (number(1).unwrap_or(1000), number(2).unwrap_or(1));
    let mut network = Network::new();
    let (out, numbers) = network.channel::<u32>("numbers");
    network.process("write", out, async move |mut out| {
        for number in 0..messages {
            out.send(number).await;
        }
    });
    network.process("read", numbers, async |mut numbers| while numbers.recv().await.is_some() {});
    let mut options = Options::new().workers(1).capacity(capacity);
    // None, or a word that is no level: nothing is traced.
    if let Some(level) = typed.first().and_then(|level| level.parse().ok()) {
        options = options.observer(Arc::new(Trace::new(level)));
    }
    network.run_with(options)?;
    Ok(())
}
