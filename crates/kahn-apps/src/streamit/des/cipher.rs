//! The cipher, as FIPS 46-3 has it: bits are numbered from the left, from 1.

pub(super) const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6,
    64, 56, 48, 40, 32, 24, 16, 8, 57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61,
    53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];
pub(super) const EXPANSION: [u8; 48] = [
    32, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17, 16, 17, 18,
    19, 20, 21, 20, 21, 22, 23, 24, 25, 24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32, 1,
];
pub(super) const PERMUTATION: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19,
    13, 30, 6, 22, 11, 4, 25,
];
const CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60,
    52, 44, 36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29,
    21, 13, 5, 28, 20, 12, 4,
];
const CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52,
    31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
const SHIFTS: [u32; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
/// The eight selection functions, a hexadecimal digit for each entry, row by row.
const SELECTION: [[u64; 4]; 8] = [
    [0xe4d1_2fb8_3a6c_5907, 0x0f74_e2d1_a6cb_9538, 0x41e8_d62b_fc97_3a50, 0xfc82_4917_5b3e_a06d],
    [0xf18e_6b34_972d_c05a, 0x3d47_f28e_c01a_69b5, 0x0e7b_a4d1_58c6_932f, 0xd8a1_3f42_b67c_05e9],
    [0xa09e_63f5_1dc7_b428, 0xd709_346a_285e_cbf1, 0xd649_8f30_b12c_5ae7, 0x1ad0_6987_4fe3_b52c],
    [0x7de3_069a_1285_bc4f, 0xd8b5_6f03_472c_1ae9, 0xa690_cb7d_f13e_5284, 0x3f06_a1d8_945b_c72e],
    [0x2c41_7ab6_853f_d0e9, 0xeb2c_47d1_50fa_3986, 0x421b_ad78_f9c5_630e, 0xb8c7_1e2d_6f09_a453],
    [0xc1af_9268_0d34_e75b, 0xaf42_7c95_61de_0b38, 0x9ef5_28c3_704a_1db6, 0x432c_95fa_be17_608d],
    [0x4b2e_f08d_3c97_5a61, 0xd0b7_491a_e35c_2f86, 0x14bd_c37e_af68_0592, 0x6bd8_14a7_950f_e23c],
    [0xd284_6fb1_a93e_50c7, 0x1fd8_a374_c56b_0e92, 0x7b41_9ce2_06ad_f358, 0x21e7_4a8d_fc90_356b],
];

/// Takes bits by their numbers, of a word of so many bits.
fn select(word: u64, bits: u32, table: &[u8]) -> u64 {
    table.iter().fold(0, |made, number| made << 1 | word >> (bits - u32::from(*number)) & 1)
}

/// The sixteen keys of the rounds.
pub(crate) fn schedule(key: u64) -> [u64; 16] {
    const HALF: u64 = (1 << 28) - 1;
    let chosen = select(key, 64, &CHOICE_1);
    let (mut left, mut right) = (chosen >> 28, chosen & HALF);
    SHIFTS.map(|shift| {
        let turn = |half: u64| (half << shift | half >> (28 - shift)) & HALF;
        (left, right) = (turn(left), turn(right));
        select(left << 28 | right, 56, &CHOICE_2)
    })
}

/// What selection function `number`, counted from 0, makes of six bits: four.
pub(super) fn substitute(number: usize, six: u64) -> u64 {
    let row = usize::from(six >= 32) << 1 | usize::from(six % 2 == 1);
    SELECTION[number][row] >> (60 - 4 * (six >> 1 & 0xf)) & 0xf
}

/// The function f of the standard.
pub(crate) fn mix(right: u32, key: u64) -> u32 {
    let word = select(u64::from(right), 32, &EXPANSION) ^ key;
    let mut selected = 0;
    for number in 0..8 {
        selected = selected << 4 | substitute(number, word >> (42 - 6 * number) & 0x3f);
    }
    half(select(selected, 32, &PERMUTATION))
}

/// The lower half of a word.
pub(crate) fn half(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0)
}

/// The inverse of the initial permutation.
pub(crate) fn last(word: u64) -> u64 {
    let mut made = 0;
    for (index, number) in INITIAL.iter().enumerate() {
        made |= (word >> (63 - index) & 1) << (64 - u32::from(*number));
    }
    made
}

/// The two halves of a block after the initial permutation.
pub(crate) fn enter(block: u64) -> (u32, u32) {
    let word = select(block, 64, &INITIAL);
    (half(word >> 32), half(word))
}

/// Encrypts or decrypts a block, in a loop.
pub(crate) fn crypt(key: u64, block: u64, decrypt: bool) -> u64 {
    let mut keys = schedule(key);
    if decrypt {
        keys.reverse();
    }
    let (mut left, mut right) = enter(block);
    for key in keys {
        (left, right) = (right, left ^ mix(right, key));
    }
    last(u64::from(right) << 32 | u64::from(left))
}

/// Keys, plain and cipher blocks: the worked example known from textbooks, the first of each group
/// of the tests of NBS special publication 500-20, and the message of FIPS 81.
#[cfg(any(test, feature = "snet"))]
pub(crate) const VECTORS: [(u64, u64, u64); 8] = [
    (0x1334_5779_9bbc_dff1, 0x0123_4567_89ab_cdef, 0x85e8_1354_0f0a_b405),
    (0x0101_0101_0101_0101, 0x8000_0000_0000_0000, 0x95f8_a5e5_dd31_d900),
    (0x0101_0101_0101_0101, 0x4000_0000_0000_0000, 0xdd7f_121c_a501_5619),
    (0x8001_0101_0101_0101, 0, 0x95a8_d728_13da_a94d),
    (0x7ca1_1045_4a1a_6e57, 0x01a1_d6d0_3977_6742, 0x690f_5b0d_9a26_939b),
    (0x0123_4567_89ab_cdef, 0x4e6f_7720_6973_2074, 0x3fa4_0e8a_984d_4815),
    (0x0123_4567_89ab_cdef, 0x6865_2074_696d_6520, 0x6a27_1787_ab88_83f9),
    (0x0123_4567_89ab_cdef, 0x666f_7220_616c_6c20, 0x893d_51ec_4b56_3b53),
];
