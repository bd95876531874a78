//! A split and a join that need more room than they were given.
//!
//! ```text
//!          ┌──direct───────────────────────────┐
//!   tee ◄──┤                                   ├──► share ──► the result
//!          └──batches──► sum ──sums (1 in 100)─┘
//! ```
//!
//! `share` tells what part of the sum of its batch each number is, so it needs the sum of a hundred
//! numbers before the first of them. The other branch must hold those hundred meanwhile. With
//! bounded queues the network stops when `direct` is full; here `direct` grows, once it is clear
//! that nobody in the ring of waits can go on, and no other channel does.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Options, Report, RunError};

const BATCH: u64 = 100;

/// Returns the shares in parts per million, and what the run cost.
fn shares(count: u64, capacity: u32) -> Result<(Vec<u64>, Report), RunError> {
    let mut network = Network::new();
    let (direct_out, direct) = network.channel::<u64>("direct");
    let (batches_out, batches) = network.channel::<u64>("batches");
    let (sums_out, sums) = network.channel::<u64>("sums");
    let (shares_out, shares) = network.channel::<u64>("shares");

    network.process("tee", (direct_out, batches_out), async move |(mut direct, mut batches)| {
        for n in 1..=count {
            direct.send(n).await;
            batches.send(n).await;
        }
    });
    network.process("sum", (batches, sums_out), async |(mut batches, mut sums)| {
        let mut batch = Vec::new();
        while batches.recv_batch(&mut batch, 100).await > 0 {
            sums.send(batch.drain(..).sum()).await;
        }
    });
    network.process(
        "share",
        (direct, sums, shares_out),
        async |(mut direct, mut sums, mut shares)| {
            while let Some(sum) = sums.recv().await {
                for _ in 0..BATCH {
                    let Some(n) = direct.recv().await else { return };
                    shares.send(n * 1_000_000 / sum).await;
                }
            }
        },
    );
    let all = network.collect("all", shares);
    let report = network.run_with(Options::new().capacity(capacity))?;
    Ok((all.take().unwrap_or_default(), report))
}

fn main() -> Result<(), RunError> {
    let (expected, _) = shares(1000, 1000)?;
    println!("every channel starts with … and ends with:\n");
    println!("{:>8} {:>12} {:>8} {:>12} {:>6}", "", "direct", "grown", "batches", "grown");
    for capacity in [1, 4, 16, 64, 1000] {
        let (shares, report) = shares(1000, capacity)?;
        assert_eq!(shares, expected, "a capacity is a hint: it never changes a result");
        let [direct, batches] = [&report.channels[0], &report.channels[1]];
        println!(
            "{capacity:>8} {:>12} {:>8} {:>12} {:>6}",
            direct.capacity, direct.growths, batches.capacity, batches.growths
        );
    }
    println!("\nthe results are the same for each of them");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_branch_that_must_hold_a_batch_grows() {
        let (expected, _) = shares(1000, 1000).expect("there is room for all");
        let (shares, report) = shares(1000, 4).expect("it runs to its end with little room");
        assert_eq!(shares, expected);
        for channel in &report.channels {
            assert_eq!(channel.growths > 0, channel.name.as_str() == "direct", "{report}");
        }
    }

    #[test]
    fn nothing_grows_where_there_is_room() {
        let (_, report) = shares(1000, 128).expect("there is room for a batch");
        assert!(report.channels.iter().all(|channel| channel.growths == 0), "{report}");
    }
}
