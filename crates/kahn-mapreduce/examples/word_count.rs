//! How often each word stands in a text: one job.
//!
//! ```text
//!            ┌─► count map 0 ─┬─► count reduce 0 ─┐
//!   lines ───┤                ╳                   ├─► merge ──► the result
//!            └─► count map 1 ─┴─► count reduce 1 ─┘
//! ```
//!
//! A map emits a record `(word, 1)` for each word; the combiner puts those of a batch together, so
//! that fewer are sent and sorted. A reducer adds up. Every word is at one reducer, and the merge
//! makes one sorted stream of what they give.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use kahn::{Network, RunError};
use kahn_mapreduce::{Job, Split};

const TEXT: &str = "\
One fish two fish
red fish blue fish
Black fish blue fish
old fish new fish";

fn count_words(text: &str) -> Result<Vec<(String, u64)>, RunError> {
    let mut network = Network::new();
    let lines = Split::new("lines", 2).batch(1).items(&mut network, text.lines());
    let count = Job::new(
        "count",
        |line: &str, out| line.split(' ').for_each(|word| out.emit(word.to_lowercase(), 1_u64)),
        |_word, ones, out| out.emit(ones.sum::<u64>()),
    );
    let count = count.combine(|sum, more| *sum += more);
    let merged = count.on(&mut network, lines).merge(&mut network, "merge");
    let all = network.collect("all", merged);
    network.run()?;
    Ok(all.take().unwrap_or_default().concat())
}

fn main() -> Result<(), RunError> {
    for (word, count) in count_words(TEXT)? {
        println!("{word} {count}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_order_with_their_counts() {
        let expected = [
            ("black", 1),
            ("blue", 2),
            ("fish", 8),
            ("new", 1),
            ("old", 1),
            ("one", 1),
            ("red", 1),
            ("two", 1),
        ];
        assert_eq!(count_words(TEXT).unwrap(), expected.map(|(word, n)| (word.to_owned(), n)));
    }
}
