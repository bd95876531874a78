//! The shape of a random network, drawn from a seed.
//!
//! The paper says how many processes there are and what edges back are, but not how edges are drawn.
//! Here, with the generator of [`random`](crate::random):
//!
//! 1. each layer gets 1 to `width` processes;
//! 2. layer after layer, each process draws one of the layer before as its input, and one time in
//!    five a second one (which adds nothing if it is the same); then each process of the layer before
//!    that is nobody's input draws one of this layer as its output;
//! 3. for an edge back, an inner process and a number of steps from 1 to 10 are drawn, and from there
//!    so many edges to walk along: the process at the end sends back to the one at the start. If one
//!    of them has an edge back already, or the end is the sink, this is repeated.
//!
//! So every process lies on a way from the source to the sink, every edge back closes a cycle, and
//! with 50 layers of at most 7 there are about as many edges for each process as in the paper.

use crate::random::Random;
use crate::{Failure, MOST_PROCESSES};

/// What a random network is drawn from.
///
/// ```
/// use kahn_apps::random_network::Shape;
///
/// let shape = Shape { layers: 50, width: 7, back_edges: 13, seed: 1 };
/// assert_eq!(shape.draw()?.size(), shape.draw()?.size());
/// # Ok::<(), kahn_apps::Failure>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The layers between the source and the sink: one or more.
    pub layers: u32,
    /// The most processes of a layer: one or more.
    pub width: u32,
    /// The edges that lead to an earlier layer.
    pub back_edges: u32,
    /// Where the generator starts.
    pub seed: u64,
}

/// A drawn network: processes from the source, which comes first, to the sink, and their edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub(super) vertices: Vec<Vertex>,
    pub(super) edges: Vec<Edge>,
    back_edges: u32,
}

/// A process, as it is drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vertex {
    /// Its layer, the source's being 0, and its place there.
    pub at: (u32, u32),
    /// The edges that it receives from, by their numbers, in the order of use.
    pub inputs: Vec<usize>,
    /// The edges that it sends to, in the order of use.
    pub outputs: Vec<usize>,
    /// Its edge back, if it has one.
    pub back: Option<Back>,
}

/// The end of an edge back, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// The process sends there, after its other outputs.
    Sends(usize),
    /// The process receives there, after its other outputs.
    Receives(usize),
}

/// From a process to a process, by their places in [`Graph::vertices`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
}

/// How often an edge back is tried before there is none.
const TRIES: u32 = 10_000;

impl Shape {
    /// Draws the network.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Input`] if it could get too large, or if there are not enough processes
    /// for so many edges back.
    pub fn draw(self) -> Result<Graph, Failure> {
        let Self { layers, width, back_edges, seed } = self;
        if u64::from(layers) * u64::from(width) > MOST_PROCESSES.unsigned_abs() {
            return Err(Failure::input(format!(
                "--layers {layers} and --width {width}: there could be more than {MOST_PROCESSES} \
                 processes"
            )));
        }
        let mut random = Random::new(seed);
        let mut graph = Graph { vertices: vec![Vertex::default()], edges: Vec::new(), back_edges };
        let mut before = 0..1;
        let sizes: Vec<_> = (0..layers).map(|_| below(&mut random, width) + 1).collect();
        for (size, layer) in sizes.into_iter().chain([1]).zip(1..) {
            let first = graph.vertices.len();
            let at = (0..size).map(|place| Vertex { at: (layer, place), ..Vertex::default() });
            graph.vertices.extend(at);
            let here = first..graph.vertices.len();
            graph.join(before, here.clone(), &mut random);
            before = here;
        }
        for number in 0..back_edges {
            if !(0..TRIES).any(|_| graph.lead_back(&mut random)) {
                return Err(Failure::input(format!(
                    "--back-edges {back_edges}: in this network there is room for {number}, since \
                     a process has at most one"
                )));
            }
        }
        Ok(graph)
    }
}

impl Graph {
    /// Counts the processes, all edges, and the edges back among them.
    pub fn size(&self) -> (usize, usize, u32) {
        (self.vertices.len(), self.edges.len(), self.back_edges)
    }

