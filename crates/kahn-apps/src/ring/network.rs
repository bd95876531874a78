//! The ring as a network: a process for the root and one for each element.

use kahn::{Network, Process, Receiver, Sender};

use super::{Moment, Ring};
use crate::Compare;
use crate::slot::{Giver, Slot};

impl Ring {
    /// Writes the processes and channels; the total is in the slot after the run.
    ///
    /// `watch` is called by the root as it goes on; a benchmark takes the time there.
    ///
    /// # Panics
    ///
    /// Panics if there are no processes or no tokens.
    pub fn network<'env>(
        self,
        network: &mut Network<'env>,
        compare: Compare,
        watch: impl FnMut(Moment) + Send + 'env,
    ) -> Slot<u64> {
        assert!(self.processes > 0 && self.tokens > 0, "a ring has a process and a token");
        let (first_out, mut left) = compare.carried_channel(network, "from root");
        for element in 1..self.processes {
            let (right, next) = compare.carried_channel(network, format!("from {element}"));
            network.process(format!("element {element}"), (left, right), pass_on);
            left = next;
        }
        let (giver, total) = Slot::new();
        let root = Process::named("root").keeps_result();
        network.process_with(root, (left, first_out), async move |(left, right)| {
            self.root(left, right, watch, giver).await;
        });
        total
    }

    async fn root(
        self,
        mut left: Receiver<u64>,
        mut right: Sender<u64>,
        mut watch: impl FnMut(Moment),
        total: Giver<u64>,
    ) {
        right.send(1).await;
        let Some(mut token) = left.recv().await else { return };
        watch(Moment::Start);
        let mut sum = 0;
        if self.tokens == 1 {
            for _ in 0..self.cycles {
                right.send(token + 1).await;
                let Some(home) = left.recv().await else { return };
                token = home;
                watch(Moment::Cycle);
            }
            sum = token;
        } else {
            for token in 1..=u64::from(self.tokens) {
                right.send(token).await;
            }
            for _ in 0..self.cycles {
                for _ in 0..self.tokens {
                    let Some(token) = left.recv().await else { return };
                    right.send(token + 1).await;
                }
                watch(Moment::Cycle);
            }
            for _ in 0..self.tokens {
                let Some(token) = left.recv().await else { return };
                sum += token;
            }
        }
        watch(Moment::End);
        right.send(0).await;
        left.recv().await;
        total.give(sum);
    }
}

/// An element: passes tokens on, and ends with the 0 behind them.
async fn pass_on((mut left, mut right): (Receiver<u64>, Sender<u64>)) {
    while let Some(token) = left.recv().await {
        if token == 0 {
            right.send(0).await;
            return;
        }
        right.send(token + 1).await;
    }
}
