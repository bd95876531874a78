//! Word count as one would write it without a network: one table, one pass, one sort.

use super::{Counts, Entry, WordCount};

/// Counts the words of all files.
pub(super) fn count(program: &WordCount) -> Vec<Entry<'_>> {
    let mut counts = Counts::default();
    for chunk in program.chunks() {
        counts.add_text(chunk);
        program.progress.add(chunk.len() as u64);
    }
    counts.into_ranked()
}
