//! A layered layout from left to right (Sugiyama, Tagawa and Toda 1981).
//!
//! 1. Cycles are cut: edges that lead back in a depth-first search are turned round, and remembered.
//! 2. Each vertex gets the layer behind all that lead to it; boxes stand in even layers.
//! 3. An edge has a *stop* in each layer between its ends, and its label is one of them, in an odd
//!    layer: so a label has room like a box, and nothing can lie upon it.
//! 4. Sweeps by median order each layer; the order with the fewest crossings is kept.
//! 5. Heights: each layer in turn is put as near to its neighbours as order and distances allow, which
//!    is a weighted isotonic regression (pool adjacent violators).

use super::Picture;
use super::svg::{self, Label};

/// The least distance between two things of a layer, and between layers.
const GAP: f64 = 14.0;
const BETWEEN_LAYERS: f64 = 34.0;
/// The room of an edge that passes.
const LANE: f64 = 8.0;
const SWEEPS: usize = 24;
/// Heights spread along an edge by one layer a sweep or so: long ones are straight after some hundred.
const ALIGNING_SWEEPS: usize = 400;

/// A rectangle, by its corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Where an edge goes.
#[derive(Debug)]
pub(super) struct Route {
    /// Whether it was turned round.
    pub(super) is_back: bool,
    /// Points from its beginning to its end: from one to the next it is a curve or a straight line, by
    /// turns. Empty if it leads from a box to itself.
    pub(super) points: Vec<(f64, f64)>,
    pub(super) label: Rect,
}

/// Where all is.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) boxes: Vec<Rect>,
    pub(super) routes: Vec<Route>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// What stands in a layer: a box, a label or a lane.
struct Stop {
    layer: usize,
    width: f64,
    height: f64,
    /// Where edges meet it, from its upper end.
    axis: f64,
    y: f64,
    before: Vec<usize>,
    after: Vec<usize>,
    is_box: bool,
}

/// Places all boxes and labels, and routes all edges.
pub(super) fn placed(picture: &Picture) -> Layout {
    let count = picture.vertices.len();
    let is_back = back_edges(picture);
    let layer_of = layers(picture, &is_back);
    let measured = svg::Measured::of(picture);

    // Boxes first, so that a box has the number of its vertex.
    let mut stops: Vec<Stop> = (0..count)
        .map(|vertex| {
            let ((_, height, above), width) = (measured.boxes[vertex], measured.slots[vertex]);
            let axis = above + (height - above) / 2.0;
            Stop {
                layer: 2 * layer_of[vertex],
                width,
                height,
                axis,
                y: 0.0,
                before: Vec::new(),
                after: Vec::new(),
                is_box: true,
            }
        })
        .collect();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    let mut label_stop = Vec::new();
    for (number, edge) in picture.edges.iter().enumerate() {
        let (from, to) = if is_back[number] { (edge.to, edge.from) } else { (edge.from, edge.to) };
        let mut chain = vec![from];
        label_stop.push(None);
        if from != to {
            let (first, last) = (stops[from].layer, stops[to].layer);
            let middle = usize::midpoint(first, last);
            let of_label = if middle % 2 == 1 { middle } else { middle - 1 };
            for layer in first + 1..last {
                let label: &Label = &measured.labels[number];
                let (width, height, axis) = if layer == of_label {
                    label_stop[number] = Some(stops.len());
                    (label.width, label.height + LANE, label.height + LANE / 2.0)
                } else {
                    (0.0, LANE, LANE / 2.0)
                };
                chain.push(stops.len());
                let (before, after) = (Vec::new(), Vec::new());
                stops.push(Stop {
                    layer,
                    width,
                    height,
                    axis,
                    y: 0.0,
                    before,
                    after,
                    is_box: false,
                });
            }
            chain.push(to);
            for pair in chain.windows(2) {
                stops[pair[0]].after.push(pair[1]);
                stops[pair[1]].before.push(pair[0]);
            }
        }
        chains.push(chain);
    }

    let rows = ordered(&stops);
    align(&mut stops, &rows);
    let (left, widths) = columns(&stops, &rows);
    finish(picture, &measured, &stops, &chains, &label_stop, &is_back, &left, &widths)
}

