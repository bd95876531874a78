//! The pipeline of `kahn-apps`, and the same for peers: a chain of stages that pass messages on; the
//! shortest is one channel between two processes.

use super::{FORMS, on};
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, PER_MESSAGE, now, time};
use crate::peers::{Blocking, BlockingProgram, Executor, May, TaskProgram, Wire, join, join_all};
use anyhow::{Result, ensure};
use events::Event;
use kahn::{Network, Options};
use kahn_apps::pipeline::{Message, Pipeline, pass, sum};
use kahn_apps::work::Work;
use kahn_apps::{Compare, Slot};
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Duration;

mod batches;
mod events;
mod polling;

/// The source, 48 stages and the sink.
const PROCESSES: u32 = 50;
const CAPACITY: u32 = 64;
const STREAM_CAPACITY: u32 = 1024;

/// Nanoseconds of work a message, and how many messages take some tenths of a second.
const GRAINS: [(u32, usize); 4] = [(0, 200_000), (100, 40_000), (1000, 4000), (10_000, 500)];

type Small = [u64; 1];
type Large = [u64; 256];

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let mut contests = Vec::new();
    for (grain, messages) in GRAINS {
        let messages = settings.size(messages, messages / 10);
        let work = Work::iterations(settings.steps(grain));
        let bench = Bench::<Small>::of(PROCESSES, CAPACITY, messages, work);
        let worked = match grain {
            0 => String::new(),
            1000.. => format!(", {} us of work", grain / 1000),
            _ => format!(", {grain} ns of work"),
        };
        let params = format!("{PROCESSES} stages, capacity {CAPACITY}, 8 bytes{worked}");
        contests.push(contest(&params, bench, grain == 0));
        if grain == 0 {
            contests.push(batches::contest(&params, bench));
            let events = Bench::<Event>::of(PROCESSES, CAPACITY, messages / 2, work);
            let params = format!("{PROCESSES} stages, capacity {CAPACITY}, 32 bytes of some kind");
            contests.push(contest(&params, events, false));
            let large = Bench::<Large>::of(PROCESSES, CAPACITY, messages / 20, work);
            let params = format!("{PROCESSES} stages, capacity {CAPACITY}, 2048 bytes");
            contests.push(contest(&params, large, false));
        }
    }
    contests
}

/// One channel.
pub(super) fn streams(settings: &Settings) -> Vec<Contest> {
    let messages = settings.size(10_000_000, 500_000);
    let stream = Bench::<Small>::of(2, STREAM_CAPACITY, messages, Work::none());
    let params = format!("capacity {STREAM_CAPACITY}, 8 bytes");
    let polling = move |workers| polling::measure(workers, stream);
    let item = contest(&params, stream, true).with("threads-rtrb-polling", polling);
    vec![item, batches::contest(&params, stream)]
}

fn contest<M: Payload>(params: &str, bench: Bench<M>, forms: bool) -> Contest {
    let contest = Contest::new(params, "kahn", move |workers| bench.ours(on(workers)));
    let forms = FORMS.iter().filter(|_| forms);
    let contest = forms.fold(contest, |contest, &(name, form)| {
        contest.with(name, move |workers| bench.ours(form(on(workers))))
    });
    let Pipeline { stages, messages, work, .. } = bench.shape;
    // Where it is the copies that cost.
    let contest = match size_of::<M>() {
        ..=64 => contest,
        _ => contest.with("kahn-in-place", move |workers| bench.ours_in_place(on(workers))),
    };
    // A hop of a thread is slow; with work it is not the hop that takes the time.
    let slow = if work == Work::none() { bench.smaller(4) } else { bench };
    contest
        .with("loop", move |_| bench.in_a_loop())
        .with_all_tasks(bench)
        .with_blocking::<May>("may", bench)
        .with_all_threads(slow)
        .with_foreign(&[
            &"pipeline",
            &(stages + 2),
            &bench.capacity,
            &size_of::<M>(),
            &messages,
            &work.units(),
        ])
        .with_floor()
}

/// What goes through, also where a channel shares it between threads.
pub(super) trait Payload: Message + Sync + Copy {}

impl<M: Message + Sync + Copy> Payload for M {}

/// A pipeline to be measured.
#[derive(Debug)]
pub(super) struct Bench<M> {
    shape: Pipeline,
    capacity: u32,
    message: PhantomData<fn() -> M>,
}

impl<M> Clone for Bench<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Bench<M> {}

impl Bench<Small> {
    /// The usual shape, without work.
    pub(super) fn usual(messages: usize) -> Self {
        Self::of(PROCESSES, CAPACITY, messages, Work::none())
    }
}

impl<M: Payload> Bench<M> {
    fn of(processes: u32, capacity: u32, messages: usize, work: Work) -> Self {
        let shape = Pipeline {
            stages: processes - 2,
            messages: messages as u64,
            words: M::new(0, size_of::<M>() / 8).words().len(),
            work,
        };
        Self { shape, capacity, message: PhantomData }
    }

