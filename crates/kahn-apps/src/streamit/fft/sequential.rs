//! The transforms on one thread, in place, as textbooks have them.

use super::{Complex, Fft, roots};

impl Fft {
    /// Gives the transforms of all blocks.
    pub fn transform(&self) -> Vec<Complex> {
        let mut spectra = self.points.clone();
        let levels: Vec<_> = (1..=self.size.ilog2()).map(|log| roots(1 << log)).collect();
        for block in spectra.chunks_exact_mut(self.size) {
            reverse(block);
            for roots in &levels {
                for part in block.chunks_exact_mut(2 * roots.len()) {
                    let (even, odd) = part.split_at_mut(roots.len());
                    for ((even, odd), root) in even.iter_mut().zip(odd).zip(roots) {
                        let turned = *root * *odd;
                        (*even, *odd) = (*even + turned, *even - turned);
                    }
                }
            }
        }
        spectra
    }
}

/// Puts each point where its number read backwards, bit by bit, says.
fn reverse(block: &mut [Complex]) {
    let unused = usize::BITS - block.len().ilog2();
    for number in 0..block.len() {
        let other = number.reverse_bits() >> unused;
        if number < other {
            block.swap(number, other);
        }
    }
}
