//! What a communication costs: four processes that count.
//!
//! ```text
//!   ┌──► prefix ──► delta ──► consumer
//!   │                 │
//!   └── successor ◄───┘
//! ```
//!
//! The prefix sends a 0, then passes on what it receives. The delta sends each number to the
//! consumer, then to the successor, which adds one. So the consumer receives 0, 1, 2 and so on; for
//! each number there are four communications. When the consumer has enough it ends, and the others
//! learn it from their channels, one after the other.
//!
//! Source: the benchmark of the occam community (Peel 1990), as in CCSP's tests.

use kahn_csp::{self as csp, Options, Receiver, Report, RunError, Sender};

use crate::{Answer, Failure, Program, Progress, Ran, Stop, Variant, at_least_one, failed};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run commstime --cycles 1000000 --workers 1 --report
  kahn run commstime --variant sequential";

/// What is typed after `commstime`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// How many numbers the consumer receives, at most 4294967295
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = at_least_one::<u32>)]
    cycles: u32,
}

/// The four processes, and how long they go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commstime {
    /// How many numbers the consumer receives.
    pub cycles: u32,
}

impl Commstime {
    /// Runs the four processes; returns the sum of what the consumer received.
    ///
    /// `watch` is called by the consumer for each number; a benchmark takes the time there.
    ///
    /// ```
    /// use kahn_apps::commstime::Commstime;
    ///
    /// let (sum, _report) = Commstime { cycles: 5 }.run(kahn_csp::Options::new(), |_number| {})?;
    /// assert_eq!(sum, 0 + 1 + 2 + 3 + 4);
    /// # Ok::<(), kahn_csp::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns why the run did not finish.
    ///
    /// # Panics
    ///
    /// Panics if `watch` does.
    pub fn run(
        self,
        options: Options,
        mut watch: impl FnMut(u64) + Send,
    ) -> Result<(u64, Report), RunError> {
        let run = csp::run(options, async move |scope| {
            let (to_delta, from_prefix) = csp::channel("prefix to delta");
            let (to_successor, from_delta) = csp::channel("delta to successor");
            let (to_prefix, from_successor) = csp::channel("successor to prefix");
            let (to_consumer, mut numbers) = csp::channel::<u64>("delta to consumer");
            scope.spawn("prefix", prefix(from_successor, to_delta));
            scope.spawn("delta", delta(from_prefix, to_consumer, to_successor));
            scope.spawn("successor", successor(from_delta, to_prefix));
            let consumer = async move {
                let mut sum = 0;
                for _ in 0..self.cycles {
                    let number = numbers.recv().await.ok()?;
                    sum += number;
                    watch(number);
                }
                Some(sum)
            };
            scope.fork("consumer", consumer).join().await
        })?;
        let sum = run.result.ok().flatten().expect("a consumer that has finished has a sum");
        Ok((sum, run.report))
    }

    /// Computes the same sum in a loop.
    pub fn sequential(self) -> u64 {
        (0..u64::from(self.cycles)).sum()
    }
}

/// Sends a 0, then what comes.
async fn prefix(mut numbers: Receiver<u64>, mut out: Sender<u64>) {
    let mut number = 0;
    while out.send(number).await.is_ok() {
        let Ok(next) = numbers.recv().await else { return };
        number = next;
    }
}

/// Sends what comes to both, one after the other.
async fn delta(mut numbers: Receiver<u64>, mut first: Sender<u64>, mut second: Sender<u64>) {
    while let Ok(number) = numbers.recv().await {
        if first.send(number).await.is_err() || second.send(number).await.is_err() {
            return;
        }
    }
}

/// Adds one.
async fn successor(mut numbers: Receiver<u64>, mut out: Sender<u64>) {
    while let Ok(number) = numbers.recv().await {
        if out.send(number + 1).await.is_err() {
            return;
        }
    }
}

/// The four processes with their result, as a program.
#[derive(Debug)]
pub struct CommstimeProgram {
    commstime: Commstime,
    progress: Progress,
}

impl CommstimeProgram {
    /// Makes the program from what was typed.
    pub fn new(arguments: &Arguments) -> Self {
        let Arguments { cycles } = *arguments;
        let progress = Progress::new("cycles", Some(cycles.into()));
        Self { commstime: Commstime { cycles }, progress }
    }

    fn answer(&self, sum: u64) -> Answer<'_> {
        let cycles = self.commstime.cycles;
        Answer::new(move |out| writeln!(out, "{cycles} numbers, sum {sum}"))
    }
}

impl Program for CommstimeProgram {
    fn communicate(
        &self,
        _variant: Variant,
        options: Options,
        stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        let ran = self.commstime.run(options, |_number| {
            self.progress.add_alone(1);
            stop.obey();
        });
        let (sum, report) = ran.map_err(failed)?;
        Ok(Ran { answer: self.answer(sum), report: Some(report) })
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.commstime.sequential()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
