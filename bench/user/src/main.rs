//! Prints what a message costs on one worker, in nanoseconds: a hop of a ring of 256 by rendezvous, of one with room
//! for 1 and of one with room for 64, a message and stage of a pipeline of 16.

use std::error::Error;
use std::sync::Mutex;
use std::time::Instant;

use kahn::Network;
use kahn_csp as csp;

const PROCESSES: u32 = 256;
const STAGES: u32 = 16;

/// Laps before the time is taken.
const WARM: u64 = 10;

fn each(since: Instant, count: u64, parts: u32) -> f64 {
    since.elapsed().as_secs_f64() * 1e9 / count as f64 / f64::from(parts)
}

fn rendezvous(laps: u64) -> Result<f64, Box<dyn Error>> {
    let run = csp::run(csp::Options::new().workers(1), async move |scope| {
        let (mut first, mut left) = csp::channel::<u64>("from root");
        for element in 1..PROCESSES {
            let (mut right, next) = csp::channel::<u64>(format!("from {element}"));
            scope.spawn(format!("element {element}"), async move {
                while let Ok(token) = left.recv().await {
                    if right.send(token + 1).await.is_err() {
                        return;
                    }
                }
            });
            left = next;
        }
        let mut token = 0;
        let mut since = Instant::now();
        for lap in 0..WARM + laps {
            if lap == WARM {
                since = Instant::now();
            }
            first.send(token).await.ok()?;
            token = left.recv().await.ok()?;
        }
        Some(each(since, laps, PROCESSES))
    })?;
    Ok(run.result.ok_or("the ring is broken")?)
}

fn ring(laps: u64, capacity: u32) -> Result<f64, Box<dyn Error>> {
    let took = Mutex::new(0.0);
    let mut network = Network::new();
    let (first, mut left) = network.channel::<u64>("from root");
    for element in 1..PROCESSES {
        let (right, next) = network.channel::<u64>(format!("from {element}"));
        network.process(
            format!("element {element}"),
            (left, right),
            async |(mut left, mut right)| {
                while let Some(token) = left.recv().await {
                    right.send(token + 1).await;
                }
            },
        );
        left = next;
    }
    let told = &took;
    network.process("root", (first, left), async move |(mut first, mut left)| {
        let mut token = 0;
        let mut since = Instant::now();
        for lap in 0..WARM + laps {
            if lap == WARM {
                since = Instant::now();
            }
            first.send(token).await;
            let Some(home) = left.recv().await else { return };
            token = home;
        }
        *told.lock().expect("nothing panics behind it") = each(since, laps, PROCESSES);
    });
    network.run_with(kahn::Options::new().workers(1).capacity(capacity))?;
    Ok(took.into_inner()?)
}

fn pipeline(messages: u64) -> Result<f64, Box<dyn Error>> {
    let mut network = Network::new();
    let mut numbers = network.source("numbers", 0..messages);
    for stage in 1..STAGES {
        numbers = network.map(format!("stage {stage}"), numbers, |number| number + 1);
    }
    let sum = network.fold("sum", numbers, 0, u64::wrapping_add);
    let since = Instant::now();
    network.run_with(kahn::Options::new().workers(1))?;
    let took = each(since, messages, STAGES);
    sum.take().ok_or("the pipeline is broken")?;
    Ok(took)
}

fn main() -> Result<(), Box<dyn Error>> {
    // The core is awake, and its clock as fast as it gets.
    rendezvous(20_000)?;
    let (meets, one) = (rendezvous(20_000)?, ring(10_000, 1)?);
    let (many, stages) = (ring(10_000, 64)?, pipeline(500_000)?);
    println!("{meets:.1} {one:.1} {many:.1} {stages:.1}");
    Ok(())
}
