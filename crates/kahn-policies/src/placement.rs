//! Where the processes of a network belong under the policy `static`.

use crate::graph;
use kahn_engine::policy::{Load, Misplaced};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where processes belong under the policy `static` (Vrba, Halvorsen and Griwodz, *Evaluating the
/// run-time performance of Kahn process network implementation techniques*, sections 3 and 4.1).
///
/// A process pinned by `Process::worker` stays there under the first
/// three; a list is the last word.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Options};
/// use kahn_policies::{Placement, static_by};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..100_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// let placement = Placement::parse("numbers\t0\nsum\t1\n")?;
/// let options = Options::new().workers(2).policy(static_by(placement));
/// let report = network.run_with(options)?;
/// assert_eq!(report.channels[0].remote, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// In turn, in the order of creation.
    #[default]
    RoundRobin,
    /// Contiguous blocks in the order of the graph, one for each worker: few channels cross.
    ///
    /// The order of the graph goes along the channels, depth first, beginning with processes that
    /// receive nothing. In the ring benchmark, one message in ⌊n/k⌋ crosses.
    Good,
    /// Neighbours on different workers, as far as that can be: nearly all channels cross.
    ///
    /// In the order of the graph, each process goes to a worker with the fewest of its neighbours,
    /// and among those to the one with the fewest processes. In the ring benchmark every message
    /// crosses, but one a round in a ring of odd length on two workers.
    Bad,
    /// As listed; processes that are not in the list are placed as by `RoundRobin`.
    Listed(Vec<Place>),
}

/// A line of a list of places.
///
/// # Examples
///
/// ```
/// use kahn_policies::Placement;
///
/// let Ok(Placement::Listed(places)) = Placement::parse("source\t0\nsink\t1\n") else { panic!() };
/// assert_eq!((places[1].process.as_str(), places[1].worker, places[1].line), ("sink", 1, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The process, or all of that name.
    pub process: String,
    /// Its worker, counted from 0.
    pub worker: usize,
    /// The line, counted from 1.
    pub line: usize,
}

/// Why a list of places makes no sense, and where.
///
/// # Examples
///
/// ```
/// use kahn_policies::Placement;
///
/// let error = Placement::parse("source\t0\nsource\t1\n").expect_err("it is listed twice");
/// assert_eq!(error.to_string(), "line 2: process `source` is in line 1 already");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
#[non_exhaustive]
pub struct PlacementError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl From<PlacementError> for Misplaced {
    fn from(error: PlacementError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundRobin => "round-robin",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Listed(_) => "listed",
        })
    }
}

impl Placement {
    /// Returns the placement of that name: `round-robin`, `good` or `bad`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_policies::Placement;
    ///
    /// assert_eq!(Placement::named("good"), Some(Placement::Good));
    /// assert_eq!(Placement::named("better"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        [Self::RoundRobin, Self::Good, Self::Bad]
            .into_iter()
            .find(|placement| placement.to_string() == name)
    }

    /// Makes a list of processes and their workers.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_policies::Placement;
    ///
    /// let listed = Placement::list([("source", 0), ("sink", 1)]);
    /// assert_eq!(listed, Placement::parse("source\t0\nsink\t1\n").expect("it is a list"));
    /// ```
    pub fn list<P: Into<String>>(places: impl IntoIterator<Item = (P, usize)>) -> Self {
        let places = places.into_iter().zip(1..);
        Self::Listed(
            places
                .map(|((process, worker), line)| Place { process: process.into(), worker, line })
                .collect(),
        )
    }

    /// Reads a list: in each line a process, a tab, and the number of a worker. Empty lines
    /// and lines that begin with `#` are left out.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn_policies::Placement;
    ///
    /// assert!(Placement::parse("# the source and what it feeds\nsource\t0\nsink\t0\n").is_ok());
    /// assert!(Placement::parse("source 0\n").is_err());
    /// ```
    ///
    /// # Errors
    /// [`PlacementError`] for a line without a tab, a worker that is no number, and a process
    /// that is listed twice.
    pub fn parse(text: &str) -> Result<Self, PlacementError> {
        let mut places: Vec<Place> = Vec::new();
        let mut lines = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let wrong = |what| PlacementError { line, what };
            let (process, worker) = text.rsplit_once('\t').ok_or_else(|| {
                wrong(format!("expected a process, a tab and a worker, found `{text}`"))
            })?;
            let worker = worker.trim();
            let number = worker.parse().map_err(|_| {
                wrong(format!("expected the number of a worker, from 0, found `{worker}`"))
            })?;
            if let Some(before) = lines.insert(process, line) {
                return Err(wrong(format!("process `{process}` is in line {before} already")));
            }
            places.push(Place { process: process.to_owned(), worker: number, line });
        }
        Ok(Self::Listed(places))
    }

    /// Checks a list against a network: workers must be there, and processes too, unless some may
    /// still be created.
    ///
    /// # Errors
    /// The first line of the placement that does not fit.
    pub(crate) fn check(&self, load: &Load) -> Result<(), PlacementError> {
        let Self::Listed(places) = self else { return Ok(()) };
        let workers = load.workers;
        let names = load.processes.iter().map(|process| &process.name).chain(&load.others);
        let known: BTreeSet<_> = names.map(ToString::to_string).collect();
        for Place { process, worker, line } in places {
            let wrong = |what| Err(PlacementError { line: *line, what });
            if *worker >= workers {
                let last = workers - 1;
                return wrong(format!(
                    "there is no worker {worker}: the last of this run is {last}"
                ));
            }
            if !load.may_grow && !known.contains(process) {
                return wrong(format!("there is no process `{process}` in this network"));
            }
        }
        Ok(())
    }

    /// The same list for a run with fewer workers: numbers begin again at 0 after the last worker.
    pub(crate) fn folded(mut self, workers: usize) -> Self {
        if let Self::Listed(places) = &mut self {
            for place in places {
                place.worker %= workers;
            }
        }
        self
    }

    /// The worker of each process before the start.
    pub(crate) fn place(&self, load: &Load) -> Vec<usize> {
        let mut homes = match self {
            Self::Good => good(load),
            Self::Bad => bad(load),
            Self::RoundRobin | Self::Listed(_) => {
                (0..load.processes.len()).map(|process| process % load.workers).collect()
            }
        };
        let listed = self.listed();
        for (home, process) in homes.iter_mut().zip(&load.processes) {
            // A program may be run with fewer workers than it was written for.
            let pinned = process.pinned.map(|worker| worker % load.workers);
            if let Some(worker) = listed.get(process.name.as_str()).copied().or(pinned) {
                *home = worker;
            }
        }
        homes
    }

    /// The workers of listed processes, by their names.
    pub(crate) fn listed(&self) -> BTreeMap<String, usize> {
        let Self::Listed(places) = self else { return BTreeMap::new() };
        places.iter().map(|place| (place.process.clone(), place.worker)).collect()
    }
}

