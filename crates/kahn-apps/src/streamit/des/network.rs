//! The cipher as StreamIt draws it.

use kahn::process::Output;
use kahn::{Network, Receiver, Scope};

use super::Des;
use super::cipher::{EXPANSION, INITIAL, PERMUTATION, last, substitute};
use crate::Compare;

/// The bits of a word, the highest of so many first.
fn bits(word: u64, count: u32) -> impl Iterator<Item = bool> {
    (0..count).rev().map(move |place| word >> place & 1 == 1)
}

/// The word of bits.
fn word(bits: &[bool]) -> u64 {
    bits.iter().fold(0, |word, bit| word << 1 | u64::from(*bit))
}

/// A part of the network, with what its messages are to be compared by.
struct Part<'a, 'env> {
    network: Scope<'a, 'env>,
    compare: Compare,
}

impl Des {
    /// Writes the processes and channels; the blocks are in the output after the run.
    pub fn network<'env>(
        &'env self,
        network: &mut Network<'env>,
        compare: Compare,
    ) -> Output<Vec<u64>> {
        let text = self.blocks.iter().flat_map(|block| bits(*block, 64));
        let text = network.source(compare.carried("text"), text);
        let mut initial = Part { network: network.scope("initial"), compare };
        let mut text = initial.permute("permutation", text, 64, &INITIAL);
        for (number, key) in self.keys().into_iter().enumerate() {
            let network = network.scope(format!("round {number}"));
            text = Part { network, compare }.round(key, text);
        }
        let mut end = Part { network: network.scope("last"), compare };
        let crossed = end.filter("cross over", text, 64, 64, |bits, out| {
            out.extend_from_slice(&bits[32..]);
            out.extend_from_slice(&bits[..32]);
        });
        let permuted = end.filter("permutation", crossed, 64, 64, |block, out| {
            out.extend(bits(last(word(block)), 64));
        });
        let blocks = network.rates(compare.carried("pack"), permuted, 64, 64, 1, |bits, out| {
            out.push(word(bits));
        });
        network.fold("keep", blocks, Vec::new(), |mut kept, block| {
            kept.push(block);
            self.progress.add_alone(1);
            kept
        })
    }
}

impl<'env> Part<'_, 'env> {
    /// Writes a process that makes so many bits of so many others.
    fn filter(
        &mut self,
        name: &str,
        input: Receiver<bool>,
        pop: usize,
        push: usize,
        f: impl FnMut(&[bool], &mut Vec<bool>) + Send + 'env,
    ) -> Receiver<bool> {
        self.network.rates(self.compare.carried(name), input, pop, pop, push, f)
    }

    /// Writes a process that takes bits by their numbers, from blocks of so many.
    fn permute(
        &mut self,
        name: &str,
        input: Receiver<bool>,
        block: usize,
        table: &'static [u8],
    ) -> Receiver<bool> {
        self.filter(name, input, block, table.len(), |bits, out| {
            out.extend(table.iter().map(|number| bits[usize::from(*number) - 1]));
        })
    }

    /// Writes the exclusive or of two streams.
    fn xor(&mut self, name: &str, left: Receiver<bool>, right: Receiver<bool>) -> Receiver<bool> {
        let pairs = self.network.zip(self.compare.carried(format!("{name} pairs")), left, right);
        self.network.map(self.compare.carried(name), pairs, |(left, right)| left ^ right)
    }

    /// Writes a round: the right half becomes the left one, and the other way round, mixed with it.
    fn round(&mut self, key: u64, text: Receiver<bool>) -> Receiver<bool> {
        let compare = self.compare;
        let mut halves =
            self.network.scatter_weighted(compare.carried("halves"), text, &[32, 32]).into_iter();
        let (Some(left), Some(right)) = (halves.next(), halves.next()) else {
            unreachable!("a weight each")
        };
        let mut copies = self.network.tee(compare.carried("copy"), right, 2);
        let mixed = self.mix(key, copies.remove(1));
        let mixed = self.xor("mix", left, mixed);
        let halves = vec![copies.remove(0), mixed];
        self.network.gather_weighted(compare.carried("join"), halves, &[32, 32])
    }

    /// Writes the function f of the standard.
    fn mix(&mut self, key: u64, half: Receiver<bool>) -> Receiver<bool> {
        let compare = self.compare;
        let expanded = self.permute("expand", half, 32, &EXPANSION);
        let key = bits(key, 48).collect::<Vec<_>>().into_iter().cycle();
        let key = self.network.source(compare.carried("key"), key);
        let keyed = self.xor("with the key", expanded, key);
        let sixes = self.network.scatter_weighted(compare.carried("sixes"), keyed, &[6; 8]);
        let fours = sixes.into_iter().enumerate().map(|(number, six)| {
            self.filter(&format!("S-box {number}"), six, 6, 4, move |six, out| {
                out.extend(bits(substitute(number, word(six)), 4));
            })
        });
        let fours = fours.collect();
        let substituted = self.network.gather_weighted(compare.carried("fours"), fours, &[4; 8]);
        self.permute("permute", substituted, 32, &PERMUTATION)
    }
}
