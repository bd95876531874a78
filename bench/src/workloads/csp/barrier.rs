//! A thousand processes wait for each other, phase after phase.

use super::taken;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, Stopwatch, now};
use crate::peers::{Blocking, Crossbeam, Executor as _, May, Tokio, join, join_all};
use anyhow::{Context as _, Result};
use kahn_csp::{self as csp, Options};
use std::sync::Arc;
use std::time::Duration;

const MEMBERS: usize = 1000;

pub(in crate::workloads) fn contests(settings: &Settings) -> Vec<Contest> {
    let (usual, slow) =
        (Bench { phases: settings.size(3000, 100) }, Bench { phases: settings.size(20, 5) });
    let steps = usual.phases * MEMBERS;
    vec![
        super::contest(format!("{MEMBERS} processes"), move |options| usual.ours(options))
            .with("tokio", move |workers| usual.tokio(workers))
            .with("may", move |workers| {
                let barrier = may::sync::Barrier::new(MEMBERS);
                usual.blocking::<May, _>(workers, barrier, |barrier| {
                    barrier.wait();
                })
            })
            .with("threads", move |workers| {
                let barrier = std::sync::Barrier::new(MEMBERS);
                slow.blocking::<Crossbeam, _>(workers, barrier, |barrier| {
                    barrier.wait();
                })
            })
            .with_go(&[&"barrier", &MEMBERS, &usual.phases])
            .with_ccsp(
                "micro",
                &[&"barrier", &MEMBERS, &steps],
                "time per process and phase",
                Some(steps),
            )
            .with_floor(),
    ]
}

/// Runs ours once.
pub(super) fn once(phases: usize, options: Options) -> Result<()> {
    Bench { phases }.ours(options).map(drop)
}

#[derive(Clone, Copy)]
struct Bench {
    phases: usize,
}

impl Bench {
    fn figures(self, time: Duration) -> Vec<Figure> {
        Figure::each("time per process and phase", time, self.phases * MEMBERS)
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let phases = self.phases;
        csp::run(options, async |scope| {
            let barrier = csp::Barrier::new("phase");
            for number in 0..MEMBERS {
                let mut barrier = barrier.clone();
                let watch = (number == 0).then_some(&watch);
                scope.spawn("member", async move {
                    barrier.sync().await;
                    if let Some(watch) = watch {
                        watch.start();
                    }
                    for _ in 0..phases {
                        barrier.sync().await;
                    }
                    if let Some(watch) = watch {
                        watch.stop();
                    }
                });
            }
        })?;
        Ok(self.figures(taken(&watch)?))
    }

    fn tokio(self, workers: usize) -> Result<Vec<Figure>> {
        let phases = self.phases;
        let times = Tokio::run(workers, async move {
            let barrier = Arc::new(tokio::sync::Barrier::new(MEMBERS));
            let members = (0..MEMBERS).map(|_| {
                let barrier = Arc::clone(&barrier);
                Tokio::spawn(async move {
                    barrier.wait().await;
                    let since = now();
                    for _ in 0..phases {
                        barrier.wait().await;
                    }
                    since.elapsed()
                })
            });
            join_all::<Tokio, _>(members.collect()).await
        })?;
        Ok(self.figures(times.into_iter().next().context("there is nobody")?))
    }

    fn blocking<B: Blocking, G: Send + Sync + 'static>(
        self,
        workers: usize,
        barrier: G,
        wait: impl Fn(&G) + Copy + Send + 'static,
    ) -> Result<Vec<Figure>> {
        B::start(workers);
        let phases = self.phases;
        let barrier = Arc::new(barrier);
        let mut members = Vec::with_capacity(MEMBERS);
        for _ in 0..MEMBERS {
            let barrier = Arc::clone(&barrier);
            members.push(B::spawn(move || {
                wait(&barrier);
                let since = now();
                for _ in 0..phases {
                    wait(&barrier);
                }
                since.elapsed()
            })?);
        }
        let mut times = Vec::with_capacity(MEMBERS);
        for member in members {
            times.push(join::<B, Duration>(member)?);
        }
        Ok(self.figures(times.into_iter().next().context("there is nobody")?))
    }
}
