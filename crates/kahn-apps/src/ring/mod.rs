//! The ring: processes in a circle that pass tokens on.
//!
//! It measures what a message costs, and nothing else: a process receives a number and sends it on,
//! greater by one.
//!
//! ```text
//!   ┌─► element 1 ─► element 2 ─► … ─► element N-1 ─┐
//!   └────────────────────── root ◄──────────────────┘
//! ```
//!
//! The processes are those of the benchmark of CCSP (Ritson, Sampson, Barnes: "Multicore scheduling
//! for lightweight communicating processes", 2009, section 5.2); the ring of Vrba, Halvorsen and
//! Griwodz ("Evaluating the run-time performance of Kahn process network implementation
//! techniques", section 4.1) is the one with one token.
//!
//! * An element passes a number above 0 on, greater by one. It passes a 0 on as it is, and ends.
//! * The root sends a 1 and waits for it: a lap to warm up. Then, with one token, it sends and
//!   receives once for each cycle. With T tokens it sends 1 to T, then passes on T messages for each
//!   cycle, and then receives T. At the end it sends a 0 and waits for it.
//!
//! The result is the sum of the tokens as they come home, T(T+1)/2 + T(N-1+N·C) for N processes and
//! C cycles. With enough tokens all wait for room in front of them, and CCSP reports a deadlock: with
//! a capacity of 1 that takes two for each process, one in its channel and one in its hand. Here a
//! channel grows; the variant `rendezvous`, whose channels have no room at all, explains the deadlock.

mod network;
#[cfg(feature = "communicating")]
mod rendezvous;
mod sequential;
mod threads;

use kahn::Network;

use crate::{
    Answer, Compare, Failure, MOST_PROCESSES, Pending, Program, Progress, at_least_one, whole,
};
#[cfg(feature = "communicating")]
use crate::{Ran, Stop, Variant, failed};

macro_rules! examples {
    ($more:literal) => {
        concat!(
            "\
Examples:
  kahn run ring --cycles 10000 --report             one token, 256 processes
  kahn run ring --tokens 64 --workers 2             64 tokens on two workers
  kahn run ring --tokens 512 --capacity 1           full: a channel must grow
  kahn run ring --variant threads                   the same with a thread for each process",
            $more
        )
    };
}

/// What to type, for the help.
#[cfg(not(feature = "communicating"))]
pub(crate) const EXAMPLES: &str = examples!("");

/// What to type, for the help.
#[cfg(feature = "communicating")]
pub(crate) const EXAMPLES: &str = examples!(
    "
  kahn run ring --variant rendezvous --tokens 64    the same where a sender waits for its receiver
  kahn run ring --variant rendezvous --tokens 256   a deadlock, explained"
);

/// What is typed after `ring`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The processes of the ring, the root among them
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = whole(1..=MOST_PROCESSES))]
    processes: u32,

    /// How many tokens go round at a time
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = at_least_one::<u32>)]
    tokens: u32,

    /// How often each of them goes round
    #[arg(long, value_name = "C", default_value_t = 100)]
    cycles: u64,
}

/// What a ring is made of.
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_apps::{Compare, ring::Ring};
///
/// let ring = Ring { processes: 10, tokens: 3, cycles: 7 };
/// let mut network = Network::new();
/// let total = ring.network(&mut network, Compare::Numbers, |_moment| {});
/// let report = network.run_with(Options::new().workers(2))?;
/// assert_eq!(total.take(), ring.total());
/// assert_eq!(report.messages(), 10 * (1 + 3 * (1 + 7) + 1));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// The processes, the root among them: one or more.
    pub processes: u32,
    /// The tokens that go round at a time: one or more.
    pub tokens: u32,
    /// How often each of them goes round.
    pub cycles: u64,
}

/// Where the root of a ring has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The lap to warm up is done: what is measured begins.
    Start,
    /// A cycle is done.
    Cycle,
    /// The tokens are home: what is measured ends.
    End,
}

impl Ring {
    /// Predicts the result: T(T+1)/2 + T(N-1+N·C). `None` if it does not fit into 64 bits.
    pub fn total(&self) -> Option<u64> {
        let (processes, tokens) = (u64::from(self.processes), u64::from(self.tokens));
        let starts = tokens * (tokens + 1) / 2;
        let steps = processes.checked_mul(self.cycles)?.checked_add(processes - 1)?;
        steps.checked_mul(tokens)?.checked_add(starts)
    }
}

