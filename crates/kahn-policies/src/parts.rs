//! Cuts the graph of a network into parts, by METIS (Karypis and Kumar, *A fast and high quality
//! multilevel scheme for partitioning irregular graphs*, 1998).
//!
//! METIS draws from the C library's `rand`, whose state the whole program shares, and while it
//! works it handles `SIGTERM` and `SIGABRT` itself. So one cut is made at a time, whatever networks
//! run in the program; each begins with the same seed, and takes milliseconds.

use kahn_engine::policy::Load;
use kahn_engine::sync::StaticMutex;
use metis::{Graph, Idx, Real, option};
use std::ops::Range;

/// One cut at a time in the whole program; see above.
static METIS: StaticMutex<()> = StaticMutex::new(());

/// The sum of all weights is scaled to this, so that they fit METIS' numbers.
const SCALE: u64 = 1 << 28;

/// The heavier half may exceed its share by so many thousandths. CPU times are samples: a finer
/// balance would be one of noise.
const UNBALANCE: Idx = 30;

/// A new partition must be better by so many per cent to be worth the moves.
const WORTH: u64 = 5;

/// What a partition costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    /// The work of the worker that has most.
    most: u64,
    /// The volume between workers.
    cut: u64,
}

/// The graph as METIS takes it: undirected, without loops, parallel channels joined.
#[derive(Debug)]
struct Weighed {
    work: Vec<Idx>,
    /// Neighbours of process `p`: `neighbours[first[p]..first[p + 1]]`, with the volumes likewise.
    first: Vec<Idx>,
    neighbours: Vec<Idx>,
    volumes: Vec<Idx>,
}

/// Returns a part for each process, of as many parts as the load has workers, by METIS: about the same work on each,
/// and little that goes between them. `None` if what there is is as good, or if there is no process.
///
/// The policy `partition` places processes so. Requires the feature `partition`.
///
/// # Examples
///
/// ```
/// use kahn::policy::{ChannelLoad, Load, ProcessLoad};
///
/// // A chain of four, of which the two in the middle talk most.
/// let mut load = Load::new(2);
/// load.processes = ["a", "b", "c", "d"].map(|name| ProcessLoad::new(name.into())).into();
/// load.processes.iter_mut().for_each(|process| process.work = 1);
/// load.channels = [(0, 1, 1), (1, 2, 100), (2, 3, 1)]
///     .map(|(from, to, volume)| ChannelLoad::new(from, to, volume))
///     .into();
/// let parts = kahn_policies::better_parts(&load).expect("nothing is placed yet");
/// assert_eq!(parts[1], parts[2]);
/// ```
pub fn better_parts(load: &Load) -> Option<Vec<usize>> {
    if load.processes.is_empty() {
        return None;
    }
    let graph = Weighed::new(load);
    let mut homes = graph.cut(load.workers)?;
    keep_labels(load, &mut homes);
    for (home, process) in homes.iter_mut().zip(&load.processes) {
        if let Some(pinned) = process.pinned {
            *home = pinned % load.workers;
        }
    }
    let now: Option<Vec<usize>> = load.processes.iter().map(|process| process.worker).collect();
    let is_worth = |now: Vec<usize>| {
        let (now, then) = (graph.cost(load.workers, &now), graph.cost(load.workers, &homes));
        then.is_better_than(now)
    };
    now.is_none_or(is_worth).then_some(homes)
}

impl Cost {
    fn is_better_than(self, other: Self) -> bool {
        let much_less = |new: u64, old: u64| new * 100 < old * (100 - WORTH);
        much_less(self.most, other.most)
            || self.most <= other.most && much_less(self.cut, other.cut)
    }
}

/// Weights whose sum is about `SCALE`, each at least one.
fn scaled(weights: &[u64]) -> Vec<Idx> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let scale = |&weight: &u64| {
        let scaled = (u128::from(weight) * u128::from(SCALE)).checked_div(sum).unwrap_or(0);
        Idx::try_from(scaled).unwrap_or(Idx::MAX).max(1)
    };
    weights.iter().map(scale).collect()
}

