//! The reduce process: collects, sorts by key, and reduces group by group.

use std::collections::VecDeque;
use std::sync::Arc;

use kahn::{BoxError, ProcessResult, Receiver, Sender};
use kahn_engine::WorkerCore;

use crate::Batch;
use crate::batch::{RECORDS, Sending, take_round};

/// A reduce closure, for as many groups as make a batch: what is called for each is inside it.
pub(crate) type ReduceGroups<'env, K, V, W> = Arc<
    dyn Fn(&mut VecDeque<(K, V)>, &mut Vec<(K, W)>) -> Result<(), BoxError> + Send + Sync + 'env,
>;

/// How records are sorted.
pub(crate) type Sort<K, V> = fn(&mut [(K, V)]);

/// The values of a key, in order.
///
/// Those that are left when the closure returns are dropped.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_mapreduce::{Job, Split};
///
/// let mut network = Network::new();
/// let parts = Split::new("numbers", 1).items(&mut network, [3, 8, 5, 4_u32]);
/// // Of the values of a key only the first is asked for; the others are dropped.
/// let first = Job::new("first", |n, out| out.emit(n % 2, n), |_key, mut values, out| {
///     out.emit(values.next());
/// });
/// let merged = first.on(&mut network, parts).merge(&mut network, "merge");
/// let all = network.collect("all", merged);
/// network.run()?;
/// let expected = vec![(0, Some(8)), (1, Some(3))];
/// assert_eq!(all.take().map(|batches| batches.concat()), Some(expected));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct Values<'a, K, V> {
    key: &'a K,
    /// The first value, whose key is `key`.
    first: Option<V>,
    rest: &'a mut VecDeque<(K, V)>,
}

impl<K, V> std::fmt::Debug for Values<'_, K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("begun", &self.first.is_none()).finish_non_exhaustive()
    }
}

impl<K: Eq, V> Iterator for Values<'_, K, V> {
    type Item = V;

    #[inline]
    fn next(&mut self) -> Option<V> {
        if self.first.is_some() {
            return self.first.take();
        }
        next_of(self.key, self.rest)
    }
}

impl<K: Eq, V> std::iter::FusedIterator for Values<'_, K, V> {}

/// Gives the next value if it belongs to the group.
#[inline]
fn next_of<K: Eq, V>(key: &K, rest: &mut VecDeque<(K, V)>) -> Option<V> {
    let belongs = rest.front().is_some_and(|(next, _)| next == key);
    if belongs { rest.pop_front().map(|(_, value)| value) } else { None }
}

/// Where a reduce closure puts its results.
///
/// They keep the key of their group, so that what leaves a reducer is sorted by key. There may be
/// one, many or none.
///
/// # Examples
///
/// ```
/// use kahn::Network;
/// use kahn_mapreduce::{Job, Reduced, Split, Values};
///
/// /// Keeps keys that occur at least twice.
/// fn twice(key: &char, values: Values<'_, char, ()>, out: &mut Reduced<'_, char, usize>) {
///     let count = values.count();
///     if *key != ' ' && count > 1 {
///         out.emit(count);
///     }
/// }
///
/// let mut network = Network::new();
/// let parts = Split::new("letters", 2).items(&mut network, "no news is good news".chars());
/// let job = Job::new("twice", |letter, out| out.emit(letter, ()), twice);
/// let merged = job.on(&mut network, parts).merge(&mut network, "merge");
/// let all = network.collect("all", merged);
/// network.run()?;
/// let expected = vec![('e', 2), ('n', 3), ('o', 3), ('s', 3), ('w', 2)];
/// assert_eq!(all.take().map(|batches| batches.concat()), Some(expected));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Reduced<'a, K, W> {
    key: &'a K,
    /// The result that came last: if it remains so, it gets the key itself and no clone.
    last: Option<W>,
    records: &'a mut Vec<(K, W)>,
}

