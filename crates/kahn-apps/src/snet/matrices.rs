//! Products of matrices: by rows, and by Cannon's algorithm.

use std::sync::Arc;

use kahn_snet::boxes::{BoxError, Emitter, Field, Tag};
use kahn_snet::record::{Record, Value};

use super::{Case, SnetProgram};
use crate::random::Random;

/// A square matrix of whole numbers in reals, so that every order of adding gives the same.
#[derive(Debug, Clone, PartialEq)]
struct Square {
    size: usize,
    values: Vec<f64>,
}

impl Square {
    fn zero(size: usize) -> Self {
        Self { size, values: vec![0.0; size * size] }
    }

    fn random(size: usize, random: &mut Random) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "below 20")]
        let values = (0..size * size).map(|_| random.below(20) as f64 - 10.0).collect();
        Self { size, values }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..][..self.size]
    }

    /// Adds the product of two others.
    fn add_product(&mut self, x: &Self, y: &Self) {
        for row in 0..self.size {
            let mine = &mut self.values[row * self.size..][..self.size];
            add_row_times(mine, x.row(row), y);
        }
    }

    /// The tile of `size` numbers a side at row `i` and column `j` of tiles.
    fn tile(&self, i: usize, j: usize, size: usize) -> Self {
        let rows = (i * size..(i + 1) * size).map(|row| &self.row(row)[j * size..][..size]);
        Self { size, values: rows.flatten().copied().collect() }
    }

    fn put_tile(&mut self, i: usize, j: usize, tile: &Self) {
        for row in 0..tile.size {
            let at = (i * tile.size + row) * self.size + j * tile.size;
            self.values[at..][..tile.size].copy_from_slice(tile.row(row));
        }
    }
}

fn add_row_times(sum: &mut [f64], row: &[f64], matrix: &Square) {
    for (k, factor) in row.iter().enumerate() {
        for (sum, value) in sum.iter_mut().zip(matrix.row(k)) {
            *sum += factor * value;
        }
    }
}

fn index(tag: Tag) -> Result<usize, BoxError> {
    usize::try_from(tag.0).map_err(|_| BoxError::new(format!("no index: {}", tag.0)))
}

fn number(index: usize) -> Tag {
    Tag(i64::try_from(index).unwrap_or(i64::MAX))
}

/// Two matrices, and a check of their product.
fn product(size: usize, more: impl Fn(Record) -> Record) -> Case {
    let mut random = Random::new(7);
    let (a, b) = (Square::random(size, &mut random), Square::random(size, &mut random));
    let mut wanted = Square::zero(size);
    wanted.add_product(&a, &b);
    let record = Record::new().field("a", Value::opaque(a)).field("b", Value::opaque(b));
    Case::new(vec![more(record)], move |output| {
        let [record] = output else { return Err(format!("{} records", output.len())) };
        let found = record.fields.get("product").and_then(Value::downcast::<Square>);
        let found = found.ok_or("no product")?;
        let same = found.values.iter().zip(&wanted.values).all(|(a, b)| (a - b).abs() < 0.5);
        if same { Ok(()) } else { Err("another product".to_owned()) }
    })
}

pub(super) const MATRIX: SnetProgram = SnetProgram {
    name: "matrix",
    source: include_str!("matrix.snet"),
    ordered: true,
    small: 24,
    bind: |boxes| {
        boxes.add("deal", |a: Field<Square>, b: Value, out: &mut Emitter| {
            let size = a.0.size;
            out.emit(2, (Value::opaque(Square::zero(size)), number(size)))?;
            for i in 0..size {
                out.emit(1, (Value::opaque(a.0.row(i).to_vec()), b.clone(), number(i)))?;
            }
            Ok(())
        })?;
        boxes.add("multiply", |row: Field<Vec<f64>>, b: Field<Square>, out: &mut Emitter| {
            let mut sum = vec![0.0; b.0.size];
            add_row_times(&mut sum, &row.0, &b.0);
            out.emit(1, (Value::opaque(sum),))
        })?;
        boxes.add(
            "put",
            |c: Field<Square>, left: Tag, row: Field<Vec<f64>>, i: Tag, out: &mut Emitter| {
                let mut c = Arc::unwrap_or_clone(c.0);
                let at = index(i)? * c.size;
                c.values[at..][..row.0.len()].copy_from_slice(&row.0);
                emit_product(c, left, out)
            },
        )
    },
    make: |size| product(size, |record| record),
};

/// What is done if one more part was put in.
fn emit_product(c: Square, left: Tag, out: &mut Emitter<'_>) -> Result<(), BoxError> {
    match left.0 {
        1 => out.emit(2, (Value::opaque(c),)),
        left => out.emit(1, (Value::opaque(c), Tag(left - 1))),
    }
}

pub(super) const CANNON: SnetProgram = SnetProgram {
    name: "cannon",
    source: include_str!("cannon.snet"),
    ordered: true,
    small: 4,
    bind: |boxes| {
        boxes.add("deal", |a: Field<Square>, b: Field<Square>, p: Tag, out: &mut Emitter| {
            let p = index(p)?;
            let size = a.0.size / p;
            out.emit(4, (Value::opaque(Square::zero(a.0.size)), number(p * p)))?;
            for i in 0..p {
                for j in 0..p {
                    // Row i begins i tiles to the left, column j begins j tiles up.
                    let x = Value::opaque(a.0.tile(i, (i + j) % p, size));
                    let y = Value::opaque(b.0.tile((i + j) % p, j, size));
                    let z = Value::opaque(Square::zero(size));
                    out.emit(1, (x, number(i), number(j), Tag(0)))?;
                    out.emit(2, (y, number(i), number(j), Tag(0)))?;
                    out.emit(3, (z, number(i), number(j), Tag(0)))?;
                }
            }
            Ok(())
        })?;
        boxes.add(
            "multiply",
            |z: Field<Square>,
             x: Value,
             y: Value,
             i: Tag,
             j: Tag,
             k: Tag,
             p: Tag,
             out: &mut Emitter| {
                let wrong = || BoxError::new("no tile");
                let (left, right) = (x.downcast::<Square>(), y.downcast::<Square>());
                let mut z = Arc::unwrap_or_clone(z.0);
                z.add_product(&*left.ok_or_else(wrong)?, &*right.ok_or_else(wrong)?);
                let z = Value::opaque(z);
                let next = Tag(k.0 + 1);
                if next == p {
                    return out.emit(4, (z, i, j));
                }
                let before = |at: Tag| Tag((at.0 + p.0 - 1) % p.0);
                out.emit(1, (x, i, before(j), next, p))?;
                out.emit(2, (y, before(i), j, next, p))?;
                out.emit(3, (z, i, j, next, p))
            },
        )?;
        boxes.add(
            "put",
            |c: Field<Square>,
             left: Tag,
             tile: Field<Square>,
             i: Tag,
             j: Tag,
             out: &mut Emitter| {
                let mut c = Arc::unwrap_or_clone(c.0);
                c.put_tile(index(i)?, index(j)?, &tile.0);
                emit_product(c, left, out)
            },
        )
    },
    make: |size| {
        let tiles = size.max(1);
        product(8 * tiles, |record| record.tag("p", i64::try_from(tiles).unwrap_or(i64::MAX)))
    },
};
