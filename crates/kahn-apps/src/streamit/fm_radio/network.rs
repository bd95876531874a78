//! The radio as StreamIt draws it.

use kahn::process::Output;
use kahn::{Network, Receiver, Scope};

use super::{Band, DECIMATION, FmRadio};
use crate::Compare;
use crate::streamit::filters::{add, fir};

impl FmRadio {
    /// Writes the processes and channels; the sound is in the output after the run.
    pub fn network<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Output<Vec<f32>> {
        let heard = network.source(compare.carried("antenna"), self.samples.iter().copied());
        let (pop, tuner) = (DECIMATION as usize, self.tuner.clone());
        let tuned = fir(&mut network.scope("tuner"), compare.carried("low"), heard, pop, tuner);
        let spoken =
            network.rates(compare.carried("demodulate"), tuned, 1, 2, 1, |pair: &[f32], out| {
                out.push(self.demodulate(pair[0], pair[1]));
            });
        let copies = network.tee(compare.carried("copy"), spoken, self.bands.len());
        let bands = self.bands.iter().zip(copies).enumerate();
        let bands = bands.map(|(number, (band, copy))| {
            equalise(&mut network.scope(format!("band {number}")), compare, band, copy)
        });
        let bands = bands.collect();
        let sound = add(&mut network.scope("bands"), compare, bands);
        network.fold("speaker", sound, Vec::new(), |mut sound, sample| {
            sound.push(sample);
            self.progress.add_alone(1);
            sound
        })
    }
}

/// Writes a band: what is below its upper end, without what is below its lower end.
fn equalise<'env>(
    network: &mut Scope<'_, 'env>,
    compare: Compare,
    band: &'env Band,
    sound: Receiver<f32>,
) -> Receiver<f32> {
    let mut copies = network.tee(compare.carried("copy"), sound, 2);
    let high = fir(network, compare.carried("high"), copies.remove(1), 1, band.high.clone());
    let low = fir(network, compare.carried("low"), copies.remove(0), 1, band.low.clone());
    let both = network.gather(compare.carried("both"), vec![low, high]);
    let between =
        network.rates(compare.carried("difference"), both, 2, 2, 1, |ends: &[f32], out| {
            out.push(ends[1] - ends[0]);
        });
    network.map(compare.carried("amplify"), between, |sample| sample * band.gain)
}
