//! Where things stand in their layers (Brandes and Köpf 2001).
//!
//! Each stop is aligned with the median of its neighbours in the layer before, if no other alignment
//! crosses that; what is aligned is a *block* with one place, so the inner part of a long edge, which
//! goes first, is straight. Blocks are then put as close as distances allow. This is done four times:
//! from the first layer or the last, from the one end of each layer or the other. The mean of the two
//! middle places of the four keeps order and distances, and what is straight in all of them.

use super::Stop;
use std::collections::BTreeSet;

/// Gives each stop its place.
pub(super) fn align(stops: &mut [Stop], rows: &[Vec<usize>]) {
    let place = places(rows, stops.len());
    let refused = refused(stops, rows, &place);
    let mut four = Vec::new();
    for is_forth in [true, false] {
        for is_mirrored in [false, true] {
            let mut rows = rows.to_vec();
            if !is_forth {
                rows.reverse();
            }
            if is_mirrored {
                for row in &mut rows {
                    row.reverse();
                }
            }
            let root = blocks(stops, &rows, &refused, is_forth);
            let mut at = packed(stops, &rows, &root, is_mirrored);
            if is_mirrored {
                for at in &mut at {
                    *at = -*at;
                }
            }
            four.push((is_mirrored, at));
        }
    }
    let bounds = |at: &[f64]| {
        let begin = stops.iter().zip(at).map(|(stop, at)| at - stop.axis);
        let end = stops.iter().zip(at).map(|(stop, at)| at - stop.axis + stop.breadth);
        (begin.fold(f64::INFINITY, f64::min), end.fold(f64::NEG_INFINITY, f64::max))
    };
    let all: Vec<_> = four.iter().map(|(_, at)| bounds(at)).collect();
    let narrow = all.iter().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let Some(narrow) = narrow else { return };
    for ((is_mirrored, at), bounds) in four.iter_mut().zip(&all) {
        let by = if *is_mirrored { narrow.1 - bounds.1 } else { narrow.0 - bounds.0 };
        for at in at {
            *at += by;
        }
    }
    for (number, stop) in stops.iter_mut().enumerate() {
        let mut at: Vec<_> = four.iter().map(|(_, at)| at[number]).collect();
        at.sort_by(f64::total_cmp);
        stop.at = f64::midpoint(at[1], at[2]);
    }
    let begin = stops.iter().map(|stop| stop.at - stop.axis).fold(f64::INFINITY, f64::min);
    for stop in stops {
        stop.at -= begin;
    }
}

fn places(rows: &[Vec<usize>], count: usize) -> Vec<usize> {
    let mut place = vec![0; count];
    for row in rows {
        row.iter().enumerate().for_each(|(index, &stop)| place[stop] = index);
    }
    place
}

/// Pairs of neighbours that are not aligned, for the inner part of a long edge crosses what joins them.
fn refused(stops: &[Stop], rows: &[Vec<usize>], place: &[usize]) -> BTreeSet<(usize, usize)> {
    let mut refused = BTreeSet::new();
    for pair in rows.windows(2) {
        let (mut scanned, mut low) = (0, 0);
        for (index, &stop) in pair[1].iter().enumerate() {
            let inner = inner_before(stops, stop);
            if inner.is_none() && index + 1 < pair[1].len() {
                continue;
            }
            let high = inner.map_or(pair[0].len(), |before| place[before]);
            for &other in &pair[1][scanned..=index] {
                for &before in &stops[other].before {
                    let crosses = place[before] < low || place[before] > high;
                    if crosses && (stops[before].is_box || stops[other].is_box) {
                        refused.insert((before, other));
                    }
                }
            }
            (scanned, low) = (index + 1, high);
        }
    }
    refused
}

/// What an inner part of a long edge comes from.
fn inner_before(stops: &[Stop], stop: usize) -> Option<usize> {
    let before = *stops[stop].before.first()?;
    (!stops[stop].is_box && !stops[before].is_box).then_some(before)
}

/// For each stop, the first of its block, in the order of the rows.
fn blocks(
    stops: &[Stop],
    rows: &[Vec<usize>],
    refused: &BTreeSet<(usize, usize)>,
    is_forth: bool,
) -> Vec<usize> {
    let place = places(rows, stops.len());
    let mut root: Vec<_> = (0..stops.len()).collect();
    let mut is_continued = vec![false; stops.len()];
    for row in rows {
        // Alignments that do not cross: each is beyond the last.
        let mut free = 0;
        for &stop in row {
            let near = if is_forth { &stops[stop].before } else { &stops[stop].after };
            let mut near = near.clone();
            near.sort_unstable_by_key(|&other| place[other]);
            let Some(most) = near.len().checked_sub(1) else { continue };
            for &other in &near[most / 2..=most.div_ceil(2)] {
                let pair = if is_forth { (other, stop) } else { (stop, other) };
                let may = root[stop] == stop && !is_continued[other] && place[other] >= free;
                if may && !refused.contains(&pair) {
                    root[stop] = root[other];
                    is_continued[other] = true;
                    free = place[other] + 1;
                }
            }
        }
    }
    root
}

/// The places of blocks as close together as can be: first each where those before it allow, then each
/// as far towards those after it.
fn packed(stops: &[Stop], rows: &[Vec<usize>], root: &[usize], is_mirrored: bool) -> Vec<f64> {
    let mut after: Vec<Vec<(usize, f64)>> = vec![Vec::new(); stops.len()];
    let mut waits = vec![0_usize; stops.len()];
    for row in rows {
        for pair in row.windows(2) {
            let (one, two) = (&stops[pair[0]], &stops[pair[1]]);
            let apart = if is_mirrored { two.apart(one) } else { one.apart(two) };
            after[root[pair[0]]].push((root[pair[1]], apart));
            waits[root[pair[1]]] += 1;
        }
    }
    let is_root = |&stop: &usize| root[stop] == stop;
    let mut order: Vec<_> = (0..stops.len()).filter(is_root).filter(|&s| waits[s] == 0).collect();
    let mut at = vec![0.0_f64; stops.len()];
    let mut next = 0;
    while next < order.len() {
        let block = order[next];
        next += 1;
        for &(other, apart) in &after[block] {
            at[other] = at[other].max(at[block] + apart);
            waits[other] -= 1;
            if waits[other] == 0 {
                order.push(other);
            }
        }
    }
    debug_assert_eq!(order.len(), (0..stops.len()).filter(is_root).count(), "blocks do not cross");
    for &block in order.iter().rev() {
        let room = after[block].iter().map(|&(other, apart)| at[other] - apart);
        if let Some(room) = room.reduce(f64::min) {
            at[block] = at[block].max(room);
        }
    }
    root.iter().map(|&root| at[root]).collect()
}
