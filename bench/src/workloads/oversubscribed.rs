//! Many more workers than cores: nothing may collapse.

use super::on;
use super::pipeline::Bench as Pipeline;
use super::scatter::Bench as Scatter;
use crate::contest::{Contest, Settings};
use crate::peers::{Kanal, May, Smol, Tokio};

/// As many as there are cores here, and many more.
const WORKERS: [usize; 2] = [2, 64];

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let pipeline = Pipeline::usual(settings.size(100_000, 10_000));
    let scatter = Scatter::of(settings, 64, 10, 200);
    let contests = [
        Contest::new("pipeline of 50 stages, 8 bytes", "kahn", move |workers| {
            pipeline.ours(on(workers))
        })
        .with_tasks::<Tokio, Kanal>("tokio-kanal", pipeline)
        .with_tasks::<Smol, Kanal>("smol-kanal", pipeline)
        .with_blocking::<May>("may", pipeline),
        Contest::new(format!("scatter-gather of {}", scatter.params(10)), "kahn", move |workers| {
            scatter.ours(on(workers))
        })
        .with_tasks::<Tokio, Kanal>("tokio-kanal", scatter)
        .with_tasks::<Smol, Kanal>("smol-kanal", scatter)
        .with_blocking::<May>("may", scatter),
    ];
    contests.map(|contest| contest.with_floor().on_workers(WORKERS.into())).into()
}
