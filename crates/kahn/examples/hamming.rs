//! Hamming numbers, those without prime factors but 2, 3 and 5, in order: a cycle that needs growth.
//!
//! ```text
//!          ┌──────────────────────────── merge ◄──┬─── times 2 ◄──┐
//!       numbers                                   ├─── times 3 ◄──┤
//!    (1 to begin with)                            └─── times 5 ◄──┤
//!          └──────────────► copy ─────────────────────────────────┘
//!                             └──result──► the result
//! ```
//!
//! Each number comes back as three larger ones, so more and more of them are on their way round. No
//! capacity is right for every count: the channels of the cycle grow when the cycle is full.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Channel, Network, Options, Receiver, Report, RunError, Sender};

/// Sends the first `count` numbers on, and round again, then ends.
async fn copy(
    mut numbers: Receiver<u64>,
    mut result: Sender<u64>,
    mut round: Vec<Sender<u64>>,
    count: usize,
) {
    for _ in 0..count {
        let Some(number) = numbers.recv().await else { return };
        result.send(number).await;
        for factor in &mut round {
            factor.send(number).await;
        }
    }
}

/// Sends what it receives in order, equal numbers once.
async fn merge(mut products: Vec<Receiver<u64>>, mut numbers: Sender<u64>) {
    let mut heads = Vec::new();
    for product in &mut products {
        heads.push(product.recv().await);
    }
    while let Some(least) = heads.iter().copied().flatten().min() {
        numbers.send(least).await;
        for (head, product) in heads.iter_mut().zip(&mut products) {
            if *head == Some(least) {
                *head = product.recv().await;
            }
        }
    }
}

fn hamming(count: usize, capacity: u32) -> Result<(Vec<u64>, Report), RunError> {
    let mut network = Network::new();
    let (numbers_out, numbers) = network.channel_with(Channel::named("numbers").initial([1]));
    let (result_out, result) = network.channel("result");
    let (mut round, mut products) = (Vec::new(), Vec::new());
    for factor in [2, 3, 5] {
        let (factors_out, factors) = network.channel(format!("to times {factor}"));
        let (product_out, product) = network.channel(format!("from times {factor}"));
        round.push(factors_out);
        products.push(product);
        network.process(
            format!("times {factor}"),
            (factors, product_out),
            async move |(mut factors, mut product)| {
                while let Some(n) = factors.recv().await {
                    product.send(n * factor).await;
                }
            },
        );
    }
    network.process("copy", (numbers, result_out, round), async move |(numbers, result, round)| {
        copy(numbers, result, round, count).await;
    });
    network.process("merge", (products, numbers_out), async |(products, numbers)| {
        merge(products, numbers).await;
    });
    let all = network.collect("all", result);
    let report = network.run_with(Options::new().capacity(capacity))?;
    Ok((all.take().unwrap_or_default(), report))
}

fn main() -> Result<(), RunError> {
    let (numbers, report) = hamming(1000, 1)?;
    println!("{:?} … {:?}\n", &numbers[..20], numbers.last());
    println!("channels that had room for 1 message, and what they grew to:");
    for channel in report.channels.iter().filter(|channel| channel.growths > 0) {
        println!("  {:<14} {:>6}", channel.name, channel.capacity);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_come_in_order() {
        let (numbers, _) = hamming(10, 64).expect("the cycle ends");
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 8, 9, 10, 12]);
    }

    #[test]
    fn room_for_one_message_is_enough_to_begin_with() {
        let (numbers, report) = hamming(1691, 1).expect("the channels of the cycle grow");
        assert_eq!(numbers.last(), Some(&2_125_764_000));
        assert!(report.channels.iter().any(|channel| channel.growths > 0), "{report}");
    }
}
