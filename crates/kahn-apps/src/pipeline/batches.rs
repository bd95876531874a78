//! The pipeline with the operations that take many messages at a time.

use kahn::{Network, Process};

use super::sequential::{pass, sum};
use super::{Message, Pipeline};
use crate::Compare;
use crate::slot::Slot;

impl Pipeline {
    /// Writes the same network as [`network`](Self::network), whose processes receive and send up
    /// to `batch` messages at a time.
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_apps::{Compare, pipeline::Pipeline, work::Work};
    ///
    /// let shape = Pipeline { stages: 3, messages: 100, words: 1, work: Work::none() };
    /// let mut network = Network::new();
    /// let checksum = shape.network_in_batches::<[u64; 1]>(&mut network, Compare::Numbers, 7);
    /// network.run_with(Options::new().capacity(8))?;
    /// assert_eq!(checksum.take(), Some(shape.sequential::<[u64; 1]>()));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `M` has not as many words as there are to be, or `batch` is 0.
    pub fn network_in_batches<M: Message>(
        self,
        network: &mut Network<'_>,
        compare: Compare,
        batch: usize,
    ) -> Slot<u64> {
        assert_eq!(M::new(0, self.words.max(1)).words().len(), self.words, "the size of a message");
        assert!(batch > 0, "a batch is a message at least");
        let (source_out, mut last) = compare.channel::<M>(network, "from source");
        network.process("source", source_out, async move |mut out| {
            out.send_all((0..self.messages).map(|number| M::new(number, self.words))).await;
        });
        for number in 1..=self.stages {
            let (out, next) = compare.channel(network, format!("from stage {number}"));
            let ports = (last, out);
            network.process(format!("stage {number}"), ports, async move |(mut input, mut out)| {
                let mut messages = Vec::with_capacity(batch);
                while input.recv_batch(&mut messages, batch).await > 0 {
                    for message in &mut messages {
                        pass(message, number, self.work);
                    }
                    out.send_batch(&mut messages).await;
                }
            });
            last = next;
        }
        let (giver, checksum) = Slot::new();
        let sink = Process::named("sink").keeps_result();
        network.process_with(sink, last, async move |mut input| {
            let mut all = 0;
            input.for_each(|mut message| all = sum(all, &mut message)).await;
            giver.give(all);
        });
        checksum
    }
}
