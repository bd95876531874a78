//! AES with keys of 128 bits, in two modes, on any part of a text.
//!
//! The cipher is that of the crates `aes` and `ctr`, which use the processor's own instructions where
//! there are any. What is added here is where a part stands in the whole: so parts can be done apart.

use std::fmt;

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _};

use super::portable::Portable;

/// The bytes of a block, a key, and a counter.
pub const BLOCK: usize = 16;

/// Sixteen bytes.
pub type Block = [u8; BLOCK];

/// How the blocks of a text are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each block by itself (electronic code book). Equal blocks stay equal, so that a picture can be
    /// recognised: for measuring, not for secrets.
    Ecb,
    /// The text plus a stream made by encrypting a counter, which starts here. Safe as long as no two
    /// texts under one key meet the same counter. It does not show if somebody has changed the text.
    Ctr(Block),
}

/// The direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To what nobody can read.
    Encrypt,
    /// Back.
    Decrypt,
}

/// A key, a mode and a direction.
///
/// ```
/// use kahn_apps::aes::{Cipher, Direction, Mode};
///
/// let to = Cipher::new([7; 16], Mode::Ctr([0; 16]), Direction::Encrypt);
/// let back = Cipher::new([7; 16], Mode::Ctr([0; 16]), Direction::Decrypt);
/// let mut text = *b"a secret of any length";
/// to.apply(0, &mut text);
/// assert_ne!(&text, b"a secret of any length");
/// let (first, rest) = text.split_at_mut(16);
/// back.apply(16, rest);
/// back.apply(0, first);
/// assert_eq!(&text, b"a secret of any length");
/// ```
#[derive(Clone)]
pub struct Cipher {
    key: Block,
    blocks: Aes128,
    mode: Mode,
    direction: Direction,
    /// What encrypts in its place, for measurements.
    portable: Option<Portable>,
}

/// Leaves out the key.
impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, direction, .. } = self;
        f.debug_struct("Cipher").field("mode", mode).field("direction", direction).finish()
    }
}

impl Cipher {
    /// Expands the key.
    pub fn new(key: Block, mode: Mode, direction: Direction) -> Self {
        let blocks = Aes128::new(&key.into());
        Self { key, blocks, mode, direction, portable: None }
    }

    /// Encrypts whole blocks without the processor's own instructions, as the papers' machines did:
    /// for measurements, not for secrets, for how long it takes depends on the key.
    ///
    /// ```
    /// use kahn_apps::aes::{Cipher, Direction, Mode};
    ///
    /// let own = Cipher::new([7; 16], Mode::Ecb, Direction::Encrypt);
    /// let (mut one, mut other) = ([1; 32], [1; 32]);
    /// own.apply(0, &mut one);
    /// own.portable().apply(0, &mut other);
    /// assert_eq!(one, other);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the mode is not ECB or the direction is not to encrypt.
    #[must_use]
    pub fn portable(self) -> Self {
        let encrypts = (self.mode, self.direction) == (Mode::Ecb, Direction::Encrypt);
        assert!(encrypts, "the portable cipher encrypts whole blocks");
        Self { portable: Some(Portable::new(self.key)), ..self }
    }

    /// Says how the blocks are joined.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Encrypts or decrypts the part of a text that begins at `offset`, in its place.
    ///
    /// # Panics
    ///
    /// Panics if the mode is ECB and the part is not made of whole blocks.
    pub fn apply(&self, offset: u64, part: &mut [u8]) {
        match self.mode {
            Mode::Ecb => {
                let (blocks, rest) = Array::slice_as_chunks_mut(part);
                assert!(rest.is_empty() && offset.is_multiple_of(BLOCK as u64), "whole blocks");
                if let Some(portable) = &self.portable {
                    return blocks.iter_mut().for_each(|block| portable.encrypt(&mut block.0));
                }
                match self.direction {
                    Direction::Encrypt => self.blocks.encrypt_blocks(blocks),
                    Direction::Decrypt => self.blocks.decrypt_blocks(blocks),
                }
            }
            Mode::Ctr(start) => {
                let mut stream = Ctr128BE::<Aes128>::new(&self.key.into(), &start.into());
                stream.seek(offset);
                stream.apply_keystream(part);
            }
        }
    }
}

