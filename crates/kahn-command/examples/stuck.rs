//! A ring that is stuck beside what goes on: `docs/live.md` looks at it.
//!
//! ```text
//!  hen ⇄ egg        numbers ──► mixed ──► sum
//! ```
//!
//! ```sh
//! cargo run --release -p kahn-command --features live --example stuck -- run --serve 127.0.0.1:0
//! ```

use kahn_command::Answer;
use std::process::ExitCode;

/// Adds up numbers, beside two processes of which each waits for what the other sends first.
#[derive(clap::Args)]
struct Arguments {
    /// How many numbers are added up
    #[arg(default_value_t = 10_000_000)]
    numbers: u64,
}

fn mix(number: u64) -> u64 {
    (0..200).fold(number, |mixed, round| (mixed ^ round).wrapping_mul(0x100_0000_01b3))
}

fn main() -> ExitCode {
    kahn_command::main(|Arguments { numbers }: &Arguments, network| {
        let (lay, eggs) = network.channel::<u64>("eggs");
        let (hatch, chicks) = network.channel::<u64>("chicks");
        network.process("hen", (chicks, lay), async |(mut chicks, mut lay)| {
            while let Some(chick) = chicks.recv().await {
                lay.send(chick).await;
            }
        });
        network.process("egg", (eggs, hatch), async |(mut eggs, mut hatch)| {
            while let Some(egg) = eggs.recv().await {
                hatch.send(egg).await;
            }
        });
        let numbers = network.source("numbers", 0..*numbers);
        let mixed = network.map("mixed", numbers, mix);
        let sum = network.fold("sum", mixed, 0_u64, u64::wrapping_add);
        Ok(Answer::new(move |out| writeln!(out, "{}", sum.take().unwrap_or_default())))
    })
}
