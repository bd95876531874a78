//! Which channels lie on no cycle of the undirected multigraph.
//!
//! Such a channel can never be part of a ring of waits, so a detector's walk may stop there. Two
//! parallel channels are a cycle, a self-loop is one, an outside party is one vertex.

use super::by_vertex;

/// Tells for each edge whether it is a bridge (Tarjan 1974), without recursion.
///
/// `edges` are pairs of vertices below `vertices`. Linear in both.
pub(crate) fn bridges(vertices: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    /// Not found yet.
    const UNSEEN: usize = usize::MAX;
    // The edges at each vertex; a self-loop stands there twice.
    let ends = edges.iter().enumerate().flat_map(|(edge, &(a, b))| [(a, edge), (b, edge)]);
    let (first, incident) = by_vertex(vertices, ends);

    let mut bridge = vec![false; edges.len()];
    let (mut found, mut low) = (vec![UNSEEN; vertices], vec![UNSEEN; vertices]);
    let mut time = 0;
    let mut cursor = first.clone();
    let mut path: Vec<(usize, Option<usize>)> = Vec::new();
    for root in 0..vertices {
        if found[root] != UNSEEN {
            continue;
        }
        path.push((root, None));
        while let Some(&(vertex, came_by)) = path.last() {
            if found[vertex] == UNSEEN {
                (found[vertex], low[vertex]) = (time, time);
                time += 1;
            }
            if cursor[vertex] < first[vertex + 1] {
                let edge = incident[cursor[vertex]];
                cursor[vertex] += 1;
                if Some(edge) == came_by {
                    continue;
                }
                let (a, b) = edges[edge];
                let other = if a == vertex { b } else { a };
                if found[other] == UNSEEN {
                    path.push((other, Some(edge)));
                } else {
                    low[vertex] = low[vertex].min(found[other]);
                }
            } else {
                path.pop();
                if let (Some(&(parent, _)), Some(edge)) = (path.last(), came_by) {
                    low[parent] = low[parent].min(low[vertex]);
                    bridge[edge] = low[vertex] > found[parent];
                }
            }
        }
    }
    bridge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_all_bridges_and_a_ring_has_none() {
        assert_eq!(bridges(4, &[(0, 1), (1, 2), (2, 3)]), [true; 3]);
        assert_eq!(bridges(3, &[(0, 1), (1, 2), (2, 0)]), [false; 3]);
    }

    #[test]
    fn parallel_channels_and_self_loops_are_cycles() {
        assert_eq!(bridges(3, &[(0, 1), (1, 0), (1, 2)]), [false, false, true]);
        assert_eq!(bridges(2, &[(0, 0), (0, 1)]), [false, true]);
    }

    #[test]
    fn an_edge_is_a_bridge_exactly_if_its_ends_fall_apart_without_it() {
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            usize::try_from(state >> 33).unwrap() % below
        };
        for _ in 0..200 {
            let vertices = 2 + random(8);
            let edges: Vec<_> =
                (0..random(12)).map(|_| (random(vertices), random(vertices))).collect();
            let expected: Vec<bool> =
                (0..edges.len()).map(|without| !connected(vertices, &edges, without)).collect();
            assert_eq!(bridges(vertices, &edges), expected, "{vertices} {edges:?}");
        }
    }

    fn connected(vertices: usize, edges: &[(usize, usize)], without: usize) -> bool {
        let mut reached = vec![false; vertices];
        reached[edges[without].0] = true;
        for _ in 0..vertices {
            for (edge, &(a, b)) in edges.iter().enumerate() {
                if edge != without && (reached[a] || reached[b]) {
                    (reached[a], reached[b]) = (true, true);
                }
            }
        }
        reached[edges[without].1]
    }
}
