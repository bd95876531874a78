//! The Data Encryption Standard, with a bit a message.
//!
//! ```text
//!   text ─► initial permutation ─► round 0 ─► … ─► round 15 ─► cross over ─► last permutation
//!
//!                   ┌─► left ────────────────────────────────────────────────┐
//!   round: ─► halves                                                         ├─► xor ──┐
//!                   └─► right ─► copy ─► expand ─► xor ─► S-boxes ─► permute ┘         ├─► join ─►
//!                                  │                ▲     8 in turn                    │
//!                                  │               key                                 │
//!                                  └───────────────────────────────────────────────────┘
//! ```
//!
//! As in StreamIt's benchmark, permutations are filters of 64, 48 or 32 bits, and the eight S-boxes stand side
//! by side: six bits to each in turn, four from each in turn. The left half waits in its channel while the right one is
//! worked on, so with `--capacity 1` that channel grows.
//!
//! DES has been broken for long: it is here to be looked at.

pub(crate) mod cipher;
mod network;

use kahn::Network;

use self::cipher::{crypt, schedule};
use super::files::{Destination, Files};
use crate::checksum::mix;
use crate::random::Random;
use crate::{Answer, Compare, Failure, Pending, Program, Progress, Settings, whole};

/// What to type, for the help.
pub(crate) const EXAMPLES: &str = "\
The bytes are those of `openssl enc -des-ecb -provider legacy -provider default -K HEX`, which reads and
writes them. DES has been broken for long, and ECB shows which blocks are equal: nothing is safe in it.

Examples:
  kahn run des                                       10 blocks, a bit a message
  kahn run des text.txt --key 133457799bbcdff1 -o text.des
  kahn run des text.des --key 133457799bbcdff1 --decrypt
  kahn run des --capacity 1 --report                 the same bytes; see the channels that grew
  kahn graph des --svg des.svg                       what it looks like";

/// What is typed after `des`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    files: Files,

    /// The key: 16 hexadecimal digits
    #[arg(long, value_name = "HEX", default_value = "133457799bbcdff1", value_parser = key)]
    key: u64,

    /// Decrypts instead
    #[arg(long)]
    decrypt: bool,

    /// Without a file: how many blocks of eight bytes there are
    #[arg(long, value_name = "N", default_value = "10", value_parser = whole(0..=1 << 24))]
    #[arg(conflicts_with = "file")]
    blocks: u32,
}

fn key(text: &str) -> Result<u64, String> {
    let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(text, 16).ok().filter(|_| is_hex);
    number.ok_or_else(|| "expected 16 hexadecimal digits".to_owned())
}

/// Blocks that are to be encrypted or decrypted.
#[derive(Debug)]
pub struct Des {
    blocks: Vec<u64>,
    key: u64,
    decrypt: bool,
    /// How many bytes at the end are no text.
    padding: usize,
    destination: Destination,
    progress: Progress,
}

impl Des {
    /// Reads or makes the blocks.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if the file is missing, or if it is to be decrypted and cannot have been
    /// encrypted with this key.
    pub fn prepare(arguments: &Arguments, settings: &Settings) -> Result<Self, Failure> {
        let &Arguments { ref files, key, decrypt, blocks } = arguments;
        let read = files.read(|name, bytes| {
            let blocks = parse(name, bytes, decrypt)?;
            let padding = if decrypt { padding_of(name, &blocks, key)? } else { 0 };
            Ok((blocks, padding))
        })?;
        let (blocks, padding) = read.unwrap_or_else(|| {
            let mut random = Random::new(settings.seed);
            ((0..blocks).map(|_| random.next()).collect(), 0)
        });
        Ok(Self::new(key, decrypt, blocks, padding, files.destination()?))
    }

    fn new(
        key: u64,
        decrypt: bool,
        blocks: Vec<u64>,
        padding: usize,
        destination: Destination,
    ) -> Self {
        let progress = Progress::new("blocks", Some(blocks.len() as u64));
        Self { blocks, key, decrypt, padding, destination, progress }
    }

    /// Gives all blocks, encrypted or decrypted.
    pub fn crypt(&self) -> Vec<u64> {
        self.blocks.iter().map(|block| crypt(self.key, *block, self.decrypt)).collect()
    }