/// Blocks of nearly equal length.
fn good(load: &Load) -> Vec<usize> {
    let count = load.processes.len();
    let mut homes = vec![0; count];
    for (place, process) in graph::order(load).into_iter().enumerate() {
        homes[process] = place * load.workers / count;
    }
    homes
}

/// Each away from its neighbours.
fn bad(load: &Load) -> Vec<usize> {
    let neighbours = graph::neighbours(load);
    let mut homes = vec![None; load.processes.len()];
    let mut placed = vec![0_usize; load.workers];
    for process in graph::order(load) {
        let mut near = vec![0_usize; load.workers];
        neighbours[process].iter().filter_map(|&other| homes[other]).for_each(|home: usize| {
            near[home] += 1;
        });
        let home = (0..load.workers).min_by_key(|&worker| (near[worker], placed[worker]));
        let home = home.unwrap_or(0);
        placed[home] += 1;
        homes[process] = Some(home);
    }
    homes.into_iter().map(|home| home.unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{load_of, ring};

    /// How many channels lie between two workers.
    fn crossings(load: &Load, homes: &[usize]) -> usize {
        load.channels.iter().filter(|channel| homes[channel.from] != homes[channel.to]).count()
    }

    #[test]
    fn in_a_ring_good_crosses_once_a_worker_and_bad_at_every_channel() {
        for (workers, processes) in [(2, 10), (3, 12), (8, 64), (2, 2)] {
            let ring = ring(workers, processes);
            let homes = Placement::Good.place(&ring);
            assert_eq!(crossings(&ring, &homes), workers, "{workers} {processes}");
            let homes = Placement::Bad.place(&ring);
            assert_eq!(crossings(&ring, &homes), processes, "{workers} {processes}");
        }
    }

    #[test]
    fn in_an_odd_ring_on_two_workers_one_channel_cannot_cross() {
        let ring = ring(2, 9);
        assert_eq!(crossings(&ring, &Placement::Bad.place(&ring)), 8);
    }

    #[test]
    fn every_worker_gets_its_share() {
        for placement in [Placement::RoundRobin, Placement::Good, Placement::Bad] {
            let homes = placement.place(&ring(4, 10));
            let shares: Vec<_> =
                (0..4).map(|worker| homes.iter().filter(|&&home| home == worker).count()).collect();
            let most = shares.iter().max().copied().unwrap_or_default();
            assert!(most <= 4 && !shares.contains(&0), "{placement}: {shares:?}");
        }
    }

    #[test]
    fn a_list_is_the_last_word_and_a_pin_the_one_before() {
        let mut load = ring(3, 4);
        load.processes[1].pinned = Some(2);
        load.processes[2].pinned = Some(5);
        let placement = Placement::parse("p1\t0\n\n# the rest in turn\n").unwrap();
        assert_eq!(placement.place(&load), [0, 0, 2, 0]);
        assert_eq!(Placement::RoundRobin.place(&load), [0, 2, 2, 0]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text| Placement::parse(text).unwrap_err().to_string();
        insta::assert_snapshot!(error("a\t0\nb 1"), @"line 2: expected a process, a tab and a worker, found `b 1`");
        insta::assert_snapshot!(error("a\tx"), @"line 1: expected the number of a worker, from 0, found `x`");
        insta::assert_snapshot!(error("a\t0\na\t1"), @"line 2: process `a` is in line 1 already");
        let mut load = load_of(2, 2, &[]);
        load.others.push("blocking".into());
        let check = |text, load: &Load| Placement::parse(text).unwrap().check(load);
        let wrong = |text| check(text, &load).unwrap_err().to_string();
        insta::assert_snapshot!(wrong("p0\t2"), @"line 1: there is no worker 2: the last of this run is 1");
        insta::assert_snapshot!(wrong("p0\t0\nc\t0"), @"line 2: there is no process `c` in this network");
        assert_eq!(check("blocking\t1", &load), Ok(()));
        load.may_grow = true;
        assert_eq!(check("c\t0", &load), Ok(()));
    }
}
