//! How shapes of networks scale over ranks, and what holds them up first: real ranks under a virtual clock, with what
//! was measured of parcels and messages over MPI (`bench/NOTES.md`).
//!
//! ```text
//! cargo run --release -p kahn-net --example scale                  2, 10, 100 and 1000 ranks
//! cargo run --release -p kahn-net --example scale -- 2 10 50       these
//! ```
//!
//! Each row is made by a process of its own, which tells how much memory it had at most. Seconds are those of the
//! virtual clock but for the last column, which says how long it took to find out.

#![expect(clippy::print_stdout, reason = "a table for people")]

mod shapes;

use kahn::Options;
use kahn_net::{LogGp, Share, Timed, TimedSim};
use shapes::Shape;
use std::error::Error;
use std::process::Command;
use std::time::{Duration, Instant};

const MILLISECOND: Duration = Duration::from_millis(1);

const SHAPES: [(&str, &str, Shape); 5] = [
    ("ring", "hop", Shape::Ring { cycles: 3 }),
    ("pipeline", "number", Shape::Pipeline { numbers: 20_000 }),
    ("scatter-gather", "reply", Shape::ScatterGather { rounds: 5, task: MILLISECOND }),
    ("k-means", "round", Shape::KMeans { rounds: 10, all: Duration::from_secs(1) }),
    ("random", "message", Shape::Random { rounds: 5 }),
];

/// Memory that this process has had at most, in KiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        0.001.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.2} us", seconds * 1e6),
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn row(name: &str, unit: &str, shape: Shape, ranks: usize) -> Result<String, Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "a figure")]
    let began = Instant::now();
    let before = peak();
    let sim = TimedSim::new(ranks, LogGp::SHARED_MEMORY);
    let ran = sim.run(&Options::new(), |core, network| shape.build(ranks, core, network))?;
    let Timed { time, traffic, .. } = ran;
    let each = Duration::from_secs_f64(time.as_secs_f64() / shape.units(ranks) as f64);
    let speed_up = shape
        .work(ranks)
        .map_or(String::new(), |work| format!("{:.1}", work.as_secs_f64() / time.as_secs_f64()));
    let kinds =
        [traffic.batches, traffic.credits, traffic.rests, traffic.termination, traffic.chase];
    let kinds = kinds.map(|Share { frames, .. }| frames.to_string()).join(" | ");
    let busy = traffic.exchanged.iter().enumerate().max_by_key(|(_, time)| **time);
    let busy = busy.map_or(String::new(), |(rank, busy)| {
        format!("{:.0} % (rank {rank})", 100.0 * busy.as_secs_f64() / time.as_secs_f64())
    });
    let memory = before
        .zip(peak())
        .map_or("?".to_owned(), |(before, after)| ((after - before) / ranks as u64).to_string());
    Ok(format!(
        "| {name} | {ranks} | {} | {} a {unit} | {speed_up} | {kinds} | {} / {} | {} | {:.1} / {:.1} | {} | {busy} | {memory} | {:.1} s |",
        seconds(time),
        seconds(each),
        traffic.rounds,
        traffic.confirmations,
        seconds(time.saturating_sub(traffic.last)),
        traffic.start.bytes as f64 / 1e6,
        traffic.finish.bytes as f64 / 1e6,
        traffic.most_under_way,
        began.elapsed().as_secs_f64(),
    ))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, ranks] = &arguments[..]
        && flag == "--one"
    {
        let known = SHAPES.iter().find(|(known, ..)| known == name);
        let (name, unit, shape) = known.ok_or_else(|| format!("no shape is called `{name}`"))?;
        println!("{}", row(name, unit, *shape, ranks.parse()?)?);
        return Ok(());
    }
    let ranks: Result<Vec<usize>, _> = arguments.iter().map(|ranks| ranks.parse()).collect();
    let ranks = ranks.map_err(|error| format!("numbers of ranks are wanted: {error}"))?;
    if ranks.iter().any(|ranks| *ranks < 2) {
        return Err("two ranks are the least".into());
    }
    let ranks = if ranks.is_empty() { vec![2, 10, 100, 1000] } else { ranks };
    println!(
        "| shape | ranks | time | each | speed-up | batches | credits | rests | termination | chase | \
         rounds / confirmations | to the end | MB before / after | parcels under way | busiest exchange | KiB a rank | took |"
    );
    println!("|---|{}", "---:|".repeat(16));
    for (name, ..) in SHAPES {
        for ranks in &ranks {
            let mut one = Command::new(std::env::current_exe()?);
            let told = one.args(["--one", name, &ranks.to_string()]).output()?;
            print!("{}", String::from_utf8_lossy(&told.stdout));
            if !told.status.success() {
                let why = String::from_utf8_lossy(&told.stderr);
                println!("| {name} | {ranks} | {} |", why.trim());
            }
        }
    }
    Ok(())
}
