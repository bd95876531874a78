//! k-means of `kahn-apps`, and the same for peers, with the papers' sizes and whole numbers (Vrba
//! 2009, "Kahn process networks are a flexible alternative to `MapReduce`", section 5.2).
//!
//! All compute distances with the same kernel of `kahn-apps`: the plain one, one point at a time, or
//! the vector one, with which rounds take a millisecond and the way round the network shows.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, nanoseconds, time};
use anyhow::{Context as _, Result, anyhow};
use kahn::Network;
use kahn_apps::kmeans::{Assigned, KMeans, Kernel, Rounds, Sums};
use kahn_apps::{Compare, Program as _};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use std::sync::Barrier;
use std::thread;

/// Points and groups of the papers' problems.
const PROBLEMS: [(&str, usize, usize); 3] =
    [("A", 100_000, 100), ("B", 200_000, 50), ("C", 200_000, 100)];

/// The shares that points are cut into; what the command takes.
const PARTS: usize = 8;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let mut contests = Vec::new();
    for (kernel, name) in [(Kernel::Plain, "plain"), (Kernel::Vector, "vector")] {
        for (problem, points, groups) in PROBLEMS {
            let points = settings.size(points, points / 20);
            let bench = Bench { points, groups, kernel };
            let params = format!("{problem}: {points} points, {groups} groups, {name} kernel");
            let contest = Contest::new(params, "kahn", move |workers| bench.ours(workers))
                .with("rayon", move |workers| bench.on_rayon(workers))
                .with("threads", move |workers| bench.on_threads(workers))
                .with_floor();
            contests.push(contest);
        }
    }
    contests
}

#[derive(Clone, Copy)]
struct Bench {
    points: usize,
    groups: usize,
    kernel: Kernel,
}

impl Bench {
    fn problem(self) -> Result<KMeans<i64>> {
        Ok(KMeans::random(self.points, self.groups, 1, PARTS)?.with_kernel(self.kernel))
    }

    fn measure<R>(run: impl FnOnce() -> Result<R>) -> Result<Vec<Figure>> {
        let (time, result) = time(run);
        result?;
        Ok(vec![Figure::new("time of a run", "ms", nanoseconds(time) / 1e6)])
    }

    fn ours(self, workers: usize) -> Result<Vec<Figure>> {
        let problem = self.problem()?;
        Self::measure(|| network(&problem, workers).map(drop))
    }

    fn on_rayon(self, workers: usize) -> Result<Vec<Figure>> {
        let problem = self.problem()?;
        let pool = ThreadPoolBuilder::new().num_threads(workers).build()?;
        Self::measure(|| {
            pool.install(|| rayon(&problem));
            Ok(())
        })
    }

    fn on_threads(self, workers: usize) -> Result<Vec<Figure>> {
        let problem = self.problem()?;
        Self::measure(|| threads(&problem, workers))
    }
}

/// Gives the means as they would be written.
fn network(problem: &KMeans<i64>, workers: usize) -> Result<Vec<u8>> {
    let mut network = Network::new();
    let pending = problem.build(&mut network, Compare::Numbers);
    network.run_with(on(workers))?;
    let mut lines = Vec::new();
    (pending().context("there is no result")?.lines)(&mut lines)?;
    Ok(lines)
}

fn total(sums: impl IntoIterator<Item = Sums>) -> Option<Sums> {
    sums.into_iter().reduce(|mut all, sums| {
        all.add(&sums);
        all
    })
}

/// A parallel iteration a round.
fn rayon(problem: &KMeans<i64>) -> Vec<i64> {
    let mut shares: Vec<Assigned<'_, i64>> =
        (0..PARTS).map(|part| problem.share(part, PARTS)).collect();
    let mut rounds = problem.rounds();
    loop {
        let sums = shares.par_iter_mut().map(|share| share.assign(rounds.means())).reduce_with(
            |mut all, sums| {
                all.add(&sums);
                all
            },
        );
        if sums.is_none_or(|sums| rounds.finish(&sums)) {
            return rounds.means().to_vec();
        }
    }
}

/// A share a thread, two barriers a round.
fn threads(problem: &KMeans<i64>, workers: usize) -> Result<Vec<i64>> {
    struct Round<'p> {
        rounds: Rounds<'p, i64>,
        sums: Vec<Sums>,
        last: bool,
    }
    let shared =
        parking_lot::RwLock::new(Round { rounds: problem.rounds(), sums: Vec::new(), last: false });
    let barrier = Barrier::new(workers);
    let work = |part: usize| {
        let mut share = problem.share(part, workers);
        loop {
            let means = shared.read().rounds.means().to_vec();
            let sums = share.assign(&means);
            shared.write().sums.push(sums);
            if barrier.wait().is_leader() {
                let mut round = shared.write();
                let sums = total(std::mem::take(&mut round.sums));
                round.last = sums.is_none_or(|sums| round.rounds.finish(&sums));
            }
            barrier.wait();
            if shared.read().last {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..workers).map(|part| scope.spawn(move || work(part))).collect();
        work(0);
        others.into_iter().try_for_each(thread::ScopedJoinHandle::join)
    })
    .map_err(|_| anyhow!("a thread panicked"))?;
    Ok(shared.into_inner().rounds.means().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn all_programs_find_the_same_means() {
        for kernel in [Kernel::Plain, Kernel::Vector] {
            let problem = KMeans::random(2000, 7, 1, PARTS).unwrap().with_kernel(kernel);
            let mut lines = Vec::new();
            for mean in rayon(&problem).chunks(3) {
                writeln!(lines, "{},{},{}", mean[0], mean[1], mean[2]).unwrap();
            }
            assert_eq!(network(&problem, 2).unwrap(), lines);
            assert_eq!(threads(&problem, 3).unwrap(), rayon(&problem));
        }
    }
}
