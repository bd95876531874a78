//! Random networks: layers of processes joined at random, with edges back.
//!
//! ```text
//!              ┌─► 1.0 ─┬─► 2.0 ───► 3.0 ─┐
//!   source ────┤        └─► 2.1 ─┬─► 3.1 ─┼──► sink        time goes from left to right
//!              └─► 1.1 ────► 2.2 ┘    │   │
//!                   ▲  └───► 2.3 ─────┼───┘
//!                   └─────────────────┘ back
//! ```
//!
//! A message is an amount of work. In each round a process takes a message from each of its inputs,
//! adds them up, spends that much processor time, and splits the sum over its outputs; what is left
//! in the division goes to the last. Then, if it has an edge back, it sends a message there or
//! receives one. So all work that the source sends arrives at the sink, and each layer has spent it
//! once. (Vrba and others: the Nornir run-time system, section 5.2.2 and figure 8: 50 layers, 212
//! processes, 333 edges, 13 cycles.)
//!
//! Unlike in the paper, a message has a second number, to which every process on its way has added
//! its part: so the checksum shows that all messages were right, those on edges back too.

mod graph;
mod network;
mod sequential;

use std::time::Duration;

use kahn::{Digest, Network};
use serde::{Deserialize, Serialize};

pub use self::graph::{Back, Graph, Shape, Vertex};
use crate::checksum::mix;
use crate::work::{Pace, Work, WorkArguments};
use crate::{Answer, Compare, Failure, Pending, Program, Progress, Settings, at_least_one};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
A message carries 1us of work unless --work or --iterations says otherwise; each layer spends it. The
shape depends on these arguments and --seed alone.

Examples:
  kahn run random --messages 10000 --work 100us --report    as in the paper: d = 10000
  kahn run random --back-edges 0 --seed 7                   another network, without cycles
  kahn graph random --layers 5 --width 3 --back-edges 1     what it looks like";

/// What is typed after `random`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many layers stand between the source and the sink
    #[arg(long, value_name = "L", default_value_t = 50, value_parser = at_least_one::<u32>)]
    layers: u32,

    /// How many processes a layer has at most; how many it has is drawn
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = at_least_one::<u32>)]
    width: u32,

    /// How many edges lead back to an earlier layer, each making a cycle
    #[arg(long, value_name = "B", default_value_t = 13)]
    back_edges: u32,

    /// How many messages the source sends on each of its edges
    #[arg(long, value_name = "D", default_value_t = 100)]
    messages: u64,

    #[command(flatten)]
    work: WorkArguments,
}

/// The work of a round unless the caller says otherwise.
const DEFAULT_WORK: Duration = Duration::from_micros(1);

/// What is sent: some work, and a trace of where it has been.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Digest, Serialize, Deserialize)]
pub struct Load {
    /// How much work: nanoseconds or iterations.
    units: u64,
    /// A checksum of all that was done to it.
    trace: u64,
}

impl Load {
    /// Makes what the source sends in a round.
    pub fn first(work: Work, number: u64) -> Self {
        Self { units: work.units(), trace: number }
    }

    /// Takes what has come over an edge back into what a process remembers.
    #[must_use]
    pub fn remember(self, memory: u64) -> u64 {
        mix(memory, self.trace)
    }

    /// Adds up what has come, and begins a trace with what a process remembers.
    pub fn total(loads: impl Iterator<Item = Self>, memory: u64) -> Self {
        loads.fold(Self { units: 0, trace: memory }, |sum, load| Self {
            units: sum.units + load.units,
            trace: mix(sum.trace, load.trace),
        })
    }

    /// Spends the work.
    #[must_use]
    pub fn spend(self, pace: Pace) -> Self {
        Self { trace: pace.spend(self.units, self.trace), ..self }
    }

    /// Gives the part that goes to output `place` of `outputs`.
    #[must_use]
    pub fn part(self, place: usize, outputs: usize) -> Self {
        let (place, outputs) = (place as u64, outputs as u64);
        let left = if place + 1 == outputs { self.units % outputs } else { 0 };
        Self { units: self.units / outputs + left, trace: mix(self.trace, place) }
    }
}

/// What has arrived at the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// All work that the source has sent: nanoseconds or iterations.
    pub units: u128,
    /// A checksum of all messages.
    pub checksum: u64,
}

impl Arrived {
    /// Begins with nothing.
    pub fn nothing() -> Self {
        Self { units: 0, checksum: 0 }
    }

    /// Adds what has come in a round.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "what is added is no sum")]
    pub fn add(self, load: Load) -> Self {
        Self {
            units: self.units + u128::from(load.units),
            checksum: mix(self.checksum, load.trace),
        }
    }
}

/// A random network with its result, as a program.
#[derive(Debug)]
pub struct RandomProgram {
    graph: Graph,
    messages: u64,
    work: Work,
    progress: Progress,
}

impl RandomProgram {
    /// Draws the network, and measures the machine if the work is a time.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if there is no such network.
    pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        let &Arguments { layers, width, back_edges, messages, ref work } = arguments;
        let graph = Shape { layers, width, back_edges, seed: settings.seed }.draw()?;
        let progress = Progress::new("messages", Some(messages));
        Ok(Self { graph, messages, work: work.or(DEFAULT_WORK), progress })
    }

    fn answer(&self, arrived: Arrived) -> Answer<'_> {
        let Arrived { units, checksum } = arrived;
        let messages = self.messages;
        let (processes, edges, back) = self.graph.size();
        Answer::new(move |out| {
            write!(
                out,
                "{messages} messages through {processes} processes and {edges} channels, "
            )?;
            writeln!(out, "{back} of them back: work {units}, checksum {checksum:016x}")
        })
    }
}

impl Program for RandomProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let watch = |_number| self.progress.add(1);
        let arrived = self.graph.network(network, compare, self.messages, self.work, watch);
        Box::new(move || arrived.take().map(|arrived| self.answer(arrived)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.graph.sequential(self.messages, self.work)))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_load_make_the_load() {
        for outputs in 1..6 {
            let load = Load { units: 17, trace: 3 };
            let parts: Vec<_> = (0..outputs).map(|place| load.part(place, outputs)).collect();
            assert_eq!(parts.iter().map(|part| part.units).sum::<u64>(), 17);
            let last = parts.last().expect("there is one");
            assert!(parts.iter().all(|part| part.units <= last.units));
        }
    }

    #[test]
    fn all_work_that_is_sent_arrives() {
        for seed in 0..20 {
            let graph = Shape { layers: 6, width: 5, back_edges: 2, seed }.draw().unwrap();
            let arrived = graph.sequential(9, Work::iterations(1001));
            assert_eq!(arrived.units, 9 * 1001, "seed {seed}");
        }
    }

    #[test]
    fn the_checksum_depends_on_the_work_and_on_the_edges_back() {
        let shape = Shape { layers: 6, width: 4, back_edges: 2, seed: 1 };
        let checksum = |shape: Shape, work| shape.draw().unwrap().sequential(5, work).checksum;
        let sum = checksum(shape, Work::iterations(50));
        assert_ne!(sum, checksum(shape, Work::iterations(51)));
        assert_ne!(sum, checksum(Shape { back_edges: 0, ..shape }, Work::iterations(50)));
    }
}
