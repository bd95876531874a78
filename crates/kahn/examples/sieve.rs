//! A network that grows as it runs: the sieve of Eratosthenes.
//!
//! ```text
//!   numbers ──► sieve 2 ──► sieve 3 ──► sieve 5 ──► …   one process for each prime
//!                  └──────────┴───────────┴─────────► primes, by one sender handed on
//! ```
//!
//! A process that asked for a `Spawner` among its ports may make processes and channels, and pass
//! on ends of its own. Each sieve sends its prime, makes the next sieve, gives it the sender of
//! `primes`, and then drops the multiples. What is created is identified by its creator, never by a
//! global count, so reports are the same in every run.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Receiver, Report, RunError, Sender, Spawner};
use std::pin::Pin;

type Ports = (Receiver<u32>, Sender<u32>, Spawner<'static>);

/// Boxed, for a process that creates its like would be a type that contains itself.
fn sieve(ports: Ports) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let (mut numbers, mut primes, mut create) = ports;
    Box::pin(async move {
        let Some(prime) = numbers.recv().await else { return };
        primes.send(prime).await;
        let (mut on, rest) = create.channel(format!("not by {prime}"));
        let next = create.clone();
        create.process(format!("after {prime}"), (rest, primes, next), sieve);
        while let Some(n) = numbers.recv().await {
            if n % prime != 0 {
                on.send(n).await;
            }
        }
    })
}

fn primes_below(end: u32) -> Result<(Vec<u32>, Report), RunError> {
    let mut network = Network::new();
    let numbers = network.source("numbers", 2..end);
    let (primes_out, primes) = network.channel("primes");
    let spawner = network.spawner();
    network.process("sieve", (numbers, primes_out, spawner), sieve);
    let all = network.collect("all", primes);
    let report = network.run()?;
    Ok((all.take().unwrap_or_default(), report))
}

fn main() -> Result<(), RunError> {
    let (primes, report) = primes_below(100)?;
    println!("{primes:?}");
    println!("{} processes and {} channels were created", report.created.0, report.created.1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_process_for_each_prime() {
        let (primes, report) = primes_below(100).expect("the sieve ends");
        assert_eq!(primes.len(), 25);
        assert_eq!(primes[20..], [73, 79, 83, 89, 97]);
        // A source, the first sieve, one after each prime, and the one that collects.
        assert_eq!(report.created.0, 1 + 1 + 25 + 1);
    }
}
