//! The streams of a stage, one for each of its processes.

use kahn::{Name, Network, Port, Ports, Receiver};

use crate::batch::Sending;
use crate::{Batch, merge};

/// The streams that go from a stage to the next, one for each process of the stage.
///
/// Made by [`Split`](crate::Split) and by [`Job::on`](crate::Job::on). They are ports, so that a
/// process of your own can take them as well.
///
/// # Examples
///
/// ```
/// use kahn::{Network, Sender};
/// use kahn_mapreduce::{Parts, Split};
///
/// type Ports = (Parts<u32>, Sender<u32>);
///
/// let mut network = Network::new();
/// let parts = Split::new("numbers", 3).batch(2).items(&mut network, 0..9_u32);
/// let (sums_out, sums) = network.channel("sums");
/// network.process("add up", (parts, sums_out), async |(parts, mut sums): Ports| {
///     for mut part in parts.into_receivers() {
///         let mut sum = 0;
///         part.for_each(|batch| sum += batch.records.iter().sum::<u32>()).await;
///         sums.send(sum).await;
///     }
/// });
/// let sums = network.collect("all", sums);
/// network.run()?;
/// assert_eq!(sums.take(), Some(vec![0 + 1 + 6 + 7, 2 + 3 + 8, 4 + 5]));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Parts<T> {
    pub(crate) streams: Vec<Receiver<Batch<T>>>,
    /// How the batches come.
    pub(crate) sending: Sending,
}

impl<T: Send> Parts<T> {
    /// Makes parts of streams that come from processes of your own.
    ///
    /// A job takes a batch of each in turn: a stream from which nothing comes keeps the others
    /// waiting.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Batch, Parts};
    ///
    /// let mut network = Network::new();
    /// let a = network.source("a", [Batch::last(vec![(1, 'a'), (3, 'c')])]);
    /// let b = network.source("b", [Batch::last(vec![(2, 'b')])]);
    /// let merged = Parts::of(vec![a, b]).merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// let expected = vec![(1, 'a'), (2, 'b'), (3, 'c')];
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some(expected));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn of(streams: Vec<Receiver<Batch<T>>>) -> Self {
        assert!(!streams.is_empty(), "a stage has a part at least");
        Self { streams, sending: Sending::Together }
    }

    /// Returns how many there are: one at least.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 4).items(&mut network, 0..100_u32);
    /// assert_eq!(parts.count(), 4);
    /// ```
    pub fn count(&self) -> usize {
        self.streams.len()
    }

    /// Returns the streams, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).items(&mut network, 0..100_u32);
    /// for (index, part) in parts.into_receivers().into_iter().enumerate() {
    ///     network.for_each(format!("part {index}"), part, |batch| assert!(batch.records.len() <= 64));
    /// }
    /// network.run()?;
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn into_receivers(self) -> Vec<Receiver<Batch<T>>> {
        self.streams
    }
}

impl<K: Ord + Send, W: Send> Parts<(K, W)> {
    /// Merges the sorted parts into one stream that is sorted by key, in batches.
    ///
    /// Equal keys of different parts stand in the order of the parts; a job has none.
    /// [`Network::unbatch`] makes single messages of it. The code alone is [`merge()`], for a channel
    /// of your own making.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).items(&mut network, [5, 3, 4_u32]);
    /// let sort = Job::new("sort", |n, out| out.emit(n, ()), |_n, _, out| out.emit(()));
    /// let merged = sort.on(&mut network, parts).merge(&mut network, "merge");
    /// let numbers = network.unbatch("numbers alone", merged);
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![(3, ()), (4, ()), (5, ())]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the parts belong to another network.
    pub fn merge<'env>(
        self,
        network: &mut Network<'env>,
        name: impl Into<Name>,
    ) -> Receiver<Vec<(K, W)>>
    where
        K: 'env,
        W: 'env,
    {
        let name = name.into();
        let (merged_out, merged) = network.channel(name.clone());
        network.process(name, (self, merged_out), merge);
        merged
    }
}

impl<T: Send> Ports for Parts<T> {
    fn visit(&self, see: &mut dyn FnMut(Port)) {
        self.streams.visit(see);
    }
}
