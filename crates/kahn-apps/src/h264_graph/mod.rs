//! The process graph of an H.264 encoder, with work in place of video.
//!
//! A message stands for a frame. What each stage would do to it is replaced by work in the proportion
//! that was measured in a real encoder, so the network shows what dependencies leave of the cores:
//! a frame needs the one before it, decoded (Vrba and others: the Nornir run-time system, figure 6
//! and section 5.2.2; "Evaluating the run-time performance of Kahn process network implementation
//! techniques", figure 2c and table 2).
//!
//! ```text
//!        ┌────────────────────────────┐            ┌──► R ──► EC, the coded stream
//!        │                            ▼            │
//!   Fn ──┼──► ME ──► MC ─────┐   ┌► minus ─► T ──► Q ──► Qi ──► Ti
//!        │     ▲      ▲      ▼   │                               │
//!        │   Fn-1 ────┘      P ──┴──────────────► plus ◄─────────┘
//!        │     ▲             ▲                      │
//!        └──► CIP ──► IP ────┘                      │
//!              ▲      ▲                             │
//!              └──────┴──────── (and Fn-1) ─────────┘  the frame as decoders will see it
//! ```
//!
//! Where an arrow forks there is a process that copies. ME, MC and P are the stages that divide a
//! frame: each is a root with workers of its own, as in [`scatter_gather`](crate::scatter_gather).

mod network;
mod sequential;
mod stages;

use std::time::Duration;

use kahn::Network;

pub use self::stages::{MACROBLOCKS, StageShape};
use crate::work::{Work, WorkArguments};
use crate::{Answer, Compare, Failure, Pending, Program, Progress, Settings};

/// How many workers each divided stage has, unless the caller says otherwise.
pub(crate) const DEFAULT_PARTS: usize = 8;

/// One for each macroblock.
pub(crate) const MOST_PARTS: usize = MACROBLOCKS as usize;

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
A frame costs 100us unless --work or --iterations says otherwise; --parts is the number of workers in
each of the stages ME, MC and P.

Examples:
  kahn run h264-graph --work 1s --parts 8 --report        as in the paper: 30 frames, one a second
  kahn run h264-graph --frames 300 --work 40ms --parts 100
  kahn graph h264-graph --parts 1 --svg h264.svg          what it looks like";

/// What is typed after `h264-graph`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many frames there are
    #[arg(long, value_name = "N", default_value_t = 30)]
    frames: u64,

    #[command(flatten)]
    work: WorkArguments,
}

/// The work of a frame unless the caller says otherwise.
const DEFAULT_WORK: Duration = Duration::from_micros(100);

/// What an encoder's graph is made of.
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_apps::{Compare, h264_graph::Encoder, work::Work};
///
/// let encoder = Encoder { frames: 5, workers: 3, work: Work::iterations(10_000) };
/// let mut network = Network::new();
/// let checksum = encoder.network(&mut network, Compare::Numbers, |_frame| {});
/// assert_eq!(network.size().0, 15 + 5 + 3 * 3);
/// network.run_with(Options::new().workers(2))?;
/// assert_eq!(checksum.take(), Some(encoder.sequential()));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoder {
    /// The frames.
    pub frames: u64,
    /// The workers in each of ME, MC and P: one or more. The result does not depend on it.
    pub workers: u32,
    /// What a frame costs in all stages together.
    pub work: Work,
}

impl Encoder {
    /// Gives the stages, for those who build the graph by other means.
    ///
    /// ```
    /// use kahn_apps::{h264_graph::Encoder, work::Work};
    ///
    /// let encoder = Encoder { frames: 1, workers: 1, work: Work::iterations(10_000) };
    /// let divided = encoder.stages().into_iter().filter(|stage| stage.divided);
    /// assert_eq!(divided.map(|stage| stage.name).collect::<Vec<_>>(), ["ME", "MC", "P"]);
    /// ```
    pub fn stages(&self) -> Vec<StageShape> {
        stages::shapes(self.work)
    }
}

/// An encoder's graph with its result, as a program.
#[derive(Debug)]
pub struct EncoderProgram {
    encoder: Encoder,
    progress: Progress,
}

impl EncoderProgram {
    /// Makes the program, and measures the machine if the work is a time.
    pub fn new(arguments: &Arguments, settings: &Settings) -> Self {
        let &Arguments { frames, ref work } = arguments;
        let workers = u32::try_from(settings.parts).unwrap_or(u32::MAX);
        let encoder = Encoder { frames, workers, work: work.or(DEFAULT_WORK) };
        Self { encoder, progress: Progress::new("frames", Some(frames)) }
    }

    fn answer(&self, checksum: u64) -> Answer<'_> {
        let frames = self.encoder.frames;
        Answer::new(move |out| writeln!(out, "{frames} frames, checksum {checksum:016x}"))
    }
}

impl Program for EncoderProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let checksum = self.encoder.network(network, compare, |_frame| self.progress.add(1));
        Box::new(move || checksum.take().map(|checksum| self.answer(checksum)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.encoder.sequential()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_depends_on_the_work_and_the_frames_and_not_on_the_time() {
        let of = |frames, work| Encoder { frames, workers: 1, work }.sequential();
        let sum = of(3, Work::iterations(100_000));
        assert_ne!(sum, of(4, Work::iterations(100_000)));
        assert_ne!(sum, of(3, Work::iterations(200_000)));
        assert_eq!(of(3, Work::none()), of(3, Work::time(Duration::from_nanos(900))));
    }
}
