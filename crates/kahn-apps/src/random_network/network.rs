//! A random network as it runs: a process for each vertex, a channel for each edge.

use kahn::{Network, Process, Receiver, Sender};

use super::graph::{Back, Graph};
use super::{Arrived, Load};
use crate::Compare;
use crate::slot::{Giver, Slot};
use crate::work::{Pace, Work};

/// The ends of all channels, until each has its process.
struct Ends {
    senders: Vec<Option<Sender<Load>>>,
    receivers: Vec<Option<Receiver<Load>>>,
}

impl Ends {
    fn senders(&mut self, edges: &[usize]) -> Vec<Sender<Load>> {
        edges.iter().filter_map(|edge| self.senders[*edge].take()).collect()
    }

    fn receivers(&mut self, edges: &[usize]) -> Vec<Receiver<Load>> {
        edges.iter().filter_map(|edge| self.receivers[*edge].take()).collect()
    }
}

impl Graph {
    /// Writes the processes and channels; what has arrived at the sink is in the slot after the run.
    ///
    /// The source sends `messages` times `work`, split over its edges. `watch` is called with the
    /// number of each round that has come to its end in the sink, counted from 0.
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_apps::{Compare, random_network::Shape, work::Work};
    ///
    /// let graph = Shape { layers: 5, width: 4, back_edges: 1, seed: 3 }.draw()?;
    /// let work = Work::iterations(100);
    /// let mut network = Network::new();
    /// let arrived = graph.network(&mut network, Compare::Numbers, 20, work, |_number| {});
    /// let report = network.run_with(Options::new().workers(2))?;
    /// assert_eq!(arrived.take(), Some(graph.sequential(20, work)));
    /// assert_eq!(report.messages(), 20 * graph.size().1 as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn network<'env>(
        &self,
        network: &mut Network<'env>,
        compare: Compare,
        messages: u64,
        work: Work,
        watch: impl FnMut(u64) + Send + 'env,
    ) -> Slot<Arrived> {
        let name = |vertex: usize| {
            let (layer, place) = self.vertices[vertex].at;
            match vertex {
                0 => "source".to_owned(),
                _ if vertex + 1 == self.vertices.len() => "sink".to_owned(),
                _ => format!("{layer}.{place}"),
            }
        };
        let channels = self.edges.iter().map(|edge| {
            let way = if edge.from < edge.to { "to" } else { "back to" };
            let name = format!("{} {way} {}", name(edge.from), name(edge.to));
            let (sender, receiver) = compare.carried_channel(network, name);
            (Some(sender), Some(receiver))
        });
        let (senders, receivers) = channels.unzip();
        let mut ends = Ends { senders, receivers };

        let last = self.vertices.len() - 1;
        let outputs = ends.senders(&self.vertices[0].outputs);
        network.process(name(0), outputs, async move |outputs| {
            source(messages, work, outputs).await;
        });
        for (place, vertex) in self.vertices.iter().enumerate().take(last).skip(1) {
            let inputs = ends.receivers(&vertex.inputs);
            let outputs = ends.senders(&vertex.outputs);
            let (to, from) = match vertex.back {
                Some(Back::Sends(edge)) => (ends.senders[edge].take(), None),
                Some(Back::Receives(edge)) => (None, ends.receivers[edge].take()),
                None => (None, None),
            };
            let (memory, pace) = (place as u64, work.pace());
            let ports = (inputs, outputs, to, from);
            network.process(name(place), ports, async move |(inputs, outputs, to, from)| {
                inner(memory, pace, (inputs, outputs), (to, from)).await;
            });
        }
        let (giver, arrived) = Slot::new();
        let inputs = ends.receivers(&self.vertices[last].inputs);
        network.process_with(
            Process::named(name(last)).keeps_result(),
            inputs,
            async move |inputs| {
                sink(inputs, watch, giver).await;
            },
        );
        arrived
    }
}

/// Sends the same work in each round.
async fn source(messages: u64, work: Work, mut outputs: Vec<Sender<Load>>) {
    for number in 0..messages {
        split(Load::first(work, number), &mut outputs).await;
    }
}

/// Spends the work that comes, and splits it over its outputs.
async fn inner(
    mut memory: u64,
    pace: Pace,
    (mut inputs, mut outputs): (Vec<Receiver<Load>>, Vec<Sender<Load>>),
    (mut to, mut from): (Option<Sender<Load>>, Option<Receiver<Load>>),
) {
    let mut loads = Vec::with_capacity(inputs.len());
    while gather(&mut inputs, &mut loads).await {
        let load = Load::total(loads.drain(..), memory).spend(pace);
        split(load, &mut outputs).await;
        if let Some(back) = &mut to {
            back.send(load).await;
        }
        if let Some(back) = &mut from {
            let Some(load) = back.recv().await else { return };
            memory = load.remember(memory);
        }
    }
}

/// Adds up all that arrives.
async fn sink(
    mut inputs: Vec<Receiver<Load>>,
    mut watch: impl FnMut(u64),
    arrived: Giver<Arrived>,
) {
    let mut loads = Vec::with_capacity(inputs.len());
    let (mut sum, mut number) = (Arrived::nothing(), 0);
    while gather(&mut inputs, &mut loads).await {
        sum = sum.add(Load::total(loads.drain(..), 0));
        watch(number);
        number += 1;
    }
    arrived.give(sum);
}

/// Takes a message of each input; `false` at the end of them, which they reach in the same round.
///
/// All are asked even if the first has ended: one that ends before its inputs have would be a reason to
/// prune those that send to it, with a message still on its way back to them.
async fn gather(inputs: &mut [Receiver<Load>], loads: &mut Vec<Load>) -> bool {
    for input in inputs {
        loads.extend(input.recv().await);
    }
    !loads.is_empty()
}

/// Sends each output its part.
async fn split(load: Load, outputs: &mut [Sender<Load>]) {
    let count = outputs.len();
    for (place, output) in outputs.iter_mut().enumerate() {
        output.send(load.part(place, count)).await;
    }
}
