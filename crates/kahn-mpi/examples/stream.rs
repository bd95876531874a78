//! What goes from rank to rank and how fast, on two ranks: messages of eight bytes, through room for 1024 and for
//! 8192, of which half goes together; one message there and back; tiles of 32 KiB. With `--for-ever` numbers go on until the job is ended, with `--four-seconds` tiles for so long; with `--wait` all wait for a message that
//! comes after six seconds.
//!
//! ```text
//! count (1) ──numbers──► add up (0)        ask (1) ──there──► echo (0) ──back──► ask        tiles (1) ──► add up (0)
//! ```

#![expect(clippy::disallowed_methods, reason = "times are what it is for")]

use kahn::{Channel, Network, Options};
use kahn_mpi::World;
use kahn_net::Placement;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Enough to be measured, where it is.
const NUMBERS: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
const ROUNDS: u64 = 500;
const TILES: u64 = 2_000;
const TILE: usize = 4096;

type Build = fn(&mut Network<'static>);

fn stream<const ROOM: u32>(network: &mut Network<'static>) {
    let (out, numbers) = network.channel_with(Channel::named("numbers").capacity(ROOM).wire());
    network.process("count", out, async |mut out| out.send_all(0..NUMBERS).await);
    network.process("add up", numbers, async |mut numbers| {
        let mut sum = 0;
        while let Some(number) = numbers.recv().await {
            sum += number;
        }
        assert_eq!(sum, NUMBERS * (NUMBERS - 1) / 2, "numbers are lost");
    });
}

fn round_trip(network: &mut Network<'static>) {
    let (ask, asked) = network.channel_with(Channel::<u64>::named("there").wire());
    let (answer, answered) = network.channel_with(Channel::<u64>::named("back").wire());
    let (out, rounds) = network.channel_with(Channel::<u64>::named("rounds").wire());
    network.process("count", (ask, answered, out), async |(mut ask, mut answered, mut out)| {
        for round in 0..ROUNDS {
            ask.send(round).await;
            assert_eq!(answered.recv().await, Some(round), "an answer is lost");
        }
        out.send(ROUNDS).await;
    });
    network.process("echo", (asked, answer), async |(mut asked, mut answer)| {
        while let Some(round) = asked.recv().await {
            answer.send(round).await;
        }
    });
    network.process("add up", rounds, async |mut rounds| while rounds.recv().await.is_some() {});
}

fn tiles(network: &mut Network<'static>) {
    let (out, tiles) =
        network.channel_with(Channel::<Vec<u64>>::named("tiles").capacity(64).wire_raw());
    network.process("count", out, async |mut out| {
        for number in 0..TILES {
            out.send(vec![number; TILE]).await;
        }
    });
    network.process("add up", tiles, async |mut tiles| {
        let mut count = 0;
        while let Some(tile) = tiles.recv().await {
            assert_eq!(tile.len(), TILE, "a tile is cut");
            count += 1;
        }
        assert_eq!(count, TILES, "tiles are lost");
    });
}

fn for_ever(network: &mut Network<'static>) {
    let (out, numbers) = network.channel_with(Channel::named("numbers").wire());
    network.process("count", out, async |mut out| out.send_all(0_u64..).await);
    network.for_each("add up", numbers, |_| {});
}

/// Tiles go for four seconds.
fn four_seconds(network: &mut Network<'static>) {
    let tiles = Channel::<Vec<u64>>::named("tiles").capacity(256).wire_raw();
    let (out, tiles) = network.channel_with(tiles);
    network.process("count", out, async |mut out| {
        let since = Instant::now();
        let mut number = 0;
        while since.elapsed() < Duration::from_secs(4) {
            out.send(vec![number; TILE]).await;
            number += 1;
        }
    });
    network.process("add up", tiles, async |mut tiles| {
        let mut count = 0;
        while let Some(tile) = tiles.recv().await {
            assert_eq!(tile[..1], [count], "tiles are lost");
            count += 1;
        }
    });
}

fn wait(network: &mut Network<'static>) {
    let (out, late) = network.channel_with(Channel::<u64>::named("late").wire());
    network.blocking("pause", out, |mut out| {
        std::thread::sleep(Duration::from_secs(6));
        out.send_blocking(1);
    });
    let (out, numbers) = network.channel_with(Channel::<u64>::named("numbers").wire());
    network.process("count", (late, out), async |(mut late, mut out)| {
        while let Some(number) = late.recv().await {
            out.send(number).await;
        }
    });
    network.process("add up", numbers, async |mut numbers| {
        assert_eq!(numbers.recv().await, Some(1), "the number is lost");
    });
}

/// `count` on the last rank, all else on the first.
fn placement(world: &World, network: Build) -> Placement {
    let mut drawn = Network::new();
    network(&mut drawn);
    let names = drawn.shape().processes.into_iter().map(|process| process.name.to_string());
    names.fold(Placement::new(), |all, name| {
        let rank = if name == "count" { world.ranks() - 1 } else { 0 };
        all.at(name, rank)
    })
}

fn main() -> ExitCode {
    let world = match World::begin() {
        Ok(world) => world,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    let alone: [(&str, Build); 3] =
        [("--for-ever", for_ever), ("--four-seconds", four_seconds), ("--wait", wait)];
    if let Some((_, network)) = alone.into_iter().find(|(argument, _)| has(argument)) {
        let ran = world.run(&Options::new().workers(1), &placement(&world, network), network);
        return match ran {
            Ok(_) => {
                println!(
                    "rank {}: at most {} parcels under way",
                    world.rank(),
                    world.most_under_way()
                );
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: rank {}: {error}", world.rank());
                ExitCode::FAILURE
            }
        };
    }
    let cases: [(&str, Build, u64, usize); 4] = [
        ("8 bytes, 512 together", stream::<1024>, NUMBERS, 8),
        ("8 bytes, 4096 together", stream::<8192>, NUMBERS, 8),
        ("8 bytes, there and back", round_trip, ROUNDS, 8),
        ("tiles of 32 KiB", tiles, TILES, TILE * 8),
    ];
    for (what, network, count, bytes) in cases {
        // The first run of a kind is not measured: memory is touched, and ranks have met.
        for is_measured in [false, true] {
            let start = Instant::now();
            let ran = world.run(&Options::new().workers(1), &placement(&world, network), network);
            let seconds = start.elapsed().as_secs_f64();
            match ran {
                Ok(Some(_)) if is_measured => print(what, seconds, count, bytes),
                Ok(_) => {}
                Err(error) => {
                    if world.rank() == 0 {
                        eprintln!("error: {what}: {error}");
                    }
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn print(what: &str, seconds: f64, count: u64, bytes: usize) {
    let each = seconds / count as f64;
    println!("{what:<30} {:>10.1} ns each {:>8.3} GB/s", each * 1e9, bytes as f64 / each / 1e9);
}
