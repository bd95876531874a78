//! In which order things stand in their layers.

use super::{Stop, to_f64};

const SWEEPS: usize = 24;
/// Exchanges of neighbours are tried in layers up to this size.
const MOST_EXCHANGED: usize = 200;

/// The stops of each layer, with few crossings.
pub(super) fn ordered(stops: &[Stop]) -> Vec<Vec<usize>> {
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
    for row in &rows {
        number(row, &mut place);
    }
    exchange(stops, &mut rows, &mut place);
    let mut best = (crossings(stops, &rows, &place), rows.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let is_forth = sweep % 2 == 0;
        // Of stops with equal medians, every other pair of sweeps turns the order round.
        let turns = sweep % 4 >= 2;
        let order: Vec<_> =
            if is_forth { (0..layers).collect() } else { (0..layers).rev().collect() };
        for layer in order {
            let row = &mut rows[layer];
            if turns {
                row.reverse();
            }
            let mut keyed: Vec<(f64, usize)> = row
                .iter()
                .map(|&stop| {
                    let near = if is_forth { &stops[stop].before } else { &stops[stop].after };
                    (median(near, &place).unwrap_or(to_f64(place[stop])), stop)
                })
                .collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *row = keyed.into_iter().map(|(_, stop)| stop).collect();
            number(row, &mut place);
        }
        exchange(stops, &mut rows, &mut place);
        let crossed = crossings(stops, &rows, &place);
        if crossed < best.0 {
            best = (crossed, rows.clone());
        }
    }
    best.1
}

fn number(row: &[usize], place: &mut [usize]) {
    row.iter().enumerate().for_each(|(index, &stop)| place[stop] = index);
}

/// Exchanges neighbours while that makes crossings fewer.
fn exchange(stops: &[Stop], rows: &mut [Vec<usize>], place: &mut [usize]) {
    let mut is_better = true;
    while is_better {
        is_better = false;
        for row in rows.iter_mut().filter(|row| row.len() <= MOST_EXCHANGED) {
            for index in 1..row.len() {
                let (one, two) = (&stops[row[index - 1]], &stops[row[index]]);
                let crossed = |one: &Stop, two: &Stop| {
                    between(&one.before, &two.before, place)
                        + between(&one.after, &two.after, place)
                };
                if crossed(two, one) < crossed(one, two) {
                    row.swap(index - 1, index);
                    (place[row[index - 1]], place[row[index]]) = (index - 1, index);
                    is_better = true;
                }
            }
        }
    }
}

/// Crossings of the edges of two neighbours, if the one with the ends `above` comes first.
fn between(above: &[usize], below: &[usize], place: &[usize]) -> usize {
    let crossed = |end: &usize| below.iter().filter(|&&other| place[other] < place[*end]).count();
    above.iter().map(crossed).sum()
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
