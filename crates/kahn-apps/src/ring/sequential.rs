//! The ring on one thread: each token walked round by itself.

use super::Ring;

impl Ring {
    /// Computes the total without any message, step by step.
    ///
    /// ```
    /// use kahn_apps::ring::Ring;
    ///
    /// assert_eq!(Ring { processes: 4, tokens: 1, cycles: 2 }.sequential(), 12);
    /// ```
    pub fn sequential(self) -> u64 {
        let walk = |start: u64| {
            let cycles = (0..self.cycles).fold(start, |token, _| token + u64::from(self.processes));
            // On its last lap it is not sent on by the root.
            (1..self.processes).fold(cycles, |token, _| token + 1)
        };
        (1..=u64::from(self.tokens)).map(walk).sum()
    }
}
