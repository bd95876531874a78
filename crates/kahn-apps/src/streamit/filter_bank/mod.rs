//! A bank of filters that takes a signal apart into bands and puts it together again.
//!
//! ```text
//!                ┌─► band 0: analyse ─► down ─► up ─► synthesise ─┐
//!   signal ─► copy ─► …                                          ─┼─► add
//!                └─► band 7: analyse ─► down ─► up ─► synthesise ─┘
//! ```
//!
//! Of *M* bands, each keeps one sample of *M* (*down*), and gets zeros in the place of the others
//! (*up*). So all bands together have as many samples as the signal; what is done to a signal in
//! bands, such as coding it, is done between the two.
//!
//! StreamIt's benchmark has eight bands of 32 coefficients that mean nothing. These are an extended lapped
//! transform of as many (Malvar: "Signal processing with lapped transforms", 1992, chapter 5): cosines
//! under a window of 4 *M* samples, the same ones on both sides. With them the bands add up to the signal
//! itself, but for rounding.

mod network;
mod sequential;

use std::f64::consts::{PI, SQRT_2};

use kahn::Network;

use super::files::{Destination, Files};
use super::filters::single;
use super::samples;
use crate::{Answer, Compare, Failure, Pending, Program, Progress, Settings, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Samples are 32-bit floats, low byte first, without a header. What comes out is what went in, but for
rounding, and without the last samples, whose windows are not full.

Examples:
  kahn run filter-bank                               10 000 samples of noise in 8 bands
  kahn run filter-bank sound.f32 -o again.f32        the samples of a file, taken apart and put together
  kahn run filter-bank --bands 32 --workers 2 --report
  kahn graph filter-bank --svg bank.svg              what it looks like";

/// What is typed after `filter-bank`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    files: Files,

    /// Without a file: how many samples there are
    #[arg(long, value_name = "N", default_value = "10000", value_parser = whole(0..=1 << 30))]
    #[arg(conflicts_with = "file")]
    samples: u32,

    /// How many bands there are; a filter has four times as many coefficients
    #[arg(long, value_name = "N", default_value = "8", value_parser = whole(1..=1000))]
    bands: u32,
}

/// A bank and a signal.
#[derive(Debug)]
pub struct FilterBank {
    samples: Vec<f32>,
    /// The coefficients of each band.
    bands: Vec<Vec<f32>>,
    destination: Destination,
    progress: Progress,
}

impl FilterBank {
    /// Reads or makes the signal, and makes the filters.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if the file is missing or has no whole number of samples.
    pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        let &Arguments { ref files, samples, bands } = arguments;
        let signal = files.read(|name, bytes| samples::parse(name, bytes, 1))?;
        Ok(Self {
            samples: signal.unwrap_or_else(|| samples::noise(settings.seed, samples as usize)),
            bands: (0..bands).map(|band| coefficients(band, bands)).collect(),
            destination: files.destination()?,
            progress: Progress::new("samples", None),
        })
    }

    /// The silence before the signal: a window less one sample.
    fn silence(&self) -> usize {
        4 * self.bands.len() - 1
    }

    fn answer(&self, signal: Vec<f32>) -> Answer<'_> {
        let (count, checksum) = (signal.len(), samples::checksum(&signal));
        let line = format!("{count} samples, checksum {checksum:016x}");
        self.destination.answer(line, move |out| samples::write(out, &signal))
    }
}

/// The filter of a band, the same for analysis and, backwards, for synthesis.
fn coefficients(band: u32, bands: u32) -> Vec<f32> {
    let (taps, band, bands) = (4 * bands, f64::from(band), f64::from(bands));
    let coefficient = |number| {
        let number = f64::from(number);
        let window = ((number + 0.5) * PI / (2.0 * bands)).cos() / 2.0 - SQRT_2 / 4.0;
        let turned = (number + f64::midpoint(bands, 1.0)) * (band + 0.5) * PI / bands;
        single((2.0 / bands).sqrt() * window * turned.cos())
    };
    (0..taps).map(coefficient).collect()
}

impl Program for FilterBank {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let signal = self.network(network, compare);
        Box::new(move || signal.take().map(|signal| self.answer(signal)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.apart_and_together()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_add_up_to_the_signal() {
        for bands in [1, 2, 3, 8, 20] {
            let files = Files::default();
            let arguments = Arguments { files, samples: 2000, bands };
            let bank = FilterBank::prepare(&arguments, &Settings { parts: 1, seed: 5 }).unwrap();
            let signal = bank.apart_and_together();
            // Of a last group that is not full no band keeps a sample.
            assert_eq!(signal.len(), 2000 / bands as usize * bands as usize - bank.silence());
            for (found, sample) in signal.iter().zip(&bank.samples) {
                assert!((found - sample).abs() < 1e-5, "{bands} bands: {found} for {sample}");
            }
        }
    }

    #[test]
    fn a_band_has_what_is_in_it_and_little_else() {
        // A tone in the middle of band 2 of 8.
        let tone = |number: u32| single((f64::from(number) * PI * 2.5 / 8.0).sin());
        let tone: Vec<f32> = (0..32).map(tone).collect();
        let strength = |band| {
            let inside = coefficients(band, 8).into_iter().zip(&tone).map(|(a, b)| a * b);
            inside.sum::<f32>().abs()
        };
        assert!((0..8).filter(|band| *band != 2).all(|band| strength(band) < strength(2) / 2.0));
    }
}