/// A ring with its result, as a program.
#[derive(Debug)]
pub struct RingProgram {
    ring: Ring,
    progress: Progress,
}

impl RingProgram {
    /// Checks that the tokens stay within 64 bits.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if they do not.
    pub fn prepare(arguments: &Arguments) -> Result<Self, Failure> {
        let &Arguments { processes, tokens, cycles } = arguments;
        let ring = Ring { processes, tokens, cycles };
        if ring.total().is_none() {
            let most = u64::MAX / u64::from(processes) / u64::from(tokens) / 2;
            return Err(Failure::input(format!(
                "--cycles {cycles} is too large: the tokens of this ring are counted in 64 bits, \
                 enough for {most} cycles"
            )));
        }
        Ok(Self { ring, progress: Progress::new("cycles", Some(cycles)) })
    }

    /// Tells whatever watches how far the ring is.
    fn watch(&self) -> impl FnMut(Moment) + Send {
        |moment| {
            if moment == Moment::Cycle {
                self.progress.add(1);
            }
        }
    }
}

impl Program for RingProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let total = self.ring.network(network, compare, self.watch());
        Box::new(move || total.take().map(answer))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(answer(self.ring.sequential()))
    }

    #[cfg(feature = "communicating")]
    fn communicate(
        &self,
        _variant: Variant,
        options: kahn_csp::Options,
        stop: &Stop,
    ) -> Result<Ran<'_>, Failure> {
        let mut watch = self.watch();
        let ran = self.ring.rendezvous(options, |moment| {
            watch(moment);
            stop.obey();
        });
        let (total, report) = ran.map_err(failed)?;
        Ok(Ran { answer: answer(total), report: Some(report) })
    }

    fn threads(&self) -> Result<Answer<'_>, Failure> {
        self.ring.threads(self.watch()).map(answer)
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

fn answer<'env>(total: u64) -> Answer<'env> {
    Answer::new(move |out| writeln!(out, "{total}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_rings_of_ccsp_have_their_known_totals() {
        let ring = |tokens| Ring { processes: 256, tokens, cycles: 1024 };
        assert_eq!(ring(1).sequential(), 262_400);
        assert_eq!(ring(64).sequential(), 16_795_616);
    }

    #[test]
    fn a_ring_grows_with_two_tokens_for_each_process_and_not_before() {
        for (tokens, grows) in [(4, false), (7, false), (8, true)] {
            let ring = Ring { processes: 4, tokens, cycles: 3 };
            let mut network = Network::new();
            let total = ring.network(&mut network, Compare::Numbers, |_| {});
            let options = kahn::Options::new().policy(kahn::policy::SEQUENTIAL).capacity(1);
            let report = network.run_with(options).unwrap();
            assert_eq!(total.take(), ring.total());
            let growths: u32 = report.channels.iter().map(|channel| channel.growths).sum();
            assert_eq!(growths > 0, grows, "{tokens} tokens: {report}");
        }
    }

    #[test]
    fn the_total_is_the_one_predicted() {
        for processes in 1..5 {
            for tokens in 1..7 {
                for cycles in 0..4 {
                    let ring = Ring { processes, tokens, cycles };
                    assert_eq!(Some(ring.sequential()), ring.total(), "{ring:?}");
                    assert_eq!(ring.threads(|_| {}).unwrap(), ring.sequential(), "{ring:?}");
                }
            }
        }
    }

    #[test]
    fn the_moments_come_in_order_and_as_often_as_there_are_cycles() {
        use Moment::{Cycle, End, Start};
        for tokens in [1, 2] {
            let mut seen = Vec::new();
            Ring { processes: 3, tokens, cycles: 2 }.threads(|moment| seen.push(moment)).unwrap();
            assert_eq!(seen, [Start, Cycle, Cycle, End]);
        }
    }

    #[test]
    fn a_token_that_would_overflow_is_refused() {
        let arguments = |cycles| Arguments { processes: 2, tokens: 1, cycles };
        assert!(RingProgram::prepare(&arguments(u64::MAX / 4)).is_ok());
        assert!(RingProgram::prepare(&arguments(u64::MAX / 2 + 1)).is_err());
    }
}
