//! Tiled Cholesky factorisation of a symmetric positive definite matrix.
//!
//! The size of a case is the number of rows, up to whole tiles; a tile has [`tile_size`] of them.
//! The result is checked by its residual: L·Lᵀ against the matrix, relative to it.

use std::sync::Arc;

use kahn_snet::boxes::{BoxError, Emitter, Field};
use kahn_snet::record::{Record, Value};

use super::{Case, SnetProgram};
use crate::random::Random;

/// The rows of a tile for so many rows of the matrix: 64 for 4096 and 128 for 8192, as in the paper.
fn tile_size(rows: usize) -> usize {
    match rows {
        0..1024 => 8,
        1024..8192 => 64,
        _ => 128,
    }
}

/// A square tile, row by row.
#[derive(Debug, Clone)]
struct Tile {
    size: usize,
    values: Vec<f64>,
}

impl Tile {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..][..self.size]
    }

    /// Becomes the lower factor of itself.
    fn factor(&mut self) -> Result<(), BoxError> {
        let size = self.size;
        for j in 0..size {
            let (above, rest) = self.values.split_at_mut((j + 1) * size);
            let row = &mut above[j * size..];
            let rest_of_pivot = row[j] - dot(&row[..j], &row[..j]);
            if rest_of_pivot <= 0.0 {
                return Err(BoxError::new("the matrix is not positive definite"));
            }
            row[j] = rest_of_pivot.sqrt();
            let pivot = row[j];
            row[j + 1..].fill(0.0);
            for lower in rest.chunks_exact_mut(size) {
                lower[j] = (lower[j] - dot(&lower[..j], &row[..j])) / pivot;
            }
        }
        Ok(())
    }

    /// Becomes X with X·Lᵀ = itself.
    fn solve(&mut self, low: &Self) {
        for row in self.values.chunks_exact_mut(self.size) {
            for j in 0..low.size {
                row[j] = (row[j] - dot(&row[..j], &low.row(j)[..j])) / low.at(j, j);
            }
        }
    }

    /// Subtracts X·Yᵀ.
    fn subtract(&mut self, x: &Self, y: &Self) {
        for (i, row) in self.values.chunks_exact_mut(self.size).enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value -= dot(x.row(i), y.row(j));
            }
        }
    }
}

/// The scalar product, in eight sums that the processor can form side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_parts, a_rest) = a.as_chunks::<LANES>();
    let (b_parts, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_parts.iter().zip(b_parts) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

pub(super) const CHOLESKY: SnetProgram = SnetProgram {
    name: "cholesky",
    source: include_str!("cholesky.snet"),
    ordered: false,
    small: 40,
    bind: |boxes| {
        boxes.add("factor", |tile: Field<Tile>, out: &mut Emitter| {
            let mut tile = Arc::unwrap_or_clone(tile.0);
            tile.factor()?;
            out.emit(1, (Value::opaque(tile),))
        })?;
        boxes.add("solve", |side: Field<Tile>, top: Field<Tile>, out: &mut Emitter| {
            let mut tile = Arc::unwrap_or_clone(side.0);
            tile.solve(&top.0);
            out.emit(1, (Value::opaque(tile),))
        })?;
        boxes.add(
            "subtract",
            |z: Field<Tile>, x: Field<Tile>, y: Field<Tile>, out: &mut Emitter| {
                let mut tile = Arc::unwrap_or_clone(z.0);
                tile.subtract(&x.0, &y.0);
                out.emit(1, (Value::opaque(tile),))
            },
        )
    },
    make,
};

fn make(rows: usize) -> Case {
    let size = tile_size(rows);
    let tiles = rows.div_ceil(size).max(1);
    let side = tiles * size;
    // Symmetric, and positive definite for its heavy diagonal.
    let mut random = Random::new(5);
    let mut matrix = vec![0.0; side * side];
    for i in 0..side {
        for j in 0..=i {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let value = random.below(1000) as f64 / 1000.0 + if i == j { side as f64 } else { 0.0 };
            matrix[i * side + j] = value;
            matrix[j * side + i] = value;
        }
    }
    let tag = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    let mut input = Vec::new();
    for i in 0..tiles {
        for j in 0..=i {
            let rows =
                (i * size..(i + 1) * size).map(|row| &matrix[row * side + j * size..][..size]);
            let tile = Tile { size, values: rows.flatten().copied().collect() };
            let record = Record::new().field("tile", Value::opaque(tile)).tag("k", 0);
            input.push(record.tag("i", tag(i)).tag("j", tag(j)).tag("n", tag(tiles)));
        }
    }
    Case::measured(input, move |output| residual(&matrix, tiles, size, output))
}

/// Forms the residual at some rows of each tile, so that checking is cheaper than factoring.
fn residual(matrix: &[f64], tiles: usize, size: usize, output: &[Record]) -> Result<f64, String> {
    let side = tiles * size;
    let mut low = vec![0.0; side * side];
    if output.len() != tiles * (tiles + 1) / 2 {
        return Err(format!("{} tiles", output.len()));
    }
    for record in output {
        let at = |name: &str| record.tags.get(name).and_then(|at| usize::try_from(*at).ok());
        let tile = record.fields.get("done").and_then(Value::downcast::<Tile>);
        let (Some(i), Some(j), Some(tile)) = (at("i"), at("j"), tile) else {
            return Err(format!("no tile of the factor: {record}"));
        };
        for row in 0..size {
            low[(i * size + row) * side + j * size..][..size].copy_from_slice(tile.row(row));
        }
    }
    let step = if side < 1024 { 1 } else { 37 };
    let mut worst = 0.0_f64;
    for i in (0..side).step_by(step) {
        for j in (0..=i).step_by(step) {
            let product = dot(&low[i * side..][..=j], &low[j * side..][..=j]);
            worst = worst.max((product - matrix[i * side + j]).abs());
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "the side is small")]
    let relative = worst / side as f64;
    if relative < 1e-12 { Ok(relative) } else { Err(format!("the residual is {relative:e}")) }
}
