//! Inputs for the tests.
#![allow(dead_code, reason = "each test uses some of it")]

/// Numbers that look random, the same in each run.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).expect("a byte")
    }

    /// A level from 1 to `highest`.
    pub(crate) fn level(&mut self, highest: u8) -> u8 {
        1 + self.byte() % highest
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }
}

/// Bytes of several kinds in turn: words, numbers, repetitions, zeros and noise.
pub(crate) fn text(seed: u64, length: usize) -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "process", "channel", "the", "a", "message", "waits", "for", "room", "\n", "sends",
        "network", "of",
    ];
    let mut draw = Draw::new(seed);
    let mut text = Vec::with_capacity(length + 1000);
    while text.len() < length {
        match draw.below(6) {
            0..=2 => (0..draw.below(300)).for_each(|_| {
                text.extend(WORDS[draw.below(WORDS.len())].as_bytes());
                text.push(b' ');
            }),
            3 => (0..draw.below(80))
                .for_each(|_| text.extend(draw.below(100_000).to_string().bytes())),
            4 => text.resize(text.len() + draw.below(3000), 0),
            _ => (0..draw.below(700)).for_each(|_| text.push(draw.byte())),
        }
    }
    text.truncate(length);
    text
}
