//! The sort as StreamIt draws it: split-joins in split-joins.

use kahn::process::Output;
use kahn::{Network, Receiver, Scope};

use super::{BitonicSort, Step, steps};
use crate::Compare;

impl BitonicSort {
    /// Writes the processes and channels; the blocks, each sorted, are in the output after the run.
    pub fn network<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Output<Vec<i64>> {
        let mut numbers = network.source(compare.carried("numbers"), self.numbers.iter().copied());
        for step in steps(self.keys) {
            let mut scope = network.scope(format!("step {}/{}", step.run, 2 * step.apart));
            numbers = exchange(&mut scope, compare, step, self.keys, numbers);
        }
        network.fold("keep", numbers, Vec::new(), |mut kept, number| {
            kept.push(number);
            self.progress.add_alone(1);
            kept
        })
    }
}

/// Writes a step: sequences side by side, of numbers that are compared with each other.
fn exchange(
    network: &mut Scope<'_, '_>,
    compare: Compare,
    step: Step,
    keys: usize,
    numbers: Receiver<i64>,
) -> Receiver<i64> {
    let size = 2 * step.apart;
    let turns = vec![size; keys / size];
    if turns.len() == 1 {
        return sequence(network, compare, step, true, numbers);
    }
    let split = network.scatter_weighted(compare.carried("split"), numbers, &turns);
    let split = split.into_iter().enumerate().map(|(number, numbers)| {
        let mut scope = network.scope(format!("sequence {number}"));
        sequence(&mut scope, compare, step, step.rises(number * size), numbers)
    });
    let split = split.collect();
    network.gather_weighted(compare.carried("join"), split, &turns)
}

/// Writes the comparators of a sequence.
fn sequence<'env>(
    network: &mut Scope<'_, 'env>,
    compare: Compare,
    step: Step,
    rises: bool,
    numbers: Receiver<i64>,
) -> Receiver<i64> {
    let comparator = |network: &mut Scope<'_, 'env>, name: String, numbers| {
        network.rates(compare.carried(name), numbers, 2, 2, 2, move |pair: &[i64], out| {
            let (least, most) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            out.extend(if rises { [least, most] } else { [most, least] });
        })
    };
    if step.apart == 1 {
        return comparator(network, "exchange".into(), numbers);
    }
    let pairs = network.scatter(compare.carried("pair"), numbers, step.apart);
    let pairs = pairs.into_iter().enumerate();
    let pairs = pairs
        .map(|(number, numbers)| comparator(network, format!("exchange {number}"), numbers))
        .collect();
    network.gather(compare.carried("pairs"), pairs)
}