/// Reads sixteen bytes from 32 hexadecimal digits. The error does not repeat them: they are a secret.
pub(super) fn parse_block(text: &str) -> Result<Block, String> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let expected = "expected 32 hexadecimal digits, that is 16 bytes";
    let digits = digits.ok_or_else(|| format!("{expected}, and there is another character"))?;
    if digits.len() != 2 * BLOCK {
        return Err(format!("{expected}, and there are {}", digits.len()));
    }
    let byte = |place: usize| digits[2 * place] << 4 | digits[2 * place + 1];
    Ok(std::array::from_fn(|place| u8::try_from(byte(place)).expect("two digits are a byte")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Block {
        parse_block(text).unwrap()
    }

    fn text(lines: [&str; 4]) -> Vec<u8> {
        lines.into_iter().flat_map(block).collect()
    }

    // NIST SP 800-38A, appendix F: one key and one text for all modes.
    const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
    const TEXT: [&str; 4] = [
        "6bc1bee22e409f96e93d7e117393172a",
        "ae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52ef",
        "f69f2445df4f9b17ad2b417be66c3710",
    ];

    fn check(mode: Mode, encrypted: [&str; 4]) {
        for (direction, from, to) in
            [(Direction::Encrypt, TEXT, encrypted), (Direction::Decrypt, encrypted, TEXT)]
        {
            let cipher = Cipher::new(block(KEY), mode, direction);
            let mut whole = text(from);
            cipher.apply(0, &mut whole);
            assert_eq!(whole, text(to));
            let mut parts = text(from);
            for (place, part) in parts.chunks_mut(BLOCK).enumerate().rev() {
                cipher.apply((place * BLOCK) as u64, part);
            }
            assert_eq!(parts, text(to), "in parts");
        }
    }

    #[test]
    fn ecb_is_that_of_the_published_vectors() {
        // F.1.1 and F.1.2.
        check(
            Mode::Ecb,
            [
                "3ad77bb40d7a3660a89ecaf32466ef97",
                "f5d3d58503b9699de785895a96fdbaaf",
                "43b1cd7f598ece23881b00e3ed030688",
                "7b0c785e27e8ad3f8223207104725dd4",
            ],
        );
    }

    #[test]
    fn ctr_is_that_of_the_published_vectors() {
        // F.5.1 and F.5.2.
        check(
            Mode::Ctr(block("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")),
            [
                "874d6191b620e3261bef6864990db6ce",
                "9806f66b7970fdff8617187bb9fffdff",
                "5ae4df3edbd5d35e5b4f09020db03eab",
                "1e031dda2fbe03d1792170a0f3009cee",
            ],
        );
    }

    #[test]
    fn one_block_is_that_of_the_standard() {
        // FIPS 197, appendix C.1.
        let key = block("000102030405060708090a0b0c0d0e0f");
        let mut text = block("00112233445566778899aabbccddeeff");
        Cipher::new(key, Mode::Ecb, Direction::Encrypt).apply(0, &mut text);
        assert_eq!(text, block("69c4e0d86a7b0430d8cdb78070b4c55a"));
    }

    #[test]
    fn the_portable_cipher_is_that_of_the_standard_and_of_the_processor() {
        // FIPS 197, appendix C.1.
        let own = |key| Cipher::new(key, Mode::Ecb, Direction::Encrypt);
        let key = block("000102030405060708090a0b0c0d0e0f");
        let mut text = block("00112233445566778899aabbccddeeff");
        own(key).portable().apply(0, &mut text);
        assert_eq!(text, block("69c4e0d86a7b0430d8cdb78070b4c55a"));

        let mut random = crate::random::Random::new(1);
        let mut bytes = || u128::from(random.next()).to_be_bytes().map(|byte| byte ^ 0x5a);
        for _ in 0..200 {
            let (key, mut one) = (bytes(), [bytes(), bytes()].concat());
            let mut other = one.clone();
            own(key).apply(0, &mut one);
            own(key).portable().apply(0, &mut other);
            assert_eq!(one, other);
        }
    }

    #[test]
    fn a_counter_goes_round_like_a_number_of_128_bits() {
        let ecb = Cipher::new([3; BLOCK], Mode::Ecb, Direction::Encrypt);
        let mut stream = [0; 3 * BLOCK];
        let start = Mode::Ctr([0xff; BLOCK]);
        Cipher::new([3; BLOCK], start, Direction::Encrypt).apply(0, &mut stream);
        let mut counters = [[0xff; BLOCK], [0; BLOCK], u128::to_be_bytes(1)].concat();
        ecb.apply(0, &mut counters);
        assert_eq!(stream[..], counters[..]);
    }

    #[test]
    fn what_is_no_block_is_refused_without_repeating_it() {
        for text in ["", "00", "0g", &"0".repeat(31), &"0".repeat(34), &"x".repeat(32), "é"] {
            let error = parse_block(text).unwrap_err();
            assert!(error.starts_with("expected 32"), "{error}");
        }
        assert_eq!(parse_block("000102030405060708090A0B0C0D0E0f").unwrap()[15], 15);
    }

    #[test]
    fn a_key_is_not_shown() {
        let cipher = Cipher::new([0xAB; BLOCK], Mode::Ecb, Direction::Encrypt);
        assert_eq!(format!("{cipher:?}"), "Cipher { mode: Ecb, direction: Encrypt }");
    }
}
