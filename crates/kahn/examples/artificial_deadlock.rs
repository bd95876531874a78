//! An artificial deadlock without any cycle in the graph.
//!
//! ```text
//!           ┌──odd───┐
//!   deal ───┤        ├──► join: all even numbers, then all odd ones
//!           └──even──┘
//! ```
//!
//! `join` wants the even numbers first, and `deal` has to get rid of an odd one for every even one.
//! When `odd` is full, `deal` waits for `join` to take an odd number, and `join` waits for `deal` to
//! send an even one: a ring of waits in a graph that has no cycle. It is called artificial because
//! it would not exist if `odd` were larger. ETL tools tell their users about it in their manuals.
//!
//! With detection switched off the run ends there and says so. By default `odd` grows.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Channel, Detection, Network, Options, Report, RunError};

fn deal_and_join(count: u32, options: Options) -> (Option<Vec<u32>>, Result<Report, RunError>) {
    let mut network = Network::new();
    let (odd_out, odd) = network.channel_with(Channel::<u32>::named("odd").capacity(10));
    let (even_out, even) = network.channel_with(Channel::<u32>::named("even").capacity(10));
    let (joined_out, joined) = network.channel::<u32>("joined");

    network.process("deal", (odd_out, even_out), async move |(mut odd, mut even)| {
        for n in 0..count {
            let out = if n % 2 == 0 { &mut even } else { &mut odd };
            out.send(n).await;
        }
    });
    network.process("join", (odd, even, joined_out), async |(mut odd, mut even, mut joined)| {
        for side in [&mut even, &mut odd] {
            while let Some(n) = side.recv().await {
                joined.send(n).await;
            }
        }
    });
    let all = network.collect("all", joined);
    let result = network.run_with(options);
    (all.take(), result)
}

fn main() -> Result<(), RunError> {
    let (_, result) = deal_and_join(100, Options::new().detection(Detection::Off));
    if let Err(error) = result {
        println!("with detection off:\n\n{error}\n");
    }
    let (joined, result) = deal_and_join(100, Options::new());
    println!("by default:\n\n{}", result?);
    println!("\n{} numbers joined", joined.map_or(0, |joined| joined.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kahn::Summary;

    #[test]
    fn with_detection_off_it_deadlocks_and_says_where() {
        let (joined, result) = deal_and_join(100, Options::new().detection(Detection::Off));
        let error = result.expect_err("nobody lets `odd` grow");
        assert_eq!(error.report().map(|report| report.outcome), Some(Summary::Deadlock));
        let text = error.to_string();
        assert!(
            text.contains("`deal` waits to send message 11 to `odd` (full, 10 of 10)"),
            "{text}"
        );
        assert!(text.contains("`join` waits to receive message 12 from `even` (empty)"), "{text}");
        assert_eq!(joined, None, "what is cut short has no result");
    }

    #[test]
    fn by_default_it_finishes() {
        let (joined, result) = deal_and_join(100, Options::new());
        result.expect("`odd` grows");
        let expected: Vec<_> = (0..100).step_by(2).chain((1..100).step_by(2)).collect();
        assert_eq!(joined, Some(expected));
    }
}
