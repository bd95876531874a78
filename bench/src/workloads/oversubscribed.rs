//! Many more workers than cores: nothing may collapse.

use super::{Settings, pipeline};
use crate::measure::{PER_HOP, Runs};
use anyhow::Result;

pub(super) fn run(settings: &Settings, runs: &mut Runs) -> Result<()> {
    let messages = settings.size(200_000, 20_000);
    let params = "50 stages, capacity 64, 8 bytes";
    runs.add("kahn", params, PER_HOP, pipeline::ours(settings.workers, messages, 0_u64)?);
    runs.add("kahn-64-workers", params, PER_HOP, pipeline::ours(64, messages, 0_u64)?);
    Ok(())
}
