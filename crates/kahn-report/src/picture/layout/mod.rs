//! A layered layout (Sugiyama, Tagawa and Toda 1981), from left to right, or downwards if that suits a
//! page better.
//!
//! 1. Cycles are cut: edges that lead back in a depth-first search are turned round, and remembered.
//! 2. Each vertex gets a layer behind all that lead to it, such that edges are short; boxes stand in
//!    even layers (`layers`).
//! 3. An edge has a *stop* in each layer between its ends, and its label is one of them: so a label has
//!    room like a box, and nothing can lie upon it. Layers with odd numbers are for labels alone; that
//!    of a long edge stands where the layer is deep anyway.
//! 4. Sweeps by median and exchanges of neighbours order each layer; the order with the fewest crossings
//!    is kept (`order`).
//! 5. Places in the layers: long edges are straight (`align`).
//! 6. What is still too long for a page is cut into bands (`bands`); what is too broad gets more layers,
//!    with fewer boxes in each.
//!
//! Layers follow each other *along* the direction, what is in one of them stands *across*.

mod align;
mod bands;
mod layers;
mod order;

use super::Picture;
use super::svg::{self, Measured};
use bands::Bands;

/// The least distance between two things of a layer, between edges that pass, and between layers.
const GAP: f64 = 14.0;
const BETWEEN_LANES: f64 = 6.0;
const BETWEEN_LAYERS: f64 = 30.0;
/// The room of an edge that passes.
const LANE: f64 = 8.0;
/// What is larger is shown smaller than it is, on most screens.
const PAGE: (f64, f64) = (1400.0, 1000.0);
/// What a page would show smaller than this is made to suit it, and so is what is thinner than this.
const SMALLEST: f64 = 0.7;
const THINNEST: f64 = 2.9;
/// The most bands that are tried, and boxes in a layer, by turns.
const MOST_BANDS: usize = 8;
const MOST_ABREAST: [usize; 5] = [usize::MAX, 12, 8, 5, 3];

/// Where layers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Right,
    Down,
}

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
    /// Points from its beginning to its end: from one to the next it is a straight line or a curve, by
    /// turns. Empty if it leads from a box to itself.
    pub(super) points: Vec<(f64, f64)>,
    pub(super) label: Rect,
}

/// Where all is.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) direction: Direction,
    pub(super) boxes: Vec<Rect>,
    pub(super) routes: Vec<Route>,
    pub(super) width: f64,
    pub(super) height: f64,
    /// How many edges are led round from one band to the next.
    pub(super) tracks: usize,
}

/// What stands in a layer: a box, a label or a lane.
struct Stop {
    layer: usize,
    /// Its size along the direction, and across.
    depth: f64,
    breadth: f64,
    /// Where edges meet it, across, from its beginning.
    axis: f64,
    /// Where its axis is.
    at: f64,
    before: Vec<usize>,
    after: Vec<usize>,
    is_box: bool,
}

impl Stop {
    fn new(layer: usize, (depth, breadth, axis): (f64, f64, f64), is_box: bool) -> Self {
        let (before, after) = (Vec::new(), Vec::new());
        Self { layer, depth, breadth, axis, at: 0.0, before, after, is_box }
    }

    /// The least distance of the axes if `next` follows it in a layer.
    fn apart(&self, next: &Self) -> f64 {
        let gap = if self.is_lane() && next.is_lane() { BETWEEN_LANES } else { GAP };
        self.breadth - self.axis + gap + next.axis
    }

    fn is_lane(&self) -> bool {
        self.depth == 0.0
    }
}

/// The stops of a picture, and of each edge its own.
struct Stops {
    /// Those of the boxes first, in the order of the vertices.
    all: Vec<Stop>,
    /// Of each edge, from the lower layer to the higher one.
    chains: Vec<Vec<usize>>,
    labels: Vec<Option<usize>>,
}

/// Places all boxes and labels, and routes all edges.
pub(super) fn placed(picture: &Picture) -> Layout {
    let measured = Measured::of(picture);
    let all = |direction| directed(picture, &measured, direction, usize::MAX, 1);
    let Some(right) = all(Direction::Right).pop() else { return Layout::default() };
    if right.scale() >= 1.0 {
        return right;
    }
    let down = all(Direction::Down).pop().filter(|down| down.scale() > 1.2 * right.scale());
    let mut best = down.unwrap_or(right);
    for most in MOST_ABREAST {
        if best.is_sane() && best.scale() >= SMALLEST {
            break;
        }
        for direction in [Direction::Right, Direction::Down] {
            for other in directed(picture, &measured, direction, most, MOST_BANDS) {
                if other.worth() > 1.05 * best.worth() {
                    best = other;
                }
            }
        }
    }
    best
}