/// Weighs a process that is more than a part by itself as one part, for that is what it gets; the
/// others then share the rest.
fn cap(work: &mut [Idx], parts: usize) {
    let mut heaviest: Vec<_> = work.iter().map(|&work| i64::from(work)).collect();
    heaviest.sort_unstable_by_key(|&work| std::cmp::Reverse(work));
    let mut rest: i64 = heaviest.iter().sum();
    let mut most = rest;
    for (heavy, parts) in heaviest.into_iter().zip((1..=parts).rev()) {
        most = rest / i64::try_from(parts).unwrap_or(1);
        if heavy <= most {
            break;
        }
        rest -= heavy;
    }
    let most = Idx::try_from(most).unwrap_or(Idx::MAX).max(1);
    for work in work {
        *work = (*work).min(most);
    }
}

/// A number of METIS'. No network that fits a machine's memory has 2^31 ends.
fn index(number: usize) -> Idx {
    Idx::try_from(number).unwrap_or(Idx::MAX)
}

impl Weighed {
    fn new(load: &Load) -> Self {
        let mut edges: Vec<_> = load
            .channels
            .iter()
            .filter(|channel| channel.from != channel.to)
            .flat_map(|channel| {
                let (a, b) = (channel.from, channel.to);
                [(a, b, channel.volume), (b, a, channel.volume)]
            })
            .collect();
        edges.sort_unstable_by_key(|&(a, b, _)| (a, b));
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if same { next.2 } else { 0 };
            same
        });
        let work: Vec<_> = load.processes.iter().map(|process| process.work).collect();
        let volumes: Vec<_> = edges.iter().map(|edge| edge.2).collect();
        let places = (0..=work.len()).map(|process| {
            let before = edges.partition_point(|&(from, ..)| from < process);
            index(before)
        });
        Self {
            first: places.collect(),
            neighbours: edges.iter().map(|edge| index(edge.1)).collect(),
            volumes: scaled(&volumes),
            work: scaled(&work),
        }
    }

    /// A part for each process; `None` if METIS cannot, for want of memory.
    fn cut(&self, parts: usize) -> Option<Vec<usize>> {
        let mut homes = vec![0; self.work.len()];
        let all: Vec<_> = (0..self.work.len()).collect();
        let mut places = vec![None; self.work.len()];
        self.halve(&all, 0..parts, &mut places, &mut homes)?;
        Some(homes)
    }

    /// Shares these processes out among these parts, halving both. METIS would do the same, but
    /// where a heavy process leaves a half with fewer processes than parts it writes complaints to
    /// the standard output, which is for results. `places` is scratch: all `None`, before and after.
    fn halve(
        &self,
        processes: &[usize],
        parts: Range<usize>,
        places: &mut [Option<Idx>],
        homes: &mut [usize],
    ) -> Option<()> {
        if processes.len() <= parts.len() || parts.len() == 1 {
            let last = parts.end - 1;
            for (&process, part) in processes.iter().zip(parts.chain(std::iter::repeat(last))) {
                homes[process] = part;
            }
            return Some(());
        }
        let middle = parts.start + parts.len() / 2;
        let sides = self.bisect(processes, [middle - parts.start, parts.end - middle], places)?;
        let side = |wanted: Idx| -> Vec<usize> {
            let pairs = processes.iter().zip(&sides);
            pairs.filter(|(_, side)| **side == wanted).map(|(&process, _)| process).collect()
        };
        self.halve(&side(0), parts.start..middle, places, homes)?;
        self.halve(&side(1), middle..parts.end, places, homes)
    }

    /// 0 or 1 for each of these processes, with work as these shares.
    fn bisect(
        &self,
        processes: &[usize],
        shares: [usize; 2],
        places: &mut [Option<Idx>],
    ) -> Option<Vec<Idx>> {
        for (&process, place) in processes.iter().zip(0..) {
            places[process] = Some(place);
        }
        let (mut first, mut neighbours, mut volumes) = (vec![0], Vec::new(), Vec::new());
        for &process in processes {
            for edge in self.edges_of(process) {
                if let Some(place) = places[self.neighbours[edge].unsigned_abs() as usize] {
                    neighbours.push(place);
                    volumes.push(self.volumes[edge]);
                }
            }
            first.push(index(neighbours.len()));
        }
        for &process in processes {
            places[process] = None;
        }
        let mut work: Vec<_> = processes.iter().map(|&process| self.work[process]).collect();
        cap(&mut work, shares[0] + shares[1]);
        #[expect(clippy::cast_precision_loss, reason = "shares of a few workers")]
        let [left, right] = shares.map(|share| share as Real);
        let shares = [left / (left + right), right / (left + right)];
        let mut sides = vec![0; processes.len()];
        let graph = Graph::new(1, 2, &first, &neighbours).ok()?;
        let graph = graph
            .set_vwgt(&work)
            .set_adjwgt(&volumes)
            .set_tpwgts(&shares)
            .set_option(option::Seed(1))
            .set_option(option::UFactor(UNBALANCE));
        let _alone = METIS.lock();
        graph.part_recursive(&mut sides).ok()?;
        Some(sides)
    }

    /// Where the edges of a process stand.
    fn edges_of(&self, process: usize) -> Range<usize> {
        self.first[process].unsigned_abs() as usize..self.first[process + 1].unsigned_abs() as usize
    }

    fn cost(&self, workers: usize, homes: &[usize]) -> Cost {
        let mut work = vec![0_u64; workers];
        let mut cut = 0;
        for (process, &home) in homes.iter().enumerate() {
            work[home] += u64::from(self.work[process].unsigned_abs());
            for edge in self.edges_of(process) {
                if homes[self.neighbours[edge].unsigned_abs() as usize] != home {
                    cut += u64::from(self.volumes[edge].unsigned_abs());
                }
            }
        }
        Cost { most: work.into_iter().max().unwrap_or(0), cut }
    }
}

