//! The pipeline as a network: a process for the source, one for each stage, one for the sink.

use kahn::{Channel, Name, Network, Process, Receiver, Sender};

use super::sequential::{pass, sum};
use super::{Message, Pipeline};
use crate::slot::{Giver, Slot};
use crate::{Compare, work::Work};

impl Pipeline {
    /// Writes the processes and channels; the checksum of what comes out is in the slot after the
    /// run.
    ///
    /// `watch` is called with the number of each message that has come out, counted from 0.
    ///
    /// # Panics
    ///
    /// Panics if there are no words, or if `M` has another number of them.
    pub fn network<'env, M: Message>(
        self,
        network: &mut Network<'env>,
        compare: Compare,
        watch: impl FnMut(u64) + Send + 'env,
    ) -> Slot<u64> {
        assert_eq!(M::new(0, self.words.max(1)).words().len(), self.words, "the size of a message");
        let (source_out, mut last) = network.channel_with(described::<M>(compare, "from source"));
        network.process("source", source_out, async move |mut out| {
            for number in 0..self.messages {
                out.send(M::new(number, self.words)).await;
            }
        });
        for number in 1..=self.stages {
            let (out, next) =
                network.channel_with(described(compare, format!("from stage {number}")));
            let ports = (last, out);
            network.process(format!("stage {number}"), ports, async move |(input, out)| {
                stage(number, self.work, input, out).await;
            });
            last = next;
        }
        let (giver, checksum) = Slot::new();
        let process = Process::named("sink").keeps_result();
        network.process_with(process, last, async move |last| sink(last, watch, giver).await);
        checksum
    }
}

/// A channel of the pipeline.
fn described<M: Message>(compare: Compare, name: impl Into<Name>) -> Channel<M> {
    let channel = compare.named(name);
    if compare.is_on_ranks() { channel.wire_with(M::write, M::read) } else { channel }
}

async fn stage<M: Message>(number: u32, work: Work, mut input: Receiver<M>, mut out: Sender<M>) {
    while let Some(mut message) = input.recv().await {
        pass(&mut message, number, work);
        out.send(message).await;
    }
}

async fn sink<M: Message>(
    mut input: Receiver<M>,
    mut watch: impl FnMut(u64),
    checksum: Giver<u64>,
) {
    let (mut all, mut number) = (0, 0);
    while let Some(mut message) = input.recv().await {
        all = sum(all, &mut message);
        watch(number);
        number += 1;
    }
    checksum.give(all);
}
