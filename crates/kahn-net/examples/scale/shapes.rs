//! Shapes of networks over many ranks, one process on each.

use kahn::{Channel, Network, Process, Receiver, Sender};
use kahn_net::VirtualCore;
use std::time::Duration;

/// A shape, and how often it does what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A token goes round so often.
    Ring { cycles: u64 },
    /// So many numbers go through all ranks.
    Pipeline { numbers: u64 },
    /// The first rank gives each other one a task and waits for all replies, so often; a task takes so long.
    ScatterGather { rounds: u64, task: Duration },
    /// … and what is to be done in a round is shared out: the more ranks, the smaller a task. Tasks and replies are a
    /// hundred means of three coordinates.
    KMeans { rounds: u64, all: Duration },
    /// Each process sends eight numbers to each of three others, and then receives as many of three others, so often;
    /// the channels have room for one, so rings must grow.
    Random { rounds: u64 },
}

const MEANS: usize = 300;
const AT_ONCE: u64 = 8;

fn numbers(network: &mut Network<'_>, name: &str, at: usize) -> (Sender<u64>, Receiver<u64>) {
    // As in the stream that was measured.
    network.channel_with(Channel::named(format!("{name} {at}")).capacity(1024).wire())
}

fn means(
    network: &mut Network<'_>,
    name: &str,
    at: usize,
) -> (Sender<Vec<f64>>, Receiver<Vec<f64>>) {
    network.channel_with(Channel::named(format!("{name} {at}")).wire())
}

fn on(rank: usize) -> Process {
    Process::named(format!("process {rank}")).rank(rank)
}

impl Shape {
    /// Writes it down for so many ranks, two at least.
    pub(crate) fn build(self, ranks: usize, core: &VirtualCore, network: &mut Network<'_>) {
        let core = core.clone();
        match self {
            Self::Ring { cycles } => ring(ranks, cycles, network),
            Self::Pipeline { numbers } => pipeline(ranks, numbers, network),
            Self::ScatterGather { rounds, task } => {
                rounds_of(ranks, rounds, task, 1, &core, network);
            }
            Self::KMeans { rounds, all } => {
                let workers = u32::try_from(ranks - 1).expect("there are not so many");
                rounds_of(ranks, rounds, all / workers, MEANS, &core, network);
            }
            Self::Random { rounds } => random(ranks, rounds, network),
        }
    }

    /// How often it does what one is measured of: a hop, a number, a reply, a round, a message.
    pub(crate) fn units(self, ranks: usize) -> u64 {
        let ranks = ranks as u64;
        match self {
            Self::Ring { cycles } => cycles * ranks,
            Self::Pipeline { numbers } => numbers,
            Self::ScatterGather { rounds, .. } => rounds * (ranks - 1),
            Self::KMeans { rounds, .. } => rounds,
            Self::Random { rounds } => rounds * 3 * AT_ONCE * ranks,
        }
    }

    /// How long one core would compute, if it computes at all.
    pub(crate) fn work(self, ranks: usize) -> Option<Duration> {
        let times = |times: u64, time: Duration| time.checked_mul(u32::try_from(times).ok()?);
        match self {
            Self::ScatterGather { task, .. } => times(self.units(ranks), task),
            Self::KMeans { rounds, all } => times(rounds, all),
            Self::Ring { .. } | Self::Pipeline { .. } | Self::Random { .. } => None,
        }
    }
}

fn ring(ranks: usize, cycles: u64, network: &mut Network<'_>) {
    let (mut senders, mut receivers): (Vec<_>, Vec<_>) =
        (0..ranks).map(|rank| numbers(network, "hop", rank)).unzip();
    // Each receives from the one before it.
    receivers.rotate_right(1);
    for (rank, (to, from)) in senders.drain(..).zip(receivers).enumerate() {
        network.process_with(on(rank), (from, to), async move |(mut from, mut to)| {
            if rank == 0 {
                for cycle in 0..cycles {
                    to.send(cycle).await;
                    assert_eq!(from.recv().await, Some(cycle), "a token is another");
                }
                return;
            }
            while let Some(token) = from.recv().await {
                to.send(token).await;
            }
        });
    }
}

fn pipeline(ranks: usize, count: u64, network: &mut Network<'_>) {
    let (out, mut before) = numbers(network, "stage", ranks - 1);
    network.process_with(on(ranks - 1), out, async move |mut out| out.send_all(0..count).await);
    for rank in (1..ranks - 1).rev() {
        let (out, next) = numbers(network, "stage", rank);
        network.process_with(on(rank), (before, out), async |(mut from, mut to)| {
            while let Some(number) = from.recv().await {
                to.send(number).await;
            }
        });
        before = next;
    }
    network.process_with(on(0), before, async move |mut from| {
        for number in 0..count {
            assert_eq!(from.recv().await, Some(number), "a number is lost");
        }
    });
}

fn rounds_of(
    ranks: usize,
    rounds: u64,
    task: Duration,
    length: usize,
    core: &VirtualCore,
    network: &mut Network<'_>,
) {
    let (mut to_workers, mut from_workers) = (Vec::new(), Vec::new());
    for rank in 1..ranks {
        let ((to, tasks), (replies, from)) =
            (means(network, "task", rank), means(network, "reply", rank));
        to_workers.push(to);
        from_workers.push(from);
        let core = core.clone();
        network.process_with(on(rank), (tasks, replies), async move |(mut tasks, mut replies)| {
            while let Some(means) = tasks.recv().await {
                core.compute(task).await;
                replies.send(means).await;
            }
        });
    }
    network.process_with(on(0), (to_workers, from_workers), async move |(mut to, mut from)| {
        for _ in 0..rounds {
            for to in &mut to {
                to.send(vec![0.5; length]).await;
            }
            for from in &mut from {
                let reply = from.recv().await;
                assert_eq!(reply.map(|means| means.len()), Some(length), "a reply is lost");
            }
        }
    });
}

fn random(ranks: usize, rounds: u64, network: &mut Network<'_>) {
    let mut receivers: Vec<Vec<Receiver<u64>>> =
        std::iter::repeat_with(Vec::new).take(ranks).collect();
    let mut senders_of = |from: usize| -> Vec<Sender<u64>> {
        let to = [1, 7, 61].map(|step| {
            // Never to itself.
            let to = (from + 1 + (step * (from + step)) % (ranks - 1)) % ranks;
            let channel = Channel::named(format!("from {from} step {step}")).capacity(1).wire();
            let (sender, receiver) = network.channel_with(channel);
            receivers[to].push(receiver);
            sender
        });
        to.into()
    };
    let senders: Vec<_> = (0..ranks).map(&mut senders_of).collect();
    for (rank, ends) in senders.into_iter().zip(receivers).enumerate() {
        network.process_with(on(rank), ends, async move |(mut to, mut from)| {
            for round in 0..rounds {
                for to in &mut to {
                    to.send_all(round * AT_ONCE..(round + 1) * AT_ONCE).await;
                }
                for from in &mut from {
                    for number in round * AT_ONCE..(round + 1) * AT_ONCE {
                        assert_eq!(from.recv().await, Some(number), "a number is lost");
                    }
                }
            }
        });
    }
}