/// Gives the parts those numbers with which most processes, pinned ones first, stay where they are.
fn keep_labels(load: &Load, parts: &mut [usize]) {
    let count = load.workers;
    // How many of a part are on a worker.
    let mut there = vec![0_usize; count * count];
    for (process, &part) in load.processes.iter().zip(parts.iter()) {
        let pinned = process.pinned.map(|worker| (worker % count, load.processes.len()));
        let worker = pinned.or(process.worker.map(|worker| (worker, 1)));
        if let Some((worker, weight)) = worker {
            there[part * count + worker] += weight;
        }
    }
    let mut pairs: Vec<_> = (0..count * count).filter(|&pair| there[pair] > 0).collect();
    pairs.sort_by_key(|&pair| std::cmp::Reverse(there[pair]));
    let (mut labels, mut taken) = (vec![None; count], vec![false; count]);
    let rest = (0..count).flat_map(|part| (0..count).map(move |worker| part * count + worker));
    for pair in pairs.into_iter().chain(rest) {
        let (part, worker) = (pair / count, pair % count);
        if labels[part].is_none() && !taken[worker] {
            (labels[part], taken[worker]) = (Some(worker), true);
        }
    }
    for part in parts {
        *part = labels[*part].unwrap_or(*part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{load_of, ring};
    use kahn_engine::sync::thread;

    /// Two groups of four, each process joined to all of its group, and one channel between.
    fn cliques() -> Load {
        let mut channels = vec![(3, 4)];
        for group in [0, 4] {
            for a in group..group + 4 {
                channels.extend((group..a).map(|b| (a, b)));
            }
        }
        load_of(2, 8, &channels)
    }

    fn work(load: &mut Load, work: &[u64]) {
        load.processes.iter_mut().zip(work).for_each(|(process, &work)| process.work = work);
    }

    fn settle(load: &mut Load, homes: &[usize]) {
        load.processes
            .iter_mut()
            .zip(homes)
            .for_each(|(process, &home)| process.worker = Some(home));
    }

    #[test]
    fn what_talks_much_stays_together() {
        let homes = better_parts(&cliques()).unwrap();
        assert_eq!(homes[..4], [homes[0]; 4]);
        assert_eq!(homes[4..], [homes[4]; 4]);
        assert_ne!(homes[0], homes[4]);
    }

    #[test]
    fn a_ring_is_cut_into_arcs() {
        for (workers, processes) in [(2, 16), (4, 64), (16, 256)] {
            let ring = ring(workers, processes);
            let homes = better_parts(&ring).unwrap();
            let crossings = ring.channels.iter().filter(|c| homes[c.from] != homes[c.to]).count();
            assert!(crossings <= workers * 2, "{crossings} crossings with {workers} workers");
            let most = (0..workers).map(|w| homes.iter().filter(|&&home| home == w).count()).max();
            assert!(most <= Some(processes / workers + 1 + processes / 20), "{most:?}");
        }
    }

    #[test]
    fn work_is_shared_by_weight_and_volume_decides_where_to_cut() {
        let mut chain = load_of(2, 4, &[(0, 1), (1, 2), (2, 3)]);
        work(&mut chain, &[300, 100, 100, 100]);
        let homes = better_parts(&chain).unwrap();
        assert!(homes[0] != homes[1] && homes[1..] == [homes[1]; 3], "{homes:?}");
        work(&mut chain, &[100; 4]);
        chain.channels[1].volume = 1000;
        let homes = better_parts(&chain).unwrap();
        assert_eq!(homes[1], homes[2], "the busy channel stays inside: {homes:?}");
    }

    #[test]
    fn what_is_as_good_as_can_be_stays_and_parts_keep_their_workers() {
        let mut load = cliques();
        settle(&mut load, &[1, 1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(better_parts(&load), None);
        // One is on the wrong side: it alone moves.
        settle(&mut load, &[1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(better_parts(&load), Some(vec![1, 1, 1, 1, 0, 0, 0, 0]));
    }

    #[test]
    fn a_pinned_process_stays_and_its_part_comes_to_it() {
        let mut load = cliques();
        load.processes[5].pinned = Some(0);
        assert_eq!(better_parts(&load), Some(vec![1, 1, 1, 1, 0, 0, 0, 0]));
        load.processes[0].pinned = Some(2);
        assert_eq!(better_parts(&load).unwrap()[0], 0, "worker 2 of 2 is worker 0");
    }

    #[test]
    fn graphs_without_channels_or_with_few_processes_are_shared_out_too() {
        assert_eq!(better_parts(&load_of(2, 0, &[])), None);
        assert_eq!(better_parts(&load_of(4, 2, &[(0, 1)])), Some(vec![0, 1]));
        let homes = better_parts(&load_of(2, 4, &[])).unwrap();
        assert_eq!(homes.iter().sum::<usize>(), 2, "two each: {homes:?}");
        assert_eq!(better_parts(&load_of(1, 3, &[(0, 1), (1, 1)])), Some(vec![0, 0, 0]));
    }

    #[test]
    fn one_heavy_process_leaves_no_half_without_processes_to_complain_about() {
        let mut star = load_of(8, 20, &(1..20).map(|leaf| (0, leaf)).collect::<Vec<_>>());
        star.processes[7].work = 1_000_000;
        let homes = better_parts(&star).unwrap();
        let beside = homes.iter().filter(|&&home| home == homes[7]).count();
        let used = (0..8).filter(|worker| homes.contains(worker)).count();
        assert!(used >= 7 && beside <= 2, "{homes:?}");
    }

    #[test]
    fn several_networks_may_cut_at_once() {
        let cut = || {
            let thread = thread::Builder::new();
            thread.spawn(|| better_parts(&ring(4, 200)).unwrap()).unwrap()
        };
        let threads: Vec<_> = (0..4).map(|_| cut()).collect();
        let all: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "each begins with the same seed");
    }
}