impl Default for Layout {
    fn default() -> Self {
        let (boxes, routes) = (Vec::new(), Vec::new());
        Self { direction: Direction::Right, boxes, routes, width: 0.0, height: 0.0, tracks: 0 }
    }
}

impl Layout {
    /// How large a page shows it.
    fn scale(&self) -> f64 {
        (PAGE.0 / self.width).min(PAGE.1 / self.height).min(1.0)
    }

    /// Whether it is neither a thread nor a ribbon.
    fn is_sane(&self) -> bool {
        (self.width / self.height).max(self.height / self.width) <= THINNEST
    }

    /// How well it is read: edges that are led round are harder to follow.
    fn worth(&self) -> f64 {
        let sane = if self.is_sane() { 1.0 } else { 0.2 };
        sane * self.scale() * (-0.02 * to_f64(self.tracks)).exp()
    }
}

/// The layouts of a direction with at most so many boxes in a layer, in one band and in more.
fn directed(
    picture: &Picture,
    measured: &Measured,
    direction: Direction,
    most: usize,
    bands: usize,
) -> Vec<Layout> {
    let is_back = layers::back_edges(picture);
    let layer_of = layers::layers(picture, &is_back, most);
    let mut stops = stops(picture, measured, direction, &is_back, &layer_of);
    let rows = order::ordered(&stops.all);
    align::align(&mut stops.all, &rows);
    let places: Vec<_> = stops.all.iter().map(|stop| stop.at).collect();
    let layouts = (1..=bands).map_while(|count| {
        stops.all.iter_mut().zip(&places).for_each(|(stop, &at)| stop.at = at);
        let bands = Bands::new(&mut stops.all, &stops.chains, count)?;
        Some(routed(picture, measured, direction, &is_back, &stops, &bands))
    });
    layouts.collect()
}

/// Depth, breadth and axis of a box with its arrow to itself, if it has one.
fn of_box(measured: &Measured, vertex: usize, direction: Direction) -> (f64, f64, f64) {
    let ((width, height), own) = (measured.boxes[vertex], measured.loops[vertex]);
    match (direction, own) {
        (Direction::Right, None) => (width, height, height / 2.0),
        (Direction::Down, None) => (height, width, width / 2.0),
        (Direction::Right, Some(label)) => {
            let above = svg::LOOP + label.1;
            (width.max(label.0), height + above, above + height / 2.0)
        }
        (Direction::Down, Some(label)) => {
            (height.max(label.1), width + svg::LOOP + label.0, width / 2.0)
        }
    }
}

/// Depth, breadth and axis of a label beside its edge.
fn of_label((width, height): (f64, f64), direction: Direction) -> (f64, f64, f64) {
    match direction {
        Direction::Right => (width, height + LANE, height + LANE / 2.0),
        Direction::Down => (height, width + LANE, LANE / 2.0),
    }
}

fn stops(
    picture: &Picture,
    measured: &Measured,
    direction: Direction,
    is_back: &[bool],
    layer_of: &[usize],
) -> Stops {
    let count = picture.vertices.len();
    let mut stops: Vec<Stop> = (0..count)
        .map(|vertex| Stop::new(2 * layer_of[vertex], of_box(measured, vertex, direction), true))
        .collect();
    let mut depths = vec![0.0_f64; stops.iter().map(|stop| stop.layer + 1).max().unwrap_or(0)];
    for stop in &stops {
        depths[stop.layer] = depths[stop.layer].max(stop.depth);
    }
    let ends = |number: usize| {
        let edge = &picture.edges[number];
        if is_back[number] { (edge.to, edge.from) } else { (edge.from, edge.to) }
    };
    let mut label_layer = vec![0; picture.edges.len()];
    // Those that have no choice first.
    for is_long in [false, true] {
        for (number, label) in measured.labels.iter().enumerate() {
            let (from, to) = ends(number);
            let (first, last) = (stops[from].layer, stops[to].layer);
            if from == to || (last > first + 2) != is_long {
                continue;
            }
            let middle = usize::midpoint(first, last);
            let middle = if middle % 2 == 1 { middle } else { middle - 1 };
            let depth = of_label(label.size(), direction).0;
            let deep = (first + 1..last).filter(|&layer| depths[layer] >= depth);
            let layer = deep.min_by_key(|layer| layer.abs_diff(middle)).unwrap_or(middle);
            depths[layer] = depths[layer].max(depth);
            label_layer[number] = layer;
        }
    }
    let (mut chains, mut labels) = (Vec::new(), Vec::new());
    for (number, label) in measured.labels.iter().enumerate() {
        let (from, to) = ends(number);
        let mut chain = vec![from];
        let mut own = None;
        if from != to {
            for layer in stops[from].layer + 1..stops[to].layer {
                let mut size = (0.0, LANE, LANE / 2.0);
                if layer == label_layer[number] {
                    own = Some(stops.len());
                    size = of_label(label.size(), direction);
                }
                chain.push(stops.len());
                stops.push(Stop::new(layer, size, false));
            }
            chain.push(to);
            for pair in chain.windows(2) {
                stops[pair[0]].after.push(pair[1]);
                stops[pair[1]].before.push(pair[0]);
            }
        }
        chains.push(chain);
        labels.push(own);
    }
    Stops { all: stops, chains, labels }
}

