//! The bank on one thread, without the samples that are not kept and the zeros in their place.

use super::FilterBank;
use crate::streamit::filters::{convolve, sum};

impl FilterBank {
    /// Takes the signal apart into bands and puts it together again.
    pub fn apart_and_together(&self) -> Vec<f32> {
        let (bands, taps) = (self.bands.len(), 4 * self.bands.len());
        let mut signal = vec![0.0; self.silence()];
        signal.extend_from_slice(&self.samples);
        // Each analysed sample that is kept, band by band; only whole groups of them are.
        let kept = |coefficients: &Vec<f32>| -> Vec<f32> {
            let windows = signal.windows(taps).step_by(bands);
            let whole = (self.samples.len() / bands) * bands;
            windows.take(whole / bands).map(|window| convolve(window, coefficients)).collect()
        };
        let kept: Vec<Vec<f32>> = self.bands.iter().map(kept).collect();
        let count = (self.samples.len() / bands * bands).saturating_sub(taps - 1);
        let sample = |at: usize| {
            // Of the samples of a band under the window, those that are no zeros.
            let first = at.div_ceil(bands);
            let band = |(coefficients, kept): (&Vec<f32>, &Vec<f32>)| {
                let under = (first..).take_while(|number| number * bands < at + taps);
                sum(under.map(|n| kept[n] * coefficients[taps - 1 - (n * bands - at)]))
            };
            sum(self.bands.iter().zip(&kept).map(band))
        };
        (0..count).map(sample).collect()
    }
}
