//! Words as Unicode has letters: `Straße`, `мир`, `ÉTÉ`.
//!
//! A word is a maximal run of alphabetic characters, folded to upper case, so that `straße` and `STRASSE`
//! are one; every other character separates, and so does what is no UTF-8. The papers' rule, which knows
//! 52 letters, is the default: it is what they measured, and an order of magnitude faster.
//!
//! ```text
//!           ┌─► count 0 ─┐
//!   split ──┤            ├─► sum
//!           └─► count 1 ─┘
//! ```

use std::cmp::Reverse;
use std::path::PathBuf;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kahn::Network;

use crate::{Answer, Compare, Failure, Files, Input, Pending, Program, Progress};

/// How often each word was seen.
type Counts = HashMap<String, u64, FixedState>;

/// The files, ready to be counted.
#[derive(Debug)]
pub(super) struct UnicodeCount {
    pub(super) files: Vec<Input>,
    pub(super) parts: usize,
    pub(super) output: Option<PathBuf>,
    pub(super) progress: Progress,
}

impl UnicodeCount {
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let size = super::piece_size(&self.files, self.parts);
        self.files.iter().flat_map(move |file| pieces(file, size))
    }

    /// Counts the words of a piece, in the order of the words.
    fn count(&self, piece: &[u8]) -> Vec<(String, u64)> {
        let mut counts = Counts::default();
        add_text(&mut counts, piece);
        self.progress.add(piece.len() as u64);
        ranked(counts)
    }
}

impl Program for UnicodeCount {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        self.files.iter().for_each(|file| file.tell(network));
        let (mut pieces, mut counted) = (Vec::new(), Vec::new());
        for part in 0..self.parts {
            let channel = compare.named(format!("pieces {part}"));
            let (out, piece) = compare.beside(network, channel, Files(&self.files));
            let (counted_out, counts) = compare.carried_channel(network, format!("counted {part}"));
            network.process(
                format!("count {part}"),
                (piece, counted_out),
                async |(mut piece, mut out)| {
                    while let Some(piece) = piece.recv().await {
                        out.send(self.count(piece)).await;
                    }
                },
            );
            pieces.push(out);
            counted.push(counts);
        }
        network.process("split", pieces, async move |mut counters| {
            let parts = counters.len();
            for (turn, piece) in self.pieces().enumerate() {
                counters[turn % parts].send(piece).await;
            }
        });
        let counted = network.gather("counted", counted);
        let all = network.fold("sum", counted, Counts::default(), |mut all, counted| {
            for (word, count) in counted {
                *all.entry(word).or_insert(0) += count;
            }
            all
        });
        Box::new(move || all.take().map(|all| answer(all).to(self.output.as_deref())))
    }

    fn mapreduce<'env>(
        &'env self,
        _network: &mut Network<'env>,
        _compare: Compare,
    ) -> Result<Pending<'env>, Failure> {
        Err(Failure::input("--words unicode is not for the variant `mapreduce`")
            .with_help("it is the papers' job, with their words; leave one of both out"))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        let mut counts = Counts::default();
        for piece in self.pieces() {
            add_text(&mut counts, piece);
            self.progress.add(piece.len() as u64);
        }
        Ok(answer(counts).to(self.output.as_deref()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

fn add_text(counts: &mut Counts, text: &[u8]) {
    for valid in text.utf8_chunks().map(|chunk| chunk.valid()) {
        let words = valid.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        for word in words {
            *counts.entry(word.to_uppercase()).or_insert(0) += 1;
        }
    }
}

/// The words by decreasing count, and among equal counts by their characters.
fn ranked(counts: Counts) -> Vec<(String, u64)> {
    let mut ranked: Vec<_> = counts.into_iter().collect();
    ranked.sort_unstable_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    ranked
}

fn answer<'env>(counts: Counts) -> Answer<'env> {
    let ranked = ranked(counts);
    Answer::new(move |out| {
        ranked.iter().try_for_each(|(word, count)| writeln!(out, "{word}\t{count}"))
    })
}

/// Cuts a text behind `size` bytes or a little more, where an ASCII character separates: no word is cut,
/// and no character.
fn pieces(text: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    let mut left = text;
    std::iter::from_fn(move || {
        let (_, behind) = left.split_at_checked(size).unwrap_or((left, &[]));
        let is_inside = |byte: &&u8| !byte.is_ascii() || byte.is_ascii_alphabetic();
        let extra = behind.iter().take_while(is_inside).count();
        let (piece, rest) = left.split_at(left.len() - behind.len() + extra);
        left = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &[u8]) -> Vec<(String, u64)> {
        let mut counts = Counts::default();
        add_text(&mut counts, text);
        ranked(counts)
    }

    #[test]
    fn letters_of_any_script_make_words_and_fold() {
        let text = "Straße STRASSE мир Мир été l'été 3 日本";
        let expected = [("STRASSE", 2), ("ÉTÉ", 2), ("МИР", 2), ("L", 1), ("日本", 1)];
        assert_eq!(words(text.as_bytes()), expected.map(|(word, n)| (word.to_owned(), n)));
        // What is no UTF-8 separates.
        assert_eq!(words(b"a\xffb a").len(), 2);
    }

    proptest! {
        #[test]
        fn cutting_cuts_no_word_and_loses_nothing(text in "[aé日 ,\u{0301}]{0,80}", size in 1usize..20) {
            let cut: Vec<&[u8]> = pieces(text.as_bytes(), size).collect();
            prop_assert_eq!(cut.concat(), text.as_bytes());
            let mut counts = Counts::default();
            for piece in cut {
                add_text(&mut counts, piece);
            }
            prop_assert_eq!(ranked(counts), words(text.as_bytes()));
        }
    }
}
