//! The bank as StreamIt draws it: a branch a band.

use kahn::process::Output;
use kahn::{Network, Receiver, Scope};

use super::FilterBank;
use crate::Compare;
use crate::streamit::filters::{add, fir};

impl FilterBank {
    /// Writes the processes and channels; what the bands add up to is in the output after the run.
    pub fn network<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Output<Vec<f32>> {
        let signal = network.source(compare.carried("signal"), self.samples.iter().copied());
        let silence = std::iter::repeat_n(0.0, self.silence());
        let signal = network.delay(compare.carried("silence before"), signal, silence);
        let copies = network.tee(compare.carried("copy"), signal, self.bands.len());
        let bands = self.bands.iter().zip(copies).enumerate();
        let bands = bands.map(|(number, (coefficients, copy))| {
            branch(&mut network.scope(format!("band {number}")), compare, coefficients, copy)
        });
        let bands = bands.collect();
        let signal = add(&mut network.scope("bands"), compare, bands);
        network.fold("keep", signal, Vec::new(), |mut kept, sample| {
            kept.push(sample);
            self.progress.add_alone(1);
            kept
        })
    }
}

/// Writes the branch of a band.
fn branch(
    network: &mut Scope<'_, '_>,
    compare: Compare,
    coefficients: &[f32],
    signal: Receiver<f32>,
) -> Receiver<f32> {
    let bands = coefficients.len() / 4;
    let analysed = fir(network, compare.carried("analyse"), signal, 1, coefficients.to_vec());
    let few = network.rates(compare.carried("down"), analysed, bands, bands, 1, |window, out| {
        out.push(window[0]);
    });
    let many =
        network.rates(compare.carried("up"), few, 1, 1, bands, move |sample: &[f32], out| {
            out.push(sample[0]);
            out.resize(bands, 0.0);
        });
    let backwards = coefficients.iter().rev().copied().collect();
    fir(network, compare.carried("synthesise"), many, 1, backwards)
}
