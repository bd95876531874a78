//! The pipeline whose messages stay in their slots: each is copied once a hop.

use kahn::{Network, Process};

use super::sequential::{pass, sum};
use super::{Message, Pipeline};
use crate::Compare;
use crate::slot::Slot;

impl Pipeline {
    /// Writes the same network as [`network`](Self::network), whose processes receive and send in
    /// place.
    ///
    /// ```
    /// use kahn::{Network, Options};
    /// use kahn_apps::{Compare, pipeline::Pipeline, work::Work};
    ///
    /// let shape = Pipeline { stages: 3, messages: 100, words: 64, work: Work::none() };
    /// let mut network = Network::new();
    /// let checksum = shape.network_in_place::<[u64; 64]>(&mut network, Compare::Numbers);
    /// network.run_with(Options::new().capacity(8))?;
    /// assert_eq!(checksum.take(), Some(shape.sequential::<[u64; 64]>()));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `M` has not as many words as there are to be.
    pub fn network_in_place<M: Message>(
        self,
        network: &mut Network<'_>,
        compare: Compare,
    ) -> Slot<u64> {
        assert_eq!(M::new(0, self.words.max(1)).words().len(), self.words, "the size of a message");
        let (source_out, mut last) = compare.channel::<M>(network, "from source");
        network.process("source", source_out, async move |mut out| {
            for number in 0..self.messages {
                out.reserve().await.send_with(|slot| slot.write(M::new(number, self.words)));
            }
        });
        for number in 1..=self.stages {
            let (out, next) = compare.channel(network, format!("from stage {number}"));
            let ports = (last, out);
            network.process(format!("stage {number}"), ports, async move |(mut input, mut out)| {
                while let Some(mut message) = input.recv_in_place().await {
                    pass(&mut *message, number, self.work);
                    message.forward(out.reserve().await);
                }
            });
            last = next;
        }
        let (giver, checksum) = Slot::new();
        let sink = Process::named("sink").keeps_result();
        network.process_with(sink, last, async move |mut input| {
            let mut all = 0;
            while let Some(mut message) = input.recv_in_place().await {
                all = sum(all, &mut *message);
            }
            giver.give(all);
        });
        checksum
    }
}
