//! Where the words of a text are, and how a word is kept.
//!
//! Nothing of a text is copied to fold it to upper case: a letter is folded by clearing one bit,
//! so a word is folded as it is loaded into a register.
//!
//! ```text
//! text:    ..., T h e   q u i c k ...
//! letters: 0 0 0 1 1 1 0 1 1 1 1 1 0     one bit a byte, 64 bytes at a time
//! edges:         ^     ^ ^         ^     where the bit changes: begin, end, begin, end
//! ```

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};

use kahn::BoxError;
use kahn::ranks::Beside;

use crate::Files;

/// How many letters of a word are kept in the word itself.
const PREFIX: usize = 16;

/// Clears, in each byte, the bit that tells small letters from capital ones.
const FOLD: u128 = u128::from_be_bytes([0xDF; PREFIX]);

/// A word in upper case, ordered by its bytes.
///
/// The first sixteen letters are in a number, the first letter in its highest byte, filled up with
/// zeros: so numbers compare as words do. Nearly all words are no longer than that. The letters
/// behind them, if any, stay in the text as they are, and are folded when they are looked at.
///
/// ```
/// use kahn_apps::wordcount::Word;
///
/// assert_eq!(Word::new(b"kahn"), Word::new(b"Kahn"));
/// assert!(Word::new(b"process") < Word::new(b"processes"));
/// ```
#[derive(Debug, Clone, Copy, kahn::Digest)]
pub struct Word<'text> {
    prefix: u128,
    rest: &'text [u8],
}

impl<'text> Word<'text> {
    /// Makes a word of letters.
    pub fn new(letters: &'text [u8]) -> Self {
        Self::at(letters, 0, letters.len())
    }

    /// Makes the word that stands from `start` to `end` in `text`.
    #[inline]
    fn at(text: &'text [u8], start: usize, end: usize) -> Self {
        let length = end - start;
        let loaded = match text[start..].first_chunk() {
            Some(bytes) => u128::from_be_bytes(*bytes),
            None => load_at_the_end(&text[start..]),
        };
        if length > PREFIX {
            return Self { prefix: loaded & FOLD, rest: &text[start + PREFIX..end] };
        }
        // Two shifts, for an empty word would shift by all 128 bits.
        let kept = !((u128::MAX >> (4 * length)) >> (4 * length));
        Self { prefix: loaded & FOLD & kept, rest: &[] }
    }

    /// Makes a word of at most sixteen letters from its number.
    pub(super) fn from_prefix(prefix: u128) -> Self {
        Self { prefix, rest: &[] }
    }

    /// Gives the number that is the whole word, if the word is short enough.
    #[inline]
    pub(super) fn as_prefix(&self) -> Option<u128> {
        self.rest.is_empty().then_some(self.prefix)
    }

    /// Writes the word in upper case.
    ///
    /// # Errors
    ///
    /// Returns what `out` returns.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let letters = PREFIX - self.prefix.trailing_zeros() as usize / 8;
        out.write_all(&self.prefix.to_be_bytes()[..letters])?;
        let mut folded = [0; 1024];
        for piece in self.rest.chunks(folded.len()) {
            let folded = &mut folded[..piece.len()];
            folded.copy_from_slice(piece);
            folded.make_ascii_uppercase();
            out.write_all(folded)?;
        }
        Ok(())
    }
}

impl<'text> Beside<Files<'text>> for Word<'text> {
    fn encode(&self, files: Files<'text>, into: &mut Vec<u8>) {
        self.prefix.encode((), into);
        let rest = Some(self.rest).filter(|rest| !rest.is_empty());
        rest.encode(files, into);
    }

    fn decode(files: Files<'text>, bytes: &mut &[u8]) -> Result<Self, BoxError> {
        let (prefix, rest) = (u128::decode((), bytes)?, Option::<&[u8]>::decode(files, bytes)?);
        Ok(Self { prefix, rest: rest.unwrap_or_default() })
    }
}

#[cold]
fn load_at_the_end(bytes: &[u8]) -> u128 {
    let mut padded = [0; PREFIX];
    padded[..bytes.len()].copy_from_slice(bytes);
    u128::from_be_bytes(padded)
}

impl PartialEq for Word<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.prefix == other.prefix && self.rest.eq_ignore_ascii_case(other.rest)
    }
}

impl Eq for Word<'_> {}

impl PartialOrd for Word<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Word<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let fold = |word: &Self| word.rest.iter().map(u8::to_ascii_uppercase);
        self.prefix.cmp(&other.prefix).then_with(|| fold(self).cmp(fold(other)))
    }
}

impl Hash for Word<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.prefix);
        for piece in self.rest.chunks(PREFIX) {
            let mut padded = [0; PREFIX];
            padded[..piece.len()].copy_from_slice(piece);
            state.write_u128(u128::from_be_bytes(padded) & FOLD);
        }
    }
}

