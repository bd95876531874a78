//! The sieve of Eratosthenes as Kahn wrote it: a network that grows as it runs.
//!
//! The process `sieve` takes the first number that reaches it: a prime. It then puts a filter for
//! that prime in front of itself and goes on behind it. So there is one process a prime.
//!
//! ```text
//!   numbers ─► sieve            numbers ─► filter 2 ─► sieve
//!                               numbers ─► filter 2 ─► filter 3 ─► sieve ─► primes
//! ```
//!
//! It teaches; it does not compete: a number passes a filter for each smaller prime, up to the
//! one that divides it.

mod network;
mod sequential;

use std::io::{self, Write};

use kahn::Network;

use crate::{Answer, Compare, Failure, Pending, Program, Progress, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  kahn run sieve 100                           the 25 primes up to 100, one a line
  kahn run sieve 20000 --report                2262 processes that create each other
  kahn run sieve 100 --policy sequential       the same bytes in a fixed order of steps";

/// What is typed after `sieve`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Finds the primes up to this number, which is below 2^32
    #[arg(value_name = "N", value_parser = whole(0..=i64::from(u32::MAX)))]
    pub(crate) limit: u32,
}

/// The primes up to a limit.
///
/// ```
/// use kahn_apps::{Program, sieve::Sieve};
///
/// let mut text = Vec::new();
/// (Sieve::new(12).sequential()?.lines)(&mut text)?;
/// assert_eq!(text, b"2\n3\n5\n7\n11\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sieve {
    limit: u32,
    progress: Progress,
}

impl Sieve {
    /// Makes the program that finds the primes up to `limit`.
    pub fn new(limit: u32) -> Self {
        Self { limit, progress: Progress::new("numbers", Some(u64::from(limit))) }
    }
}

impl Program for Sieve {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        network::build(self, network, compare)
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        let primes = sequential::primes(self.limit);
        self.progress.add(u64::from(self.limit));
        Ok(Answer::new(move |out| write_lines(out, &primes)))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

fn write_lines(out: &mut dyn Write, primes: &[u32]) -> io::Result<()> {
    let mut digits = itoa::Buffer::new();
    primes.iter().try_for_each(|prime| {
        out.write_all(digits.format(*prime).as_bytes())?;
        out.write_all(b"\n")
    })
}
