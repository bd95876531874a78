//! What a process with one channel takes up while it waits.
//!
//! Each has received one message and waits for the next, so all of it is there. Memory is the most
//! that was resident, without what was resident before, for each process; the sending end, which
//! the driver keeps, is in it.

use crate::contest::{Contest, Settings};
use crate::measure::{Figure, peak_resident_bytes, resident_bytes};
use crate::peers::{
    Blocking, BlockingProgram, Executor, Kanal, May, Smol, TaskProgram, Tokio, Wire, join, join_all,
};
use crate::workloads::share;
use anyhow::{Context as _, Result};
use kahn_csp::{self as csp, Options};

pub(in crate::workloads) fn contests(settings: &Settings) -> Vec<Contest> {
    let bench = Bench { processes: settings.size(100_000, 20_000) };
    // A coroutine of may has a stack of its own.
    let few = Bench { processes: settings.size(20_000, 10_000) };
    let params = format!("{} processes, one channel each", bench.processes);
    let contest = super::contest(params, move |options| bench.ours(options))
        .with_tasks::<Tokio, Kanal>("tokio-kanal", bench)
        .with_tasks::<Smol, Kanal>("smol-kanal", bench)
        .with_blocking::<May>("may", few)
        .with_go(&[&"idle", &bench.processes])
        .with_floor();
    vec![contest]
}

#[derive(Clone, Copy)]
struct Bench {
    processes: usize,
}

impl Bench {
    fn figures(self, bytes: Option<usize>) -> Result<Vec<Figure>> {
        let bytes = bytes.context("a process has left")?;
        let each = share(bytes, self.processes);
        Ok(vec![Figure::new("memory per process", "bytes", each)])
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let run = csp::run(options, async |scope| {
            let mut ends = Vec::with_capacity(self.processes);
            for _ in 0..self.processes {
                let (end, mut words) = csp::channel::<u64>("words");
                ends.push(end);
                scope.spawn("listener", async move { while words.recv().await.is_ok() {} });
            }
            for end in &mut ends {
                end.send(1).await.ok()?;
            }
            Some(peak_resident_bytes().saturating_sub(before))
        })?;
        self.figures(run.result)
    }
}

impl TaskProgram for Bench {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let bytes = E::run(workers, async move {
            let mut ends = Vec::with_capacity(self.processes);
            let mut tasks = Vec::with_capacity(self.processes);
            for _ in 0..self.processes {
                let (end, mut words) = W::bounded::<u64>(0);
                ends.push(end);
                tasks.push(E::spawn(async move { while W::recv(&mut words).await.is_some() {} }));
            }
            for end in &mut ends {
                W::send(end, 1).await.then_some(())?;
            }
            let bytes = peak_resident_bytes().saturating_sub(before);
            drop(ends);
            join_all::<E, _>(tasks).await;
            Some(bytes)
        })?;
        self.figures(bytes)
    }
}

impl BlockingProgram for Bench {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        B::start(workers);
        let before = resident_bytes();
        let mut ends = Vec::with_capacity(self.processes);
        let mut processes = Vec::with_capacity(self.processes);
        for _ in 0..self.processes {
            let (end, mut words) = B::bounded::<u64>(0);
            ends.push(end);
            processes.push(B::spawn(move || while B::recv(&mut words).is_some() {})?);
        }
        let driver = B::spawn(move || {
            for end in &mut ends {
                B::send(end, 1).then_some(())?;
            }
            Some(peak_resident_bytes().saturating_sub(before))
        })?;
        let bytes = join::<B, Option<usize>>(driver)?;
        for process in processes {
            join::<B, ()>(process)?;
        }
        self.figures(bytes)
    }
}
