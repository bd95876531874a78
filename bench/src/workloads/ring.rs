//! A ring of processes that pass tokens on (Vrba 2009; Ritson, Sampson, Barnes 2009).

use super::Settings;
use crate::floor;
use crate::measure::{PER_HOP, Runs, each, time};
use anyhow::Result;
use kahn::{Channel, Network, RunOptions};
use std::sync::Arc;

pub(super) const PROCESSES: usize = 256;

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    for tokens in [1, 64] {
        let hops = settings.size(2_000_000, 200_000) / (PROCESSES * tokens) * PROCESSES * tokens;
        let params = format!("{PROCESSES} processes, {tokens} tokens");
        let options = RunOptions::new().workers(settings.workers);
        runs.add("kahn", &params, PER_HOP, ours(options, tokens, hops)?);
        runs.add("tokio-kanal", &params, PER_HOP, kanal(settings.workers, tokens, hops)?);
        runs.add("floor", &params, PER_HOP, floor::read_modify_write());
    }
    Ok(())
}

/// How often each process receives; those that start a token send one before.
fn laps(hops: usize) -> usize {
    hops / PROCESSES
}

fn starts(process: usize, tokens: usize) -> bool {
    process.is_multiple_of(PROCESSES / tokens)
}

/// Nanoseconds for one message over one channel.
pub(super) fn ours(options: RunOptions, tokens: usize, hops: usize) -> Result<f64> {
    let mut network = Network::new();
    let mut channels: Vec<_> = (0..PROCESSES)
        .map(|n| network.channel_with(Channel::<u64>::named(format!("to {n}")).capacity(1)))
        .map(|(sender, receiver)| (Some(sender), Some(receiver)))
        .collect();
    for process in 0..PROCESSES {
        let (Some(receiver), Some(sender)) =
            (channels[process].1.take(), channels[(process + 1) % PROCESSES].0.take())
        else {
            unreachable!("each end is taken once")
        };
        let (starts, laps) = (starts(process, tokens), laps(hops));
        let ports = (receiver, sender);
        network.process(format!("element {process}"), ports, async move |(mut left, mut right)| {
            if starts {
                right.send(0).await;
            }
            for _ in usize::from(starts)..laps {
                if let Some(token) = left.recv().await {
                    right.send(token + 1).await;
                }
            }
            if starts {
                left.recv().await;
            }
        });
    }
    let (time, report) = time(|| network.run_with(options));
    report?;
    Ok(each(time, hops))
}

fn kanal(workers: usize, tokens: usize, hops: usize) -> Result<f64> {
    let runtime =
        Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build()?);
    let channels: Vec<_> = (0..PROCESSES).map(|_| kanal::bounded_async::<u64>(1)).collect();
    let (time, ended) = time(|| {
        let tasks: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let left = channels[process].1.clone();
                let right = channels[(process + 1) % PROCESSES].0.clone();
                let (starts, laps) = (starts(process, tokens), laps(hops));
                runtime.spawn(async move {
                    if starts {
                        right.send(0).await?;
                    }
                    for _ in usize::from(starts)..laps {
                        let token = left.recv().await?;
                        right.send(token + 1).await?;
                    }
                    if starts {
                        left.recv().await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        runtime.block_on(async {
            for task in tasks {
                task.await??;
            }
            anyhow::Ok(())
        })
    });
    ended?;
    Ok(each(time, hops))
}
