//! Scatter and gather of `kahn-apps`, and the same for peers: one process sends a message to each of
//! many and waits for all replies.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, now, time};
use crate::peers::{Blocking, BlockingProgram, Executor, May, TaskProgram, Wire, join, join_all};
use anyhow::{Context as _, Result};
use kahn::{Network, Options};
use kahn_apps::Compare;
use kahn_apps::checksum::mix;
use kahn_apps::scatter_gather::ScatterGather;
use kahn_apps::work::Work;
use std::time::Duration;

const WIDTH: u32 = 256;
const CAPACITY: usize = 64;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let contest = |(grain, rounds): (u32, usize)| {
        let bench = Bench::of(settings, WIDTH, grain, rounds);
        let ScatterGather { rounds, work, .. } = bench.0;
        let contest =
            Contest::new(bench.params(grain), "kahn", move |workers| bench.ours(on(workers)));
        contest
            .with_all_tasks(bench)
            .with_blocking::<May>("may", bench)
            .with_all_threads(bench)
            .with_foreign(&[&"scatter", &WIDTH, &CAPACITY, &rounds, &work.units()])
            .with_floor()
    };
    [(10, 60), (100, 8)].map(contest).into()
}

/// Scatter and gather to be measured.
#[derive(Clone, Copy)]
pub(super) struct Bench(ScatterGather);

impl Bench {
    /// So many microseconds of work a task.
    pub(super) fn of(settings: &Settings, processes: u32, grain: u32, rounds: usize) -> Self {
        let rounds = settings.size(rounds, rounds.div_ceil(8)) as u64;
        let work = Work::iterations(settings.steps(grain * 1000));
        Self(ScatterGather { processes, rounds, work })
    }

    pub(super) fn params(self, grain: u32) -> String {
        format!("{} processes, {grain} us of work", self.0.processes)
    }

    fn figures(self, time: Duration) -> Result<Vec<Figure>> {
        let ScatterGather { processes, rounds, .. } = self.0;
        let tasks = usize::try_from(u64::from(processes) * rounds)?;
        Ok(Figure::each("time per task", time, tasks))
    }

    pub(super) fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let checksum = self.0.network(&mut network, Compare::Numbers, |_round| {});
        let (time, report) = time(|| network.run_with(options));
        report?;
        checksum.take().context("there is no checksum")?;
        self.figures(time)
    }
}

impl TaskProgram for Bench {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let ScatterGather { processes, rounds, work } = self.0;
        let time = E::run(workers, async move {
            let since = now();
            let (mut given, mut heard, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..processes {
                let (task, mut taken) = W::bounded::<u64>(CAPACITY);
                let (mut done, reply) = W::bounded::<u64>(CAPACITY);
                tasks.push(E::spawn(async move {
                    while let Some(task) = W::recv(&mut taken).await {
                        W::send(&mut done, work.spend(task)).await;
                    }
                }));
                given.push(task);
                heard.push(reply);
            }
            let mut sum = 0;
            for round in 0..rounds {
                for (task, number) in given.iter_mut().zip(0..) {
                    W::send(task, mix(round, number)).await;
                }
                for reply in &mut heard {
                    sum = mix(sum, W::recv(reply).await?);
                }
            }
            drop(given);
            join_all::<E, _>(tasks).await;
            std::hint::black_box(sum);
            Some(since.elapsed())
        })?;
        self.figures(time.context("a reply is missing")?)
    }
}

impl BlockingProgram for Bench {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        let ScatterGather { processes, rounds, work } = self.0;
        B::start(workers);
        let since = now();
        let (mut given, mut heard, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..processes {
            let (task, mut taken) = B::bounded::<u64>(CAPACITY);
            let (mut done, reply) = B::bounded::<u64>(CAPACITY);
            threads.push(B::spawn(move || {
                while let Some(task) = B::recv(&mut taken) {
                    B::send(&mut done, work.spend(task));
                }
            })?);
            given.push(task);
            heard.push(reply);
        }
        let root = B::spawn(move || {
            let mut sum = 0;
            for round in 0..rounds {
                for (task, number) in given.iter_mut().zip(0..) {
                    B::send(task, mix(round, number));
                }
                for reply in &mut heard {
                    sum = mix(sum, B::recv(reply)?);
                }
            }
            Some(sum)
        })?;
        join::<B, Option<u64>>(root)?.context("a reply is missing")?;
        for thread in threads {
            join::<B, ()>(thread)?;
        }
        self.figures(since.elapsed())
    }
}
