//! Communicating processes: what each of their primitives costs, and two programs as a whole.
//!
//! | file | workloads |
//! |---|---|
//! | `../ring` | `rendezvous`: the ring in which a sender waits for its receiver |
//! | `commstime` | `commstime`: a number round four processes |
//! | `fork` | `fork-join`: processes that do nothing |
//! | `barrier` | `barrier`: many that wait for each other, phase after phase |
//! | `alternation` | `alternation`: one that hears many, each in its turn |
//! | `claim` | `claim`: many that share the end of a channel |
//! | `idle` | `idle-processes`: memory of processes that wait |
//! | `programs` | `agents`, `mandelbrot` |
//! | `counted` | those whose instructions `instructions --locked` counts |
//!
//! Ours is measured under the default policy, and under the one that was made for such programs,
//! `batch`. A peer takes part if it has an equal, or one can be made of what it has without much
//! ado; `bench/NOTES.md` says how.
//!
//! Source: the benchmarks of Ritson, Sampson and Barnes, "Multicore scheduling for lightweight
//! communicating processes", 2009, section 5, and of the tests of their runtime.

pub(super) mod alternation;
pub(super) mod barrier;
pub(super) mod claim;
pub(super) mod commstime;
pub(super) mod counted;
pub(super) mod fork;
pub(super) mod idle;
pub(super) mod programs;

use crate::contest::Contest;
use crate::measure::{Figure, Stopwatch};
use anyhow::{Context as _, Result};
use kahn_csp::Options;
use std::time::Duration;

/// The forms of ours: the default policy, and that of the paper.
pub(super) fn contest(
    params: impl Into<String>,
    run: impl Fn(Options) -> Result<Vec<Figure>> + Clone + 'static,
) -> Contest {
    let batch = run.clone();
    Contest::new(params, "kahn", move |workers| run(on(workers)))
        .with("kahn-batch-policy", move |workers| batch(on(workers).policy(kahn_policies::BATCH)))
}

/// Gives the usual options.
fn on(workers: usize) -> Options {
    Options::new().workers(workers)
}

/// What was taken inside a run.
fn taken(watch: &Stopwatch) -> Result<Duration> {
    watch.time().context("nothing was timed")
}
