//! The radio on one thread: an array after the other.

use super::{DECIMATION, FmRadio};
use crate::streamit::filters::{convolve, sum};

impl FmRadio {
    /// Gives the sound of all that the radio hears.
    pub fn receive(&self) -> Vec<f32> {
        let tuned = self.samples.windows(self.tuner.len()).step_by(DECIMATION as usize);
        let tuned: Vec<f32> = tuned.map(|window| convolve(window, &self.tuner)).collect();
        let spoken: Vec<f32> =
            tuned.windows(2).map(|pair| self.demodulate(pair[0], pair[1])).collect();
        let equalised = spoken.windows(self.tuner.len()).map(|window| {
            sum(self.bands.iter().map(|band| {
                (convolve(window, &band.high) - convolve(window, &band.low)) * band.gain
            }))
        });
        equalised.collect()
    }
}