    fn smaller(mut self, divisor: u64) -> Self {
        self.shape.messages /= divisor;
        self
    }

    fn room(self) -> usize {
        self.capacity as usize
    }

    /// Messages times channels.
    fn figures(self, time: Duration, checksum: u64) -> Result<Vec<Figure>> {
        let Pipeline { stages, messages, work, .. } = self.shape;
        if work == Work::none() {
            ensure!(checksum == self.shape.sequential::<M>(), "the checksum is wrong");
        }
        let hops = messages * (u64::from(stages) + 1);
        Ok(Figure::each(PER_MESSAGE, time, usize::try_from(hops)?))
    }

    fn run(
        self,
        options: Options,
        network: Network<'static>,
        checksum: Slot<u64>,
    ) -> Result<Vec<Figure>> {
        let (time, report) = time(|| network.run_with(options.capacity(self.capacity)));
        report?;
        self.figures(time, checksum.take().unwrap_or(0))
    }

    /// Per item.
    pub(super) fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let checksum = self.shape.network::<M>(&mut network, Compare::Numbers, |_number| {});
        self.run(options, network, checksum)
    }

    fn ours_in_place(self, options: Options) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let checksum = self.shape.network_in_place::<M>(&mut network, Compare::Numbers);
        self.run(options, network, checksum)
    }
}

impl<M: Payload> Bench<M> {
    /// What the same messages cost in the same memory if nobody need be told: each stage in turn
    /// moves as many as a channel has room for, from its slots to the next. On one thread.
    fn in_a_loop(self) -> Result<Vec<Figure>> {
        let Pipeline { stages, messages, words, work } = self.shape;
        let mut channels = vec![vec![M::new(0, words); self.room()]; stages as usize + 1];
        let since = now();
        let mut all = 0;
        let mut sent = 0;
        while sent < messages {
            let count = self.room().min(usize::try_from(messages - sent)?);
            for (slot, number) in channels[0][..count].iter_mut().zip(sent..) {
                *slot = M::new(number, words);
            }
            for number in 1..=stages {
                let (before, after) = channels.split_at_mut(number as usize);
                let moves = before[number as usize - 1][..count].iter().zip(&mut after[0]);
                for (from, to) in moves {
                    // One by one, as a message and not as a part of a vector.
                    let mut message = black_box(*from);
                    pass(&mut message, number, work);
                    *to = message;
                }
            }
            let last = &mut channels[stages as usize][..count];
            all = last.iter_mut().fold(all, |all, message| sum(all, message));
            sent += count as u64;
        }
        self.figures(since.elapsed(), all)
    }
}

impl<M: Payload> TaskProgram for Bench<M> {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let Pipeline { stages, messages, words, work } = self.shape;
        let (time, checksum) = E::run(workers, async move {
            let since = now();
            let (mut out, mut last) = W::bounded::<M>(self.room());
            let source = E::spawn(async move {
                for number in 0..messages {
                    W::send(&mut out, M::new(number, words)).await;
                }
            });
            let mut tasks = vec![source];
            for number in 1..=stages {
                let (mut right, next) = W::bounded::<M>(self.room());
                let mut left = last;
                tasks.push(E::spawn(async move {
                    while let Some(mut message) = W::recv(&mut left).await {
                        pass(&mut message, number, work);
                        W::send(&mut right, message).await;
                    }
                }));
                last = next;
            }
            let sink = E::spawn(async move {
                let mut all = 0;
                while let Some(mut message) = W::recv(&mut last).await {
                    all = sum(all, &mut message);
                }
                all
            });
            let checksum = E::join(sink).await;
            join_all::<E, _>(tasks).await;
            (since.elapsed(), checksum)
        })?;
        self.figures(time, checksum)
    }
}

impl<M: Payload> BlockingProgram for Bench<M> {
    fn on_threads<B: Blocking>(self, workers: usize) -> Result<Vec<Figure>> {
        let Pipeline { stages, messages, words, work } = self.shape;
        B::start(workers);
        let since = now();
        let (mut out, mut last) = B::bounded::<M>(self.room());
        let source = B::spawn(move || {
            for number in 0..messages {
                B::send(&mut out, M::new(number, words));
            }
        })?;
        let mut threads = vec![source];
        for number in 1..=stages {
            let (mut right, next) = B::bounded::<M>(self.room());
            let mut left = last;
            threads.push(B::spawn(move || {
                while let Some(mut message) = B::recv(&mut left) {
                    pass(&mut message, number, work);
                    B::send(&mut right, message);
                }
            })?);
            last = next;
        }
        let sink = B::spawn(move || {
            let mut all = 0;
            while let Some(mut message) = B::recv(&mut last) {
                all = sum(all, &mut message);
            }
            all
        })?;
        let checksum = join::<B, u64>(sink)?;
        for thread in threads {
            join::<B, ()>(thread)?;
        }
        self.figures(since.elapsed(), checksum)
    }
}
