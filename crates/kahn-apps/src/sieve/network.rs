//! The sieve as a network: every prime found adds a process.

use kahn::{Network, Receiver, Sender, Spawner};

use super::{Sieve, write_lines};
use crate::{Answer, Compare, Pending};

/// Writes the network as it starts: the numbers, the sieve, and what collects the primes.
pub(super) fn build<'env>(
    program: &'env Sieve,
    network: &mut Network<'env>,
    compare: Compare,
) -> Pending<'env> {
    let (numbers_out, numbers) = compare.carried_channel(network, "numbers");
    let (primes_out, primes) = compare.carried_channel(network, "primes");
    network.process("numbers", numbers_out, async move |mut numbers| {
        for number in 2..=program.limit {
            numbers.send(number).await;
            program.progress.add(1);
        }
    });
    let spawner = network.spawner();
    network.process(
        "sieve",
        (numbers, primes_out, spawner),
        async move |(numbers, primes, create)| {
            sieve(numbers, primes, create, compare).await;
        },
    );
    let primes = network.collect("result", primes);
    Box::new(move || {
        let primes = primes.take()?;
        Some(Answer::new(move |out| write_lines(out, &primes)))
    })
}

/// Takes a prime, puts its filter in front of itself, and goes on behind it.
async fn sieve(
    mut numbers: Receiver<u32>,
    mut primes: Sender<u32>,
    mut create: Spawner<'_>,
    compare: Compare,
) {
    while let Some(prime) = numbers.recv().await {
        primes.send(prime).await;
        let (kept_out, kept) = create.channel_with(compare.named::<u32>(format!("not of {prime}")));
        let filtered = std::mem::replace(&mut numbers, kept);
        create.process(
            format!("filter {prime}"),
            (filtered, kept_out),
            async move |(numbers, kept)| filter(prime, numbers, kept).await,
        );
    }
}

/// Lets pass what the prime does not divide.
async fn filter(prime: u32, mut numbers: Receiver<u32>, mut kept: Sender<u32>) {
    while let Some(number) = numbers.recv().await {
        if !number.is_multiple_of(prime) {
            kept.send(number).await;
        }
    }
}
