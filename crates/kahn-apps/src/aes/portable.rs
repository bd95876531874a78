//! AES-128 in plain Rust: what a processor does that has no instructions for it.
//!
//! It is for measurements alone, to compare with the papers, whose machines had none: a look into a
//! table takes longer or shorter by what is in the caches, and so may tell the key.
//!
//! A state is four columns of four bytes. A round (FIPS 197, section 5.1) is for each column: four
//! looks into a table, which does the substitution and the mixing, and the round's key.

use super::cipher::Block;

const ROUNDS: usize = 10;

/// The substitution (FIPS 197, section 5.1.1): the inverse in the field of 256 elements, and then
/// each bit the sum of five.
const SUBSTITUTION: [u8; 256] = {
    let mut table = [0; 256];
    // Each element but zero is a power of 3; `inverse` is the same power of its inverse, 0xF6.
    let (mut element, mut inverse) = (1_u8, 1_u8);
    loop {
        let turned = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4);
        table[element as usize] = turned ^ 0x63;
        element ^= doubled(element);
        inverse = by_f6(inverse);
        if element == 1 {
            break;
        }
    }
    table[0] = 0x63;
    table
};

const fn doubled(element: u8) -> u8 {
    (element << 1) ^ if element & 0x80 == 0 { 0 } else { 0x1b }
}

/// Multiplies by 0xF6, which has these bits.
const fn by_f6(element: u8) -> u8 {
    let (mut sum, mut power, mut bit) = (0, element, 0);
    while bit < 8 {
        if 0xf6 >> bit & 1 == 1 {
            sum ^= power;
        }
        power = doubled(power);
        bit += 1;
    }
    sum
}

/// What a byte of the first row adds to its column; the other rows add the same, turned.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let one = SUBSTITUTION[byte];
        let two = doubled(one);
        table[byte] = u32::from_be_bytes([two, one, one, one ^ two]);
        byte += 1;
    }
    table
};

/// A key, expanded for each round.
#[derive(Clone)]
pub(super) struct Portable([[u32; 4]; ROUNDS + 1]);

impl Portable {
    pub(super) fn new(key: Block) -> Self {
        let mut keys = [[0; 4]; ROUNDS + 1];
        keys[0] = columns(key);
        let mut constant = 1_u8;
        for round in 1..=ROUNDS {
            let before = keys[round - 1];
            let turned = before[3].rotate_left(8).to_be_bytes();
            let substituted =
                u32::from_be_bytes(turned.map(|byte| SUBSTITUTION[usize::from(byte)]));
            let mut column = substituted ^ u32::from(constant) << 24;
            for (place, key) in keys[round].iter_mut().enumerate() {
                column ^= before[place];
                *key = column;
            }
            constant = doubled(constant);
        }
        Self(keys)
    }

    /// Encrypts a block in its place.
    pub(super) fn encrypt(&self, block: &mut Block) {
        let mut state = columns(*block);
        for (column, key) in state.iter_mut().zip(self.0[0]) {
            *column ^= key;
        }
        for keys in &self.0[1..ROUNDS] {
            state = std::array::from_fn(|place| {
                let look = |row: usize| TABLE[byte(state[(place + row) % 4], row)];
                let turn = |row: usize, turns| look(row).rotate_right(turns);
                look(0) ^ turn(1, 8) ^ turn(2, 16) ^ turn(3, 24) ^ keys[place]
            });
        }
        // The last round does not mix.
        let last: [u32; 4] = std::array::from_fn(|place| {
            let look = |row: usize| SUBSTITUTION[byte(state[(place + row) % 4], row)];
            u32::from_be_bytes([look(0), look(1), look(2), look(3)]) ^ self.0[ROUNDS][place]
        });
        for (bytes, column) in block.chunks_exact_mut(4).zip(last) {
            bytes.copy_from_slice(&column.to_be_bytes());
        }
    }
}

fn columns(block: Block) -> [u32; 4] {
    std::array::from_fn(|place| {
        let row = |row: usize| block[4 * place + row];
        u32::from_be_bytes([row(0), row(1), row(2), row(3)])
    })
}

/// The byte of a column that is in this row.
fn byte(column: u32, row: usize) -> usize {
    usize::from(column.to_be_bytes()[row])
}
