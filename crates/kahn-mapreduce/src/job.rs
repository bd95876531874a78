//! A job: what to do with items and records, and the network that does it.

use std::hash::Hash;
use std::sync::Arc;

use kahn::ranks::Beside;
use kahn::{Channel, Digest, Name, Network, ProcessResult};

#[cfg(feature = "wire")]
use crate::batch::BySerde;
use crate::batch::{AsDescribed, BesideIt, MakeChannel, Sending};
use crate::map::{self, Combine, Emit, MapBatch};
use crate::reduce::{self, ReduceGroups, Reduced, Sort, Values};
use crate::{Batch, Parts};

/// The capacity of a channel from a map to a reducer, in batches. There are many such channels, and
/// their readers take from all of them in turn: more would be room for maps that run ahead. Where a
/// record is a message, a channel has as many as any other.
const CAPACITY: u32 = 4;

/// A MapReduce job: from items `T` through records of key `K` and value `V` to results `W` by key.
///
/// It is written down once and may be used several times, in one network or many.
///
/// # Examples
///
/// Lines by their length, on two maps and three reducers:
///
/// ```
/// use kahn::Network;
/// use kahn_mapreduce::{Job, Split};
///
/// let lines = ["b", "aa", "a", "", "cc"];
/// let by_length = Job::new(
///     "by length",
///     |line: &str, out| out.emit(line.len(), line),
///     |_length, lines, out| out.emit(lines.collect::<Vec<_>>()),
/// )
/// .reducers(3);
///
/// let mut network = Network::new();
/// let parts = Split::new("lines", 2).batch(1).items(&mut network, lines);
/// let merged = by_length.on(&mut network, parts).merge(&mut network, "merge");
/// let all = network.collect("all", merged);
/// network.run()?;
/// // Within a group the values stand in the order of the items.
/// let expected = vec![(0, vec![""]), (1, vec!["b", "a"]), (2, vec!["aa", "cc"])];
/// assert_eq!(all.take().map(|batches| batches.concat()), Some(expected));
/// # Ok::<(), kahn::RunError>(())
/// ```
///
/// Source: Vrba et al. 2009, section 2 and figure 1.
#[must_use = "a job does something on parts: `on`"]
pub struct Job<'env, T, K, V, W> {
    name: Name,
    reducers: Option<usize>,
    capacity: Option<u32>,
    sending: Sending,
    limit: Option<usize>,
    map: MapBatch<'env, T, K, V>,
    combine: Option<Combine<'env, V>>,
    sort: Sort<K, V>,
    reduce: ReduceGroups<'env, K, V, W>,
    describe_records: Describe<(K, V)>,
    describe_results: Describe<(K, W)>,
    make_records: Arc<dyn MakeChannel<(K, V)> + 'env>,
    make_results: Arc<dyn MakeChannel<(K, W)> + 'env>,
}

/// Adds to the description of a channel.
type Describe<T> = fn(Channel<Batch<T>>) -> Channel<Batch<T>>;

impl<T, K, V, W> std::fmt::Debug for Job<'_, T, K, V, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("Job");
        fields.field("name", &self.name).field("reducers", &self.reducers);
        fields.field("combines", &self.combine.is_some()).finish_non_exhaustive()
    }
}

