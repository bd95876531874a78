//! Random networks of `kahn-apps`, and the same for peers: layers of processes that share out an
//! amount of work, in fewer, larger or more, smaller messages (Vrba 2009, section 5.2.2).

use super::{FORMS, on};
use crate::contest::{Contest, Settings};
use crate::measure::{Figure, nanoseconds, now, time};
use crate::peers::{Executor, TaskProgram, Wire, join_all};
use anyhow::{Context as _, Result, ensure};
use kahn::{Network, Options};
use kahn_apps::Compare;
use kahn_apps::random_network::{Arrived, Back, Graph, Load, Shape};
use kahn_apps::work::Work;
use std::time::Duration;

/// The work of all messages together, in nanoseconds, which each of the 50 layers spends.
const WORK: u32 = 4_000_000;
const CAPACITY: usize = 64;

pub(super) fn contests(settings: &Settings) -> Vec<Contest> {
    let most = settings.size(100_000, 1000);
    let mut contests = Vec::new();
    for back_edges in [0, 13] {
        for messages in [100, 1000, 10_000, 100_000] {
            if messages <= most {
                let work = settings.steps(WORK) / messages as u64;
                let bench = Bench { back_edges, messages: messages as u64, work };
                contests.push(bench.contest());
            }
        }
    }
    contests
}

/// A random network to be measured: the same graph with or without edges back.
#[derive(Clone, Copy)]
struct Bench {
    back_edges: u32,
    messages: u64,
    work: u64,
}

impl Bench {
    fn contest(self) -> Contest {
        let cycles = if self.back_edges > 0 { "13 cycles" } else { "no cycles" };
        let params = format!("50 layers, {cycles}, {} messages", self.messages);
        let contest = Contest::new(params, "kahn", move |workers| self.ours(on(workers)));
        let forms = FORMS.iter().filter(|(name, _)| *name != "kahn-uncounted");
        let contest = forms.fold(contest, |contest, &(name, form)| {
            contest.with(name, move |workers| self.ours(form(on(workers))))
        });
        contest.with_all_tasks(self).with_floor()
    }

    fn graph(self) -> Result<Graph> {
        Ok(Shape { layers: 50, width: 7, back_edges: self.back_edges, seed: 1 }.draw()?)
    }

    fn work(self) -> Work {
        Work::iterations(self.work)
    }

    fn figures(self, time: Duration, arrived: Arrived) -> Result<Vec<Figure>> {
        let sent = u128::from(self.messages) * u128::from(self.work);
        ensure!(arrived.units == sent, "work was lost");
        Ok(vec![Figure::new("time of a run", "ms", nanoseconds(time) / 1e6)])
    }

    fn ours(self, options: Options) -> Result<Vec<Figure>> {
        let mut network = Network::new();
        let watch = |_number| {};
        let arrived = self.graph()?.network(
            &mut network,
            Compare::Numbers,
            self.messages,
            self.work(),
            watch,
        );
        let (time, report) = time(|| network.run_with(options));
        report?;
        self.figures(time, arrived.take().context("nothing has arrived")?)
    }
}

impl TaskProgram for Bench {
    fn on_tasks<E: Executor, W: Wire>(self, workers: usize) -> Result<Vec<Figure>> {
        let graph = self.graph()?;
        let (time, arrived) = E::run(workers, async move {
            let since = now();
            let (_, edges, _) = graph.size();
            let (mut senders, mut receivers): (Vec<_>, Vec<_>) = (0..edges)
                .map(|_| W::bounded::<Load>(CAPACITY))
                .map(|(sender, receiver)| (Some(sender), Some(receiver)))
                .unzip();
            let last = graph.vertices().len() - 1;
            let mut tasks = Vec::new();
            for (place, vertex) in graph.vertices().iter().enumerate() {
                let mut take = |edges: &[usize]| -> Vec<_> {
                    edges.iter().filter_map(|edge| senders[*edge].take()).collect()
                };
                let outputs = take(&vertex.outputs);
                let (to, from) = match vertex.back {
                    Some(Back::Sends(edge)) => (take(&[edge]).pop(), None),
                    Some(Back::Receives(edge)) => (None, receivers[edge].take()),
                    None => (None, None),
                };
                let inputs: Vec<_> =
                    vertex.inputs.iter().filter_map(|edge| receivers[*edge].take()).collect();
                tasks.push(match place {
                    0 => E::spawn(source::<W>(self, outputs)),
                    _ if place == last => E::spawn(sink::<W>(inputs)),
                    _ => {
                        let memory = place as u64;
                        E::spawn(inner::<W>(self, memory, (inputs, outputs), (to, from)))
                    }
                });
            }
            let arrived = join_all::<E, _>(tasks).await.pop();
            (since.elapsed(), arrived)
        })?;
        self.figures(time, arrived.context("nothing has arrived")?)
    }
}

type Out<W> = <W as Wire>::Sender<Load>;
type In<W> = <W as Wire>::Receiver<Load>;

async fn source<W: Wire>(bench: Bench, mut outputs: Vec<Out<W>>) -> Arrived {
    for number in 0..bench.messages {
        split::<W>(Load::first(bench.work(), number), &mut outputs).await;
    }
    Arrived::nothing()
}

async fn inner<W: Wire>(
    bench: Bench,
    mut memory: u64,
    (mut inputs, mut outputs): (Vec<In<W>>, Vec<Out<W>>),
    (mut to, mut from): (Option<Out<W>>, Option<In<W>>),
) -> Arrived {
    let pace = bench.work().pace();
    let mut loads = Vec::with_capacity(inputs.len());
    while gather::<W>(&mut inputs, &mut loads).await {
        let load = Load::total(loads.drain(..), memory).spend(pace);
        split::<W>(load, &mut outputs).await;
        if let Some(back) = &mut to {
            W::send(back, load).await;
        }
        if let Some(back) = &mut from {
            let Some(load) = W::recv(back).await else { break };
            memory = load.remember(memory);
        }
    }
    Arrived::nothing()
}

async fn sink<W: Wire>(mut inputs: Vec<In<W>>) -> Arrived {
    let mut loads = Vec::with_capacity(inputs.len());
    let mut arrived = Arrived::nothing();
    while gather::<W>(&mut inputs, &mut loads).await {
        arrived = arrived.add(Load::total(loads.drain(..), 0));
    }
    arrived
}

async fn gather<W: Wire>(inputs: &mut [In<W>], loads: &mut Vec<Load>) -> bool {
    for input in inputs {
        loads.extend(W::recv(input).await);
    }
    !loads.is_empty()
}

async fn split<W: Wire>(load: Load, outputs: &mut [Out<W>]) {
    let count = outputs.len();
    for (place, output) in outputs.iter_mut().enumerate() {
        W::send(output, load.part(place, count)).await;
    }
}
