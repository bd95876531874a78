//! What needs a stream as a whole: sorting, grouping, the largest, a join.

use super::Counted;
use crate::network::making::Making;
use crate::{BoxError, Channel, Network, Receiver};
use std::collections::BTreeMap;

impl<'env, M: Making> Network<'env, M> {
    /// Sends all messages when the last has come, the least first; of equal ones, the first that came.
    ///
    /// It keeps `most` messages at most; the process fails if there are more.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [3, 1, 2_u32]);
    /// let sorted = network.sort("sorted", numbers, 1000);
    /// let all = network.collect("all", sorted);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 2, 3]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn sort<T: Ord + Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        most: usize,
    ) -> Receiver<T> {
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            let mut all = Vec::new();
            while let Some(item) = items.recv().await {
                if all.len() == most {
                    return Err(items.blame(format!("there are more than {most} to sort").into()));
                }
                all.push(item);
            }
            all.sort();
            out.send_batch(&mut all).await;
            Ok::<(), BoxError>(())
        })
    }

    /// Sends each key, in increasing order, with its messages in the order in which they came, when the
    /// last has come.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let words = network.source("words", ["be", "or", "not", "to"]);
    /// let groups = network.group_by_key("by length", words, |word| word.len());
    /// let all = network.collect("all", groups);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![(2, vec!["be", "or", "to"]), (3, vec!["not"])]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "aggregate")]
    pub fn group_by_key<T: Send + 'env, K: Ord + Send + 'env>(
        &mut self,
        name: impl Into<Channel<(K, Vec<T>)>>,
        items: Receiver<T>,
        mut key: impl FnMut(&T) -> K + Send + 'env,
    ) -> Receiver<(K, Vec<T>)> {
        self.try_group_by_key(name, items, move |item| Ok(key(item)))
    }

    /// Does as [`group_by_key`](Self::group_by_key), with a function that may fail.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["7 a", "x b"]);
    /// let groups = network.try_group_by_key("by number", lines, |line| {
    ///     Ok(line.split(' ').next().ok_or("an empty line")?.parse::<u32>()?)
    /// });
    /// network.for_each("ignore", groups, |_| {});
    /// let error = network.run().expect_err("`x` is no number");
    /// assert!(error.to_string().contains("`by number` failed at message 2 of `lines`: invalid"));
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_group_by_key<T: Send + 'env, K: Ord + Send + 'env>(
        &mut self,
        name: impl Into<Channel<(K, Vec<T>)>>,
        items: Receiver<T>,
        mut key: impl FnMut(&T) -> Result<K, BoxError> + Send + 'env,
    ) -> Receiver<(K, Vec<T>)> {
        self.stage(name, items, move |(items, mut out)| async move {
            let groups = grouped(items, &mut key).await?;
            out.send_all(groups).await;
            Ok::<(), BoxError>(())
        })
    }

    /// Sends the `count` largest messages when the last has come, the largest first; of equal ones, the
    /// first that came.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [3, 1, 4, 1, 5_u32]);
    /// let largest = network.top_n("largest", numbers, 2);
    /// let all = network.collect("all", largest);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![5, 4]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "top_k")]
    pub fn top_n<T: Ord + Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
    ) -> Receiver<T> {
        self.stage(name, items, move |(mut items, mut out)| async move {
            let mut largest: Vec<T> = Vec::new();
            while let Some(item) = items.recv().await {
                let place = largest.partition_point(|other| *other >= item);
                if place < count {
                    largest.insert(place, item);
                    largest.truncate(count);
                }
            }
            out.send_batch(&mut largest).await;
        })
    }

    /// Sends each message of `left` with each of `right` that has the same key, in the order of `left` and
    /// then of `right`.
    ///
    /// It reads `right` to its end first and keeps it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let visits = network.source("visits", [(2, "mon"), (1, "tue"), (2, "wed")]);
    /// let names = network.source("names", [(1, "ann"), (2, "bob")]);
    /// let joined = network.join_by_key("joined", visits, names, |visit| visit.0, |name| name.0);
    /// let lines = network.map("lines", joined, |(visit, name)| format!("{} {}", name.1, visit.1));
    /// let all = network.collect("all", lines);
    /// network.run()?;
    /// assert_eq!(all.take().unwrap_or_default(), ["bob mon", "ann tue", "bob wed"]);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the two belongs to another network.
    pub fn join_by_key<A, B, K>(
        &mut self,
        name: impl Into<Channel<(A, B)>>,
        left: Receiver<A>,
        right: Receiver<B>,
        mut left_key: impl FnMut(&A) -> K + Send + 'env,
        mut right_key: impl FnMut(&B) -> K + Send + 'env,
    ) -> Receiver<(A, B)>
    where
        A: Clone + Send + 'env,
        B: Clone + Send + 'env,
        K: Ord + Send + 'env,
    {
        let left_key = move |item: &A| Ok(left_key(item));
        self.try_join_by_key(name, left, right, left_key, move |item| Ok(right_key(item)))
    }

    /// Does as [`join_by_key`](Self::join_by_key), with functions that may fail.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let left = network.source("left", ["1", "2"]);
    /// let right = network.source("right", ["2", "two"]);
    /// let key = |text: &&str| Ok(text.parse::<u32>()?);
    /// let both = network.try_join_by_key("join", left, right, key, key);
    /// network.for_each("ignore", both, |_| {});
    /// let error = network.run().expect_err("`two` is no number");
    /// assert!(error.to_string().contains("`join` failed at message 2 of `right`: invalid digit"));
    /// ```
    ///
    /// # Panics
    /// Panics if one of the two belongs to another network.
    pub fn try_join_by_key<A, B, K>(
        &mut self,
        name: impl Into<Channel<(A, B)>>,
        left: Receiver<A>,
        right: Receiver<B>,
        mut left_key: impl FnMut(&A) -> Result<K, BoxError> + Send + 'env,
        mut right_key: impl FnMut(&B) -> Result<K, BoxError> + Send + 'env,
    ) -> Receiver<(A, B)>
    where
        A: Clone + Send + 'env,
        B: Clone + Send + 'env,
        K: Ord + Send + 'env,
    {
        self.stage(name, (left, right), move |((left, right), mut out)| async move {
            let groups = grouped(right, &mut right_key).await?;
            let mut left = Counted::new(left);
            while let Some(a) = left.recv().await {
                let key = left_key(&a).map_err(|error| left.blame(error))?;
                let same = groups.get(&key).into_iter().flatten();
                let mut pairs: Vec<_> = same.map(|b| (a.clone(), b.clone())).collect();
                out.send_batch(&mut pairs).await;
            }
            Ok::<(), BoxError>(())
        })
    }
}

/// Reads a stream to its end, and puts messages of a key together.
async fn grouped<T: Send, K: Ord>(
    items: Receiver<T>,
    key: &mut impl FnMut(&T) -> Result<K, BoxError>,
) -> Result<BTreeMap<K, Vec<T>>, BoxError> {
    let mut items = Counted::new(items);
    let mut groups = BTreeMap::<K, Vec<T>>::new();
    while let Some(item) = items.recv().await {
        let key = key(&item).map_err(|error| items.blame(error))?;
        groups.entry(key).or_default().push(item);
    }
    Ok(groups)
}
