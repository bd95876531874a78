//! The splitter: one stream of items, dealt out to the processes of a stage.

use std::sync::Arc;

use kahn::ranks::Beside;
use kahn::{Channel, Digest, Name, Network, Receiver, Sender};

#[cfg(feature = "wire")]
use crate::batch::BySerde;
use crate::batch::{AsDescribed, BesideIt, MakeChannel};
use crate::{Batch, Parts};

/// How many items are dealt out at a time, unless said otherwise.
const ITEMS: usize = 64;

/// How items are dealt out to the map processes: to how many, and how many at a time.
///
/// Batch *k*, counted from 0, goes to part *k* mod `parts`: the same one in every run.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_mapreduce::{Job, Split};
///
/// let mut network = Network::new();
/// // Few and heavy items are dealt out one by one.
/// let parts = Split::new("numbers", 2).batch(1).items(&mut network, [27_u64, 97, 871]);
/// let steps = Job::new(
///     "collatz",
///     |start, out| {
///         let next = |n: &u64| (*n != 1).then(|| if n % 2 == 0 { n / 2 } else { 3 * n + 1 });
///         out.emit(start, std::iter::successors(Some(start), next).count());
///     },
///     |_start, mut steps, out| out.emit(steps.next()),
/// )
/// .on(&mut network, parts)
/// .merge(&mut network, "merge");
/// let steps = network.collect("all", steps);
/// network.run()?;
/// let expected = vec![(27, Some(112)), (97, Some(119)), (871, Some(179))];
/// assert_eq!(steps.take().map(|batches| batches.concat()), Some(expected));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[must_use = "nothing is dealt out before `items`, `stream` or `iterate`"]
pub struct Split<'env, T> {
    pub(crate) name: Name,
    pub(crate) parts: usize,
    pub(crate) batch: usize,
    capacity: u32,
    describe: fn(Channel<Batch<T>>) -> Channel<Batch<T>>,
    make: Arc<dyn MakeChannel<T> + 'env>,
}

