//! A true deadlock, and how it explains itself.
//!
//! ```text
//!            ┌───requests───┐
//!   client ──┤              ├── server ──log──► writer
//!            └───replies────┘
//! ```
//!
//! The client waits for a greeting before it asks; the server waits for a question before it says
//! anything. No capacity helps: both channels are empty. The run ends and tells what waits for what,
//! at which message, which processes form the ring and which only wait behind it, and what would
//! help. The same is there as data.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Detail, Explanation, Network, RunError};

fn polite(network: &mut Network<'_>) {
    let (requests_out, requests) = network.channel::<String>("requests");
    let (replies_out, replies) = network.channel::<String>("replies");
    let (log_out, log) = network.channel::<String>("log");

    network.process("client", (replies, requests_out), async |(mut replies, mut requests)| {
        let greeting = replies.recv().await;
        requests.send(format!("after {greeting:?}: what time is it?")).await;
    });
    network.process(
        "server",
        (requests, replies_out, log_out),
        async |(mut requests, mut replies, mut log)| {
            while let Some(request) = requests.recv().await {
                log.send(request).await;
                replies.send("I do not know the time".to_owned()).await;
            }
        },
    );
    network.process("writer", log, async |mut log| {
        log.for_each(|line| println!("{line}")).await;
    });
}

fn explanation(error: &RunError) -> Option<&Explanation> {
    match &error.report()?.detail {
        Some(Detail::Waits(explanation)) => Some(explanation),
        _ => None,
    }
}

fn main() {
    let mut network = Network::new();
    polite(&mut network);
    let Err(error) = network.run() else { return };
    println!("for people:\n\n{error}\n");
    if let Some(explanation) = explanation(&error) {
        println!("as data:\n\n{}", explanation.to_json());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::Summary;

    #[test]
    fn the_ring_is_named_and_so_is_what_waits_behind_it() {
        let mut network = Network::new();
        polite(&mut network);
        let error = network.run().expect_err("nobody speaks first");
        assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Deadlock));
        let explanation = explanation(&error).expect("a deadlock is explained");
        let ring: Vec<_> = explanation.rings[0].iter().map(|m| m.process.as_str()).collect();
        assert_eq!(ring, ["client", "server"]);
        let waiting: Vec<_> = explanation.waiting.iter().map(|w| w.process.as_str()).collect();
        assert_eq!(waiting, ["client", "server", "writer"]);
        assert!(error.to_string().contains("help: one process of the ring must send before"));
    }
}
