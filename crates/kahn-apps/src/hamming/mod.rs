//! Hamming's problem: the numbers 2^i 3^j 5^k in increasing order.
//!
//! Every such number but 1 is 2, 3 or 5 times an earlier one, so the output, fed back through
//! three multipliers, gives the output:
//!
//! ```text
//!                ┌─► times 2 ─┐
//!   ┌─► copy ────┼─► times 3 ─┼─► merge ─┐      the channel from merge to copy starts with 1
//!   │     │      └─► times 5 ─┘          │
//!   │     └─► result                     │
//!   └────────────────────────────────────┘
//! ```
//!
//! For each number that the merger takes from `times 5` it takes many from `times 2`, so what
//! waits in front of `times 5` grows without end: no capacity fixed beforehand is enough. The
//! runtime grows the channel when the ring of waits closes.

mod network;
mod sequential;

use std::io::{self, Write};

use kahn::Network;

use crate::{Answer, Compare, Failure, Pending, Program, Progress};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run hamming 20                          1, 2, 3, 4, 5, 6, 8, 9, 10, 12, ... one a line
  kahn run hamming 10000 --report              see the channels that grew
  kahn run hamming 10000 --capacity 1          the same bytes, more growth";

/// What is typed after `hamming`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Finds this many numbers
    #[arg(value_name = "N")]
    pub(crate) count: usize,
}

/// The first numbers with no prime factor beyond five.
///
/// ```
/// use kahn_apps::{Program, hamming::Hamming};
///
/// let mut text = Vec::new();
/// (Hamming::prepare(8)?.sequential()?.lines)(&mut text)?;
/// assert_eq!(text, b"1\n2\n3\n4\n5\n6\n8\n9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hamming {
    count: usize,
    progress: Progress,
}

impl Hamming {
    /// Makes the program that finds the first `count` numbers.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if they do not all fit into 128 bits.
    pub fn prepare(count: usize) -> Result<Self, Failure> {
        let most = most();
        if count > most {
            return Err(Failure::input(format!(
                "hamming {count}: the numbers are computed in 128 bits, enough for the first {most}"
            )));
        }
        Ok(Self { count, progress: Progress::new("numbers", Some(count as u64)) })
    }
}

impl Program for Hamming {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        network::build(self, network, compare)
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        let numbers = sequential::first(self.count);
        self.progress.add(self.count as u64);
        Ok(Answer::new(move |out| write_lines(out, &numbers)))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// Counts the numbers that fit into 128 bits, without ordering them.
fn most() -> usize {
    let powers = |base: u128, from: u128| {
        std::iter::successors(Some(from), move |power| power.checked_mul(base))
    };
    powers(5, 1).flat_map(|fives| powers(3, fives)).map(|odd| powers(2, odd).count()).sum()
}

fn write_lines(out: &mut dyn Write, numbers: &[u128]) -> io::Result<()> {
    let mut digits = itoa::Buffer::new();
    numbers.iter().try_for_each(|number| {
        out.write_all(digits.format(*number).as_bytes())?;
        out.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_fit_are_found_and_one_more_is_refused() {
        let most = most();
        let numbers = sequential::first(most);
        assert!(numbers.is_sorted_by(|a, b| a < b));
        assert_ne!(numbers.last(), Some(&u128::MAX));
        assert!(Hamming::prepare(most).is_ok());
        assert!(matches!(Hamming::prepare(most + 1), Err(Failure::Input { .. })));
    }
}
