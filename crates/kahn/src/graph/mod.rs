//! What follows from the plain graph of a network alone: its bridges, its loops, and its picture.

mod bridges;
mod dot;
mod loops;

pub(crate) use bridges::bridges;
pub(crate) use dot::{Arrow, Box as DotBox, Shape, dot};
pub(crate) use loops::leads_from_loops;
