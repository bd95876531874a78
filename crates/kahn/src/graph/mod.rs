//! What follows from the plain graph of a network alone: its bridges, and its picture.

mod bridges;
mod dot;

pub(crate) use bridges::bridges;
pub(crate) use dot::{Arrow, Box as DotBox, Shape, dot};
