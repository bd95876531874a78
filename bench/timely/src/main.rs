//! What `kahn-mpi`'s example `stream` measures, with timely: messages of eight bytes, one there and back, tiles of
//! 32 KiB, between two processes over its own connections. One worker in each, beside two threads for the connection.
//!
//! ```text
//! kahn-bench-timely -n 2 -p 0 & kahn-bench-timely -n 2 -p 1
//!
//! count (1) ──exchange──► add up (0)        (1) ──exchange──► (0) ──exchange──► (1) …        tiles (1) ──exchange──► add up (0)
//! ```
//!
//! Worker 0 tells. What is sent is not bounded, so the sender steps after each batch, as timely's examples do.

use std::time::Instant;
use timely::communication::Allocate;
use timely::dataflow::InputHandle;
use timely::dataflow::operators::vec::{Branch, Map};
use timely::dataflow::operators::{
    BranchWhen, Concatenate, ConnectLoop, Exchange, Feedback, Input, Inspect, Probe,
};
use timely::worker::Worker;

const NUMBERS: u64 = 1_000_000;
const ROUNDS: u64 = 500;
const TILES: u64 = 2_000;
const TILE: usize = 4096;
const IN_A_BATCH: u64 = 4096;

fn main() {
    let ended = timely::execute_from_args(std::env::args(), |worker| {
        assert_eq!(worker.peers(), 2, "it is for two processes, -n 2");
        for is_measured in [false, true] {
            let tell = |what: &str, since: Instant, count: u64, bytes: usize| {
                let each = since.elapsed().as_secs_f64() / count as f64;
                println!(
                    "{what:<30} {:>10.1} ns each {:>8.3} GB/s",
                    each * 1e9,
                    bytes as f64 / each / 1e9
                );
            };
            let tells = is_measured && worker.index() == 0;
            let since = Instant::now();
            numbers(worker);
            if tells {
                tell("8 bytes, one after the other", since, NUMBERS, 8);
            }
            let since = Instant::now();
            round_trips(worker);
            if tells {
                tell("8 bytes, there and back", since, ROUNDS, 8);
            }
            let since = Instant::now();
            tiles(worker);
            if tells {
                tell("tiles of 32 KiB", since, TILES, TILE * 8);
            }
        }
    });
    if let Err(error) = ended {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}
