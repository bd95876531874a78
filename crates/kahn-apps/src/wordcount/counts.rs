//! The table of how often each word was seen.
//!
//! Short words, nearly all, are numbers in a table of their own: an entry is 24 bytes, nothing
//! points into the text, and a lookup hardly ever touches more than one cache line of entries. The hash is the same in every
//! run, so all that is made by walking through a table is the same in every run too.

use std::cmp::Reverse;
use std::hash::{BuildHasher as _, Hash, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use kahn::BoxError;
use kahn::ranks::Beside;

use super::words::{Word, for_each_word};
use crate::Files;

/// A word, and how often it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, kahn::Digest)]
pub struct Entry<'text> {
    /// The word.
    pub word: Word<'text>,
    /// How often it was seen.
    pub count: u64,
}

impl<'text> Entry<'text> {
    /// Gives what entries are sorted by: decreasing count, then the word.
    pub fn rank(&self) -> (Reverse<u64>, Word<'text>) {
        (Reverse(self.count), self.word)
    }
}

impl<'text> Beside<Files<'text>> for Entry<'text> {
    fn encode(&self, files: Files<'text>, into: &mut Vec<u8>) {
        self.word.encode(files, into);
        self.count.encode(files, into);
    }

    fn decode(files: Files<'text>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        Beside::decode(files, bytes).map(|(word, count)| Self { word, count })
    }
}

/// How often each word was seen.
///
/// ```
/// use kahn_apps::wordcount::{Counts, Word};
///
/// let mut counts = Counts::default();
/// counts.add_text(b"no, No, yes");
/// let ranked = counts.into_ranked();
/// assert_eq!((ranked[0].word, ranked[0].count), (Word::new(b"no"), 2));
/// ```
#[derive(Debug, Default)]
pub struct Counts<'text> {
    short: HashMap<Short, u64, FixedState>,
    long: HashMap<Word<'text>, u64, FixedState>,
}

impl<'text> Counts<'text> {
    /// Counts every word of a text.
    // Never inlined into a process: the loop keeps what it needs in registers.
    #[inline(never)]
    pub fn add_text(&mut self, text: &'text [u8]) {
        for_each_word(text, |word| self.add(Entry { word, count: 1 }));
    }

    /// Counts a word that was seen so many times.
    #[inline]
    pub fn add(&mut self, entry: Entry<'text>) {
        match entry.word.as_prefix() {
            Some(prefix) => *self.short.entry(Short::new(prefix)).or_insert(0) += entry.count,
            None => *self.long.entry(entry.word).or_insert(0) += entry.count,
        }
    }

    /// Divides the words among `parts` by their hash: the same word goes to the same part.
    ///
    /// # Panics
    ///
    /// Panics if `parts` is 0.
    pub fn into_parts(self, parts: usize) -> Vec<Vec<Entry<'text>>> {
        let hash = FixedState::with_seed(PARTS_SEED);
        let share = (self.short.len() + self.long.len()) / parts;
        let mut entries: Vec<_> = (0..parts).map(|_| Vec::with_capacity(share)).collect();
        self.into_entries().for_each(|entry| {
            // The upper half of the product: a number below `parts`, from the upper bits.
            let (_, part) = hash.hash_one(entry.word).carrying_mul(parts as u64, 0);
            let part = usize::try_from(part).expect("below `parts`, which is one");
            entries[part].push(entry);
        });
        entries
    }

    /// Sorts the words: by decreasing count, equal counts by word.
    pub fn into_ranked(self) -> Vec<Entry<'text>> {
        let mut entries: Vec<_> = self.into_entries().collect();
        entries.sort_unstable_by_key(Entry::rank);
        entries
    }

    fn into_entries(self) -> impl Iterator<Item = Entry<'text>> {
        let short = self.short.into_iter().map(|(key, n)| (Word::from_prefix(key.prefix()), n));
        short.chain(self.long).map(|(word, count)| Entry { word, count })
    }
}

/// The number of a short word in two halves, which need not be aligned to 16 bytes: so an entry has
/// no gap. Measured, a table of 260 000 words is a tenth faster for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Short([u64; 2]);

impl Short {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the halves are what is wanted")]
    fn new(prefix: u128) -> Self {
        Self([(prefix >> 64) as u64, prefix as u64])
    }

    #[inline]
    fn prefix(self) -> u128 {
        u128::from(self.0[0]) << 64 | u128::from(self.0[1])
    }
}

impl Hash for Short {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.prefix());
    }
}

/// Another hash than that of the tables: with the same one, a part would be a table in which all
/// words begin alike.
const PARTS_SEED: u64 = 0x6b61_686e;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_counts_are_in_byte_order_and_a_prefix_comes_first() {
        let mut counts = Counts::default();
        counts.add_text(b"b a ab B aa a");
        let ranked: Vec<_> = counts.into_ranked().iter().map(|e| (e.word, e.count)).collect();
        let by_hand: [(&[u8], u64); 4] = [(b"A", 2), (b"B", 2), (b"AA", 1), (b"AB", 1)];
        assert_eq!(ranked, by_hand.map(|(word, count)| (Word::new(word), count)));
    }

    #[test]
    fn long_words_that_differ_only_behind_the_prefix_are_different_words() {
        let mut counts = Counts::default();
        counts.add_text(b"antidisestablishmentarian ANTIDISESTABLISHMENTARIANISM");
        counts.add_text(b"AntiDisestablishmentarian");
        assert_eq!(counts.into_ranked().iter().map(|e| e.count).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn parts_hold_each_word_once_and_nothing_is_lost() {
        let text: Vec<u8> = (b'a'..=b'z').flat_map(|a| [a, b' ', a, a, b' ']).collect();
        let mut counts = Counts::default();
        counts.add_text(&text);
        let parts = counts.into_parts(5);
        assert_eq!(parts.len(), 5);
        let mut words: Vec<_> = parts.concat().iter().map(|entry| entry.word).collect();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), 52);
        assert_eq!(parts.concat().len(), 52);
    }
}
