//! Scatter and gather on one thread: a loop in a loop.

use super::ScatterGather;
use crate::checksum::mix;

impl ScatterGather {
    /// Does all tasks in order, and returns the checksum of the replies.
    pub fn sequential(self) -> u64 {
        let mut sum = 0;
        for round in 0..self.rounds {
            for number in 0..u64::from(self.processes) {
                sum = mix(sum, self.work.spend(mix(round, number)));
            }
        }
        sum
    }
}
