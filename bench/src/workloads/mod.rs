//! The workloads, one file each.

mod churn;
mod csp;
mod deadlock;
mod farm;
mod floor;
mod idle;
mod kmeans;
mod oversubscribed;
mod pipeline;
mod policies;
mod random;
mod recorded;
mod ring;
mod scatter;
mod snet;
mod spawn;
mod traced;
mod wordcount;

pub(crate) use csp::counted::{COUNTED, Counted};
pub(crate) use ring::PROCESSES;

use crate::contest::Workload;
use crate::measure::{Figure, real};
use anyhow::{Result, ensure};
use kahn::{Accounting, Detection, Options, Report};
use std::time::Duration;

/// Every workload, in the order in which `list` and `table` show them.
pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "floor",
        summary: "what the hardware charges: atomics, calls, cache lines, futexes",
        contests: floor::contests,
        prepare: nothing,
    },
    Workload {
        name: "ring",
        summary: "256 processes pass 1 or 64 tokens round, capacity 1",
        contests: ring::contests,
        prepare: nothing,
    },
    Workload {
        name: "pipeline",
        summary: "50 stages, capacity 64: 8, 32 and 2048 bytes, work of 0 to 10 us a message",
        contests: pipeline::contests,
        prepare: nothing,
    },
    Workload {
        name: "stream",
        summary: "one channel of capacity 1024 between two processes",
        contests: pipeline::streams,
        prepare: nothing,
    },
    Workload {
        name: "spawn",
        summary: "create a process, one message in, one reply out, end: time and memory",
        contests: spawn::contests,
        prepare: nothing,
    },
    Workload {
        name: "churn",
        summary: "10^7 short processes, 1000 alive at a time: memory stays constant",
        contests: churn::contests,
        prepare: nothing,
    },
    Workload {
        name: "scatter-gather",
        summary: "one process gives work of 10 and 100 us to 256 and waits for all",
        contests: scatter::contests,
        prepare: nothing,
    },
    Workload {
        name: "farm",
        summary: "an ordered map of items of 100 us, and of 10 us to 1 ms, beside rayon",
        contests: farm::contests,
        prepare: nothing,
    },
    Workload {
        name: "random",
        summary: "a random network of 50 layers, with and without cycles, 100 to 100 000 messages",
        contests: random::contests,
        prepare: nothing,
    },
    Workload {
        name: "deadlock",
        summary: "networks that must grow, and what looking for rings of waits costs",
        contests: deadlock::contests,
        prepare: nothing,
    },
    Workload {
        name: "idle",
        summary: "CPU time of an idle network, and how long it takes to wake it",
        contests: idle::contests,
        prepare: nothing,
    },
    Workload {
        name: "oversubscribed",
        summary: "pipeline and scatter-gather on 64 workers, beside 2",
        contests: oversubscribed::contests,
        prepare: nothing,
    },
    Workload {
        name: "wordcount",
        summary: "counts the words of 100 MB, with many and few different ones",
        contests: wordcount::contests,
        prepare: wordcount::prepare,
    },
    Workload {
        name: "kmeans",
        summary: "groups 100 000 and 200 000 points around 50 and 100 means",
        contests: kmeans::contests,
        prepare: nothing,
    },
    Workload {
        name: "snet",
        summary: "S-Net programs in both runtimes, beside a loop over the same records",
        contests: snet::contests,
        prepare: nothing,
    },
    Workload {
        name: "rendezvous",
        summary: "256 processes pass 1 or 64 tokens round; a sender waits for its receiver",
        contests: ring::rendezvous,
        prepare: nothing,
    },
    Workload {
        name: "commstime",
        summary: "a number goes round four processes, which meet",
        contests: csp::commstime::contests,
        prepare: nothing,
    },
    Workload {
        name: "fork-join",
        summary: "processes that do nothing, a thousand at a time",
        contests: csp::fork::contests,
        prepare: nothing,
    },
    Workload {
        name: "barrier",
        summary: "1000 processes wait for each other, phase after phase",
        contests: csp::barrier::contests,
        prepare: nothing,
    },
    Workload {
        name: "alternation",
        summary: "one process hears 8 and 64 busy ones, each in its turn",
        contests: csp::alternation::contests,
        prepare: nothing,
    },
    Workload {
        name: "claim",
        summary: "64 processes share the sending end of a channel",
        contests: csp::claim::contests,
        prepare: nothing,
    },
    Workload {
        name: "idle-processes",
        summary: "processes that wait at a channel: memory",
        contests: csp::idle::contests,
        prepare: nothing,
    },
    Workload {
        name: "agents",
        summary: "1200 agents in a world of places: a process each",
        contests: csp::programs::agents,
        prepare: csp::programs::prepare_agents,
    },
    Workload {
        name: "mandelbrot",
        summary: "a film of the Mandelbrot set: a farmer, 128 workers, a harvester",
        contests: csp::programs::mandelbrot,
        prepare: csp::programs::prepare_film,
    },
    Workload {
        name: "traced",
        summary: "a message in a run that is sampled, or traced by either level: processor time",
        contests: traced::contests,
        prepare: nothing,
    },
    Workload {
        name: "recorded",
        summary: "a message in a run that is recorded, or sums it up: processor time of its sender",
        contests: recorded::contests,
        prepare: nothing,
    },
    Workload {
        name: "policies",
        summary: "ring, pipeline and scatter-gather under each policy: what the default rests on",
        contests: policies::contests,
        prepare: nothing,
    },
];

/// For workloads without input. The signature is that of those with some.
#[expect(clippy::unnecessary_wraps, reason = "others can fail")]
fn nothing(_settings: &crate::contest::Settings) -> Result<()> {
    Ok(())
}

/// A form of ours: its name, and what it changes.
type Form = (&'static str, fn(Options) -> Options);

/// Other levels of accounting and other detection: forms of ours besides the default, `kahn`.
const FORMS: &[Form] = &[
    ("kahn-uncounted", |options| options.accounting(Accounting::Off)),
    ("kahn-timing", |options| options.accounting(Accounting::Timing)),
    ("kahn-undetected", |options| options.detection(Detection::Off)),
    ("kahn-central", |options| options.detection(Detection::Central)),
];

/// Gives the usual options.
fn on(workers: usize) -> Options {
    Options::new().workers(workers)
}

/// Says what a run cost a message, if as many messages were received as should have been.
fn per_message(time: Duration, report: &Report, messages: usize) -> Result<Vec<Figure>> {
    let received: u64 = report.channels.iter().map(|channel| channel.received).sum();
    ensure!(received == messages as u64, "{received} messages, expected {messages}");
    Ok(Figure::each(crate::measure::PER_MESSAGE, time, messages))
}

/// Divides, for figures.
fn share(total: usize, count: usize) -> f64 {
    real(total) / real(count)
}
