//! Fourier transforms, one after the other, of blocks of a stream.
//!
//! ```text
//!                 ┌─► kernel 0 ─┐     kernel: reorder 64 ─► … ─► reorder 4 ─► combine 2 ─► … ─► combine 64
//!   points ─► blocks            ├─► spectra
//!                 └─► kernel 1 ─┘     a block of 64 points to each in turn
//! ```
//!
//! A reorder of *n* puts the points with even numbers before the others, a combine of *n* makes the transform of
//! *n* points from those of two halves (Cooley and Tukey, 1965). StreamIt's benchmark has 64 points and two
//! kernels.

mod network;
mod sequential;

use std::f64::consts::PI;
use std::ops::{Add, Mul, Sub};

use kahn::Network;

use super::files::{Destination, Files};
use super::filters::single;
use super::samples;
use crate::{Answer, Compare, Failure, Pending, Program, Progress, Settings, whole};

/// How many kernels there are, unless the caller says otherwise.
pub(crate) const DEFAULT_PARTS: usize = 2;

/// More are no use.
pub(crate) const MOST_PARTS: usize = 1024;

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
A point is two 32-bit floats, low byte first: its real and its imaginary part, as GNU Radio writes
complex numbers. The last block of a file is filled up with zeros. --parts is the number of kernels.

Examples:
  kahn run fft                                       100 transforms of 64 points
  kahn run fft signal.c64 --size 1024 -o spectra.c64
  kahn run fft --size 4096 --transforms 100 --parts 4 --workers 2 --report
  kahn graph fft --size 8 --svg fft.svg              what it looks like";

/// What is typed after `fft`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    files: Files,

    /// Points of a transform: a power of two
    #[arg(long, value_name = "N", default_value = "64", value_parser = power_of_two)]
    size: usize,

    /// Without a file: how many transforms there are
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole(0..=1 << 24))]
    #[arg(conflicts_with = "file")]
    transforms: u32,
}

/// The largest transform.
const LARGEST: usize = 1 << 20;

fn power_of_two(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n: &usize| n.is_power_of_two());
    number
        .filter(|number| (2..=LARGEST).contains(number))
        .ok_or_else(|| format!("expected a power of two from 2 to {LARGEST}"))
}

/// A complex number.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, kahn::Digest, serde::Serialize, serde::Deserialize,
)]
pub struct Complex {
    /// The real part.
    pub real: f32,
    /// The imaginary part.
    pub imaginary: f32,
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { real: self.real + other.real, imaginary: self.imaginary + other.imaginary }
    }
}

impl Sub for Complex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { real: self.real - other.real, imaginary: self.imaginary - other.imaginary }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            real: self.real * other.real - self.imaginary * other.imaginary,
            imaginary: self.real * other.imaginary + self.imaginary * other.real,
        }
    }
}

/// The first half of the powers of the root of unity of so many points.
#[expect(clippy::cast_precision_loss, reason = "a transform has few points")]
fn roots(size: usize) -> Vec<Complex> {
    let root = |number: usize| {
        let (sin, cos) = (-2.0 * PI * (number as f64 / size as f64)).sin_cos();
        Complex { real: single(cos), imaginary: single(sin) }
    };
    (0..size / 2).map(root).collect()
}

/// Blocks of points that are to be transformed.
#[derive(Debug)]
pub struct Fft {
    /// A whole number of blocks.
    points: Vec<Complex>,
    size: usize,
    kernels: usize,
    destination: Destination,
    progress: Progress,
}

impl Fft {
    /// Reads or makes the points.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if the file is missing or has no whole number of points.
    pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        let &Arguments { ref files, size, transforms } = arguments;
        let numbers = files.read(|name, bytes| samples::parse(name, bytes, 2))?;
        let numbers = numbers
            .unwrap_or_else(|| samples::noise(settings.seed, 2 * size * transforms as usize));
        let (pairs, _) = numbers.as_chunks();
        let points = pairs.iter().map(|&[real, imaginary]| Complex { real, imaginary });
        let mut points: Vec<Complex> = points.collect();
        points.resize(points.len().next_multiple_of(size), Complex::default());
        let progress = Progress::new("points", Some(points.len() as u64));
        let (kernels, destination) = (settings.parts, files.destination()?);
        Ok(Self { points, size, kernels, destination, progress })
    }

    fn answer(&self, spectra: &[Complex]) -> Answer<'_> {
        let numbers: Vec<f32> = spectra.iter().flat_map(|z| [z.real, z.imaginary]).collect();
        let (count, checksum) = (spectra.len() / self.size, samples::checksum(&numbers));
        let line = format!("{count} transforms of {} points, checksum {checksum:016x}", self.size);
        self.destination.answer(line, move |out| samples::write(out, &numbers))
    }
}

impl Program for Fft {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let spectra = self.network(network, compare);
        Box::new(move || spectra.take().map(|spectra| self.answer(&spectra)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(&self.transform()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_is_that_of_the_definition() {
        for size in [2, 4, 8, 64, 1024] {
            let arguments = Arguments { files: Files::default(), size, transforms: 2 };
            let fft = Fft::prepare(&arguments, &Settings { parts: 1, seed: size as u64 }).unwrap();
            let spectra = fft.transform();
            let (points, found) = (&fft.points[size..], &spectra[size..]);
            let size = u32::try_from(size).unwrap();
            // Rounding errors add up like a walk at random: by log2 of the size at most.
            let energy =
                points.iter().map(|z| f64::from(z.real * z.real + z.imaginary * z.imaginary));
            let bound = 2.0
                * f64::from(f32::EPSILON)
                * f64::from(size.ilog2())
                * (f64::from(size) * energy.sum::<f64>()).sqrt()
                / f64::from(size).sqrt();
            for (number, found) in (0..size).zip(found) {
                let (mut real, mut imaginary) = (0.0, 0.0);
                for (index, z) in (0..size).zip(points) {
                    // The product modulo the size, so that the angle is exact enough.
                    let turned = u64::from(index) * u64::from(number) % u64::from(size);
                    let angle =
                        -2.0 * PI * f64::from(u32::try_from(turned).unwrap()) / f64::from(size);
                    let (sin, cos) = angle.sin_cos();
                    real += f64::from(z.real) * cos - f64::from(z.imaginary) * sin;
                    imaginary += f64::from(z.real) * sin + f64::from(z.imaginary) * cos;
                }
                let error =
                    (f64::from(found.real) - real).hypot(f64::from(found.imaginary) - imaginary);
                assert!(error <= bound, "{number} of {size}: {error} is more than {bound}");
            }
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        assert_eq!(power_of_two("64"), Ok(64));
        for text in ["0", "1", "3", "2097152", "x", "-4"] {
            assert_eq!(power_of_two(text), Err("expected a power of two from 2 to 1048576".into()));
        }
    }
}
