//! Ten million short processes, a thousand alive at a time.

use super::on;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, now, peak_resident_bytes, real, resident_bytes, time};
use crate::peers::{Executor, TaskProgram, Wire};
use anyhow::{Result, ensure};
use kahn::{Network, Receiver, Spawner};
use std::time::Duration;

const ALIVE: usize = 1000;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let churn = Churn { rounds: settings.size(10_000, 200) };
    let params = format!("{} processes, {ALIVE} at a time", churn.rounds * ALIVE);
    let contest = Contest::new(params, "kahn", move |workers| churn.ours(workers));
    vec![contest.with_all_tasks(churn).with_floor()]
}

#[derive(Clone, Copy)]
struct Churn {
    rounds: usize,
}

impl Churn {
    fn figures(self, before: usize, time: Duration, replies: usize) -> Result<Vec<Figure>> {
        ensure!(replies == self.rounds * ALIVE, "{replies} replies");
        let grown = peak_resident_bytes().saturating_sub(before) / 1024;
        let mut figures = Figure::each("time per process", time, self.rounds * ALIVE);
        figures.push(Figure::new("memory grown", "KiB", real(grown)));
        Ok(figures)
    }

    fn ours(self, workers: usize) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let mut network = Network::new();
        let spawner = network.spawner();
        let (all, total) = network.channel("replies");
        network.process("creator", (spawner, all), async move |ports| {
            let (mut create, mut all): (Spawner<'_>, _) = ports;
            let mut replies = 0;
            for _ in 0..self.rounds {
                let round: Vec<Receiver<usize>> = (0..ALIVE)
                    .map(|number| {
                        let (out, reply) = create.channel("reply");
                        create.process("short", out, async move |mut out| out.send(number).await);
                        reply
                    })
                    .collect();
                for mut reply in round {
                    replies += usize::from(reply.recv().await.is_some());
                }
            }
            all.send(replies).await;
        });
        let total = network.fold("total", total, 0, |sum, n| sum + n);
        let (time, report) = time(|| network.run_with(on(workers)));
        report?;
        self.figures(before, time, total.take().unwrap_or(0))
    }
}

impl TaskProgram for Churn {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let (time, replies) = E::run(workers, async move {
            let since = now();
            let mut replies = 0;
            for _ in 0..self.rounds {
                let mut round: Vec<_> = (0..ALIVE)
                    .map(|number| {
                        let (mut out, reply) = W::bounded::<usize>(64);
                        let task = E::spawn(async move { W::send(&mut out, number).await });
                        (reply, task)
                    })
                    .collect();
                for (reply, _) in &mut round {
                    replies += usize::from(W::recv(reply).await.is_some());
                }
                for (_, task) in round {
                    E::join(task).await;
                }
            }
            (since.elapsed(), replies)
        })?;
        self.figures(before, time, replies)
    }
}