impl<K: Clone, W> Reduced<'_, K, W> {
    /// Puts out a result for the key.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use kahn_mapreduce::{Job, Split};
    ///
    /// let mut network = Network::new();
    /// let parts = Split::new("numbers", 1).items(&mut network, 1..=4_u32);
    /// // Two results for each key, which both keep it.
    /// let job = Job::new("both", |n, out| out.emit(n % 2, n), |_key, values, out| {
    ///     let values: Vec<_> = values.collect();
    ///     out.emit(values.iter().min().copied());
    ///     out.emit(values.iter().max().copied());
    /// });
    /// let merged = job.on(&mut network, parts).merge(&mut network, "merge");
    /// let all = network.collect("all", merged);
    /// network.run()?;
    /// let expected = vec![(0, Some(2)), (0, Some(4)), (1, Some(1)), (1, Some(3))];
    /// assert_eq!(all.take().map(|batches| batches.concat()), Some(expected));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    #[inline]
    pub fn emit(&mut self, result: W) {
        if let Some(before) = self.last.replace(result) {
            self.records.push((self.key.clone(), before));
        }
    }
}

/// Makes of a closure for a group one for as many groups as make a batch.
pub(crate) fn by_group<'env, K, V, W, R, P>(reduce: R) -> ReduceGroups<'env, K, V, W>
where
    K: Eq + Clone,
    R: Fn(&K, Values<'_, K, V>, &mut Reduced<'_, K, W>) -> P + Send + Sync + 'env,
    P: ProcessResult + 'env,
{
    Arc::new(move |sorted, records| {
        while records.len() < RECORDS
            && let Some((key, first)) = sorted.pop_front()
        {
            let values = Values { key: &key, first: Some(first), rest: sorted };
            let mut reduced = Reduced { key: &key, last: None, records };
            if let Some(error) = reduce(&key, values, &mut reduced).into_error() {
                return Err(error);
            }
            let last = reduced.last;
            while next_of(&key, sorted).is_some() {}
            records.extend(last.map(|result| (key, result)));
        }
        Ok(())
    })
}

/// Collects the records of a round, sorts them, reduces; and so on until the streams end.
pub(crate) async fn reduce<K: Send, V: Send, W: Send>(
    sort: Sort<K, V>,
    reduce: ReduceGroups<'_, K, V, W>,
    limit: Option<usize>,
    sending: Sending,
    mut maps: Vec<Receiver<Batch<(K, V)>>>,
    mut out: Sender<Batch<(K, W)>>,
) -> Result<(), BoxError> {
    // Kept from round to round, for its memory; in between it is empty.
    let mut sorted = VecDeque::new();
    loop {
        let mut lists = Vec::new();
        let mut count = 0;
        let there_was = take_round(sending, &mut maps, |records| {
            count += records.len();
            if !records.is_empty() {
                lists.push(records);
            }
            within(limit, count, size_of::<(K, V)>())
        });
        if !there_was.await? {
            return Ok(());
        }
        // The beginning of an empty queue may be in the middle of its memory, but not after `clear`.
        sorted.clear();
        sorted.reserve_exact(count);
        // One after the other, so that each gives back its memory as soon as it is empty.
        for list in lists {
            sorted.extend(list);
        }
        mark("sorts", count);
        sort(sorted.make_contiguous());
        mark("reduces", count);
        loop {
            let mut results = Vec::with_capacity(sorted.len().min(RECORDS));
            reduce(&mut sorted, &mut results)?;
            let ends_round = sorted.is_empty();
            sending.send(&mut out, Batch { records: results, ends_round }).await;
            if ends_round {
                break;
            }
        }
    }
}

/// Marks in a trace of the run, if there is one, where a phase of so many records begins.
fn mark(phase: &'static str, records: usize) {
    WorkerCore::with_current(|worker| {
        if let Some(worker) = worker {
            worker.log_mark(phase, records as u64);
        }
    });
}

fn within(limit: Option<usize>, count: usize, size: usize) -> Result<(), String> {
    match limit {
        Some(limit) if count.saturating_mul(size) > limit => Err(format!(
            "{count} records of {size} bytes are more than the limit of {limit} bytes: use more \
             reducers, a combiner, or less input"
        )),
        _ => Ok(()),
    }
}
