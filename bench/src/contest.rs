//! What is compared with what.
//!
//! ```text
//!   workload ──► contests ──► entries
//!   `ring`       same params   one runtime each: kahn, its other forms, peers, the floor
//! ```
//!
//! A contest is made anew in every process that needs it, from the settings alone, so an entry is
//! found again by its place: see [`crate::child`].

use crate::measure::Figure;
use crate::peers::{Blocking, BlockingProgram, Executor, Foreign, TaskProgram, Wire};
use crate::{floor, peers};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::path::PathBuf;

/// What a contest is made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Whether sizes are small, for a look.
    pub(crate) quick: bool,
    /// How many tokens go round in the ring.
    pub(crate) tokens: Vec<u32>,
    /// How many steps of work take a microsecond.
    pub(crate) steps_per_microsecond: f64,
    /// Where inputs lie that were made once for the whole run.
    pub(crate) inputs: PathBuf,
}

impl Settings {
    /// Chooses a size.
    pub(crate) fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Gives the steps of so many nanoseconds of work.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is rounded")]
    pub(crate) fn steps(&self, nanoseconds: u32) -> u64 {
        (f64::from(nanoseconds) * self.steps_per_microsecond / 1000.0).round() as u64
    }
}

/// A line of the table of workloads.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) contests: fn(&Settings) -> Vec<Contest>,
    /// Makes what the contests read, once for a whole run.
    pub(crate) prepare: fn(&Settings) -> Result<()>,
}

/// Measures once, on so many workers.
pub(crate) type Measure = Box<dyn Fn(usize) -> Result<Vec<Figure>>>;

/// A runtime in a contest.
pub(crate) struct Entry {
    pub(crate) runtime: &'static str,
    pub(crate) measure: Measure,
}

/// Says whether a runtime is neither ours nor the floor.
pub(crate) fn is_peer(runtime: &str) -> bool {
    runtime != "floor" && runtime != "kahn" && !runtime.starts_with("kahn-")
}

/// Runtimes that do the same with the same parameters.
pub(crate) struct Contest {
    pub(crate) params: String,
    pub(crate) entries: Vec<Entry>,
    /// The numbers of workers, unless it is for the caller to say.
    pub(crate) workers: Option<Vec<usize>>,
}

impl Contest {
    /// Starts with the first form of ours, to which the others are compared.
    pub(crate) fn new(
        params: impl Into<String>,
        runtime: &'static str,
        measure: impl Fn(usize) -> Result<Vec<Figure>> + 'static,
    ) -> Self {
        let contest = Self { params: params.into(), entries: Vec::new(), workers: None };
        contest.with(runtime, measure)
    }

    /// Sets the numbers of workers.
    pub(crate) fn on_workers(mut self, workers: Vec<usize>) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Adds a runtime.
    pub(crate) fn with(
        mut self,
        runtime: &'static str,
        measure: impl Fn(usize) -> Result<Vec<Figure>> + 'static,
    ) -> Self {
        self.entries.push(Entry { runtime, measure: Box::new(measure) });
        self
    }

    /// Adds tasks on an executor.
    pub(crate) fn with_tasks<E: Executor, W: Wire>(
        self,
        runtime: &'static str,
        program: impl TaskProgram + Copy + 'static,
    ) -> Self {
        self.with(runtime, move |workers| program.on_tasks::<E, W>(workers))
    }

    /// Adds every executor with every channel for tasks.
    pub(crate) fn with_all_tasks(self, program: impl TaskProgram + Copy + 'static) -> Self {
        self.with_tasks::<peers::Tokio, peers::TokioMpsc>("tokio-mpsc", program)
            .with_tasks::<peers::Tokio, peers::Kanal>("tokio-kanal", program)
            .with_tasks::<peers::Smol, peers::AsyncChannel>("smol-async-channel", program)
            .with_tasks::<peers::Smol, peers::Kanal>("smol-kanal", program)
    }

    /// Adds a program that blocks.
    pub(crate) fn with_blocking<B: Blocking>(
        self,
        runtime: &'static str,
        program: impl BlockingProgram + Copy + 'static,
    ) -> Self {
        self.with(runtime, move |workers| program.on_threads::<B>(workers))
    }

    /// Adds threads with every channel for threads; they may do less, for they are slow.
    pub(crate) fn with_all_threads(self, program: impl BlockingProgram + Copy + 'static) -> Self {
        self.with_blocking::<peers::Crossbeam>("threads-crossbeam", program)
            .with_blocking::<peers::Rtrb>("threads-rtrb", program)
    }

    /// Adds the programs in other languages.
    pub(crate) fn with_foreign(self, arguments: &[&dyn Display]) -> Self {
        self.with_programs(peers::FOREIGN, arguments)
    }

    /// Adds Go, alone among the other languages.
    pub(crate) fn with_go(self, arguments: &[&dyn Display]) -> Self {
        self.with_programs(
            Foreign::named("go").map(std::slice::from_ref).unwrap_or_default(),
            arguments,
        )
    }

    /// Adds a program of CCSP.
    pub(crate) fn with_ccsp(
        self,
        name: &'static str,
        arguments: &[&dyn Display],
        metric: &'static str,
        steps: Option<usize>,
    ) -> Self {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let program = peers::ccsp::Program { name, arguments, metric, steps };
        self.with(peers::ccsp::NAME, move |workers| program.measure(workers))
    }

    fn with_programs(self, programs: &'static [Foreign], arguments: &[&dyn Display]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        programs.iter().fold(self, |contest, program| {
            let arguments = arguments.clone();
            contest.with(program.name, move |workers| program.measure(workers, &arguments))
        })
    }

    /// Adds what the hardware charges.
    pub(crate) fn with_floor(self) -> Self {
        self.with("floor", floor::measure)
    }
}
