//! Many processes send to one over an end that they share: claim it, send, release it.
//!
//! Where anybody may send on a channel, as in kanal, crossbeam and Go, that is what a peer does.

use super::taken;
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, PER_MESSAGE, Stopwatch, now};
use crate::peers::{Blocking as _, Crossbeam, Executor, May, Smol, Tokio, join, join_all};
use anyhow::{Context as _, Result};
use kahn_csp::{self as csp, Options};
use std::sync::Arc;
use std::time::Duration;

const CLIENTS: usize = 64;

/// Messages before the time is taken.
const WARM: usize = 4 * CLIENTS;

pub(in crate::workloads) fn contests(settings: &Settings) -> Vec<Contest> {
    let (usual, slow) = (
        Bench { messages: settings.size(2_000_000, 100_000) },
        Bench { messages: settings.size(20_000, 1000) },
    );
    vec![
        super::contest(format!("{CLIENTS} clients, rendezvous"), move |run| usual.ours(run))
            .with("tokio-kanal", move |workers| usual.tasks::<Tokio>(workers))
            .with("smol-kanal", move |workers| usual.tasks::<Smol>(workers))
            .with("may", move |workers| usual.may(workers))
            .with("threads-crossbeam", move |workers| slow.crossbeam(workers))
            .with_go(&[&"claim", &CLIENTS, &WARM, &usual.messages])
            .with_ccsp(
                "micro",
                &[&"claim", &CLIENTS, &usual.messages],
                PER_MESSAGE,
                Some(usual.messages),
            )
            .with_floor(),
    ]
}

/// Runs ours once.
pub(super) fn once(messages: usize, options: Options) -> Result<()> {
    Bench { messages }.ours(options).map(drop)
}

#[derive(Clone, Copy)]
struct Bench {
    messages: usize,
}

impl Bench {
    fn figures(self, time: Option<Duration>) -> Result<Vec<Figure>> {
        let time = time.context("the clients have left")?;
        Ok(Figure::each(PER_MESSAGE, time, self.messages))
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let watch = Stopwatch::default();
        let run = csp::run(options, async |scope| {
            let (out, mut requests) = csp::channel::<usize>("requests");
            let out = csp::Shared::new("counter", out);
            for client in 0..CLIENTS {
                let out = out.clone();
                scope.spawn("client", async move {
                    loop {
                        let mut mine = out.claim().await;
                        if mine.send(client).await.is_err() {
                            return;
                        }
                    }
                });
            }
            drop(out);
            for message in 0..WARM + self.messages {
                if message == WARM {
                    watch.start();
                }
                requests.recv().await.ok()?;
            }
            watch.stop();
            Some(())
        })?;
        run.result.context("the clients have left")?;
        self.figures(Some(taken(&watch)?))
    }

    fn tasks<E: Executor>(self, workers: usize) -> Result<Vec<Figure>> {
        let time = E::run(workers, async move {
            let (out, requests) = kanal::bounded_async::<usize>(0);
            let clients = (0..CLIENTS).map(|client| {
                let out = out.clone();
                E::spawn(async move { while out.send(client).await.is_ok() {} })
            });
            let clients = clients.collect();
            drop(out);
            for _ in 0..WARM {
                requests.recv().await.ok()?;
            }
            let since = now();
            for _ in 0..self.messages {
                requests.recv().await.ok()?;
            }
            let time = since.elapsed();
            drop(requests);
            join_all::<E, ()>(clients).await;
            Some(time)
        })?;
        self.figures(time)
    }

    /// A lock, and behind it a channel without bound and a semaphore that says what was taken: it
    /// has no channel at which one meets, and no queue at the one it has.
    fn may(self, workers: usize) -> Result<Vec<Figure>> {
        May::start(workers);
        let (out, requests) = may::sync::mpsc::channel::<usize>();
        let out = Arc::new(may::sync::Mutex::new(out));
        let taken = Arc::new(may::sync::Semphore::new(0));
        let mut clients = Vec::with_capacity(CLIENTS);
        for client in 0..CLIENTS {
            let (out, taken) = (Arc::clone(&out), Arc::clone(&taken));
            clients.push(May::spawn(move || {
                while out.lock().is_ok_and(|mine| {
                    let sent = mine.send(client).is_ok();
                    if sent {
                        taken.wait();
                    }
                    sent
                }) {}
            })?);
        }
        let server = May::spawn(move || {
            let take = || {
                requests.recv().ok()?;
                taken.post();
                Some(())
            };
            for _ in 0..WARM {
                take()?;
            }
            let since = now();
            for _ in 0..self.messages {
                take()?;
            }
            let time = since.elapsed();
            drop(requests);
            // For the one that has sent since.
            taken.post();
            Some(time)
        })?;
        let time = join::<May, Option<Duration>>(server)?;
        for client in clients {
            join::<May, ()>(client)?;
        }
        self.figures(time)
    }

    fn crossbeam(self, workers: usize) -> Result<Vec<Figure>> {
        Crossbeam::start(workers);
        let (out, requests) = crossbeam_channel::bounded::<usize>(0);
        let mut clients = Vec::with_capacity(CLIENTS);
        for client in 0..CLIENTS {
            let out = out.clone();
            clients.push(Crossbeam::spawn(move || while out.send(client).is_ok() {})?);
        }
        drop(out);
        let server = Crossbeam::spawn(move || {
            for _ in 0..WARM {
                requests.recv().ok()?;
            }
            let since = now();
            for _ in 0..self.messages {
                requests.recv().ok()?;
            }
            Some(since.elapsed())
        })?;
        let time = join::<Crossbeam, Option<Duration>>(server)?;
        for client in clients {
            join::<Crossbeam, ()>(client)?;
        }
        self.figures(time)
    }
}
