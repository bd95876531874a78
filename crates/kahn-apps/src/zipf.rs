//! Texts with words as in natural language: few are frequent, many are rare.
//!
//! The word of rank `r` is drawn with a probability in proportion to `1 / r` (Zipf's law). The
//! same arguments give the same bytes on every machine.

use std::io::{self, Write};

use crate::random::Random;

/// Words by rank, and for each rank how probable it and those before it are together.
struct Language {
    words: Vec<String>,
    cumulated: Vec<f64>,
}

impl Language {
    fn new(vocabulary: u32, random: &mut Random) -> Self {
        let words = (0..vocabulary).map(|rank| word(rank, random)).collect();
        let mut total = 0.0;
        let weights = (1..=vocabulary).map(|rank| 1.0 / f64::from(rank));
        let cumulated = weights.map(|weight| {
            total += weight;
            total
        });
        Self { words, cumulated: cumulated.collect() }
    }

    fn draw(&self, random: &mut Random) -> &str {
        let total = self.cumulated.last().copied().unwrap_or_default();
        let upper = u32::try_from(random.next() >> 32).expect("32 bits");
        let place = total * f64::from(upper) / 4_294_967_296.0;
        let rank = self.cumulated.partition_point(|sum| *sum <= place);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

/// Makes up a word; rare words are longer.
fn word(rank: u32, random: &mut Random) -> String {
    let least = 1 + (u32::BITS - rank.leading_zeros()) / 4;
    let length = u64::from(least) + 1 + random.below(6);
    let letter = |random: &mut Random| {
        // Drawn twice, so that early letters are more frequent.
        let bound = 1 + random.below(26);
        b'a' + u8::try_from(random.below(bound)).expect("a letter")
    };
    (0..length).map(|_| char::from(letter(random))).collect()
}

/// Writes a text of so many bytes with a vocabulary of so many words, one or more.
///
/// ```
/// let text = |seed| {
///     let mut text = Vec::new();
///     kahn_apps::zipf::write_text(1000, 50, seed, &mut text).map(|()| text)
/// };
/// assert_eq!(text(1)?, text(1)?);
/// assert_ne!(text(1)?, text(2)?);
/// assert_eq!(text(1)?.len(), 1000);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Returns what `out` returns.
pub fn write_text(bytes: usize, vocabulary: u32, seed: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut random = Random::new(seed);
    let language = Language::new(vocabulary, &mut random);
    let mut written = 0;
    while written < bytes {
        let mut word = language.draw(&mut random).to_owned();
        let style = random.below(64);
        if style < 6 {
            word[..1].make_ascii_uppercase();
        }
        word.push_str(match style {
            0..4 => ", ",
            4..8 => ".\n",
            8 => " 42 ",
            _ => " ",
        });
        let left = (bytes - written).min(word.len());
        out.write_all(&word.as_bytes()[..left])?;
        written += left;
    }
    out.flush()
}