    /// The keys of the rounds, in the order in which they are used.
    fn keys(&self) -> [u64; 16] {
        let mut keys = schedule(self.key);
        if self.decrypt {
            keys.reverse();
        }
        keys
    }

    fn answer(&self, blocks: &[u64]) -> Answer<'_> {
        let (count, checksum) = (blocks.len(), blocks.iter().copied().fold(0, mix));
        let line = format!("{count} blocks, checksum {checksum:016x}");
        let mut bytes: Vec<u8> = blocks.iter().flat_map(|block| block.to_be_bytes()).collect();
        bytes.truncate(bytes.len() - self.padding);
        self.destination.answer(line, move |out| out.write_all(&bytes))
    }
}

/// Cuts a file into blocks. One that is to be encrypted is filled up by bytes that say how many they are (PKCS #7).
fn parse(name: &str, bytes: &[u8], decrypt: bool) -> Result<Vec<u64>, Failure> {
    let (blocks, rest) = bytes.as_chunks();
    let mut blocks: Vec<u64> = blocks.iter().map(|block| u64::from_be_bytes(*block)).collect();
    if !decrypt {
        let mut last = [u8::try_from(8 - rest.len()).unwrap_or(8); 8];
        last[..rest.len()].copy_from_slice(rest);
        blocks.push(u64::from_be_bytes(last));
    } else if !rest.is_empty() {
        let count = bytes.len();
        let wrong = format!("{name}: has {count} bytes, expected a multiple of 8");
        return Err(Failure::input(wrong).with_help("was it encrypted otherwise, or cut off?"));
    }
    Ok(blocks)
}

/// How many bytes at the end of what is to be decrypted are padding.
fn padding_of(name: &str, blocks: &[u64], key: u64) -> Result<usize, Failure> {
    let last = blocks.last().map(|block| crypt(key, *block, true).to_be_bytes());
    let count = last.map_or(0, |last| usize::from(last[7]));
    let is_padding = last.is_some_and(|last| {
        (1..=8).contains(&count) && last[8 - count..].iter().all(|byte| *byte == last[7])
    });
    is_padding.then_some(count).ok_or_else(|| {
        let wrong = format!("{name}: does not end with padding when decrypted");
        Failure::input(wrong).with_help("the key may be another")
    })
}

impl Program for Des {
    fn build<'env>(&'env self, network: &mut Network<'env>, compare: Compare) -> Pending<'env> {
        let blocks = self.network(network, compare);
        Box::new(move || blocks.take().map(|blocks| self.answer(&blocks)))
    }

    fn sequential(&self) -> Result<Answer<'_>, Failure> {
        Ok(self.answer(&self.crypt()))
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}

#[cfg(test)]
mod tests {
    use super::cipher::VECTORS;
    use super::*;

    #[test]
    fn the_published_vectors_hold_in_both_forms() {
        for (key, plain, encrypted) in VECTORS {
            for (from, to, decrypt) in [(plain, encrypted, false), (encrypted, plain, true)] {
                let des = Des::new(key, decrypt, vec![from, from], 0, Destination::Line);
                assert_eq!(des.crypt(), [to, to], "{key:016x} {from:016x}");
                let mut network = Network::new();
                let blocks = des.network(&mut network, Compare::Numbers);
                network.run().expect("it finishes");
                assert_eq!(blocks.take(), Some(vec![to, to]), "{key:016x} {from:016x}");
            }
        }
    }

    #[test]
    fn what_cannot_be_decrypted_is_refused() {
        let refused = |bytes: &[u8]| {
            let blocks = parse("memory", bytes, true);
            blocks.and_then(|blocks| padding_of("memory", &blocks, 1)).unwrap_err().to_string()
        };
        assert_eq!(refused(&[0; 9]), "memory: has 9 bytes, expected a multiple of 8");
        assert_eq!(refused(&[0; 8]), "memory: does not end with padding when decrypted");
        assert_eq!(refused(&[]), "memory: does not end with padding when decrypted");
        assert!(key("133457799BBCDFF1").is_ok());
        assert!(key("+33457799bbcdff1").is_err() && key("13").is_err());
    }
}
