//! What several of the programs filter with.

use std::f64::consts::PI;

use kahn::{Channel, Receiver, Scope};

use crate::Compare;

/// Rounds to the precision of samples.
#[expect(clippy::cast_possible_truncation, reason = "it is rounded")]
pub(super) fn single(number: f64) -> f32 {
    number as f32
}

/// Makes the coefficients of a filter that lets frequencies below `cutoff` through: a sinc under a
/// Hamming window.
pub(super) fn low_pass(rate: f64, cutoff: f64, taps: u32) -> Vec<f32> {
    let last = f64::from(taps - 1);
    let step = 2.0 * PI * cutoff / rate;
    let coefficient = |number: u32| {
        let number = f64::from(number);
        let from_middle = number - last / 2.0;
        let sinc = if from_middle.abs() < 0.25 {
            step / PI
        } else {
            (step * from_middle).sin() / PI / from_middle
        };
        single(sinc * (0.54 - 0.46 * (2.0 * PI * number / last).cos()))
    };
    (0..taps).map(coefficient).collect()
}

/// Adds up, from the first on.
pub(super) fn sum(numbers: impl IntoIterator<Item = f32>) -> f32 {
    // `Iterator::sum` begins with -0: a sum of nothing but zeros would tell whether some were left out.
    numbers.into_iter().fold(0.0, |sum, number| sum + number)
}

/// Gives the sum of the products of samples and coefficients.
pub(super) fn convolve(window: &[f32], coefficients: &[f32]) -> f32 {
    sum(window.iter().zip(coefficients).map(|(sample, coefficient)| sample * coefficient))
}

/// Makes the process of a filter that gives one sample for each `pop`.
pub(super) fn fir(
    network: &mut Scope<'_, '_>,
    name: Channel<f32>,
    samples: Receiver<f32>,
    pop: usize,
    coefficients: Vec<f32>,
) -> Receiver<f32> {
    network.rates(name, samples, pop, coefficients.len(), 1, move |window, out| {
        out.push(convolve(window, &coefficients));
    })
}

/// Makes the processes that put branches together: they are added up, sample by sample.
pub(super) fn add(
    network: &mut Scope<'_, '_>,
    compare: Compare,
    branches: Vec<Receiver<f32>>,
) -> Receiver<f32> {
    let count = branches.len();
    let joined = network.gather(compare.carried("join"), branches);
    network.rates(compare.carried("add"), joined, count, count, 1, |samples, out| {
        out.push(sum(samples.iter().copied()));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of a frequency comes through.
    fn gain(coefficients: &[f32], frequency: f64) -> f64 {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (number, coefficient) in (0_u32..).zip(coefficients) {
            let angle = 2.0 * PI * frequency * f64::from(number);
            real += f64::from(*coefficient) * angle.cos();
            imaginary += f64::from(*coefficient) * angle.sin();
        }
        real.hypot(imaginary)
    }

    #[test]
    fn a_low_pass_lets_low_frequencies_pass_and_no_others() {
        for taps in [63, 64, 65, 200] {
            let coefficients = low_pass(1.0, 0.2, taps);
            for frequency in [0.0, 0.05, 0.1, 0.15] {
                let gain = gain(&coefficients, frequency);
                assert!((gain - 1.0).abs() < 0.01, "{taps}: {gain} at {frequency}");
            }
            for frequency in [0.25, 0.3, 0.4, 0.5] {
                let gain = gain(&coefficients, frequency);
                assert!(gain < 0.01, "{taps}: {gain} at {frequency}");
            }
        }
    }
}
