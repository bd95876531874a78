//! The same networks under every policy that runs on as many workers as asked for.

use super::{Settings, pipeline, ring, scatter};
use crate::measure::{PER_HOP, Runs};
use anyhow::Result;
use kahn::policy::Threads;
use kahn::{POLICIES, RunOptions};

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    let policies = POLICIES.iter().filter(|entry| entry.threads == Threads::AsAsked);
    for entry in policies {
        let options = || RunOptions::new().workers(settings.workers).policy(entry.name);
        for tokens in [1, 64] {
            let lap = ring::PROCESSES * tokens;
            let hops = settings.size(1_000_000, 100_000) / lap * lap;
            let params = format!("ring, {tokens} tokens");
            runs.add(entry.name, &params, PER_HOP, ring::ours(options(), tokens, hops)?);
        }
        let messages = settings.size(100_000, 10_000);
        let figure = pipeline::ours(options(), messages, 0_u64)?;
        runs.add(entry.name, "pipeline, 8 bytes", PER_HOP, figure);
        let rounds = settings.size(100, 10);
        let figure = scatter::ours(options(), 64, rounds, scatter::WORK)?;
        runs.add(entry.name, "scatter-gather, 64 workers, 10 us", scatter::PER_TASK, figure);
    }
    Ok(())
}
