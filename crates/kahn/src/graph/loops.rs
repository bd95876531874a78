//! Loops, and what can be reached from them.

use super::by_vertex;

/// Whether there is a loop, and from each vertex a path along the edges to a vertex of `ends`, which names all
/// vertices. Linear in both.
pub(crate) fn leads_from_loops(edges: &[(usize, usize)], ends: &[bool]) -> bool {
    let vertices = ends.len();
    let mut out = vec![0_usize; vertices];
    for &(from, _) in edges {
        out[from] += 1;
    }
    // The vertices with an edge to each.
    let (first, from) = by_vertex(vertices, edges.iter().map(|&(from, to)| (to, from)));
    let before = |vertex: usize| &from[first[vertex]..first[vertex + 1]];

    // What is left when the vertices without a way on are taken away, one after the other, has loops.
    let mut open: Vec<usize> = (0..vertices).filter(|&vertex| out[vertex] == 0).collect();
    let mut taken = 0;
    while let Some(vertex) = open.pop() {
        taken += 1;
        for &vertex in before(vertex) {
            out[vertex] -= 1;
            if out[vertex] == 0 {
                open.push(vertex);
            }
        }
    }
    if taken == vertices {
        return false;
    }
    let mut leads = ends.to_vec();
    let mut open: Vec<usize> = (0..vertices).filter(|&vertex| ends[vertex]).collect();
    let mut found = open.len();
    while let Some(vertex) = open.pop() {
        for &vertex in before(vertex) {
            if !std::mem::replace(&mut leads[vertex], true) {
                found += 1;
                open.push(vertex);
            }
        }
    }
    found == vertices
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::successors;

    /// Vertices that can be reached from one by one edge or more, found by looking again and again.
    fn reached(edges: &[(usize, usize)], start: usize, vertices: usize) -> Vec<bool> {
        let step = |from: &Vec<bool>| {
            let mut to = from.clone();
            edges.iter().filter(|(a, _)| *a == start || from[*a]).for_each(|&(_, b)| to[b] = true);
            Some(to)
        };
        successors(Some(vec![false; vertices]), step).nth(vertices).expect("it goes on")
    }

    #[test]
    fn loops_and_ways_on_are_what_looking_again_and_again_finds() {
        let mut state = 3_u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let mut answers = [0, 0];
        for _ in 0..2000 {
            let vertices = 1 + draw(6);
            let edges: Vec<_> = (0..draw(9)).map(|_| (draw(vertices), draw(vertices))).collect();
            let ends: Vec<bool> = (0..vertices).map(|_| draw(3) == 0).collect();
            let reached: Vec<_> = (0..vertices).map(|at| reached(&edges, at, vertices)).collect();
            let has_loop = (0..vertices).any(|at| reached[at][at]);
            let leads = |at: usize| ends[at] || (0..vertices).any(|to| ends[to] && reached[at][to]);
            let expected = has_loop && (0..vertices).all(leads);
            assert_eq!(leads_from_loops(&edges, &ends), expected, "{edges:?} {ends:?}");
            answers[usize::from(expected)] += 1;
        }
        assert!(answers.iter().all(|&count| count > 100), "{answers:?}");
    }
}
