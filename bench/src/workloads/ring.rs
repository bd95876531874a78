//! The ring of `kahn-apps`, and the same for peers: a warm lap, then tokens go round; the time is
//! taken by the root (Ritson, Sampson, Barnes 2009, section 5.2).

use super::{FORMS, csp, on};
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, PER_MESSAGE, Stopwatch, now};
use crate::peers::{
    Blocking, BlockingProgram, Executor, Kanal, May, Smol, TaskProgram, Tokio, Wire, join, join_all,
};
use anyhow::{Context as _, Result, ensure};
use kahn::{Network, Options};
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
            .with_foreign(&[&"ring", &PROCESSES, &tokens, &bench.ring.cycles])
            .with_meetings(tokens, settings)
            .with_floor()
    };
    settings.tokens.iter().map(contest).collect()
}

/// The same where a sender waits for its receiver.
pub(super) fn rendezvous(settings: &Settings) -> Vec<Contest> {
    let contest = |&tokens: &u32| {
        let meeting = |messages| RingBench { capacity: 0, ..RingBench::of(tokens, messages) };
        let bench = meeting(settings.size(3_000_000, 300_000));
        let slow = meeting(settings.size(30_000, 3000));
        csp::contest(bench.params(), move |options| bench.ours_by_rendezvous(options))
            .with_tasks::<Tokio, Kanal>("tokio-kanal", bench)
            .with_tasks::<Smol, Kanal>("smol-kanal", bench)
            .with_blocking::<May>("may", bench)
            .with_all_threads(slow)
            .with_go(&[&"rendezvous", &PROCESSES, &tokens, &bench.ring.cycles])
            .with_meetings(tokens, settings)
            .with_floor()
    };
    settings.tokens.iter().map(contest).collect()
}

impl Contest {
    /// Adds the ring of CCSP, in which a sender waits for its receiver. The start of the program is to be a small part.
    fn with_meetings(self, tokens: u32, settings: &Settings) -> Self {
        let cycles = settings.size(65_536, 4096) / tokens as usize;
        let steps = Some(PROCESSES as usize * tokens as usize * cycles);
        match tokens {
            1 => self.with_ccsp("ring", &[&cycles], PER_MESSAGE, steps),
            _ => self.with_ccsp("mtring", &[&cycles, &tokens], PER_MESSAGE, steps),
        }
    }
}

/// A ring to be measured.
#[derive(Clone, Copy)]
pub(super) struct RingBench {
    ring: Ring,
    /// With 0, sender and receiver meet.
    capacity: usize,
}

impl RingBench {
    /// As many cycles as need so many messages.
    pub(super) fn of(tokens: u32, messages: usize) -> Self {
        let cycles = messages as u64 / u64::from(tokens * PROCESSES);
        let ring = Ring { processes: PROCESSES, tokens, cycles: cycles.max(1) };
        Self { ring, capacity: 1 }
    }

    pub(super) fn params(self) -> String {
        let plural = if self.ring.tokens == 1 { "" } else { "s" };
        let channels = if self.capacity == 0 { "rendezvous" } else { "capacity 1" };
        format!("{PROCESSES} processes, {} token{plural}, {channels}", self.ring.tokens)
    }

    /// One token makes a lap each cycle; several make one more while the ring fills and drains.
    fn figures(self, time: Duration, total: u64) -> Result<Vec<Figure>> {
        let Ring { processes, tokens, cycles } = self.ring;
        ensure!(Some(total) == self.ring.total(), "the tokens come home with {total}");
        let laps = if tokens == 1 { cycles } else { u64::from(tokens) * (cycles + 1) };
        Ok(Figure::each(PER_MESSAGE, time, usize::try_from(u64::from(processes) * laps)?))
    }

    pub(super) fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let see = |moment| match moment {
            Moment::Start => watch.start(),
            Moment::Cycle => {}
            Moment::End => watch.stop(),
        };
        let mut network = Network::new();
        let total = self.ring.network(&mut network, Compare::Numbers, see);
        network.run_with(options.capacity(u32::try_from(self.capacity)?))?;
        let total = total.take().context("the ring has no total")?;
        self.figures(watch.time().context("the root took no time")?, total)
    }

    fn ours_by_rendezvous(self, options: kahn_csp::Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let see = |moment| match moment {
            Moment::Start => watch.start(),
            Moment::Cycle => {}
            Moment::End => watch.stop(),
        };
        let (total, _report) = self.ring.rendezvous(options, see)?;
        self.figures(watch.time().context("the root took no time")?, total)
    }
}

impl TaskProgram for RingBench {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let Ring { processes, tokens, cycles } = self.ring;
        let (time, total) = E::run(workers, async move {
            let (mut right, mut left) = W::bounded::<u64>(self.capacity);
            let mut elements = Vec::new();
            for _ in 1..processes {
                let (mut out, next) = W::bounded::<u64>(self.capacity);
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
        let Ring { processes, tokens, cycles } = self.ring;
        let (mut right, mut left) = B::bounded::<u64>(self.capacity);
        let mut elements = Vec::new();
        for _ in 1..processes {
            let (mut out, next) = B::bounded::<u64>(self.capacity);
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
