//! Which edges lead back, and in which layer each vertex stands.

use super::Picture;

/// Which edges lead back to where a depth-first search came from; it begins where nothing leads to,
/// and goes in the order of creation.
pub(super) fn back_edges(picture: &Picture) -> Vec<bool> {
    let count = picture.vertices.len();
    let mut leaving = vec![Vec::new(); count];
    let mut arriving = vec![0_usize; count];
    for (number, edge) in picture.edges.iter().enumerate() {
        if edge.from != edge.to {
            leaving[edge.from].push(number);
            arriving[edge.to] += 1;
        }
    }
    let mut is_back = vec![false; picture.edges.len()];
    // 0: not found, 1: on the path, 2: left.
    let mut state = vec![0_u8; count];
    let roots = (0..count).filter(|&v| arriving[v] == 0).chain(0..count);
    for root in roots.collect::<Vec<_>>() {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((vertex, next)) = path.pop() {
            let Some(&number) = leaving[vertex].get(next) else {
                state[vertex] = 2;
                continue;
            };
            path.push((vertex, next + 1));
            let to = picture.edges[number].to;
            match state[to] {
                0 => {
                    state[to] = 1;
                    path.push((to, 0));
                }
                1 => is_back[number] = true,
                _ => {}
            }
        }
    }
    is_back
}

/// The layer of each vertex: behind all that lead to it, and then moved to where edges are short; where no
/// more than `most` may stand, behind that, in the first that has room (Coffman and Graham 1972).
pub(super) fn layers(picture: &Picture, is_back: &[bool], most: usize) -> Vec<usize> {
    let count = picture.vertices.len();
    let (mut after, mut before) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (edge, &is_back) in picture.edges.iter().zip(is_back) {
        let (from, to) = if is_back { (edge.to, edge.from) } else { (edge.from, edge.to) };
        if from != to {
            after[from].push(to);
            before[to].push(from);
        }
    }
    let mut waits: Vec<_> = before.iter().map(Vec::len).collect();
    let mut order: Vec<_> = (0..count).filter(|&vertex| waits[vertex] == 0).collect();
    let mut layer = vec![0_usize; count];
    let mut next = 0;
    while next < order.len() {
        let vertex = order[next];
        next += 1;
        for &to in &after[vertex] {
            layer[to] = layer[to].max(layer[vertex] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                order.push(to);
            }
        }
    }
    if most < usize::MAX {
        order.sort_by_key(|&vertex| layer[vertex]);
        let mut in_layer = vec![0_usize; count];
        for &vertex in &order {
            let behind = before[vertex].iter().map(|&from| layer[from] + 1).max().unwrap_or(0);
            let free = (behind..count).find(|&place| in_layer[place] < most);
            layer[vertex] = free.unwrap_or(behind);
            in_layer[layer[vertex]] += 1;
        }
        return layer;
    }
    // Each move makes the sum of all lengths less, so this ends.
    let mut has_moved = true;
    while has_moved {
        has_moved = false;
        for &vertex in order.iter().rev() {
            if after[vertex].len() > before[vertex].len()
                && let Some(nearest) = after[vertex].iter().map(|&to| layer[to] - 1).min()
                && nearest > layer[vertex]
            {
                (layer[vertex], has_moved) = (nearest, true);
            }
        }
    }
    layer
}
