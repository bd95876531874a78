//! The papers' form: a block of memory, cut into as many parts as there are workers, and each part
//! encrypted in its place several times over.

use kahn::Network;

use super::{BLOCK, Cipher, network};
use crate::checksum::mix;
use crate::random::Random;
use crate::slot::Slot;
use crate::{Answer, Compare, Failure, Pending, Program, Progress};

/// A part of a block: what a message carries is where it is and how long, 16 bytes.
pub type Part = Box<[u8]>;

/// What is done to a block.
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_apps::Compare;
/// use kahn_apps::aes::{Cipher, Direction, Encryption, Mode};
///
/// let cipher = Cipher::new([1; 16], Mode::Ecb, Direction::Encrypt);
/// let encryption = Encryption { cipher, passes: 3, workers: 5 };
/// let mut network = Network::new();
/// let done = encryption.network(&mut network, Compare::Numbers, encryption.cut(&[0; 160]), |_| {});
/// network.run_with(Options::new().workers(2))?;
/// let mut whole = [0; 160];
/// encryption.sequential(&mut whole);
/// assert_eq!(done.take().map(|parts| parts.concat()), Some(whole.to_vec()));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Encryption {
    /// The key, the mode and the direction.
    pub cipher: Cipher,
    /// How often each part is encrypted.
    pub passes: u32,
    /// The processes that encrypt: one or more.
    pub workers: usize,
}

impl Encryption {
    /// Cuts a block into parts of whole blocks of the cipher, one for each worker, of about equal
    /// size.
    ///
    /// # Panics
    ///
    /// Panics if the block is not made of whole blocks of the cipher.
    pub fn cut(&self, block: &[u8]) -> Vec<Part> {
        let mut rest = block;
        self.parts(block.len(), |part| {
            let (this, next) = rest.split_at(part.len());
            part.copy_from_slice(this);
            rest = next;
        })
    }

    /// Makes the parts of a block of `size` bytes that is not there yet; `fill` fills them in order.
    ///
    /// # Panics
    ///
    /// Panics if the block is not made of whole blocks of the cipher.
    pub fn parts(&self, size: usize, mut fill: impl FnMut(&mut [u8])) -> Vec<Part> {
        assert!(size.is_multiple_of(BLOCK), "whole blocks");
        // As many as come before a part; in 128 bits, for the product may be large.
        let until = |part: usize| {
            let before = (size / BLOCK) as u128 * part as u128 / self.workers as u128;
            usize::try_from(before).expect("not more than all") * BLOCK
        };
        let parts = (0..self.workers).map(|part| {
            let mut bytes = vec![0; until(part + 1) - until(part)];
            fill(&mut bytes);
            bytes.into()
        });
        parts.collect()
    }

    /// Writes the processes and channels: a root, and the workers. The parts, encrypted and in order,
    /// are in the slot after the run.
    ///
    /// `watch` is called by the workers with the size of each part that is done.
    pub fn network<'env>(
        &self,
        network: &mut Network<'env>,
        compare: Compare,
        parts: Vec<Part>,
        watch: impl Fn(usize) + Clone + Send + 'env,
    ) -> Slot<Vec<Part>> {
        let whole: usize = parts.iter().map(|part| part.len()).sum();
        let starts = parts.iter().scan(0, |start, part| {
            let this = *start;
            *start += part.len() as u64;
            Some(this)
        });
        let starts: std::sync::Arc<[u64]> = starts.collect();
        let Self { cipher, passes, workers } = self.clone();
        network::in_turn(network, (compare, ()), workers, parts, move |number, mut part: Part| {
            encrypt(&cipher, passes, whole as u64, starts[number], &mut part);
            watch(part.len());
            part
        })
    }

    /// Encrypts a whole block on the caller's thread.
    pub fn sequential(&self, block: &mut [u8]) {
        encrypt(&self.cipher, self.passes, block.len() as u64, 0, block);
    }
}

