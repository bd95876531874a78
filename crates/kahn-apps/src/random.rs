//! Generated input: a small generator, written down so that anyone can make the same numbers.
//!
//! It is `SplitMix64` (Steele, Lea, Flood 2014): the state is one 64-bit word, first the seed, and
//! the next number is, in arithmetic modulo 2^64,
//!
//! ```text
//! state ← state + 0x9E3779B97F4A7C15
//! z ← state
//! z ← (z xor (z >> 30)) × 0xBF58476D1CE4E5B9
//! z ← (z xor (z >> 27)) × 0x94D049BB133111EB
//! the number is z xor (z >> 31)
//! ```
//!
//! A number below `n` is the upper 64 bits of the 128-bit product of the next number and `n`.

/// A generator of numbers that look random and are the same for the same seed.
///
/// ```
/// use kahn_apps::random::Random;
///
/// let mut random = Random::new(1);
/// assert!(random.below(1000) < 1000);
/// assert_eq!(Random::new(1).next(), Random::new(1).next());
/// ```
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Makes the next number.
    #[expect(clippy::should_implement_trait, reason = "there is always a next one: no Option")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Makes the next number below `bound`, which is at least one.
    pub fn below(&mut self, bound: u64) -> u64 {
        let (_, upper) = self.next().carrying_mul(bound, 0);
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        // The first outputs of SplitMix64 for seed 1234567, as its reference code prints them.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
