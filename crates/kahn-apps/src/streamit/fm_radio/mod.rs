//! An FM radio with an equaliser, as in StreamIt's benchmark.
//!
//! ```text
//!                                        ┌─► band 0 ─┐       band:  ┌─► low, to its lower end ──┐
//!   antenna ─► tuner ─► demodulate ─► copy ─► …     ─┼─► add    copy ─┤                        ─┼─► difference ─► amplify
//!                                        └─► band 9 ─┘              └─► high, to its upper end ─┘
//! ```
//!
//! The tuner is a low-pass filter that keeps one sample of five. The demodulator multiplies each sample with
//! the next: of a carrier of frequency *f* that leaves the cosine of what *f* turns by in a sample, once
//! what is twice as fast is filtered out.

mod network;
mod sequential;

use std::f64::consts::PI;

use kahn::Network;

use super::files::{Destination, Files};
use super::filters::{low_pass, single};
use super::samples;
use crate::{Answer, Compare, Failure, Pending, Program, Progress, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
Samples are 32-bit floats, low byte first, without a header, as GNU Radio's file sinks write them.
Without a FILE, the radio hears a tone of 1 kHz on a carrier of a twentieth of the rate.

Examples:
  kahn run fm-radio                                  10 000 samples, 250 million a second, as in StreamIt
  kahn run fm-radio antenna.f32 --rate 240000 --cutoff 20000 -o sound.f32
  rtl_fm ... | kahn run fm-radio - > sound.f32       from standard input
  kahn graph fm-radio --svg radio.svg                what it looks like";

/// What is typed after `fm-radio`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    files: Files,

    /// Without a file: how many samples there are
    #[arg(long, value_name = "N", default_value = "10000", value_parser = whole(0..=1 << 30))]
    #[arg(conflicts_with = "file")]
    samples: u32,

    /// Samples a second
    #[arg(long, value_name = "HZ", default_value = "250000000", value_parser = whole(1..=u32::MAX.into()))]
    rate: u32,

    /// The highest frequency that the tuner lets through
    #[arg(long, value_name = "HZ", default_value = "108000000", value_parser = whole(1..=u32::MAX.into()))]
    cutoff: u32,

    /// Coefficients of each filter
    #[arg(long, value_name = "N", default_value = "64", value_parser = whole(5..=1 << 16))]
    taps: u32,

    /// Bands of the equaliser, from 55 to 1760 Hz
    #[arg(long, value_name = "N", default_value = "10", value_parser = whole(1..=1000))]
    bands: u32,
}

/// The tuner keeps one sample of so many.
const DECIMATION: u32 = 5;

/// What the demodulator makes of a deviation, at most, and how far a station deviates.
const LOUDEST: f64 = 27_000.0;
const BANDWIDTH: f64 = 10_000.0;

/// Where the equaliser begins and ends: five octaves.
const LOWEST: f64 = 55.0;
const HIGHEST: f64 = 1760.0;

/// A band of the equaliser.
#[derive(Debug)]
struct Band {
    /// The filters up to its lower and its upper end.
    low: Vec<f32>,
    high: Vec<f32>,
    gain: f32,
}

/// A radio, tuned, with what it hears.
#[derive(Debug)]
pub struct FmRadio {
    samples: Vec<f32>,
    tuner: Vec<f32>,
    /// Of the demodulator.
    gain: f32,
    bands: Vec<Band>,
    destination: Destination,
    progress: Progress,
}

impl FmRadio {
    /// Reads or makes what the radio hears, and tunes it.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if the file is missing or has no whole number of samples.
    pub fn prepare(arguments: &Arguments) -> Result<Self, Failure> {
        let &Arguments { ref files, samples, rate, cutoff, taps, bands } = arguments;
        let rate = f64::from(rate);
        let heard = files.read(|name, bytes| samples::parse(name, bytes, 1))?;
        let samples = heard.unwrap_or_else(|| tone(samples, rate));
        let sound_rate = rate / f64::from(DECIMATION);
        let cutoffs = ends(bands).map(|end| low_pass(sound_rate, end, taps));
        let cutoffs: Vec<_> = cutoffs.collect();
        let gains = (0..bands).map(|band| gain(band, bands));
        let bands = cutoffs.windows(2).zip(gains);
        let progress = Progress::new("samples", None);
        Ok(Self {
            samples,
            tuner: low_pass(rate, cutoff.into(), taps),
            gain: single(LOUDEST * rate / (BANDWIDTH * PI)),
            bands: bands
                .map(|(ends, gain)| Band { low: ends[0].clone(), high: ends[1].clone(), gain })
                .collect(),
            destination: files.destination()?,
            progress,
        })
    }

    /// What a sample and the next are demodulated to.
    fn demodulate(&self, before: f32, sample: f32) -> f32 {
        self.gain * (before * sample).atan()
    }

