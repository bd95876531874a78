//! Random choices that are counted by name.
//!
//! A generator that never draws a choice tests nothing about it, and it does not show.
//! So each question that a generator asks is a [`Choice`] in a list of the campaign, each answer is
//! counted, and a campaign of some hundred cases in which an answer never came is an error.

use std::collections::BTreeMap;

/// A question that a generator asks, with its answers and how many times of their sum each comes.
#[derive(Debug)]
pub struct Choice {
    /// What is asked.
    pub name: &'static str,
    /// The answers, each with its weight.
    pub answers: &'static [(&'static str, u32)],
}

/// How often each answer was drawn, by question and answer.
pub type Counts = BTreeMap<(&'static str, &'static str), u64>;

/// Draws numbers and answers from a seed, and counts the answers.
#[derive(Debug)]
pub struct Draw {
    state: u64,
    counts: Counts,
}

impl Draw {
    /// Begins with a seed; equal seeds give equal draws.
    pub fn new(seed: u64) -> Self {
        let mut draw = Self { state: seed ^ 0x9e37_79b9_7f4a_7c15, counts: Counts::new() };
        // Neighbouring seeds should not begin alike.
        draw.number();
        draw.state = draw.number() ^ seed.rotate_left(32);
        draw
    }

    /// Draws a number (`SplitMix64`).
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Draws a number from 0 to `end - 1`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let drawn = (u128::from(self.number()) * end as u128) >> 64;
        usize::try_from(drawn).unwrap_or(0)
    }

    /// Draws a number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Draws one of `items`.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn one<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Draws an answer, and counts it.
    pub fn pick(&mut self, choice: &Choice) -> &'static str {
        let sum: u32 = choice.answers.iter().map(|(_, weight)| weight).sum();
        let mut at = self.below(sum as usize);
        for &(answer, weight) in choice.answers {
            if at < weight as usize {
                *self.counts.entry((choice.name, answer)).or_default() += 1;
                return answer;
            }
            at -= weight as usize;
        }
        unreachable!("a number below the sum of the weights falls on an answer")
    }

    /// Returns whether the answer drawn is `yes`.
    pub fn yes(&mut self, choice: &Choice) -> bool {
        self.pick(choice) == "yes"
    }

    /// Gives the counts.
    pub fn into_counts(self) -> Counts {
        self.counts
    }
}
