//! What `kahn-mpi`'s example `stream` measures, with timely: messages of eight bytes, one there and back, tiles of
//! 32 KiB, between two processes over its own connections. One worker in each, beside two threads for the connection.
//!
//! ```text
//! kahn-bench-timely -n 2 -p 0 & kahn-bench-timely -n 2 -p 1
//!
//! count (1) ──exchange──► add up (0)        (1) ──exchange──► (0) ──exchange──► (1) …        tiles (1) ──exchange──► add up (0)
//! ```
//!
//! Worker 0 tells. What is sent is not bounded, so the sender steps after each batch. A worker that has nothing to do
//! is parked.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use timely::ExchangeData;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::vec::{Filter, Map};
use timely::dataflow::operators::{
    Concat, ConnectLoop, Exchange, Feedback, Input, Inspect, Probe, ToStream,
};
use timely::dataflow::{InputHandle, ProbeHandle};
use timely::worker::Worker;

const NUMBERS: u64 = 1_000_000;
const ROUNDS: u64 = 500;
const TILES: u64 = 2_000;
const TILE: usize = 4096;
const TOGETHER: [(&str, u64); 2] =
    [("8 bytes, 512 together", 512), ("8 bytes, 4096 together", 4096)];

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
            for (what, together) in TOGETHER {
                let since = Instant::now();
                one_way(worker, NUMBERS, together, |number| number);
                if tells {
                    tell(what, since, NUMBERS, 8);
                }
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

/// Sends so many from worker 1 to worker 0, which counts them; until both know that all have come.
fn one_way<D>(worker: &mut Worker, count: u64, in_a_batch: u64, make: impl Fn(u64) -> D)
where
    D: ExchangeData + Clone,
{
    let mut input = InputHandle::<u64, CapacityContainerBuilder<Vec<D>>>::new();
    let probe = ProbeHandle::new();
    let come = Rc::new(Cell::new(0));
    let counted = Rc::clone(&come);
    worker.dataflow(|scope| {
        scope
            .input_from(&mut input)
            .exchange(|_| 0)
            .inspect(move |_| counted.set(counted.get() + 1))
            .probe_with(&probe);
    });
    if worker.index() == 1 {
        for number in 0..count {
            input.send(make(number));
            if number % in_a_batch == in_a_batch - 1 {
                worker.step();
            }
        }
    }
    input.close();
    while !probe.done() {
        worker.step_or_park(None);
    }
    let expected = if worker.index() == 0 { count } else { 0 };
    assert_eq!(come.get(), expected, "messages are lost");
}

fn tiles(worker: &mut Worker) {
    one_way(worker, TILES, 1, |number| vec![number; TILE]);
}

/// A number goes to the worker that it says, and is one more there, until it has gone there and back so often.
fn round_trips(worker: &mut Worker) {
    let probe = ProbeHandle::new();
    let begins = worker.index() == 1;
    worker.dataflow::<u64, _, _>(|scope| {
        let (again, round) = scope.feedback(1);
        (0..u64::from(begins))
            .to_stream(scope)
            .concat(round)
            .exchange(|number: &u64| *number)
            .map_in_place(|number| *number += 1)
            .probe_with(&probe)
            .filter(|number| *number < 2 * ROUNDS)
            .connect_loop(again);
    });
    while !probe.done() {
        worker.step_or_park(None);
    }
}
