//! Ten million short processes, a thousand alive at a time.

use super::Settings;
use crate::measure::{Metric, Runs, each, resident_bytes, time};
use anyhow::Result;
use kahn::{Creator, Network, Receiver, RunOptions};

const TIME: Metric = Metric { name: "time per process", unit: "ns" };
const MEMORY: Metric = Metric { name: "memory at the end", unit: "KiB" };
const ALIVE: usize = 1000;

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    let rounds = settings.size(10_000, 200);
    let params = format!("{} processes, {ALIVE} at a time", rounds * ALIVE);
    let before = resident_bytes();
    let mut network = Network::new();
    let creator = network.creator();
    network.process("creator", creator, async move |mut create: Creator<'_>| {
        for _ in 0..rounds {
            let replies: Vec<Receiver<usize>> = (0..ALIVE)
                .map(|number| {
                    let (out, reply) = create.channel("reply");
                    create.process("short", out, async move |mut out| out.send(number).await);
                    reply
                })
                .collect();
            for mut reply in replies {
                reply.recv().await;
            }
        }
    });
    let (time, report) = time(|| network.run_with(RunOptions::new().workers(settings.workers)));
    report?;
    let grown = resident_bytes().saturating_sub(before) / 1024;
    runs.add("kahn", &params, TIME, each(time, rounds * ALIVE));
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    runs.add("kahn", &params, MEMORY, grown as f64);
    Ok(())
}