    fn answer(&self, sound: Vec<f32>) -> Answer<'_> {
        self.destination.answer(self.line(&sound), move |out| samples::write(out, &sound))
    }

    /// What is told of the sound, and of none why.
    fn line(&self, sound: &[f32]) -> String {
        let line = format!("{} samples, checksum {:016x}", sound.len(), samples::checksum(sound));
        if !sound.is_empty() {
            return line;
        }
        let (taps, heard) = (self.tuner.len(), self.samples.len());
        let first = first_sound(taps);
        format!("{line}: filters of {taps} taps make the first of {first} samples, not of {heard}")
    }
}

/// How many samples the first one of sound is made of: the tuner keeps one of some, the demodulator takes two, and
/// the equaliser as many as it has taps.
fn first_sound(taps: usize) -> usize {
    taps + taps * DECIMATION as usize
}

/// The ends of the bands, each by the same factor above the one before.
fn ends(bands: u32) -> impl Iterator<Item = f64> {
    let factor = HIGHEST / LOWEST;
    (0..=bands).map(move |number| LOWEST * factor.powf(f64::from(number) / f64::from(bands)))
}

/// The middle is louder than the ends.
fn gain(band: u32, bands: u32) -> f32 {
    let from_middle = (f64::from(band) - f64::from(bands - 1) / 2.0) / 5.0;
    single(2.0 - from_middle.abs())
}

/// A tone of 1 kHz on a carrier of a twentieth of the rate, which deviates by a tenth of that.
fn tone(count: u32, rate: f64) -> Vec<f32> {
    const TONE: f64 = 1000.0;
    let carrier = rate / 20.0;
    let depth = carrier / 10.0 / TONE;
    let sample = |number: u32| {
        let seconds = f64::from(number) / rate;
        let sound = depth * (2.0 * PI * TONE * seconds).sin();
        single((2.0 * PI * carrier * seconds + sound).cos())
    };
    (0..count).map(sample).collect()
}

impl Program for FmRadio {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let sound = self.network(network, compare);
        Box::new(move || sound.take().map(|sound| self.answer(sound)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(self.receive()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn radio(line: &str) -> FmRadio {
        let line = Line::try_parse_from(line.split_whitespace()).expect("it is understood");
        FmRadio::prepare(&line.arguments).expect("it is tuned")
    }

    #[test]
    fn a_radio_that_hears_too_little_says_how_much_it_needs() {
        for taps in [5, 64] {
            let first = first_sound(taps);
            let of = |samples: usize| radio(&format!("--samples {samples} --taps {taps}"));
            assert_eq!(of(first).receive().len(), 1);
            let silent = of(first - 1);
            assert!(silent.receive().is_empty());
            let told = silent.line(&[]);
            let why = format!("make the first of {first} samples, not of {}", first - 1);
            assert!(told.ends_with(&why), "{told}");
        }
    }

    #[test]
    fn the_tone_that_was_sent_is_heard() {
        let radio = radio("--samples 30000 --rate 100000 --cutoff 9000");
        let sound = radio.receive();
        let rate = 100_000.0 / f64::from(DECIMATION);
        let loudness = |frequency: f64| {
            let (mut real, mut imaginary) = (0.0, 0.0);
            for (number, sample) in (0_u32..).zip(&sound) {
                let angle = 2.0 * PI * frequency * f64::from(number) / rate;
                real += f64::from(*sample) * angle.cos();
                imaginary += f64::from(*sample) * angle.sin();
            }
            real.hypot(imaginary)
        };
        let loudest = (1..100_u32).map(|hundreds| loudness(50.0 * f64::from(hundreds)));
        let loudest: Vec<f64> = loudest.collect();
        let tone = loudest[19];
        for (number, other) in loudest.iter().enumerate().filter(|(number, _)| *number != 19) {
            assert!(*other < tone / 3.0, "{} Hz: {other} beside {tone}", 50 * (number + 1));
        }
    }

    /// The same in doubles, from the formulas: each sample of the sound by itself.
    #[test]
    fn the_sound_is_that_of_the_formulas() {
        let radio = radio("--samples 2000 --rate 100000 --cutoff 9000 --bands 4 --taps 31");
        let wide = |numbers: &[f32]| numbers.iter().map(|n| f64::from(*n)).collect::<Vec<_>>();
        let (heard, tuner) = (wide(&radio.samples), wide(&radio.tuner));
        let tuned =
            |at: usize| -> f64 { (0..31).map(|tap| heard[5 * at + tap] * tuner[tap]).sum() };
        let spoken = |at: usize| f64::from(radio.gain) * (tuned(at) * tuned(at + 1)).atan();
        let sound = radio.receive();
        assert_eq!(sound.len(), (2000 - 31) / 5 + 1 - 1 - 30);
        let loudest = sound.iter().fold(0.0, |most: f32, sample| most.max(sample.abs()));
        for at in (0..sound.len()).step_by(37) {
            let expected: f64 = radio
                .bands
                .iter()
                .map(|band| {
                    let (low, high) = (wide(&band.low), wide(&band.high));
                    let through = (0..31).map(|tap| (high[tap] - low[tap]) * spoken(at + tap));
                    f64::from(band.gain) * through.sum::<f64>()
                })
                .sum();
            let error = (expected - f64::from(sound[at])).abs();
            assert!(error < 1e-4 * f64::from(loudest), "{at}: {error}");
        }
    }
}
