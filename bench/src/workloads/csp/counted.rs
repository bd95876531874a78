//! The programs whose instructions are counted as a whole: those of the benchmarks, made small.

use super::{alternation, barrier, claim, commstime, fork};
use anyhow::{Result, ensure};
use kahn::{Channel, Network};
use kahn_apps::Compare;
use kahn_apps::agents::World;
use kahn_apps::mandelbrot::{Film, Keep, Yield};
use kahn_apps::ring::Ring;
use kahn_csp::{self as csp, Options};
use kahn_net::Sim;

/// A program that is run in two sizes: what a step takes is the difference.
pub(crate) struct Counted {
    pub(crate) name: &'static str,
    /// What it does over and over.
    pub(crate) step: &'static str,
    /// How often, at the size 1.
    pub(crate) steps: u32,
    /// Runs it at a size, on so many workers.
    pub(crate) run: fn(u32, usize) -> Result<()>,
}

/// As in the ring of CCSP.
const PROCESSES: u32 = 256;
const YIELDING: u32 = 128;
const PIXELS: u32 = 64;
const GRID: u32 = 5;
const AGENTS: u32 = 6;
const MESSAGES: u32 = 1024;
/// Numbers of eight bytes: 32 KiB.
const TILE: usize = 4096;

/// All of them.
pub(crate) const COUNTED: [Counted; 16] = [
    Counted {
        name: "ring-1",
        step: "hop",
        steps: PROCESSES * 32,
        run: |size, workers| ring(1, 32 * size, on(workers)),
    },
    Counted {
        name: "ring-64",
        step: "hop",
        steps: PROCESSES * 64,
        run: |size, workers| ring(64, size, on(workers)),
    },
    Counted {
        name: "kahn-ring-1",
        step: "hop",
        steps: PROCESSES * 32,
        run: |size, workers| kahn_ring(1, 1, 32 * size, workers),
    },
    Counted {
        name: "kahn-ring-64",
        step: "hop",
        steps: PROCESSES * 64,
        run: |size, workers| kahn_ring(1, 64, size, workers),
    },
    Counted {
        name: "kahn-ring-room",
        step: "hop",
        steps: PROCESSES * 64,
        run: |size, workers| kahn_ring(64, 64, size, workers),
    },
    Counted {
        name: "commstime",
        step: "loop",
        steps: 4000,
        run: |size, workers| commstime::once(4000 * size as usize, on(workers)),
    },
    Counted {
        name: "yield",
        step: "yield",
        steps: YIELDING * 64,
        run: |size, workers| give_way(64 * size, on(workers)),
    },
    Counted {
        name: "agents",
        step: "agent and cycle",
        steps: GRID * GRID * AGENTS * 16,
        run: |size, workers| {
            let world = World { grid: GRID, agents: AGENTS, cycles: 16 * size };
            world.network(on(workers), || {})?;
            Ok(())
        },
    },
    Counted {
        name: "mandelbrot",
        step: "pixel",
        steps: PIXELS * PIXELS * 4,
        run: |size, workers| {
            let film = Film { width: PIXELS, height: PIXELS, frames: 4 * size };
            film.network(on(workers), PIXELS as usize, Yield::Pixel, Keep::Sum, || {})?;
            Ok(())
        },
    },
    Counted {
        name: "fork",
        step: "process",
        // More than a report lists one by one, at either size.
        steps: 1000 * 16,
        run: |size, workers| fork::once(16 * size as usize, on(workers)),
    },
    Counted {
        name: "barrier",
        step: "process and phase",
        steps: 1000 * 16,
        run: |size, workers| barrier::once(16 * size as usize, on(workers)),
    },
    Counted {
        name: "choice-8",
        step: "message",
        steps: 8000,
        run: |size, workers| alternation::once(8, 8000 * size as usize, on(workers)),
    },
    Counted {
        name: "choice-64",
        step: "message",
        steps: 8000,
        run: |size, workers| alternation::once(64, 8000 * size as usize, on(workers)),
    },
    Counted {
        name: "claim",
        step: "message",
        steps: 8000,
        run: |size, workers| claim::once(8000 * size as usize, on(workers)),
    },
    Counted {
        name: "rank-stream",
        step: "message from rank to rank",
        steps: 64 * MESSAGES,
        run: |size, workers| {
            let channel = || Channel::named("numbers").wire();
            from_rank_to_rank(channel, 64 * MESSAGES * size, workers, |number| number)
        },
    },
    Counted {
        name: "rank-tiles",
        step: "tile from rank to rank",
        steps: MESSAGES,
        run: |size, workers| {
            let channel = || Channel::<Vec<u64>>::named("tiles").wire_raw();
            from_rank_to_rank(channel, MESSAGES * size, workers, |number| vec![number; TILE])
        },
    },
];

fn on(workers: usize) -> Options {
    Options::new().workers(workers)
}

fn ring(tokens: u32, cycles: u32, options: Options) -> Result<()> {
    let ring = Ring { processes: PROCESSES, tokens, cycles: cycles.into() };
    ring.rendezvous(options, |_moment| {})?;
    Ok(())
}

/// Each process gives way so often.
fn give_way(times: u32, options: Options) -> Result<()> {
    csp::run(options, async |scope| {
        for _ in 0..YIELDING {
            scope.spawn("gives way", async move {
                for _ in 0..times {
                    csp::yield_now().await;
                }
            });
        }
    })?;
    Ok(())
}

/// The ring as a network whose channels hold so many messages.
fn kahn_ring(capacity: u32, tokens: u32, cycles: u32, workers: usize) -> Result<()> {
    let ring = Ring { processes: PROCESSES, tokens, cycles: cycles.into() };
    let mut network = Network::new();
    let total = ring.network(&mut network, Compare::Numbers, |_moment| {});
    network.run_with(kahn::Options::new().workers(workers).capacity(capacity))?;
    ensure!(total.take() == ring.total(), "the tokens come home");
    Ok(())
}

/// Sends so many messages from one of two ranks to the other, each of which has so many workers.
fn from_rank_to_rank<T: Send + 'static>(
    channel: fn() -> Channel<T>,
    messages: u32,
    workers: usize,
    make: fn(u64) -> T,
) -> Result<()> {
    let ran =
        Sim::new(2).place("make", 1).run(&kahn::Options::new().workers(workers), |network| {
            let (out, received) = network.channel_with(channel().capacity(1024));
            network.process("make", out, async move |mut out| {
                out.send_all((0..messages.into()).map(make)).await;
            });
            network.fold("count", received, 0, |count, _: T| count + 1)
        })?;
    ensure!(ran.result.take() == Some(messages), "messages are lost");
    Ok(())
}
