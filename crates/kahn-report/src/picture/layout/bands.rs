//! Layers that are too many for a page, cut into *bands* that stand side by side, as the columns of a
//! newspaper do.
//!
//! A band is cut off behind a layer of labels, where few edges pass. Each edge that passes has a *track*:
//! on behind its band, aside into the gutter between the two, back along it, and before the next band to
//! where it goes on. The edge that lies nearest to the gutter turns first and goes innermost, so edges in
//! the same order before and behind the cut do not cross.

use super::{BETWEEN_LAYERS, Stop, to_f64};

/// The distance of two tracks, and of the first from what is beside it.
const TRACK: f64 = 9.0;
const ASIDE: f64 = 18.0;

/// How far from the even length a cut may be, as a share of it, to have one edge less to lead round.
const PER_EDGE: f64 = 0.08;

/// Layers in bands, and where each layer begins in its band.
pub(super) struct Bands {
    /// The band of each layer.
    of: Vec<usize>,
    /// Where each layer begins, and how deep it is.
    pub(super) columns: Vec<(f64, f64)>,
    cuts: Vec<Cut>,
    /// What all take along the direction.
    pub(super) along: f64,
}

/// Between a band and the next.
#[derive(Default)]
struct Cut {
    /// The edges that pass, by their places before it.
    edges: Vec<(f64, usize)>,
    /// Behind the band, and in the gutter, where the first track lies.
    behind: f64,
    gutter: f64,
}

impl Bands {
    /// Cuts layers into so many bands of about the same length, if there are as many places to cut, and puts
    /// them side by side.
    pub(super) fn new(stops: &mut [Stop], chains: &[Vec<usize>], count: usize) -> Option<Self> {
        let layers = stops.iter().map(|stop| stop.layer + 1).max().unwrap_or(0);
        let mut depths = vec![0.0_f64; layers];
        let mut passing = vec![0_usize; layers];
        for stop in &*stops {
            depths[stop.layer] = depths[stop.layer].max(stop.depth);
            passing[stop.layer] += stop.after.len();
        }
        let of = cut(&depths, &passing, count)?;
        let mut bands = Self { of, columns: Vec::new(), cuts: Vec::new(), along: 0.0 };
        bands.cuts.resize_with(count - 1, Cut::default);
        for (number, chain) in chains.iter().enumerate() {
            for &stop in &chain[1..chain.len().max(2) - 1] {
                if bands.ends(stops[stop].layer) {
                    bands.cuts[bands.of[stops[stop].layer]].edges.push((stops[stop].at, number));
                }
            }
        }
        for cut in &mut bands.cuts {
            cut.edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        bands.stack(&depths);
        bands.part(stops);
        Some(bands)
    }

    /// Whether a layer is the last of a band that another follows.
    pub(super) fn ends(&self, layer: usize) -> bool {
        self.of.get(layer + 1).is_some_and(|&next| next != self.of[layer])
    }

    /// How many edges are led round.
    pub(super) fn tracks(&self) -> usize {
        self.cuts.iter().map(|cut| cut.edges.len()).sum()
    }

    /// Puts the layers of each band one behind the other.
    fn stack(&mut self, depths: &[f64]) {
        let mut begin = 0.0;
        for (layer, &depth) in depths.iter().enumerate() {
            self.columns.push((begin, depth));
            self.along = self.along.max(begin + depth);
            if self.ends(layer) {
                let cut = &mut self.cuts[self.of[layer]];
                let tracks = TRACK * to_f64(cut.edges.len());
                cut.behind = begin + depth + ASIDE;
                self.along = self.along.max(cut.behind + tracks);
                begin = tracks + BETWEEN_LAYERS;
            } else {
                begin += depth + BETWEEN_LAYERS;
            }
        }
    }

    /// Puts each band beside the one before it.
    fn part(&mut self, stops: &mut [Stop]) {
        if self.cuts.is_empty() {
            return;
        }
        let mut next = 0.0;
        for band in 0..=self.cuts.len() {
            let own = |stop: &&mut Stop| self.of[stop.layer] == band;
            let (mut begin, mut end) = (f64::INFINITY, f64::NEG_INFINITY);
            for stop in stops.iter_mut().filter(own) {
                begin = begin.min(stop.at - stop.axis);
                end = end.max(stop.at - stop.axis + stop.breadth);
            }
            for stop in stops.iter_mut().filter(own) {
                stop.at += next - begin;
            }
            next += end - begin + ASIDE;
            if let Some(cut) = self.cuts.get_mut(band) {
                cut.gutter = next;
                next += TRACK * to_f64(cut.edges.len()) + ASIDE - TRACK;
            }
        }
    }

    /// The corners of the track of an edge behind a layer, along and across: from the place where it was to
    /// the one where it goes on.
    pub(super) fn corners(&self, layer: usize, edge: usize, from: f64, to: f64) -> [(f64, f64); 4] {
        let cut = &self.cuts[self.of[layer]];
        let before = cut.edges.iter().position(|&(_, number)| number == edge).unwrap_or(0);
        let inner = TRACK * to_f64(cut.edges.len() - 1 - before);
        let (behind, gutter, ahead) = (cut.behind + inner, cut.gutter + inner, inner);
        [(behind, from), (behind, gutter), (ahead, gutter), (ahead, to)]
    }
}

/// The band of each layer.
fn cut(depths: &[f64], passing: &[usize], count: usize) -> Option<Vec<usize>> {
    let mut ends = Vec::new();
    let mut end = 0.0;
    for depth in depths {
        end += depth + BETWEEN_LAYERS;
        ends.push(end);
    }
    let even = end / to_f64(count);
    let mut of = vec![0; depths.len()];
    let mut last = 0;
    for number in 1..count {
        let wish = even * to_f64(number);
        // Layers with odd numbers are for labels, and something stands behind them.
        let cost =
            |&layer: &usize| (ends[layer] - wish).abs() / even + PER_EDGE * to_f64(passing[layer]);
        let place = (last + 1..depths.len()).filter(|layer| layer % 2 == 1);
        let place = place.min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        for band in &mut of[place + 1..] {
            *band = number;
        }
        last = place;
    }
    Some(of)
}
