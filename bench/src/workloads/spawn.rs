//! Creating processes: each receives one message, sends one reply, and ends.
//!
//! Memory is the most that was resident, without what was resident before, for each process: its
//! two channels and what the driver keeps of them are in it.

use super::{on, share};
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, Stopwatch, now, peak_resident_bytes, resident_bytes, time};
use crate::peers::{Blocking, BlockingProgram, Executor, May, TaskProgram, Wire, join, join_all};
use anyhow::{Context as _, Result, ensure};
use kahn::{Channel, Name, Network, Options, Process, Receiver, Sender, Spawner};
use kahn_apps::Slot;
use std::time::Duration;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    // A coroutine of may has a stack of its own: a million of them need more memory than there is.
    const MOST_STACKS: usize = 100_000;
    let sizes = [settings.size(100_000, 20_000), settings.size(1_000_000, 100_000)];
    let contest = |processes: usize| {
        let spawn = Spawn { processes };
        let params = format!("{processes} processes, two channels of capacity 1 each");
        let mut contest = Contest::new(params, "kahn", move |workers| spawn.ours(on(workers)))
            .with("kahn-built", move |workers| spawn.ours_built(on(workers)))
            .with_all_tasks(spawn)
            .with_foreign(&[&"spawn", &processes])
            .with_floor();
        if processes < MOST_STACKS {
            contest = contest.with_blocking::<May>("may", spawn);
        }
        contest
    };
    sizes.map(contest).into()
}

#[derive(Clone, Copy)]
struct Spawn {
    processes: usize,
}

impl Spawn {
    fn figures(self, before: usize, time: Duration, replies: usize) -> Result<Vec<Figure>> {
        ensure!(replies == self.processes, "{replies} replies");
        let bytes = peak_resident_bytes().saturating_sub(before);
        let mut figures = Figure::each("time per process", time, self.processes);
        figures.push(Figure::new("memory per process", "bytes", share(bytes, self.processes)));
        Ok(figures)
    }

    /// Created by a process while the network runs, as peers do.
    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let watch = Stopwatch::default();
        let mut network = Network::new();
        let spawner = network.spawner();
        let (giver, replies) = Slot::new();
        let driver = Process::named("driver").effects();
        network.process_with(driver, spawner, async |mut create: Spawner<'_>| {
            watch.start();
            let (mut ask, mut hear) = (Vec::new(), Vec::new());
            for _ in 0..self.processes {
                let (question, asked) = create.channel_with(one("question"));
                let (answer, answered) = create.channel_with(one("answer"));
                create.process("short", (asked, answer), reply);
                ask.push(question);
                hear.push(answered);
            }
            giver.give(drive(ask, hear).await);
        });
        let report = network.run_with(options);
        watch.stop();
        report?;
        let time = watch.time().context("nothing was timed")?;
        self.figures(before, time, replies.take().unwrap_or(0))
    }

    /// Written down before the run, each with a name of its own.
    fn ours_built(self, options: Options) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let (giver, replies) = Slot::new();
        let (time, report) = time(|| {
            let mut network = Network::new();
            let (mut ask, mut hear) = (Vec::new(), Vec::new());
            for number in 0..self.processes {
                let (question, asked) = network.channel_with(one(format!("q{number}")));
                let (answer, answered) = network.channel_with(one(format!("a{number}")));
                network.process(format!("p{number}"), (asked, answer), reply);
                ask.push(question);
                hear.push(answered);
            }
            let driver = Process::named("driver").effects();
            network.process_with(driver, (ask, hear), async |(ask, hear)| {
                giver.give(drive(ask, hear).await);
            });
            network.run_with(options)
        });
        report?;
        self.figures(before, time, replies.take().unwrap_or(0))
    }
}

fn one(name: impl Into<Name>) -> Channel<u64> {
    Channel::named(name).capacity(1)
}

async fn reply((mut asked, mut answer): (Receiver<u64>, Sender<u64>)) {
    if let Some(n) = asked.recv().await {
        answer.send(n + 1).await;
    }
}

/// Asks all, then hears all.
async fn drive(mut ask: Vec<Sender<u64>>, mut hear: Vec<Receiver<u64>>) -> usize {
    for question in &mut ask {
        question.send(1).await;
    }
    let mut replies = 0;
    for answer in &mut hear {
        replies += usize::from(answer.recv().await.is_some());
    }
    replies
}

impl TaskProgram for Spawn {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let before = resident_bytes();
        let (time, replies) = E::run(workers, async move {
            let since = now();
            let (mut ask, mut hear, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..self.processes {
                let (question, mut asked) = W::bounded::<u64>(1);
                let (mut answer, answered) = W::bounded::<u64>(1);
                tasks.push(E::spawn(async move {
                    if let Some(n) = W::recv(&mut asked).await {
                        W::send(&mut answer, n + 1).await;
                    }
                }));
                ask.push(question);
                hear.push(answered);
            }
            for question in &mut ask {
                W::send(question, 1).await;
            }
            let mut replies = 0;
            for answer in &mut hear {
                replies += usize::from(W::recv(answer).await.is_some());
            }
            join_all::<E, _>(tasks).await;
            (since.elapsed(), replies)
        })?;
        self.figures(before, time, replies)
    }
}

impl BlockingProgram for Spawn {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        B::start(workers);
        let before = resident_bytes();
        let since = now();
        let (mut ask, mut hear, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.processes {
            let (question, mut asked) = B::bounded::<u64>(1);
            let (mut answer, answered) = B::bounded::<u64>(1);
            threads.push(B::spawn(move || {
                if let Some(n) = B::recv(&mut asked) {
                    B::send(&mut answer, n + 1);
                }
            })?);
            ask.push(question);
            hear.push(answered);
        }
        let driver = B::spawn(move || {
            for question in &mut ask {
                B::send(question, 1);
            }
            hear.iter_mut().filter_map(B::recv).count()
        })?;
        let replies = join::<B, usize>(driver)?;
        for thread in threads {
            join::<B, ()>(thread)?;
        }
        self.figures(before, since.elapsed(), replies)
    }
}
