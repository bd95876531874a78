//! The same network under many schedules: what is compared, and what the comparison finds.
//!
//! ```text
//!   left  ──left tickets───► …          shared: both count one number up
//!   right ──right tickets──► …          dealt:  a process deals the numbers to both
//! ```
//!
//! Two clerks number their tickets, and no number may be given twice. If they count up a number in
//! shared memory, which gets what depends on which is first: it works, and it is different in every
//! run. `testing::verify` runs the network under every policy, with several numbers of workers,
//! capacities and seeds, compares what was received, and names the first message that differs and
//! the process that wrote it. If the numbers come through channels, there is nothing to find.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::testing::{self, Verified, VerifyError};
use kahn::{Channel, Network};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const TICKETS: u32 = 100;

/// Both clerks count up one number.
fn shared(network: &mut Network<'_>) {
    let next = Arc::new(AtomicU32::new(0));
    for clerk in ["left", "right"] {
        let next = Arc::clone(&next);
        // With a digest, messages are compared by their contents and not by their number alone.
        let tickets = Channel::named(format!("{clerk} tickets")).digest();
        let (tickets_out, tickets) = network.channel_with(tickets);
        network.process(clerk, tickets_out, async move |mut tickets| {
            for _ in 0..TICKETS / 2 {
                tickets.send(next.fetch_add(1, Relaxed)).await;
            }
        });
        network.for_each(format!("{clerk} customers"), tickets, |_ticket| {});
    }
}

/// A third process deals the numbers.
fn dealt(network: &mut Network<'_>) {
    let numbers = network.source("numbers", 0..TICKETS);
    let (mut outs, mut ins) = (Vec::new(), Vec::new());
    for clerk in ["left", "right"] {
        let tickets = Channel::named(format!("{clerk} tickets")).digest();
        let (tickets_out, tickets) = network.channel_with(tickets);
        outs.push(tickets_out);
        ins.push((clerk, tickets));
    }
    network.process("dealer", (numbers, outs), async |(mut numbers, mut outs)| {
        while let Some(number) = numbers.recv().await {
            let count = outs.len();
            outs[number as usize % count].send(number).await;
        }
    });
    for (clerk, tickets) in ins {
        network.for_each(format!("{clerk} customers"), tickets, |_ticket| {});
    }
}

fn verified(build: impl Fn(&mut Network<'_>)) -> Result<Verified, VerifyError> {
    testing::verify(build)
}

fn main() {
    for (name, verified) in [("shared", verified(shared)), ("dealt", verified(dealt))] {
        match verified {
            Ok(verified) => println!("{name}: {verified}\n"),
            Err(error) => println!("{name}: {error}\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::testing::{Mismatch, VerifyError};

    #[test]
    fn memory_that_is_shared_is_found_and_its_writer_is_named() {
        let VerifyError::Differs(difference) = verified(shared).expect_err("which is first?")
        else {
            panic!("the runs end, and differ")
        };
        let Mismatch::Message { from, from_same_input, .. } = difference.mismatch else {
            panic!("messages differ first: {difference}")
        };
        assert!(from.is_some_and(|from| ["left", "right"].contains(&from.as_str())));
        assert!(from_same_input, "a clerk receives nothing");
    }

    #[test]
    fn with_channels_alone_all_runs_are_equal() {
        let verified = verified(dealt).expect("nothing is shared");
        assert_eq!(verified.by_contents, 3);
        assert!(verified.cut.is_empty());
    }
}