impl<'env, T, K, V, W> Job<'env, T, K, V, W>
where
    T: Send + 'env,
    K: Ord + Hash + Clone + Send + 'env,
    V: Send + 'env,
    W: Send + 'env,
{
    /// Names a job and says what it does.
    ///
    /// `map` is called with each item and [emits](Emit::emit) records. `reduce` is called with each
    /// key, in increasing order, and its values in the order of the items, and
    /// [emits](Reduced::emit) results. Both may return nothing or a result, whose error is the failure
    /// of the process. Keys that are equal must have equal hashes.
    ///
    /// # Examples
    ///
    /// A map that can fail:
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let lines = ["ann 3", "bob 4", "ann ?"];
    /// let mut network = Network::new();
    /// let parts = Split::new("lines", 1).items(&mut network, lines);
    /// let points = Job::new(
    ///     "points",
    ///     |line: &str, out| {
    ///         let (name, points) = line.split_once(' ').ok_or("no blank")?;
    ///         let points: u32 = points.parse().map_err(|_| "no number")?;
    ///         out.emit(name, points);
    ///         Ok::<(), &str>(())
    ///     },
    ///     |_name, points, out| out.emit(points.sum::<u32>()),
    /// );
    /// let merged = points.on(&mut network, parts).merge(&mut network, "merge");
    /// let _all = network.collect("all", merged);
    /// let error = network.run().expect_err("`?` is no number");
    /// assert!(error.to_string().contains("process `points map 0` failed: no number"));
    /// ```
    pub fn new<M, O, R, P>(name: impl Into<Name>, map: M, reduce: R) -> Self
    where
        M: Fn(T, &mut Emit<'_, K, V>) -> O + Send + Sync + 'env,
        O: ProcessResult + 'env,
        R: Fn(&K, Values<'_, K, V>, &mut Reduced<'_, K, W>) -> P + Send + Sync + 'env,
        P: ProcessResult + 'env,
    {
        let map = move |items: Vec<T>, emit: &mut Emit<'_, K, V>| {
            for item in items {
                if let Some(error) = map(item, emit).into_error() {
                    return Err(error);
                }
            }
            Ok(())
        };
        Self {
            name: name.into(),
            reducers: None,
            capacity: None,
            sending: Sending::Together,
            limit: None,
            map: Arc::new(map),
            combine: None,
            sort: |records| records.sort_by(|(a, _), (b, _)| a.cmp(b)),
            reduce: reduce::by_group(reduce),
            describe_records: |channel| channel,
            describe_results: |channel| channel,
            make_records: Arc::new(AsDescribed),
            make_results: Arc::new(AsDescribed),
        }
    }

    /// Sets the number of reduce processes: as many as map processes unless said otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).items(&mut network, 0..100_u32);
    /// let sort = Job::new("sort", |n, out| out.emit(n, ()), |_n, _, out| out.emit(()));
    /// assert_eq!(sort.reducers(5).on(&mut network, parts).count(), 5);
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    pub fn reducers(mut self, count: usize) -> Self {
        assert!(count > 0, "job `{}` needs a reducer at least", self.name);
        self.reducers = Some(count);
        self
    }

    /// Has the map processes put the values of a key together, batch by batch, before they are sent.
    ///
    /// `combine` adds a value to an earlier one of the same key, and the reduce must give the same
    /// for values that are put together as for single ones: such as a sum, a maximum, or lists that
    /// are appended.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).items(&mut network, 0..1000_u32);
    /// let digits = Job::new(
    ///     "last digits",
    ///     |n: u32, out| out.emit(n % 10, 1),
    ///     |_digit, counts, out| out.emit(counts.sum::<u32>()),
    /// )
    /// .combine(|count, more| *count += more);
    /// let merged = digits.on(&mut network, parts).merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// let expected = (0..10).map(|digit| (digit, 100)).collect();
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some::<Vec<_>>(expected));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn combine(mut self, combine: impl Fn(&mut V, V) + Send + Sync + 'env) -> Self {
        self.combine = Some(Arc::new(combine));
        self
    }

    /// Has the values of a key sorted too, and not stand in the order of the items.
    ///
    /// In a chained job that order depends on the number of reducers of the job before; sorted
    /// values do not.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).batch(1).items(&mut network, [7, 3, 5, 4_u32]);
    /// let lists = Job::new("lists", |n, out| out.emit(n % 2, n), |_key, values, out| {
    ///     out.emit(values.collect::<Vec<_>>());
    /// });
    /// let merged = lists.sort_values().on(&mut network, parts).merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// let expected = vec![(0, vec![4]), (1, vec![3, 5, 7])];
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some(expected));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn sort_values(mut self) -> Self
    where
        V: Ord,
    {
        self.sort = |records| records.sort();
        self
    }

    /// Bounds the bytes of records that a reducer may hold: it fails, with a message, when it has
    /// received more in a round.
    ///
    /// A record counts as `size_of::<(K, V)>()`; what it points to is not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).items(&mut network, 0_u64..);
    /// let job = Job::new("sort", |n: u64, out| out.emit(n, ()), |_, _, out| out.emit(()));
    /// let merged = job.limit(1 << 20).on(&mut network, parts).merge(&mut network, "merge");
    /// let _all = network.collect("all", merged);
    /// let error = network.run().expect_err("there are endlessly many");
    /// assert!(error.to_string().contains("more than the limit of 1048576 bytes"));
    /// ```
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// Sends each record, and each result, in a message of its own, as the unoptimised networks of
    /// the papers did: slower, and there to measure by how much.
    ///
    /// The results are the same: behind the records of a batch goes an empty message, so that a reader
    /// takes the batches in the same order. The [capacity](Self::capacity) counts messages: 64 unless
    /// said otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 1).batch(50).items(&mut network, 0..100_u32);
    /// let sort = Job::new("sort", |n, out| out.emit(n, ()), |_n, _, out| out.emit(()));
    /// let merged = sort.one_by_one().on(&mut network, parts).merge(&mut network, "merge");
    /// network.for_each("ignore", merged, |_batch| {});
    /// let report = network.run()?;
    /// let channel = report.channels.iter().find(|channel| channel.name == "sort 0 0");
    /// // 100 records, and an empty message behind each batch and at the end of the round.
    /// assert_eq!(channel.map(|channel| channel.sent), Some(100 + 2 + 1));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// Source: Vrba et al. 2009, section 6.1.
    pub fn one_by_one(mut self) -> Self {
        self.sending = Sending::OneByOne;
        self
    }

    /// Sets the capacity of the channels from maps to reducers, in batches: 4 unless said otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 2).items(&mut network, 0..100_u32);
    /// let sort = Job::new("sort", |n, out| out.emit(n, ()), |_n, _, out| out.emit(()));
    /// let merged = sort.capacity(1).on(&mut network, parts).merge(&mut network, "merge");
    /// network.for_each("ignore", merged, |_batch| {});
    /// let report = network.run()?;
    /// let channel = report.channels.iter().find(|channel| channel.name == "sort 0 0");
    /// assert_eq!(channel.map(|channel| channel.capacity), Some(1));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if it is 0.
    pub fn capacity(mut self, batches: u32) -> Self {
        assert!(batches > 0, "job `{}`: a channel holds a batch at least", self.name);
        self.capacity = Some(batches);
        self
    }

    /// Has runs compared by records and results, and not by the number of batches alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::testing;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let verified = testing::verify(|network| {
    ///     let parts = Split::new("numbers", 2).digest().items(network, 0..100_u32);
    ///     let sort = Job::new("sort", |n, out| out.emit(n, ()), |_n, _, out| out.emit(()));
    ///     let merged = sort.digest().on(network, parts).merge(network, "merge");
    ///     network.for_each("ignore", merged, |_batch| {});
    /// })?;
    /// assert!(verified.by_contents > verified.by_count);
    /// # Ok::<(), testing::VerifyError>(())
    /// ```
    pub fn digest(mut self) -> Self
    where
        K: Digest,
        V: Digest,
        W: Digest,
    {
        self.describe_records = Channel::digest;
        self.describe_results = Channel::digest;
        self
    }

    /// Gives records and results a written form, as serde describes them (feature `wire`): so the processes of the
    /// job may run on several ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("words", 2).wire().items(&mut network, ["to", "be"].map(String::from));
    /// let lengths = Job::new(
    ///     "lengths",
    ///     |word: String, out| out.emit(word.len(), 1),
    ///     |_length, ones, out| out.emit(ones.sum::<u32>()),
    /// );
    /// let lengths = lengths.wire().on(&mut network, parts);
    /// assert!(network.shape().channels.iter().all(|channel| channel.has_written_form));
    /// # drop(lengths);
    /// ```
    #[cfg(feature = "wire")]
    pub fn wire(mut self) -> Self
    where
        K: serde::Serialize + serde::de::DeserializeOwned,
        V: serde::Serialize + serde::de::DeserializeOwned,
        W: serde::Serialize + serde::de::DeserializeOwned,
    {
        self.make_records = Arc::new(BySerde);
        self.make_results = Arc::new(BySerde);
        self
    }

    /// Gives records and results a written form beside something that every rank has, from which they may borrow:
    /// see [`Network::channel_beside`].
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Emit, Job, Split};
    ///
    /// /// Emits each word of a line, with a one.
    /// fn words<'text>(line: &'text str, out: &mut Emit<'_, &'text str, u32>) {
    ///     line.split(' ').for_each(|word| out.emit(word, 1));
    /// }
    ///
    /// let text = "to be or\nnot to be";
    /// let mut network = Network::new();
    /// let parts = Split::new("lines", 2).wire_beside(text).items(&mut network, text.lines());
    /// let count = Job::new("count", words, |_word, ones, out| out.emit(ones.sum::<u32>()));
    /// // A word goes as the place where it stands in the text.
    /// let counted = count.wire_beside(text).on(&mut network, parts);
    /// let merged = counted.merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// let counts = vec![("be", 2), ("not", 1), ("or", 1), ("to", 2)];
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some(counts));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn wire_beside<S>(mut self, beside: S) -> Self
    where
        K: Beside<S>,
        V: Beside<S>,
        W: Beside<S>,
        S: Copy + Send + Sync + 'env,
    {
        self.make_records = Arc::new(BesideIt(beside));
        self.make_results = Arc::new(BesideIt(beside));
        self
    }

    /// Makes the processes of the job, with a map process for each part of its input. Gives the
    /// results, one part for each reducer, each sorted by key.
    ///
    /// The processes are called `name map 0` and `name reduce 0`, the channels between them
    /// `name 0 0`, those with the results `name reduced 0`, and so on.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let lengths = Job::new(
    ///     "lengths",
    ///     |word: &str, out| out.emit(word.len(), 1),
    ///     |_length, ones, out| out.emit(ones.sum::<u32>()),
    /// );
    /// let mut network = Network::new();
    /// let parts = Split::new("words", 2).items(&mut network, ["to", "be", "or", "not"]);
    /// let lengths = lengths.on(&mut network, parts);
    /// // One part of the results for each reducer.
    /// assert_eq!(lengths.count(), 2);
    /// let merged = lengths.merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some(vec![(2, 3), (3, 1)]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if the parts belong to another network.
    pub fn on(&self, network: &mut Network<'env>, parts: Parts<T>) -> Parts<(K, W)> {
        let name = &self.name;
        let reducers = self.reducers.unwrap_or(parts.count());
        let sending = self.sending;
        let capacity = self.capacity.unwrap_or(match sending {
            Sending::Together => CAPACITY,
            Sending::OneByOne => Network::DEFAULT_CAPACITY,
        });
        let how = (parts.sending, sending);
        let mut to_reducers: Vec<_> =
            (0..reducers).map(|_| Vec::with_capacity(parts.count())).collect();
        for (part, items) in parts.into_receivers().into_iter().enumerate() {
            let records = to_reducers.iter_mut().enumerate().map(|(reducer, to_reducer)| {
                let channel = Channel::named(format!("{name} {part} {reducer}"));
                let channel = (self.describe_records)(channel.capacity(capacity));
                let (out, records) = self.make_records.make(network, channel);
                to_reducer.push(records);
                out
            });
            let ports = (items, records.collect());
            let (map, combine) = (Arc::clone(&self.map), self.combine.clone());
            network.process(format!("{name} map {part}"), ports, move |(items, reducers)| {
                map::map(map, combine, how, items, reducers)
            });
        }
        let reduced = to_reducers.into_iter().enumerate().map(|(reducer, records)| {
            let channel = Channel::named(format!("{name} reduced {reducer}"));
            let channel = (self.describe_results)(channel);
            let (out, reduced) = self.make_results.make(network, channel);
            let (sort, reduce, limit) = (self.sort, Arc::clone(&self.reduce), self.limit);
            network.process(
                format!("{name} reduce {reducer}"),
                (records, out),
                move |(maps, out)| reduce::reduce(sort, reduce, limit, sending, maps, out),
            );
            reduced
        });
        Parts { streams: reduced.collect(), sending }
    }
}
