//! Scatter and gather: work is handed out to many processes, and all of it awaited, in rounds.
//!
//! The shape of all problems that fall into independent parts, with a barrier after each round
//! (Vrba and others: the Nornir run-time system, figure 4 and section 5.2.1):
//!
//! ```text
//!            ┌──► worker 0 ──┐
//!   ┌─ root ─┼──► …          ├─┐      each round: a task to each, then a reply from each
//!   │        └──► worker n ──┘ │
//!   └──────────────────────────┘
//! ```

mod network;
mod sequential;

use std::time::Duration;

use kahn::Network;

use crate::work::{Work, WorkArguments};
use crate::{Answer, Compare, Failure, MOST_PROCESSES, Pending, Program, Progress, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
A task costs 1us unless --work or --iterations says otherwise.

Examples:
  kahn run scatter-gather --processes 256 --work 100us --report     as in the paper, 100 rounds
  kahn run scatter-gather --rounds 12500 --work 100us --policy ws-last
  kahn run scatter-gather --iterations 1000                         the work is part of the output";

/// What is typed after `scatter-gather`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many processes the tasks are handed out to
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = whole(1..=MOST_PROCESSES))]
    processes: u32,

    /// How often each of them gets one
    #[arg(long, value_name = "M", default_value_t = 100)]
    rounds: u64,

    #[command(flatten)]
    work: WorkArguments,
}

/// The work of a task unless the caller says otherwise.
const DEFAULT_WORK: Duration = Duration::from_micros(1);

/// What a scatter-gather network is made of.
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_apps::{Compare, scatter_gather::ScatterGather, work::Work};
///
/// let shape = ScatterGather { processes: 4, rounds: 10, work: Work::iterations(100) };
/// let mut network = Network::new();
/// let checksum = shape.network(&mut network, Compare::Numbers, |_round| {});
/// let report = network.run_with(Options::new().workers(2))?;
/// assert_eq!(checksum.take(), Some(shape.sequential()));
/// assert_eq!(report.messages(), 4 * 10 * 2);
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScatterGather {
    /// The processes that tasks are handed out to.
    pub processes: u32,
    /// How often each of them gets one.
    pub rounds: u64,
    /// What a task costs.
    pub work: Work,
}

/// A scatter-gather network with its result, as a program.
#[derive(Debug)]
pub struct ScatterGatherProgram {
    shape: ScatterGather,
    progress: Progress,
}

impl ScatterGatherProgram {
    /// Makes the program, and measures the machine if the work is a time.
    pub fn new(arguments: &Arguments) -> Self {
        let &Arguments { processes, rounds, ref work } = arguments;
        let shape = ScatterGather { processes, rounds, work: work.or(DEFAULT_WORK) };
        Self { shape, progress: Progress::new("rounds", Some(rounds)) }
    }

    fn answer(&self, checksum: u64) -> Answer<'_> {
        let replies = u128::from(self.shape.processes) * u128::from(self.shape.rounds);
        Answer::new(move |out| writeln!(out, "{replies} replies, checksum {checksum:016x}"))
    }
}

impl Program for ScatterGatherProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let checksum = self.shape.network(network, compare, |_round| self.progress.add(1));
        Box::new(move || checksum.take().map(|checksum| self.answer(checksum)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.shape.sequential()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
