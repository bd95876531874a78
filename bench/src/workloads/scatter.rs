//! One process sends a message to each of many and waits for all replies (Vrba 2009, scatter-gather).

use crate::measure::{Metric, each, time};
use anyhow::Result;
use kahn::{Network, Receiver, RunOptions, Sender};
use std::hint::black_box;

/// Time for one task: its work, and what it costs to hand it out.
pub(super) const PER_TASK: Metric = Metric { name: "time per task", unit: "ns" };
/// Dependent multiplications of one task: about 10 us.
pub(super) const WORK: u64 = 9_000;

/// Computes without memory.
fn work(steps: u64) -> u64 {
    (0..steps).fold(1, |x, step| black_box(x.wrapping_mul(6_364_136_223_846_793_005) ^ step))
}

/// Nanoseconds for each task of `rounds` rounds with `width` processes.
pub(super) fn ours(options: RunOptions, width: usize, rounds: usize, steps: u64) -> Result<f64> {
    let mut network = Network::new();
    let (mut tasks, mut replies) = (Vec::new(), Vec::new());
    for number in 0..width {
        let (task, given) = network.channel::<u64>(format!("task {number}"));
        let (done, reply) = network.channel::<u64>(format!("reply {number}"));
        network.process(
            format!("worker {number}"),
            (given, done),
            async move |(mut given, mut done)| {
                while let Some(seed) = given.recv().await {
                    done.send(work(steps) ^ seed).await;
                }
            },
        );
        tasks.push(task);
        replies.push(reply);
    }
    let ports: (Vec<Sender<u64>>, Vec<Receiver<u64>>) = (tasks, replies);
    network.process("root", ports, async move |(mut tasks, mut replies)| {
        for round in 0..rounds as u64 {
            for task in &mut tasks {
                task.send(round).await;
            }
            for reply in &mut replies {
                black_box(reply.recv().await);
            }
        }
    });
    let (time, report) = time(|| network.run_with(options));
    report?;
    Ok(each(time, width * rounds))
}
