//! The sort on one thread, in place.

use super::{BitonicSort, steps};

impl BitonicSort {
    /// Sorts each block.
    pub fn sort(&self) -> Vec<i64> {
        let mut sorted = self.numbers.clone();
        for block in sorted.chunks_exact_mut(self.keys) {
            for step in steps(self.keys) {
                for index in (0..self.keys).filter(|index| index & step.apart == 0) {
                    let other = index | step.apart;
                    if (block[index] > block[other]) == step.rises(index) {
                        block.swap(index, other);
                    }
                }
            }
        }
        sorted
    }
}
