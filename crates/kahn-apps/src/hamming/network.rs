//! Hamming's problem as a cyclic network.

use kahn::{Network, Receiver, Sender};

use super::{Hamming, write_lines};
use crate::{Answer, Compare, Pending};

/// Writes the network: copy, three multipliers, merge, and back.
pub(super) fn build<'env>(
    program: &'env Hamming,
    network: &mut Network<'env>,
    compare: Compare,
) -> Pending<'env> {
    let (numbers_out, numbers) = network.channel_with(compare.carried("numbers").initial([1]));
    let (result_out, result) = compare.carried_channel(network, "result");
    let mut to_multipliers = Vec::new();
    let mut to_merge = Vec::new();
    for factor in [2, 3, 5] {
        let (factors_out, factors) = compare.carried_channel(network, format!("for {factor}"));
        let (products_out, products) = compare.carried_channel(network, format!("by {factor}"));
        to_multipliers.push(factors_out);
        to_merge.push(products);
        network.process(
            format!("times {factor}"),
            (factors, products_out),
            async move |(factors, products)| multiply(factor, factors, products).await,
        );
    }
    network.process(
        "copy",
        (numbers, result_out, to_multipliers),
        async move |(numbers, result, multipliers)| {
            copy(program, numbers, result, multipliers).await;
        },
    );
    network.process("merge", (to_merge, numbers_out), async |(products, numbers)| {
        merge(products, numbers).await;
    });
    let result = network.collect("collect", result);
    Box::new(move || {
        let numbers = result.take()?;
        Some(Answer::new(move |out| write_lines(out, &numbers)))
    })
}

/// Gives each number to the result and to the multipliers, and ends after the last one wanted.
async fn copy(
    program: &Hamming,
    mut numbers: Receiver<u128>,
    mut result: Sender<u128>,
    mut multipliers: Vec<Sender<u128>>,
) {
    for _ in 0..program.count {
        let Some(number) = numbers.recv().await else { return };
        result.send(number).await;
        for multiplier in &mut multipliers {
            multiplier.send(number).await;
        }
        program.progress.add(1);
    }
}

/// Multiplies. Ends at the first product that does not fit: it and all after it are too large to
/// be among the numbers wanted.
async fn multiply(factor: u128, mut numbers: Receiver<u128>, mut products: Sender<u128>) {
    while let Some(product) = numbers.recv().await.and_then(|n| n.checked_mul(factor)) {
        products.send(product).await;
    }
}

/// Merges increasing streams into one, with each number once.
async fn merge(mut products: Vec<Receiver<u128>>, mut numbers: Sender<u128>) {
    let mut heads = Vec::with_capacity(products.len());
    for products in &mut products {
        heads.push(products.recv().await);
    }
    while let Some(least) = heads.iter().flatten().copied().min() {
        numbers.send(least).await;
        for (head, products) in heads.iter_mut().zip(&mut products) {
            if *head == Some(least) {
                *head = products.recv().await;
            }
        }
    }
}
