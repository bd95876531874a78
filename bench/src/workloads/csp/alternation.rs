//! One process hears many that always have something to say, each of them in its turn.

use super::taken;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, PER_MESSAGE, Stopwatch, now};
use crate::peers::{Blocking as _, Crossbeam, Executor, May, Smol, Tokio, join, join_all};
use anyhow::{Context as _, Result};
use futures_util::StreamExt as _;
use futures_util::stream::select_all;
use kahn_csp::{self as csp, Options};
use std::time::Duration;

/// Messages before the time is taken, for each sender.
const WARM: usize = 4;

pub(in crate::workloads) fn contests(settings: &Settings) -> Vec<Contest> {
    let contest = |senders| {
        let bench = |messages| Bench { senders, messages };
        let usual = bench(settings.size(2_000_000, 100_000));
        let slow = bench(settings.size(20_000, 1000));
        super::contest(format!("{senders} busy senders, rendezvous"), move |run| usual.ours(run))
            .with("tokio-kanal", move |workers| usual.tasks::<Tokio>(workers))
            .with("smol-kanal", move |workers| usual.tasks::<Smol>(workers))
            .with("may", move |workers| usual.may(workers))
            .with("threads-crossbeam", move |workers| slow.crossbeam(workers))
            .with_go(&[&"alternation", &senders, &WARM, &usual.messages])
            .with_ccsp(
                "micro",
                &[&"alt", &senders, &usual.messages],
                PER_MESSAGE,
                Some(usual.messages),
            )
            .with_floor()
    };
    [8, 64].map(contest).into()
}

/// Runs ours once.
pub(super) fn once(senders: usize, messages: usize, options: Options) -> Result<()> {
    Bench { senders, messages }.ours(options).map(drop)
}

#[derive(Clone, Copy)]
struct Bench {
    senders: usize,
    messages: usize,
}

impl Bench {
    fn warm(self) -> usize {
        WARM * self.senders
    }

    fn figures(self, time: Duration) -> Vec<Figure> {
        Figure::each(PER_MESSAGE, time, self.messages)
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let run = csp::run(options, async |scope| {
            let mut ends = Vec::with_capacity(self.senders);
            for _ in 0..self.senders {
                let (mut out, end) = csp::channel::<usize>("words");
                ends.push(end);
                scope.spawn("sender", async move {
                    let mut number = 0;
                    while out.send(number).await.is_ok() {
                        number += 1;
                    }
                });
            }
            let mut fair = csp::Fair::new();
            let mut heard = vec![0; self.senders];
            for message in 0..self.warm() + self.messages {
                if message == self.warm() {
                    watch.start();
                }
                let (which, number) = fair.alt(csp::any(&mut ends)).await;
                if number != Ok(heard[which]) {
                    return None;
                }
                heard[which] += 1;
            }
            watch.stop();
            Some(())
        })?;
        run.result.context("a message is lost or doubled")?;
        Ok(self.figures(taken(&watch)?))
    }

    /// The streams of kanal, all in one: those that have something are polled, in turn.
    fn tasks<E: Executor>(self, workers: usize) -> Result<Vec<Figure>> {
        let time = E::run(workers, async move {
            let mut tasks = Vec::with_capacity(self.senders);
            let mut ends = Vec::with_capacity(self.senders);
            for _ in 0..self.senders {
                let (out, end) = kanal::bounded_async::<usize>(0);
                ends.push(end);
                tasks.push(E::spawn(async move {
                    let mut number = 0;
                    while out.send(number).await.is_ok() {
                        number += 1;
                    }
                }));
            }
            let mut all = select_all(ends.iter().map(kanal::AsyncReceiver::stream));
            for _ in 0..self.warm() {
                all.next().await?;
            }
            let since = now();
            for _ in 0..self.messages {
                all.next().await?;
            }
            let time = since.elapsed();
            drop(all);
            drop(ends);
            join_all::<E, _>(tasks).await;
            Some(time)
        })?;
        Ok(self.figures(time.context("the senders have left")?))
    }

    /// Its queue of events: a coroutine for each channel waits there and says when it has
    /// something.
    fn may(self, workers: usize) -> Result<Vec<Figure>> {
        May::start(workers);
        let hearer = May::spawn(move || -> Result<Duration> {
            let (mut senders, mut ends) = (Vec::new(), Vec::new());
            for _ in 0..self.senders {
                let (mut out, end) = May::bounded::<usize>(0);
                ends.push(end);
                senders.push(May::spawn(move || {
                    let mut number = 0;
                    while May::send(&mut out, number) {
                        number += 1;
                    }
                })?);
            }
            let time = may::cqueue::scope(|events| {
                for (which, end) in ends.iter_mut().enumerate() {
                    events.add(which, move |event| {
                        while May::recv(end).is_some() {
                            event.send(0);
                        }
                    });
                }
                let hear = || events.poll(None).ok();
                for _ in 0..self.warm() {
                    hear()?;
                }
                let since = now();
                for _ in 0..self.messages {
                    hear()?;
                }
                Some(since.elapsed())
            });
            drop(ends);
            for sender in senders {
                join::<May, ()>(sender)?;
            }
            time.context("the senders have left")
        })?;
        Ok(self.figures(join::<May, Result<Duration>>(hearer)??))
    }

    /// Its `Select`, made once.
    fn crossbeam(self, workers: usize) -> Result<Vec<Figure>> {
        Crossbeam::start(workers);
        let (mut senders, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..self.senders {
            let (out, end) = crossbeam_channel::bounded::<usize>(0);
            ends.push(end);
            senders.push(Crossbeam::spawn(move || {
                let mut number = 0;
                while out.send(number).is_ok() {
                    number += 1;
                }
            })?);
        }
        let hearer = Crossbeam::spawn(move || {
            let mut select = crossbeam_channel::Select::new();
            for end in &ends {
                select.recv(end);
            }
            let mut hear = || {
                let ready = select.select();
                let end = &ends[ready.index()];
                ready.recv(end).ok()
            };
            for _ in 0..self.warm() {
                hear()?;
            }
            let since = now();
            for _ in 0..self.messages {
                hear()?;
            }
            Some(since.elapsed())
        })?;
        let time = join::<Crossbeam, Option<Duration>>(hearer)?;
        for sender in senders {
            join::<Crossbeam, ()>(sender)?;
        }
        Ok(self.figures(time.context("the senders have left")?))
    }
}
