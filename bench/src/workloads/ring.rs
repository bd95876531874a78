//! The ring of `kahn-apps`, and the same for peers: a warm lap, then tokens go round; the time is
//! taken by the root (Ritson, Sampson, Barnes 2009, section 5.2).

use super::{FORMS, on};
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, PER_MESSAGE, Stopwatch, now};
use crate::peers::{Blocking, BlockingProgram, Executor, May, TaskProgram, Wire, join, join_all};
use anyhow::{Context as _, Result, ensure};
use kahn::{Network, RunOptions};
use kahn_apps::Compare;
use kahn_apps::ring::{Moment, Ring};
use std::time::Duration;

pub(crate) const PROCESSES: u32 = 256;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let contest = |&tokens: &u32| {
        let bench = RingBench::of(tokens, settings.size(3_000_000, 300_000));
        // A hop of a thread takes microseconds.
        let slow = RingBench::of(tokens, settings.size(30_000, 3000));
        let contest = Contest::new(bench.params(), "kahn", move |workers| bench.ours(on(workers)));
        let contest = FORMS.iter().fold(contest, |contest, &(name, form)| {
            contest.with(name, move |workers| bench.ours(form(on(workers))))
        });
        contest
            .with_all_tasks(bench)
            .with_blocking::<May>("may", bench)
            .with_all_threads(slow)
            .with_foreign(&[&"ring", &PROCESSES, &tokens, &bench.0.cycles])
            .with_floor()
    };
    settings.tokens.iter().map(contest).collect()
}

/// A ring to be measured.
#[derive(Clone, Copy)]
pub(super) struct RingBench(Ring);

impl RingBench {
    /// As many cycles as need so many messages.
    pub(super) fn of(tokens: u32, messages: usize) -> Self {
        let cycles = messages as u64 / u64::from(tokens * PROCESSES);
        Self(Ring { processes: PROCESSES, tokens, cycles: cycles.max(1) })
    }

    pub(super) fn params(self) -> String {
        let plural = if self.0.tokens == 1 { "" } else { "s" };
        format!("{PROCESSES} processes, {} token{plural}, capacity 1", self.0.tokens)
    }

    /// One token makes a lap each cycle; several make one more while the ring fills and drains.
    fn figures(self, time: Duration, total: u64) -> Result<Vec<Figure>> {
        let Ring { processes, tokens, cycles } = self.0;
        ensure!(Some(total) == self.0.total(), "the tokens come home with {total}");
        let laps = if tokens == 1 { cycles } else { u64::from(tokens) * (cycles + 1) };
        Ok(Figure::each(PER_MESSAGE, time, usize::try_from(u64::from(processes) * laps)?))
    }

    pub(super) fn ours(self, options: RunOptions) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let mut network = Network::new();
        let total = self.0.network(&mut network, Compare::Numbers, |moment| match moment {
            Moment::Start => watch.start(),
            Moment::Cycle => {}
            Moment::End => watch.stop(),
        });
        network.run_with(options.capacity(1))?;
        let total = total.take().context("the ring has no total")?;
        self.figures(watch.time().context("the root took no time")?, total)
    }
}

impl TaskProgram for RingBench {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let Ring { processes, tokens, cycles } = self.0;
        let (time, total) = E::run(workers, async move {
            let (mut right, mut left) = W::bounded::<u64>(1);
            let mut elements = Vec::new();
            for _ in 1..processes {
                let (mut out, next) = W::bounded::<u64>(1);
                let mut from = left;
                elements.push(E::spawn(async move {
                    while let Some(token) = W::recv(&mut from).await {
                        if token == 0 {
                            W::send(&mut out, 0).await;
                            return;
                        }
                        W::send(&mut out, token + 1).await;
                    }
                }));
                left = next;
            }
            W::send(&mut right, 1).await;
            let mut token = W::recv(&mut left).await?;
            let since = now();
            let mut total = 0;
            if tokens == 1 {
                for _ in 0..cycles {
                    W::send(&mut right, token + 1).await;
                    token = W::recv(&mut left).await?;
                }
                total = token;
            } else {
                for token in 1..=u64::from(tokens) {
                    W::send(&mut right, token).await;
                }
                for _ in 0..cycles * u64::from(tokens) {
                    let token = W::recv(&mut left).await?;
                    W::send(&mut right, token + 1).await;
                }
                for _ in 0..tokens {
                    total += W::recv(&mut left).await?;
                }
            }
            let time = since.elapsed();
            W::send(&mut right, 0).await;
            W::recv(&mut left).await?;
            join_all::<E, _>(elements).await;
            Some((time, total))
        })?
        .context("the ring has broken")?;
        self.figures(time, total)
    }
}

impl BlockingProgram for RingBench {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        B::start(workers);
        let Ring { processes, tokens, cycles } = self.0;
        let (mut right, mut left) = B::bounded::<u64>(1);
        let mut elements = Vec::new();
        for _ in 1..processes {
            let (mut out, next) = B::bounded::<u64>(1);
            let mut from = left;
            elements.push(B::spawn(move || {
                while let Some(token) = B::recv(&mut from) {
                    if token == 0 {
                        B::send(&mut out, 0);
                        return;
                    }
                    B::send(&mut out, token + 1);
                }
            })?);
            left = next;
        }
        let root = B::spawn(move || {
            B::send(&mut right, 1);
            let mut token = B::recv(&mut left)?;
            let since = now();
            let mut total = 0;
            if tokens == 1 {
                for _ in 0..cycles {
                    B::send(&mut right, token + 1);
                    token = B::recv(&mut left)?;
                }
                total = token;
            } else {
                for token in 1..=u64::from(tokens) {
                    B::send(&mut right, token);
                }
                for _ in 0..cycles * u64::from(tokens) {
                    let token = B::recv(&mut left)?;
                    B::send(&mut right, token + 1);
                }
                for _ in 0..tokens {
                    total += B::recv(&mut left)?;
                }
            }
            let time = since.elapsed();
            B::send(&mut right, 0);
            B::recv(&mut left)?;
            Some((time, total))
        })?;
        let (time, total) = join::<B, _>(root)?.context("the ring has broken")?;
        for element in elements {
            join::<B, ()>(element)?;
        }
        self.figures(time, total)
    }
}
