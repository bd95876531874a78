//! The workloads, one file each.

mod churn;
mod idle;
mod oversubscribed;
mod pipeline;
mod policies;
mod ring;
mod scatter;
mod spawn;

use crate::measure::Runs;
use anyhow::Result;

/// How a workload is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) quick: bool,
}

impl Settings {
    /// Chooses a size.
    pub(crate) fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// A row of [`WORKLOADS`].
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// Runs every runtime once.
    pub(crate) run: fn(&Settings, &mut Runs) -> Result<()>,
}

/// All workloads, in the order in which tables show them.
pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "ring",
        summary: "256 processes in a ring, capacity 1, 1 and 64 tokens",
        run: ring::run,
    },
    Workload {
        name: "pipeline",
        summary: "50 stages, capacity 64, messages of 8 and 2048 bytes",
        run: pipeline::run,
    },
    Workload {
        name: "spawn",
        summary: "create a process, one message in, one reply out; time and memory each",
        run: spawn::run,
    },
    Workload {
        name: "churn",
        summary: "10^7 short processes, 1000 alive at a time: memory stays constant",
        run: churn::run,
    },
    Workload {
        name: "policies",
        summary: "ring, pipeline and scatter-gather under each policy: what the default rests on",
        run: policies::run,
    },
    Workload { name: "idle", summary: "CPU time of an idle network", run: idle::run },
    Workload {
        name: "oversubscribed",
        summary: "the pipeline on 64 workers, beside as many as asked for",
        run: oversubscribed::run,
    },
];