/// Calls `each` for every word of `text`, in order.
///
/// ```
/// use kahn_apps::wordcount::{Word, for_each_word};
///
/// let mut words = Vec::new();
/// for_each_word(b"It's 3 o'clock.", |word| words.push(word));
/// assert_eq!(words, [b"IT", &b"S"[..], b"O", b"CLOCK"].map(Word::new));
/// ```
#[inline]
pub fn for_each_word<'text>(text: &'text [u8], mut each: impl FnMut(Word<'text>)) {
    const BLOCK: usize = 64;
    // The place where the word begins that has not ended yet.
    let mut open = None;
    let mut scan = |base: usize, letters: u64| {
        let before = u64::from(open.is_some());
        let mut edges = letters ^ (letters << 1 | before);
        while edges != 0 {
            let at = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            match open.take() {
                None => open = Some(at),
                Some(start) => each(Word::at(text, start, at)),
            }
        }
    };
    let (blocks, tail) = text.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        scan(index * BLOCK, letters(block));
    }
    // What is behind the text counts as no letter, so here the last word ends.
    let mut last = [0; BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    scan(blocks.len() * BLOCK, letters(&last));
}

/// Tells which of 64 bytes are letters: bit `i` is byte `i`.
#[inline]
fn letters(block: &[u8; 64]) -> u64 {
    let (eights, _) = block.as_chunks::<8>();
    let eights = eights.iter().enumerate();
    eights.fold(0, |mask, (index, eight)| {
        mask | letters_of_eight(u64::from_le_bytes(*eight)) << (8 * index)
    })
}

/// Tells which of eight bytes are letters, all at once.
#[inline]
fn letters_of_eight(bytes: u64) -> u64 {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    const HIGH: u64 = each(0x80);

    // Seven bits a byte, small letters folded to capital ones: at most 0x5F, so that the sums
    // below do not carry into the next byte. Their high bits say `>= 'A'` and `> 'Z'`.
    let folded = bytes & each(0x5F);
    let from_a = folded + each(0x80 - b'A');
    let past_z = folded + each(0x80 - b'Z' - 1);
    let letter = from_a & !past_z & !bytes & HIGH;
    // Bit 8i+7 goes to bit i: the product brings all of them into the highest byte.
    (letter >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Cuts a text into pieces of `size` bytes or a little more, so that no word is cut.
///
/// A word longer than that makes its piece longer. The pieces together are the text.
pub(super) fn chunks(text: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    let mut left = text;
    std::iter::from_fn(move || {
        let (_, behind) = left.split_at_checked(size).unwrap_or((left, &[]));
        let extra = behind.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (chunk, rest) = left.split_at(left.len() - behind.len() + extra);
        left = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &[u8]) -> Vec<Vec<u8>> {
        let mut words = Vec::new();
        for_each_word(text, |word| {
            let mut bytes = Vec::new();
            word.write(&mut bytes).unwrap();
            words.push(bytes);
        });
        words
    }

    /// The definition, read out: split at all that is no letter, fold, leave out nothings.
    fn words_by_definition(text: &[u8]) -> Vec<Vec<u8>> {
        let runs = text.split(|byte| !byte.is_ascii_alphabetic());
        runs.filter(|run| !run.is_empty()).map(<[u8]>::to_ascii_uppercase).collect()
    }

    #[test]
    fn every_byte_is_a_letter_or_separates() {
        for byte in 0..=u8::MAX {
            let text = [b'a', byte, b'b'];
            let one = byte.is_ascii_alphabetic();
            assert_eq!(words(&text).len(), if one { 1 } else { 2 }, "byte {byte:#x}");
        }
    }

    #[test]
    fn words_of_every_length_around_the_prefix_and_the_block_are_whole() {
        for length in (0..=20).chain(60..=70).chain([127, 128, 129, 3000]) {
            let text = vec![b'q'; length];
            assert_eq!(words(&text), words_by_definition(&text), "length {length}");
        }
    }

    fn any_text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => b'a'..=b'c', 2 => b'X'..=b'[', 1 => any::<u8>()];
        prop::collection::vec(byte, 0..300)
    }

    proptest! {
        #[test]
        fn the_words_are_those_of_the_definition(text in any_text()) {
            prop_assert_eq!(words(&text), words_by_definition(&text));
        }

        #[test]
        fn cutting_cuts_no_word_and_loses_nothing(text in any_text(), size in 1usize..40) {
            let pieces: Vec<&[u8]> = chunks(&text, size).collect();
            prop_assert_eq!(pieces.concat(), text.clone());
            let cut: Vec<_> = pieces.iter().flat_map(|piece| words(piece)).collect();
            prop_assert_eq!(cut, words(&text));
        }

        #[test]
        fn words_compare_as_their_folded_bytes(
            a in "[a-cA-C]{1,4}(xxxxxxxxxxxxxxx|X{15})?[a-bA-B]{0,2}",
            b in "[a-cA-C]{1,4}(xxxxxxxxxxxxxxx|X{15})?[a-bA-B]{0,2}",
        ) {
            let by_bytes = a.to_ascii_uppercase().cmp(&b.to_ascii_uppercase());
            let (a, b) = (Word::new(a.as_bytes()), Word::new(b.as_bytes()));
            prop_assert_eq!(a.cmp(&b), by_bytes);
            prop_assert_eq!(a == b, by_bytes.is_eq());
        }
    }
}