    /// Shows the processes, from the source to the sink; edges are numbered from 0.
    ///
    /// For running the same network on something else.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// Draws the edges between two layers.
    fn join(
        &mut self,
        before: std::ops::Range<usize>,
        here: std::ops::Range<usize>,
        random: &mut Random,
    ) {
        for to in here.clone() {
            let from = pick(before.clone(), random);
            self.add(from, to);
            if below(random, 5) == 0 {
                let second = pick(before.clone(), random);
                if second != from {
                    self.add(second, to);
                }
            }
        }
        for from in before {
            if self.vertices[from].outputs.is_empty() {
                self.add(from, pick(here.clone(), random));
            }
        }
    }

    fn add(&mut self, from: usize, to: usize) {
        let edge = self.edges.len();
        self.edges.push(Edge { from, to });
        self.vertices[from].outputs.push(edge);
        self.vertices[to].inputs.push(edge);
    }

    /// Tries to draw an edge back.
    fn lead_back(&mut self, random: &mut Random) -> bool {
        let sink = self.vertices.len() - 1;
        let start = pick(1..sink, random);
        let mut end = start;
        for _ in 0..=below(random, 10) {
            let outputs = &self.vertices[end].outputs;
            if !outputs.is_empty() {
                end = self.edges[outputs[pick(0..outputs.len(), random)]].to;
            }
        }
        let is_free =
            end != sink && self.vertices[start].back.is_none() && self.vertices[end].back.is_none();
        if is_free {
            let edge = self.edges.len();
            self.edges.push(Edge { from: end, to: start });
            self.vertices[end].back = Some(Back::Sends(edge));
            self.vertices[start].back = Some(Back::Receives(edge));
        }
        is_free
    }
}

fn below(random: &mut Random, bound: u32) -> u32 {
    u32::try_from(random.below(u64::from(bound))).expect("below a bound of 32 bits")
}

fn pick(range: std::ops::Range<usize>, random: &mut Random) -> usize {
    let place = random.below(range.len() as u64);
    range.start + usize::try_from(place).expect("a place in a range is a size")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everyone_is_on_a_way_and_edges_join_neighbours_or_lead_back(
            layers in 1u32..12,
            width in 1u32..6,
            seed in any::<u64>(),
        ) {
            let graph = Shape { layers, width, back_edges: 0, seed }.draw().unwrap();
            let back_edges = 2.min(layers / 4);
            let cyclic = Shape { layers, width, back_edges, seed }.draw().unwrap();
            prop_assert_eq!(&graph.edges[..], &cyclic.edges[..graph.edges.len()]);
            let sink = graph.vertices.len() - 1;
            for (place, vertex) in graph.vertices.iter().enumerate() {
                prop_assert_eq!(vertex.inputs.is_empty(), place == 0);
                prop_assert_eq!(vertex.outputs.is_empty(), place == sink);
            }
            for edge in &graph.edges {
                let layer = |place: usize| graph.vertices[place].at.0;
                prop_assert_eq!(layer(edge.from) + 1, layer(edge.to));
            }
            for edge in &cyclic.edges[graph.edges.len()..] {
                prop_assert!(cyclic.vertices[edge.from].at.0 > cyclic.vertices[edge.to].at.0);
                prop_assert!(edge.to > 0 && edge.from < sink);
            }
            let mut pairs: Vec<_> = cyclic.edges.iter().map(|edge| (edge.from, edge.to)).collect();
            pairs.sort_unstable();
            prop_assert!(pairs.is_sorted_by(|a, b| a < b), "no two edges are the same");
        }
    }

    #[test]
    fn the_shape_of_the_paper_is_met_on_average() {
        let sizes = (0..100).map(|seed| {
            Shape { layers: 50, width: 7, back_edges: 13, seed }.draw().unwrap().size()
        });
        let (processes, edges) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        // 212 processes and 333 edges in the figure.
        assert!((195..215).contains(&(processes / 100)), "{processes}");
        assert!((305..340).contains(&(edges / 100)), "{edges}");
    }

    #[test]
    fn more_edges_back_than_there_is_room_for_are_refused() {
        let shape = Shape { layers: 2, width: 1, back_edges: 1, seed: 0 };
        assert_eq!(shape.draw().unwrap().size(), (4, 4, 1));
        let refused = Shape { back_edges: 2, ..shape }.draw().unwrap_err().to_string();
        assert!(refused.contains("there is room for 1"), "{refused}");
        assert!(Shape { layers: 100_000, width: 11, ..shape }.draw().is_err());
    }
}
