//! Two jobs in a chain, and a reader that has enough: the most frequent letters of a text.
//!
//! ```text
//!           ┌─► map ─┬─► reduce ───► map ─┬─► reduce ─┐
//!   words ──┤        ╳   (count)          ╳           ├─► merge ──► first three
//!           └─► map ─┴─► reduce ───► map ─┴─► reduce ─┘
//!              job `count`             job `rank`
//! ```
//!
//! What reducer *i* of the first job gives goes straight to map *i* of the second, which turns a record
//! `(letter, count)` round: the count becomes the key, and sorting by it is all that the second job
//! does. The order of letters that are equally frequent would depend on which reducer they come
//! from, so the values are sorted too.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::cmp::Reverse;

use kahn::{Network, RunError};
use kahn_mapreduce::{Job, Split};

fn most_frequent(text: &str, how_many: usize) -> Result<Vec<(char, u32)>, RunError> {
    let mut first = Vec::new();
    let mut network = Network::new();
    let words = Split::new("words", 2).batch(2).items(&mut network, text.split(' '));
    let count = Job::new(
        "count",
        |word: &str, out| word.chars().for_each(|letter| out.emit(letter, 1_u32)),
        |_letter, ones, out| out.emit(ones.sum::<u32>()),
    );
    let counted = count.on(&mut network, words);
    let rank = Job::new(
        "rank",
        |(letter, count), out| out.emit(Reverse(count), letter),
        |_count, letters, out| letters.for_each(|letter| out.emit(letter)),
    );
    let ranked = rank.sort_values().on(&mut network, counted);

    let merged = ranked.merge(&mut network, "merge");
    let records = network.unbatch("records", merged);
    network.process("first", records, async |mut records| {
        records.recv_batch(&mut first, how_many).await;
    });
    network.run()?;
    Ok(first.into_iter().map(|(Reverse(count), letter)| (letter, count)).collect())
}

fn main() -> Result<(), RunError> {
    for (letter, count) in most_frequent("how much wood would a woodchuck chuck", 3)? {
        println!("{letter} {count}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_frequent_letters_are_in_order() {
        let found = most_frequent("how much wood would a woodchuck chuck", 5).unwrap();
        assert_eq!(found, [('o', 6), ('c', 5), ('h', 4), ('u', 4), ('w', 4)]);
    }

    #[test]
    fn a_reader_may_ask_for_more_than_there_is() {
        assert_eq!(most_frequent("a ab", 3).unwrap(), [('a', 2), ('b', 1)]);
    }
}
