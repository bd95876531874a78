//! A chain of stages that pass messages on.

use super::Settings;
use crate::measure::{PER_HOP, Runs, each, time};
use anyhow::Result;
use kahn::{Network, RunOptions};
use std::hint::black_box;

const STAGES: usize = 50;
const HOPS: usize = STAGES - 1;
const CAPACITY: usize = 64;

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    let workers = settings.workers;
    let options = || RunOptions::new().workers(workers);
    let messages = settings.size(200_000, 20_000);
    let params = format!("{STAGES} stages, capacity {CAPACITY}, 8 bytes");
    runs.add("kahn", &params, PER_HOP, ours(options(), messages, 0_u64)?);
    runs.add("tokio-kanal", &params, PER_HOP, kanal(workers, messages, 0_u64)?);
    runs.add("kahn-batch", &format!("{params}, batches"), PER_HOP, batched(workers, messages)?);
    let messages = messages / 20;
    let params = format!("{STAGES} stages, capacity {CAPACITY}, 2048 bytes");
    runs.add("kahn", &params, PER_HOP, ours(options(), messages, [0_u64; 256])?);
    runs.add("tokio-kanal", &params, PER_HOP, kanal(workers, messages, [0_u64; 256])?);
    Ok(())
}

/// Nanoseconds for one message over one channel, one message at a time.
pub(super) fn ours<T: Copy + Send + 'static>(
    options: RunOptions,
    messages: usize,
    message: T,
) -> Result<f64> {
    let mut network = Network::new();
    let (out, mut last) = network.channel("from 0");
    network.process("stage 0", out, async move |mut out| {
        for _ in 0..messages {
            out.send(message).await;
        }
    });
    for stage in 1..HOPS {
        let (out, next) = network.channel(format!("from {stage}"));
        let ports = (last, out);
        network.process(format!("stage {stage}"), ports, async |(mut left, mut right)| {
            while let Some(message) = left.recv().await {
                right.send(message).await;
            }
        });
        last = next;
    }
    network.process("last stage", last, async |mut left| {
        while let Some(message) = left.recv().await {
            black_box(&message);
        }
    });
    let (time, report) = time(|| network.run_with(options));
    report?;
    Ok(each(time, messages * HOPS))
}

/// The same with the batch forms.
fn batched(workers: usize, messages: usize) -> Result<f64> {
    const BATCH: usize = CAPACITY / 2;
    let mut network = Network::new();
    let (out, mut last) = network.channel("from 0");
    network.process("stage 0", out, async move |mut out| {
        out.send_all((0..messages as u64).map(black_box)).await;
    });
    for stage in 1..HOPS {
        let (out, next) = network.channel(format!("from {stage}"));
        let ports = (last, out);
        network.process(format!("stage {stage}"), ports, async |(mut left, mut right)| {
            let mut batch = Vec::with_capacity(BATCH);
            while left.recv_batch(&mut batch, BATCH).await > 0 {
                right.send_all(batch.drain(..)).await;
            }
        });
        last = next;
    }
    network.process("last stage", last, async |mut left| {
        left.for_each(|message| {
            black_box(message);
        })
        .await;
    });
    let (time, report) = time(|| network.run_with(RunOptions::new().workers(workers)));
    report?;
    Ok(each(time, messages * HOPS))
}

fn kanal<T: Copy + Send + Sync + 'static>(
    workers: usize,
    messages: usize,
    message: T,
) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build()?;
    let (time, ended) = time(|| {
        let (out, mut last) = kanal::bounded_async::<T>(CAPACITY);
        runtime.spawn(async move {
            for _ in 0..messages {
                out.send(message).await?;
            }
            anyhow::Ok(())
        });
        for _ in 1..HOPS {
            let (out, next) = kanal::bounded_async::<T>(CAPACITY);
            runtime.spawn(async move {
                while let Ok(message) = last.recv().await {
                    out.send(message).await?;
                }
                anyhow::Ok(())
            });
            last = next;
        }
        let sink = runtime.spawn(async move {
            let mut received = 0;
            while let Ok(message) = last.recv().await {
                black_box(&message);
                received += 1;
            }
            received
        });
        runtime.block_on(sink)
    });
    anyhow::ensure!(ended? == messages, "every message arrives");
    Ok(each(time, messages * HOPS))
}
