//! A job that is repeated: who can reach whom in a graph, by passing on labels.
//!
//! ```text
//!      ┌───────► spread map 0 ─┬─► spread reduce 0 ──┐
//!   label                      ╳                     │     the answer goes out
//!    │ └▲──────► spread map 1 ─┴─► spread reduce 1 ──┤     when a round changes nothing
//!    │  └────────────────────────────────────────────┘
//!    └──► the answer
//! ```
//!
//! Every vertex begins with its own number as its label. In a round it offers its label to its
//! neighbours, and takes the least it is offered. When nothing changes, two vertices have the same
//! label if, and only if, there is a way between them. The processes are made once: they stay from
//! round to round.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::ops::ControlFlow::{Break, Continue};

use kahn::{Network, RunError};
use kahn_mapreduce::{Job, Split};

/// A vertex and its label.
type Labelled = (usize, usize);

/// Labels the vertices of a graph, given as the neighbours of each.
fn components(neighbours: &[Vec<usize>]) -> Result<Vec<usize>, RunError> {
    let mut network = Network::new();
    let spread = Job::new(
        "spread",
        |(vertex, label): Labelled, out| {
            out.emit(vertex, label);
            neighbours[vertex].iter().for_each(|&neighbour| out.emit(neighbour, label));
        },
        |_vertex, labels, out| labels.min().into_iter().for_each(|label| out.emit(label)),
    );
    // Of several offers to one vertex the least is enough.
    let spread = spread.combine(|least, other| *least = other.min(*least));

    let first: Vec<Labelled> = (0..neighbours.len()).map(|vertex| (vertex, vertex)).collect();
    let mut before = first.clone();
    let answer = Split::new("label", 2).batch(16).iterate(
        &mut network,
        first,
        |network, parts| spread.on(network, parts),
        move |labelled| {
            if labelled == before {
                return Break(labelled.into_iter().map(|(_, label)| label).collect());
            }
            before.clone_from(&labelled);
            Continue(labelled)
        },
    );
    let answer = network.collect("answer", answer);
    network.run()?;
    let answer: Option<Vec<usize>> = answer.take().and_then(|mut all| all.pop());
    Ok(answer.unwrap_or_default())
}

fn main() -> Result<(), RunError> {
    // 0 – 3 – 4,  1 – 2,  5
    let graph = [vec![3], vec![2], vec![1], vec![0, 4], vec![3], vec![]];
    for (vertex, label) in components(&graph)?.into_iter().enumerate() {
        println!("vertex {vertex} belongs to {label}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_have_one_label_if_there_is_a_way_between_them() {
        let graph = [vec![3], vec![2], vec![1], vec![0, 4], vec![3], vec![]];
        assert_eq!(components(&graph).unwrap(), [0, 1, 1, 0, 0, 5]);
    }

    #[test]
    fn a_long_way_takes_a_round_for_each_step() {
        let last = 100;
        let next = |n: usize| {
            let (before, after) = (n.checked_sub(1), Some(n + 1).filter(|n| *n <= last));
            before.into_iter().chain(after).collect()
        };
        let path: Vec<Vec<usize>> = (0..=last).map(next).collect();
        assert_eq!(components(&path).unwrap(), vec![0; last + 1]);
    }

    #[test]
    fn a_graph_of_nothing_has_no_labels() {
        assert_eq!(components(&[]).unwrap(), [0; 0]);
    }
}
