//! Many more workers than cores: nothing may collapse.

use super::{Settings, pipeline};
use crate::measure::{PER_HOP, Runs};
use anyhow::Result;
use kahn::RunOptions;

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    let messages = settings.size(200_000, 20_000);
    let ours = |workers| pipeline::ours(RunOptions::new().workers(workers), messages, 0_u64);
    let params = "50 stages, capacity 64, 8 bytes";
    runs.add("kahn", params, PER_HOP, ours(settings.workers)?);
    runs.add("kahn-64-workers", params, PER_HOP, ours(64)?);
    Ok(())
}
