//! Word count as two MapReduce jobs in a chain, as in section 5.1 of Vrba et al.
//!
//! ```text
//!           ┌─► map ─┬─► reduce ───► map ─┬─► reduce ─┐
//!   split ──┤        ╳   (count)          ╳           ├─► merge
//!           └─► map ─┴─► reduce ───► map ─┴─► reduce ─┘
//! ```
//!
//! The first job makes a record `(word, 1)` of every word and adds them up; the second turns the
//! records round, so that sorting by key is sorting by count. Words that are seen equally often are the
//! values of one key, so they are sorted as well.

use std::cmp::Reverse;

use kahn::Network;
use kahn_mapreduce::{Job, Split, merge};

use super::{Entry, Word, WordCount, for_each_word, write_line};
use crate::{Answer, Compare, Files, Pending};

/// Writes the network: `parts` processes in each of the four stages.
pub(super) fn build<'env>(
    program: &'env WordCount,
    network: &mut Network<'env>,
    compare: Compare,
) -> Pending<'env> {
    let mut split = Split::new("split", program.parts).batch(1);
    let mut count = Job::new(
        "count",
        |chunk: &[u8], out| {
            for_each_word(chunk, |word| out.emit(word, 1));
            program.progress.add(chunk.len() as u64);
        },
        |_word, ones, out| out.emit(ones.sum::<u64>()),
    );
    if program.combine {
        count = count.combine(|sum, more| *sum += more);
    }
    let mut rank = Job::new(
        "rank",
        |(word, count): (Word<'_>, u64), out| out.emit(Reverse(count), word),
        |_count, words, out| words.for_each(|word| out.emit(word)),
    )
    .sort_values();
    if program.one_by_one {
        (count, rank) = (count.one_by_one(), rank.one_by_one());
    }
    if compare.is_by_contents() {
        (split, count, rank) = (split.digest(), count.digest(), rank.digest());
    }
    let files = Files(&program.files);
    if compare.is_on_ranks() {
        split = split.wire_beside(files);
        (count, rank) = (count.wire_beside(files), rank.wire_beside(files));
    }

    let chunks = split.items(network, program.chunks());
    let counted = count.on(network, chunks);
    let ranked = rank.on(network, counted);
    let (merged_out, merged) = compare.beside(network, compare.named("merged"), files);
    network.process("merge", (ranked, merged_out), merge);
    let merged = network.collect("result", merged);
    Box::new(move || {
        let merged = merged.take()?;
        let answer = Answer::new(move |out| {
            merged
                .iter()
                .flatten()
                .try_for_each(|&(Reverse(count), word)| write_line(out, &Entry { word, count }))
        });
        Some(answer.to(program.output.as_deref()))
    })
}