/// Which edges lead back to where a depth-first search came from; it begins where nothing leads to,
/// and goes in the order of creation.
fn back_edges(picture: &Picture) -> Vec<bool> {
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

/// The layer of each vertex: the longest path to it; what nothing leads to stands close to what it
/// leads to.
fn layers(picture: &Picture, is_back: &[bool]) -> Vec<usize> {
    let count = picture.vertices.len();
    let (mut after, mut waits) = (vec![Vec::new(); count], vec![0_usize; count]);
    for (number, edge) in picture.edges.iter().enumerate() {
        let (from, to) = if is_back[number] { (edge.to, edge.from) } else { (edge.from, edge.to) };
        if from != to {
            after[from].push(to);
            waits[to] += 1;
        }
    }
    let is_first: Vec<bool> = waits.iter().map(|&waits| waits == 0).collect();
    let mut ready: Vec<_> = (0..count).filter(|&vertex| is_first[vertex]).collect();
    let mut layer = vec![0; count];
    let mut next = 0;
    while next < ready.len() {
        let vertex = ready[next];
        next += 1;
        for &to in &after[vertex] {
            layer[to] = layer[to].max(layer[vertex] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    for vertex in (0..count).filter(|&vertex| is_first[vertex]) {
        let nearest = after[vertex].iter().map(|&to| layer[to]).min();
        layer[vertex] = nearest.map_or(0, |nearest| nearest - 1);
    }
    layer
}

/// The stops of each layer, from above, with few crossings.
fn ordered(stops: &[Stop]) -> Vec<Vec<usize>> {
    let layers = stops.iter().map(|stop| stop.layer + 1).max().unwrap_or(0);
    let mut rows = vec![Vec::new(); layers];
    // In the order of a search from the first box, so that what belongs together begins together.
    let mut is_found = vec![false; stops.len()];
    for root in 0..stops.len() {
        let mut open = vec![root];
        while let Some(stop) = open.pop() {
            if std::mem::replace(&mut is_found[stop], true) {
                continue;
            }
            rows[stops[stop].layer].push(stop);
            open.extend(stops[stop].before.iter().rev());
            open.extend(stops[stop].after.iter().rev());
        }
    }
    let mut place = vec![0_usize; stops.len()];
    let number = |rows: &[Vec<usize>], place: &mut [usize]| {
        for row in rows {
            row.iter().enumerate().for_each(|(index, &stop)| place[stop] = index);
        }
    };
    number(&rows, &mut place);
    let mut best = (crossings(stops, &rows, &place), rows.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let is_forth = sweep % 2 == 0;
        let order: Vec<_> =
            if is_forth { (0..layers).collect() } else { (0..layers).rev().collect() };
        for layer in order {
            let mut keyed: Vec<(f64, usize)> = rows[layer]
                .iter()
                .map(|&stop| {
                    let near = if is_forth { &stops[stop].before } else { &stops[stop].after };
                    (median(near, &place).unwrap_or(to_f64(place[stop])), stop)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows[layer] = keyed.into_iter().map(|(_, stop)| stop).collect();
            rows[layer].iter().enumerate().for_each(|(index, &stop)| place[stop] = index);
        }
        let crossed = crossings(stops, &rows, &place);
        if crossed < best.0 {
            best = (crossed, rows.clone());
        }
    }
    best.1
}

fn median(near: &[usize], place: &[usize]) -> Option<f64> {
    let mut places: Vec<_> = near.iter().map(|&stop| place[stop]).collect();
    places.sort_unstable();
    let n = places.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(to_f64(places[n / 2])),
        _ => Some(f64::midpoint(to_f64(places[n / 2 - 1]), to_f64(places[n / 2]))),
    }
}

#[expect(clippy::cast_precision_loss, reason = "places in a layer are few")]
fn to_f64(number: usize) -> f64 {
    number as f64
}

/// Pairs of edges between neighbouring layers that cross.
fn crossings(stops: &[Stop], rows: &[Vec<usize>], place: &[usize]) -> usize {
    let mut sum = 0;
    for row in rows {
        let mut ends = Vec::new();
        for &stop in row {
            let mut after: Vec<_> = stops[stop].after.iter().map(|&to| place[to]).collect();
            after.sort_unstable();
            ends.append(&mut after);
        }
        // Inversions, by a tree of sums.
        let size = ends.iter().max().map_or(0, |most| most + 1);
        let mut tree = vec![0_usize; size + 1];
        for (seen, &end) in ends.iter().enumerate() {
            let (mut index, mut not_above) = (end + 1, 0);
            while index > 0 {
                not_above += tree[index];
                index &= index - 1;
            }
            sum += seen - not_above;
            let mut index = end + 1;
            while index <= size {
                tree[index] += 1;
                index += index & index.wrapping_neg();
            }
        }
    }
    sum
}

/// Gives each stop its height.
fn align(stops: &mut [Stop], rows: &[Vec<usize>]) {
    for row in rows {
        fit(stops, row, |_, _| None);
    }
    for sweep in 0..ALIGNING_SWEEPS {
        let order: Vec<_> = if sweep % 2 == 0 {
            (0..rows.len()).collect()
        } else {
            (0..rows.len()).rev().collect()
        };
        for layer in order {
            fit(stops, &rows[layer], |stops, stop| {
                let here = &stops[stop];
                let near = here.before.iter().chain(&here.after);
                let (mut sum, mut weight) = (0.0, 0.0);
                for &other in near {
                    let other = &stops[other];
                    // Long edges become straight first.
                    let pull = if here.is_box && other.is_box {
                        1.0
                    } else if here.is_box || other.is_box {
                        2.0
                    } else {
                        8.0
                    };
                    sum += pull * (other.y + other.axis);
                    weight += pull;
                }
                (weight > 0.0).then(|| (sum / weight - here.axis, weight))
            });
        }
    }
    let top = stops.iter().map(|stop| stop.y).reduce(f64::min).unwrap_or(0.0);
    for stop in stops {
        stop.y -= top;
    }
}

/// Puts a layer as near as can be to where its stops want to be, in order and apart.
fn fit(stops: &mut [Stop], row: &[usize], wanted: impl Fn(&[Stop], usize) -> Option<(f64, f64)>) {
    // Blocks of stops that touch: their place, their weight, how many.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    let mut offsets = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    for &stop in row {
        offsets.push(offset);
        let (want, weight) = wanted(stops, stop).unwrap_or((stops[stop].y, 0.01));
        let mut block = (want - offset, weight, 1);
        while let Some(&(place, above, number)) = blocks.last()
            && place > block.0
        {
            let both = above + block.1;
            block = ((place * above + block.0 * block.1) / both, both, number + block.2);
            blocks.pop();
        }
        blocks.push(block);
        offset += stops[stop].height + GAP;
    }
    let mut places = blocks.iter().flat_map(|block| std::iter::repeat_n(block.0, block.2));
    for (&stop, offset) in row.iter().zip(offsets) {
        if let Some(place) = places.next() {
            stops[stop].y = place + offset;
        }
    }
}

/// Where each layer begins, and how wide it is.
fn columns(stops: &[Stop], rows: &[Vec<usize>]) -> (Vec<f64>, Vec<f64>) {
    let widths: Vec<f64> = rows
        .iter()
        .map(|row| row.iter().map(|&stop| stops[stop].width).fold(0.0, f64::max))
        .collect();
    let mut left = Vec::new();
    let mut x = 0.0;
    for width in &widths {
        left.push(x);
        x += width + BETWEEN_LAYERS;
    }
    (left, widths)
}

#[expect(clippy::too_many_arguments, reason = "what the steps before have found")]
fn finish(
    picture: &Picture,
    measured: &svg::Measured,
    stops: &[Stop],
    chains: &[Vec<usize>],
    label_stop: &[Option<usize>],
    is_back: &[bool],
    left: &[f64],
    widths: &[f64],
) -> Layout {
    let count = picture.vertices.len();
    let boxes: Vec<Rect> = stops[..count]
        .iter()
        .zip(&measured.boxes)
        .map(|(stop, &(width, height, above))| {
            let x = left[stop.layer] + (widths[stop.layer] - width) / 2.0;
            Rect { x, y: stop.y + above, width, height: height - above }
        })
        .collect();
    let center = |stop: usize| stops[stop].y + stops[stop].axis;
    // Where an edge meets a box: edges of one side share its height, in the order of where they go.
    let port = |vertex: usize, near: &[usize], towards: usize| {
        let rank = near.iter().filter(|&&other| center(other) < center(towards)).count();
        let (of, height) = (to_f64(near.len()), boxes[vertex].height);
        boxes[vertex].y + height * (to_f64(rank) + 1.0) / (of + 1.0)
    };
    let routes = picture.edges.iter().enumerate().map(|(number, _)| {
        let chain = &chains[number];
        let label = &measured.labels[number];
        let (&first, &last) = (&chain[0], chain.last().unwrap_or(&chain[0]));
        if chain.len() == 1 {
            let of = &boxes[first];
            let middle = of.x + of.width / 2.0;
            let y = of.y - svg::LOOP - label.height;
            let label =
                Rect { x: middle - label.width / 2.0, y, width: label.width, height: label.height };
            return Route { is_back: true, points: Vec::new(), label };
        }
        let mut points =
            vec![(boxes[first].x + boxes[first].width, port(first, &stops[first].after, chain[1]))];
        // From a box to the edge of its layer the line is straight.
        points.push((left[stops[first].layer] + widths[stops[first].layer], points[0].1));
        for &stop in &chain[1..chain.len() - 1] {
            let (x, layer) = (left[stops[stop].layer], stops[stop].layer);
            points.extend([(x, center(stop)), (x + widths[layer], center(stop))]);
        }
        let y = port(last, &stops[last].before, chain[chain.len() - 2]);
        points.extend([(left[stops[last].layer], y), (boxes[last].x, y)]);
        let at = label_stop[number].map_or((0.0, 0.0), |stop| {
            let layer = stops[stop].layer;
            (left[layer] + (widths[layer] - label.width) / 2.0, stops[stop].y)
        });
        if is_back[number] {
            points.reverse();
        }
        let label = Rect { x: at.0, y: at.1, width: label.width, height: label.height };
        Route { is_back: is_back[number], points, label }
    });
    let routes: Vec<_> = routes.collect();
    let width = left.last().zip(widths.last()).map_or(0.0, |(left, width)| left + width);
    let height = stops.iter().map(|stop| stop.y + stop.height).fold(0.0, f64::max);
    Layout { boxes, routes, width, height }
}
