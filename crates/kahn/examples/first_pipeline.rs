//! A first pipeline: three processes, each ordinary sequential code.
//!
//! ```text
//!   split ──words──► measure ──lengths──► longest ──► the result
//! ```
//!
//! `split` borrows the text from `main`: a network may use the caller's data for as long as it runs.
//! Each process waits where its channel is empty or full, and the rest runs on.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, Report, RunError};

const TEXT: &str = "the runtime moves words and the processes measure them";

fn longest_word(text: &str) -> Result<(usize, Report), RunError> {
    let mut network = Network::new();
    let (words_out, words) = network.channel::<&str>("words");
    let (lengths_out, lengths) = network.channel::<usize>("lengths");

    network.process("split", words_out, async |mut words| {
        for word in text.split_whitespace() {
            words.send(word).await;
        }
    });
    network.process("measure", (words, lengths_out), async |(mut words, mut lengths)| {
        while let Some(word) = words.recv().await {
            lengths.send(word.len()).await;
        }
    });
    let longest = network.fold("longest", lengths, 0, |longest: usize, length| longest.max(length));

    let report = network.run()?;
    Ok((longest.take().unwrap_or(0), report))
}

fn main() -> Result<(), RunError> {
    let (longest, report) = longest_word(TEXT)?;
    println!("the longest word has {longest} letters\n\n{report}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipeline_finds_the_longest_word() {
        let (longest, report) = longest_word(TEXT).expect("the pipeline runs to its end");
        assert_eq!(longest, "processes".len());
        assert_eq!(report.created, (3, 2));
    }
}