fn routed(
    picture: &Picture,
    measured: &Measured,
    direction: Direction,
    is_back: &[bool],
    stops: &Stops,
    bands: &Bands,
) -> Layout {
    let Stops { all: stops, chains, labels } = stops;
    let columns = &bands.columns;
    let at = |along: f64, across: f64| match direction {
        Direction::Right => (along, across),
        Direction::Down => (across, along),
    };
    // A rectangle in the middle of a layer.
    let rect = |layer: usize, across: f64, (width, height): (f64, f64)| {
        let (begin, depth) = columns[layer];
        let size = if direction == Direction::Right { width } else { height };
        let (x, y) = at(begin + (depth - size) / 2.0, across);
        Rect { x, y, width, height }
    };
    // How much of a size lies across.
    let breadth = |(width, height): (f64, f64)| match direction {
        Direction::Right => height,
        Direction::Down => width,
    };
    let sizes = stops.iter().zip(&measured.boxes);
    let boxes: Vec<_> =
        sizes.map(|(stop, &size)| rect(stop.layer, stop.at - breadth(size) / 2.0, size)).collect();
    // Where an edge meets a box: edges of one side share it, in the order of where they go.
    let port = |vertex: usize, near: &[usize], towards: usize| {
        let before = |&&other: &&usize| stops[other].at < stops[towards].at;
        let (rank, of) = (near.iter().filter(before).count(), near.len());
        let breadth = breadth(measured.boxes[vertex]);
        stops[vertex].at - breadth / 2.0 + breadth * (to_f64(rank) + 1.0) / (to_f64(of) + 1.0)
    };
    let routes = chains.iter().enumerate().map(|(number, chain)| {
        let size = measured.labels[number].size();
        let (first, last) = (chain[0], chain[chain.len() - 1]);
        if chain.len() == 1 {
            let of = &boxes[first];
            let (x, y) = match direction {
                Direction::Right => (of.x + (of.width - size.0) / 2.0, of.y - svg::LOOP - size.1),
                Direction::Down => (of.x + of.width + svg::LOOP, of.y + (of.height - size.1) / 2.0),
            };
            let label = Rect { x, y, width: size.0, height: size.1 };
            return Route { is_back: true, points: Vec::new(), label };
        }
        let across = port(first, &stops[first].after, chain[1]);
        let end = boxes[first].end(direction);
        // From a box to the end of its layer the line is straight.
        let (begin, depth) = columns[stops[first].layer];
        let mut points = vec![at(end, across), at(begin + depth, across)];
        let across = port(last, &stops[last].before, chain[chain.len() - 2]);
        for pair in chain[1..].windows(2) {
            let Stop { layer, at: here, .. } = stops[pair[0]];
            let (begin, depth) = columns[layer];
            points.extend([at(begin, here), at(begin + depth, here)]);
            if bands.ends(layer) {
                let on = if pair[1] == last { across } else { stops[pair[1]].at };
                let corners = bands.corners(layer, number, here, on);
                points.extend(corners.map(|(along, across)| at(along, across)));
            }
        }
        let begin = columns[stops[last].layer].0;
        points.extend([at(begin, across), at(boxes[last].begin(direction), across)]);
        if is_back[number] {
            points.reverse();
        }
        let beside = labels[number].map_or((0, 0.0), |stop| {
            let Stop { layer, at, axis, .. } = stops[stop];
            (layer, if direction == Direction::Right { at - axis } else { at + axis })
        });
        Route { is_back: is_back[number], points, label: rect(beside.0, beside.1, size) }
    });
    let routes: Vec<_> = routes.collect();
    let across = stops.iter().map(|stop| stop.at - stop.axis + stop.breadth).fold(0.0, f64::max);
    let (width, height) = at(bands.along, across);
    debug_assert_eq!(picture.edges.len(), routes.len(), "each edge has a route");
    let tracks = bands.tracks();
    Layout { direction, boxes, routes, width, height, tracks }
}

impl Rect {
    fn begin(&self, direction: Direction) -> f64 {
        if direction == Direction::Right { self.x } else { self.y }
    }

    fn end(&self, direction: Direction) -> f64 {
        if direction == Direction::Right { self.x + self.width } else { self.y + self.height }
    }
}

#[expect(clippy::cast_precision_loss, reason = "places in a layer are few")]
fn to_f64(number: usize) -> f64 {
    number as f64
}
