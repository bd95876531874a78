//! A reader that has enough, and a source that would go on for ever.
//!
//! ```text
//!   count (for ever) ──numbers──► primes ──primes──► first ten ──► the result
//! ```
//!
//! `first ten` leaves. The sender must not notice, or its output would depend on when it looks; so
//! sends to a reader that has left are discarded. But a process whose output nobody can see any
//! more is *pruned*: it ends where it next waits or begins an operation, and so do those before it.
//! A process that does something else besides sending is marked with `Process::effects` and stays.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Report, RunError};

fn first_primes(count: usize) -> Result<(Vec<u64>, Report), RunError> {
    let mut primes = Vec::new();
    let mut network = Network::new();
    let (numbers_out, numbers) = network.channel("numbers");
    let (primes_out, found) = network.channel("primes");

    network.process("count", numbers_out, async |mut numbers| {
        for n in 2_u64.. {
            numbers.send(n).await;
        }
    });
    network.process("primes", (numbers, primes_out), async |(mut numbers, mut primes)| {
        while let Some(n) = numbers.recv().await {
            if (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0) {
                primes.send(n).await;
            }
        }
    });
    network.process("first ten", found, async |mut found| {
        found.recv_batch(&mut primes, count).await;
    });
    let report = network.run()?;
    Ok((primes, report))
}

fn main() -> Result<(), RunError> {
    let (primes, report) = first_primes(10)?;
    println!("{primes:?}\n");
    for process in &report.processes {
        println!("`{}` {}", process.name, process.ending);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_source_ends_when_nobody_listens() {
        let (primes, report) = first_primes(10).expect("pruning is no failure");
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
        let endings: Vec<_> = report.processes.iter().map(|p| p.ending.to_string()).collect();
        assert_eq!(endings, ["pruned", "pruned", "finished"]);
    }
}
