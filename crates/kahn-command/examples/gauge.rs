//! A program that fails once in a hundred runs, for `docs/replay.md`: what a gauge shows is not known before.
//!
//! ```sh
//! cargo run -p kahn-command --example gauge -- run --bundle crash
//! ```

use kahn::Channel;
use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

/// Tells how slow the slowest change of a gauge is.
#[derive(clap::Args)]
struct Arguments {
    /// How often the gauge is read
    #[arg(default_value_t = 200)]
    readings: u64,
}

/// What the gauge shows.
fn read_gauge() -> u64 {
    RandomState::new().hash_one("gauge") % 20_000
}

pub(crate) fn main() -> ExitCode {
    kahn_command::main(|arguments: &Arguments, network| {
        let (out, readings) = network.channel_with(Channel::named("readings").wire());
        network.blocking("gauge", out, |mut out| {
            for _ in 0..arguments.readings {
                out.send_blocking(read_gauge());
            }
        });
        let mut before = 20_000;
        let slowness = network.try_map("slowness", readings, move |now: u64| {
            let change = now.abs_diff(before);
            before = now;
            1_000_000_u64.checked_div(change).ok_or_else(|| "the change is 0".into())
        });
        Ok(network.fold("slowest", slowness, 0, u64::max).into())
    })
}
