//! Processes that do nothing: created a thousand at a time, then awaited.

use super::taken;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, Stopwatch, now};
use crate::peers::{Blocking, Crossbeam, Executor, May, Smol, Tokio, join, join_all};
use anyhow::{Result, ensure};
use kahn_csp::{self as csp, Options};
use std::time::Duration;

/// As many are alive at a time.
const AT_ONCE: usize = 1000;

pub(in crate::workloads) fn contests(settings: &Settings) -> Vec<Contest> {
    let (usual, slow) =
        (Bench { rounds: settings.size(1000, 50) }, Bench { rounds: settings.size(10, 2) });
    let forks = usual.rounds * AT_ONCE;
    vec![
        super::contest(format!("{AT_ONCE} at a time"), move |options| usual.ours(options))
            .with("kahn-results", move |workers| usual.with_results(super::on(workers)))
            .with("tokio", move |workers| usual.tasks::<Tokio>(workers))
            .with("smol", move |workers| usual.tasks::<Smol>(workers))
            .with("may", move |workers| usual.blocking::<May>(workers))
            .with("threads", move |workers| slow.blocking::<Crossbeam>(workers))
            .with_go(&[&"fork", &AT_ONCE, &usual.rounds])
            .with_ccsp("micro", &[&"fork", &AT_ONCE, &forks], "time per process", Some(forks))
            .with_floor(),
    ]
}

/// Runs ours once.
pub(super) fn once(rounds: usize, options: Options) -> Result<()> {
    Bench { rounds }.ours(options).map(drop)
}

#[derive(Clone, Copy)]
struct Bench {
    rounds: usize,
}

/// What a process does: it must not be left out altogether.
fn short(number: usize) -> usize {
    std::hint::black_box(number)
}

impl Bench {
    fn figures(self, time: Duration) -> Vec<Figure> {
        Figure::each("time per process", time, self.rounds * AT_ONCE)
    }

    /// A scope awaits its processes, which leave nothing behind.
    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        csp::run(options, async |scope| {
            for round in 0..=self.rounds {
                if round == 1 {
                    watch.start();
                }
                let forks = scope.forks("all");
                for number in 0..AT_ONCE {
                    forks.spawn("short", async move {
                        short(number);
                    });
                }
                forks.join().await;
            }
            watch.stop();
        })?;
        Ok(self.figures(taken(&watch)?))
    }

    /// Each has a result, which is awaited.
    fn with_results(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let run = csp::run(options, async |scope| {
            let mut sum = 0;
            for round in 0..=self.rounds {
                if round == 1 {
                    watch.start();
                }
                let mut forks = Vec::with_capacity(AT_ONCE);
                for number in 0..AT_ONCE {
                    forks.push(scope.fork("short", async move { short(number) }));
                }
                for fork in forks {
                    sum += fork.join().await.unwrap_or_default();
                }
            }
            watch.stop();
            sum
        })?;
        let expected = (self.rounds + 1) * AT_ONCE * (AT_ONCE - 1) / 2;
        ensure!(run.result == expected, "the results have the sum {}", run.result);
        Ok(self.figures(taken(&watch)?))
    }

    fn tasks<E: Executor>(self, workers: usize) -> Result<Vec<Figure>> {
        let time = E::run(workers, async move {
            let mut since = now();
            for round in 0..=self.rounds {
                if round == 1 {
                    since = now();
                }
                let tasks = (0..AT_ONCE).map(|number| E::spawn(async move { short(number) }));
                join_all::<E, _>(tasks.collect()).await;
            }
            since.elapsed()
        })?;
        Ok(self.figures(time))
    }

    fn blocking<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>>
    where
        B::Join<usize>: Send,
    {
        B::start(workers);
        let driver = B::spawn(move || -> Result<Duration> {
            let mut since = now();
            for round in 0..=self.rounds {
                if round == 1 {
                    since = now();
                }
                let mut processes = Vec::with_capacity(AT_ONCE);
                for number in 0..AT_ONCE {
                    processes.push(B::spawn(move || short(number))?);
                }
                for process in processes {
                    join::<B, usize>(process)?;
                }
            }
            Ok(since.elapsed())
        })?;
        Ok(self.figures(join::<B, Result<Duration>>(driver)??))
    }
}