/// Encrypts a part of a block of `whole` bytes that begins at `start`.
///
/// Each pass goes on with the counter where the one before has stopped: with the same counters the
/// second pass of CTR would undo the first.
fn encrypt(cipher: &Cipher, passes: u32, whole: u64, start: u64, part: &mut [u8]) {
    for pass in 0..u64::from(passes) {
        cipher.apply(pass * whole + start, part);
    }
}

/// The papers' form as a program, over a block that is generated.
#[derive(Debug)]
pub(super) struct BlockProgram {
    encryption: Encryption,
    size: usize,
    seed: u64,
    progress: Progress,
}

impl BlockProgram {
    pub(super) fn prepare(encryption: Encryption, size: u64, seed: u64) -> Result<Self, Failure> {
        let bytes = usize::try_from(size).ok().filter(|size| size.is_multiple_of(BLOCK));
        let bytes = bytes.ok_or_else(|| {
            Failure::input(format!("--size {size}: expected a multiple of {BLOCK} bytes"))
        })?;
        if size.checked_mul(u64::from(encryption.passes)).is_none() {
            return Err(Failure::input(format!("--size {size}: too large for so many passes")));
        }
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            return Err(Failure::input(format!("--size {size}: there is no memory for it")));
        }
        Ok(Self { encryption, size: bytes, seed, progress: Progress::new("bytes", Some(size)) })
    }

    /// Makes the block from the seed, part after part.
    fn filler(&self) -> impl FnMut(&mut [u8]) + use<> {
        let mut random = Random::new(self.seed);
        move |part| {
            for word in part.as_chunks_mut().0 {
                *word = random.next().to_le_bytes();
            }
        }
    }

    fn answer<'part>(&self, parts: impl Iterator<Item = &'part [u8]>) -> Answer<'static> {
        let words = parts.flat_map(|part| part.as_chunks().0);
        let checksum = words.fold(0, |sum, word| mix(sum, u64::from_le_bytes(*word)));
        let (size, passes) = (self.size, self.encryption.passes);
        Answer::new(move |out| {
            writeln!(out, "{size} bytes, passes: {passes}, checksum {checksum:016x}")
        })
    }
}

impl Program for BlockProgram {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let parts = self.encryption.parts(self.size, self.filler());
        let done =
            self.encryption.network(network, compare, parts, |size| self.progress.add(size as u64));
        Box::new(move || done.take().map(|parts| self.answer(parts.iter().map(|part| &part[..]))))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        let mut block = vec![0; self.size];
        self.filler()(&mut block);
        self.encryption.sequential(&mut block);
        Ok(self.answer([&block[..]].into_iter()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::{Direction, Mode};

    #[test]
    fn the_parts_are_the_whole_in_blocks() {
        let cipher = Cipher::new([0; BLOCK], Mode::Ecb, Direction::Encrypt);
        let block: Vec<u8> = (0..160).collect();
        for workers in [1, 2, 3, 7, 10, 11, 500] {
            let parts = Encryption { cipher: cipher.clone(), passes: 1, workers }.cut(&block);
            assert_eq!(parts.len(), workers);
            assert!(parts.iter().all(|part| part.len().is_multiple_of(BLOCK)));
            assert_eq!(parts.concat(), block);
        }
    }

    #[test]
    fn no_pass_undoes_another() {
        for mode in [Mode::Ecb, Mode::Ctr([5; BLOCK])] {
            let cipher = Cipher::new([1; BLOCK], mode, Direction::Encrypt);
            let after = |passes| {
                let mut block = [9; 64];
                Encryption { cipher: cipher.clone(), passes, workers: 1 }.sequential(&mut block);
                block
            };
            let all = [after(0), after(1), after(2), after(3)];
            for (place, block) in all.iter().enumerate() {
                assert!(!all[..place].contains(block), "{mode:?}, {place} passes");
            }
        }
    }
}
