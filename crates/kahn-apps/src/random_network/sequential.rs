//! A random network on one thread: in each round all processes in the order of their layers.

use super::graph::{Back, Graph};
use super::{Arrived, Load};
use crate::work::Work;

impl Graph {
    /// Computes what arrives at the sink if the source sends `messages` times `work`.
    pub fn sequential(&self, messages: u64, work: Work) -> Arrived {
        let sink = self.vertices.len() - 1;
        let mut memories: Vec<u64> = (0..self.vertices.len() as u64).collect();
        let mut on_edges = vec![Load::default(); self.edges.len()];
        let mut arrived = Arrived::nothing();
        for number in 0..messages {
            for (place, vertex) in self.vertices.iter().enumerate() {
                let inputs = vertex.inputs.iter().map(|edge| on_edges[*edge]);
                let load = match place {
                    0 => Load::first(work, number),
                    _ if place == sink => Load::total(inputs, 0),
                    _ => Load::total(inputs, memories[place]).spend(work.pace()),
                };
                if place == sink {
                    arrived = arrived.add(load);
                }
                for (turn, edge) in vertex.outputs.iter().enumerate() {
                    on_edges[*edge] = load.part(turn, vertex.outputs.len());
                }
                if let Some(Back::Sends(edge)) = vertex.back {
                    on_edges[edge] = load;
                }
            }
            for (vertex, memory) in self.vertices.iter().zip(&mut memories) {
                if let Some(Back::Receives(edge)) = vertex.back {
                    *memory = on_edges[edge].remember(*memory);
                }
            }
        }
        arrived
    }
}
