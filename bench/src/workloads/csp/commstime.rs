//! Commstime of `kahn-apps`, and the same for peers: prefix, delta and successor in a ring, and a
//! consumer beside it. Four communications bring one number.

use super::taken;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, Stopwatch, now};
use crate::peers::{
    Blocking, BlockingProgram, Crossbeam, Executor, Kanal, May, Smol, TaskProgram, Tokio, Wire,
    join, join_all,
};
use anyhow::{Context as _, Result, ensure};
use kahn_apps::commstime::Commstime;
use kahn_csp::Options;
use std::time::Duration;

/// Numbers before the time is taken.
const WARM: u32 = 256;

pub(in crate::workloads) fn contests(settings: &Settings) -> Vec<Contest> {
    let bench = |loops| Bench { loops };
    let (usual, slow) =
        (bench(settings.size(1_000_000, 50_000)), bench(settings.size(10_000, 500)));
    // The start of the program is to be a small part of it.
    let whole = settings.size(4_000_000, 200_000);
    vec![
        super::contest("4 processes, rendezvous", move |options| usual.ours(options))
            .with_tasks::<Tokio, Kanal>("tokio-kanal", usual)
            .with_tasks::<Smol, Kanal>("smol-kanal", usual)
            .with_blocking::<May>("may", usual)
            // A hop of a thread takes microseconds.
            .with_blocking::<Crossbeam>("threads-crossbeam", slow)
            .with_go(&[&"commstime", &WARM, &usual.loops])
            .with_ccsp("commstime", &[&whole], "time per loop", Some(whole))
            .with_floor(),
    ]
}

/// Runs ours once.
pub(super) fn once(loops: usize, options: Options) -> Result<()> {
    Bench { loops }.ours(options).map(drop)
}

#[derive(Clone, Copy)]
struct Bench {
    loops: usize,
}

impl Bench {
    fn numbers(self) -> Result<u64> {
        Ok(u64::from(WARM) + u64::try_from(self.loops)?)
    }

    fn figures(self, time: Duration, sum: u64) -> Result<Vec<Figure>> {
        let numbers = self.numbers()?;
        ensure!(sum == numbers * (numbers - 1) / 2, "the numbers have the sum {sum}");
        Ok(Figure::each("time per loop", time, self.loops))
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let numbers = self.numbers()?;
        let commstime = Commstime { cycles: u32::try_from(numbers)? };
        let (sum, _report) = commstime.run(options, |number| {
            if number + 1 == u64::from(WARM) {
                watch.start();
            } else if number + 1 == numbers {
                watch.stop();
            }
        })?;
        self.figures(taken(&watch)?, sum)
    }
}

impl TaskProgram for Bench {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let loops = self.loops;
        let (time, sum) = E::run(workers, async move {
            let (mut to_delta, mut from_prefix) = W::bounded::<u64>(0);
            let (mut to_successor, mut from_delta) = W::bounded::<u64>(0);
            let (mut to_prefix, mut from_successor) = W::bounded::<u64>(0);
            let (mut to_consumer, mut numbers) = W::bounded::<u64>(0);
            let prefix = E::spawn(async move {
                let mut number = 0;
                while W::send(&mut to_delta, number).await {
                    let Some(next) = W::recv(&mut from_successor).await else { return };
                    number = next;
                }
            });
            let delta = E::spawn(async move {
                while let Some(number) = W::recv(&mut from_prefix).await {
                    let heard = W::send(&mut to_consumer, number).await;
                    if !heard || !W::send(&mut to_successor, number).await {
                        return;
                    }
                }
            });
            let successor = E::spawn(async move {
                while let Some(number) = W::recv(&mut from_delta).await {
                    if !W::send(&mut to_prefix, number + 1).await {
                        return;
                    }
                }
            });
            let mut sum = 0;
            for _ in 0..WARM {
                sum += W::recv(&mut numbers).await?;
            }
            let since = now();
            for _ in 0..loops {
                sum += W::recv(&mut numbers).await?;
            }
            let time = since.elapsed();
            drop(numbers);
            join_all::<E, _>(vec![prefix, delta, successor]).await;
            Some((time, sum))
        })?
        .context("the ring has broken")?;
        self.figures(time, sum)
    }
}

impl BlockingProgram for Bench {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        B::start(workers);
        let loops = self.loops;
        let (mut to_delta, mut from_prefix) = B::bounded::<u64>(0);
        let (mut to_successor, mut from_delta) = B::bounded::<u64>(0);
        let (mut to_prefix, mut from_successor) = B::bounded::<u64>(0);
        let (mut to_consumer, mut numbers) = B::bounded::<u64>(0);
        let prefix = B::spawn(move || {
            let mut number = 0;
            while B::send(&mut to_delta, number) {
                let Some(next) = B::recv(&mut from_successor) else { return };
                number = next;
            }
        })?;
        let delta = B::spawn(move || {
            while let Some(number) = B::recv(&mut from_prefix) {
                if !B::send(&mut to_consumer, number) || !B::send(&mut to_successor, number) {
                    return;
                }
            }
        })?;
        let successor = B::spawn(move || {
            while let Some(number) = B::recv(&mut from_delta) {
                if !B::send(&mut to_prefix, number + 1) {
                    return;
                }
            }
        })?;
        let consumer = B::spawn(move || {
            let mut sum = 0;
            for _ in 0..WARM {
                sum += B::recv(&mut numbers)?;
            }
            let since = now();
            for _ in 0..loops {
                sum += B::recv(&mut numbers)?;
            }
            Some((since.elapsed(), sum))
        })?;
        let (time, sum) = join::<B, _>(consumer)?.context("the ring has broken")?;
        for process in [prefix, delta, successor] {
            join::<B, ()>(process)?;
        }
        self.figures(time, sum)
    }
}