impl<T> std::fmt::Debug for Split<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("Split");
        fields.field("name", &self.name).field("parts", &self.parts);
        fields.field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl<'env, T: Send + 'env> Split<'env, T> {
    /// Names the splitting process, and says into how many parts: so many map processes there are.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 3).items(&mut network, 0..100_u32);
    /// assert_eq!(parts.count(), 3);
    /// ```
    ///
    /// # Panics
    /// Panics if there are no parts.
    pub fn new(name: impl Into<Name>, parts: usize) -> Self {
        let name = name.into();
        assert!(parts > 0, "splitter `{name}` needs a part at least");
        let capacity = Network::DEFAULT_CAPACITY;
        let make = Arc::new(AsDescribed);
        Self { name, parts, batch: ITEMS, capacity, describe: |channel| channel, make }
    }

    /// Sets how many items are dealt out at a time: 64 unless said otherwise.
    ///
    /// A batch costs a message to its map process and one from there to each reducer, so batches of
    /// items that are little work should be large; fewer batches than parts leave parts without work.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 1).batch(40).items(&mut network, 0..100_u32);
    /// let items = parts.into_receivers().remove(0);
    /// let sizes = network.map("sizes", items, |batch| batch.records.len());
    /// let sizes = network.collect("all", sizes);
    /// network.run()?;
    /// // Behind the last items the end of the round is told.
    /// assert_eq!(sizes.take(), Some(vec![40, 40, 20, 0]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    pub fn batch(mut self, items: usize) -> Self {
        assert!(items > 0, "splitter `{}`: a batch has an item at least", self.name);
        self.batch = items;
        self
    }

    /// Sets the capacity of the channels to the map processes, in batches: 64 unless said otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 1).capacity(2).items(&mut network, 0..100_u32);
    /// network.for_each("ignore", parts.into_receivers().remove(0), |_batch| {});
    /// let report = network.run()?;
    /// assert_eq!(report.channels[0].capacity, 2);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    pub fn capacity(mut self, batches: u32) -> Self {
        assert!(batches > 0, "splitter `{}`: a channel holds a batch at least", self.name);
        self.capacity = batches;
        self
    }

    /// Has runs compared by the items that are dealt out, and not by the number of batches alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing;
    /// use kahn_mapreduce::Split;
    ///
    /// let verified = testing::verify(|network| {
    ///     let parts = Split::new("numbers", 1).digest().items(network, 0..100_u32);
    ///     network.for_each("ignore", parts.into_receivers().remove(0), |_batch| {});
    /// })?;
    /// assert_eq!(verified.by_contents, 1);
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
    pub fn digest(mut self) -> Self
    where
        T: Digest,
    {
        self.describe = Channel::digest;
        self
    }

    /// Gives the items that are dealt out a written form, as serde describes them (feature `wire`): so the map
    /// processes may run on other ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).wire().items(&mut network, 0..100_u32);
    /// assert!(network.shape().channels.iter().all(|channel| channel.has_written_form));
    /// # drop(parts);
    /// ```
    #[cfg(feature = "wire")]
    pub fn wire(mut self) -> Self
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        self.make = Arc::new(BySerde);
        self
    }

    /// Gives the items that are dealt out a written form beside something that every rank has, from which they
    /// may borrow: see [`Network::channel_beside`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let text = "to be\nor not";
    /// let mut network = Network::new();
    /// // A line goes as the place where it stands in the text.
    /// let parts = Split::new("lines", 2).wire_beside(text).items(&mut network, text.lines());
    /// assert_eq!(parts.count(), 2);
    /// ```
    pub fn wire_beside<S>(mut self, beside: S) -> Self
    where
        T: Beside<S>,
        S: Copy + Send + Sync + 'env,
    {
        self.make = Arc::new(BesideIt(beside));
        self
    }

    /// Deals out what an iterator gives.
    ///
    /// The iterator is run by the process, and asked for the next items only when there is room for
    /// them. A job reduces when it has all items: on an endless iterator it goes on until memory
    /// ends, or its [limit](crate::Job::limit).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("lines", 2).batch(1).items(&mut network, ["a", "b", "c"]);
    /// let mut parts = parts.into_receivers();
    /// let lines = network.flat_map("second", parts.remove(1), |batch| batch.records);
    /// network.for_each("first", parts.remove(0), |_batch| {});
    /// let lines = network.collect("all", lines);
    /// network.run()?;
    /// assert_eq!(lines.take(), Some(vec!["b"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn items<I>(self, network: &mut Network<'env>, items: I) -> Parts<T>
    where
        I: IntoIterator<Item = T, IntoIter: Send> + Send + 'env,
    {
        let (outs, parts) = self.channels(network);
        network.process(self.name, outs, async move |mut outs| {
            deal(&mut outs, items, self.batch).await;
        });
        parts
    }

    /// Deals out what comes from a channel.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::Split;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..100_u32);
    /// let parts = Split::new("split", 4).stream(&mut network, numbers);
    /// assert_eq!(parts.count(), 4);
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn stream(self, network: &mut Network<'env>, items: Receiver<T>) -> Parts<T> {
        let (outs, parts) = self.channels(network);
        network.process(self.name, (items, outs), async move |(mut items, mut outs)| {
            let mut turn = 0;
            loop {
                let mut records = Vec::new();
                if items.recv_batch(&mut records, self.batch).await == 0 {
                    return end_round(&mut outs).await;
                }
                let outs_count = outs.len();
                outs[turn].send(Batch::of(records)).await;
                turn = (turn + 1) % outs_count;
            }
        });
        parts
    }

    /// Makes the channels, called after the process.
    pub(crate) fn channels(
        &self,
        network: &mut Network<'env>,
    ) -> (Vec<Sender<Batch<T>>>, Parts<T>) {
        let channels = (0..self.parts).map(|part| {
            let name = format!("{} {part}", self.name);
            let channel = Channel::named(name).capacity(self.capacity);
            self.make.make(network, (self.describe)(channel))
        });
        let (outs, parts) = channels.unzip();
        (outs, Parts::of(parts))
    }
}

/// Deals out a round: batches in turn, then to all the end of the round.
pub(crate) async fn deal<T: Send>(
    outs: &mut [Sender<Batch<T>>],
    items: impl IntoIterator<Item = T>,
    batch: usize,
) {
    let mut items = items.into_iter();
    for turn in (0..outs.len()).cycle() {
        let records: Vec<T> = items.by_ref().take(batch).collect();
        if records.is_empty() {
            break;
        }
        outs[turn].send(Batch::of(records)).await;
    }
    end_round(outs).await;
}

async fn end_round<T: Send>(outs: &mut [Sender<Batch<T>>]) {
    for out in outs {
        out.send(Batch::last(Vec::new())).await;
    }
}
