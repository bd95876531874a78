//! What follows from the plain graph of a network alone: its bridges, its loops, and its picture.

mod bridges;
mod dot;
mod loops;

pub(crate) use bridges::bridges;
pub(crate) use dot::{Arrow, Box as DotBox, Shape, dot};
pub(crate) use loops::leads_from_loops;

/// What belongs to each vertex: to `v`, in the order of the pairs, `values[first[v]..first[v + 1]]` of what is returned as
/// `(first, values)`. Linear.
fn by_vertex(
    vertices: usize,
    pairs: impl Iterator<Item = (usize, usize)> + Clone,
) -> (Vec<usize>, Vec<usize>) {
    let mut first = vec![0_usize; vertices + 1];
    pairs.clone().for_each(|(vertex, _)| first[vertex] += 1);
    let mut sum = 0;
    for slot in &mut first {
        sum += std::mem::replace(slot, sum);
    }
    let mut values = vec![0_usize; sum];
    let mut next = first.clone();
    for (vertex, value) in pairs {
        values[next[vertex]] = value;
        next[vertex] += 1;
    }
    (first, values)
}
