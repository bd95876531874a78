//! The transforms as StreamIt draws them.

use kahn::process::Output;
use kahn::{Network, Receiver, Scope};

use super::{Complex, Fft, roots};
use crate::Compare;

impl Fft {
    /// Writes the processes and channels; the transforms are in the output after the run.
    ///
    /// # Panics
    ///
    /// Panics if there are no kernels.
    pub fn network<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Output<Vec<Complex>> {
        let points = network.source(compare.carried("points"), self.points.iter().copied());
        let turns = vec![self.size; self.kernels];
        let blocks = network.scatter_weighted(compare.carried("blocks"), points, &turns);
        let spectra = blocks.into_iter().enumerate().map(|(number, blocks)| {
            let mut kernel = network.scope(format!("kernel {number}"));
            transform(&mut kernel, compare, self.size, blocks)
        });
        let spectra = spectra.collect();
        let spectra = network.gather_weighted(compare.carried("spectra"), spectra, &turns);
        network.fold("keep", spectra, Vec::new(), |mut kept, point| {
            kept.push(point);
            self.progress.add_alone(1);
            kept
        })
    }
}

/// Writes a kernel: a pipeline of filters, each of which works on blocks of its own size.
fn transform(
    network: &mut Scope<'_, '_>,
    compare: Compare,
    size: usize,
    mut points: Receiver<Complex>,
) -> Receiver<Complex> {
    let sizes = || (1..=size.ilog2()).map(|log| 1 << log);
    for size in sizes().rev().filter(|size| *size > 2) {
        let name = compare.carried(format!("reorder {size}"));
        points = network.rates(name, points, size, size, size, |block: &[Complex], out| {
            out.extend(block.iter().step_by(2));
            out.extend(block.iter().skip(1).step_by(2));
        });
    }
    for size in sizes() {
        let (name, roots) = (compare.carried(format!("combine {size}")), roots(size));
        points = network.rates(name, points, size, size, size, move |block: &[Complex], out| {
            let (even, odd) = block.split_at(size / 2);
            let pairs = || even.iter().zip(odd.iter().zip(&roots));
            out.extend(pairs().map(|(even, (odd, root))| *even + *root * *odd));
            out.extend(pairs().map(|(even, (odd, root))| *even - *root * *odd));
        });
    }
    points
}
