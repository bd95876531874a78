//! Scatter and gather as a network: a root and the processes that it hands tasks out to.

use kahn::{Network, Process, Receiver, Sender};

use super::ScatterGather;
use crate::checksum::mix;
use crate::slot::{Giver, Slot};
use crate::{Compare, work::Work};

impl ScatterGather {
    /// Writes the processes and channels; the checksum of all replies is in the slot after the run.
    ///
    /// `watch` is called with the number of each round that is done, counted from 0.
    pub fn network<'env>(
        self,
        network: &mut Network<'env>,
        compare: Compare,
        watch: impl FnMut(u64) + Send + 'env,
    ) -> Slot<u64> {
        let (mut tasks, mut replies) = (Vec::new(), Vec::new());
        for number in 0..self.processes {
            let (task, given) = compare.carried_channel(network, format!("task {number}"));
            let (done, reply) = compare.carried_channel(network, format!("reply {number}"));
            network.process(
                format!("worker {number}"),
                (given, done),
                async move |(given, done)| {
                    answer(given, done, self.work).await;
                },
            );
            tasks.push(task);
            replies.push(reply);
        }
        let (giver, checksum) = Slot::new();
        let root = Process::named("root").keeps_result();
        network.process_with(root, (tasks, replies), async move |(tasks, replies)| {
            self.root(tasks, replies, watch, giver).await;
        });
        checksum
    }

    async fn root(
        self,
        mut tasks: Vec<Sender<u64>>,
        mut replies: Vec<Receiver<u64>>,
        mut watch: impl FnMut(u64),
        checksum: Giver<u64>,
    ) {
        let mut sum = 0;
        for round in 0..self.rounds {
            for (task, number) in tasks.iter_mut().zip(0..) {
                task.send(mix(round, number)).await;
            }
            for reply in &mut replies {
                let Some(reply) = reply.recv().await else { return };
                sum = mix(sum, reply);
            }
            watch(round);
        }
        checksum.give(sum);
    }
}

/// Does tasks as they come; it knows nothing of rounds.
async fn answer(mut tasks: Receiver<u64>, mut replies: Sender<u64>, work: Work) {
    while let Some(task) = tasks.recv().await {
        replies.send(work.spend(task)).await;
    }
}
