//! Several sorted streams into one.
//!
//! The first message that every input has not yet given stands in a heap; the least is sent, and
//! the input it came from is read next. It is sent *before* that input is read, so a merge works in
//! a ring as well.

use super::Counted;
use crate::network::making::Making;
use crate::{BoxError, Channel, Network, Receiver, Sender};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::convert::Infallible;

/// The next message of an input. The least key comes first; of equal ones, the first input.
struct Head<K, R> {
    key: K,
    input: usize,
    rest: R,
}

impl<K: Ord, R> Ord for Head<K, R> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(self.input.cmp(&other.input))
    }
}

impl<K: Ord, R> PartialOrd for Head<K, R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, R> PartialEq for Head<K, R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<K: Ord, R> Eq for Head<K, R> {}

/// Merges by what `split` says is the key of a message that came from an input; `join` undoes it.
async fn merge<T: Send, K: Ord, R, E>(
    (inputs, mut out): (Vec<Receiver<T>>, Sender<T>),
    mut split: impl FnMut(T, &Counted<T>) -> Result<(K, R), E>,
    join: impl Fn(K, R) -> T,
) -> Result<(), E> {
    let mut inputs: Vec<_> = inputs.into_iter().map(Counted::new).collect();
    let mut head = |item, input, from: &_| {
        let (key, rest) = split(item, from)?;
        Ok(Reverse(Head { key, input, rest }))
    };
    let mut heads = BinaryHeap::with_capacity(inputs.len());
    for (input, from) in inputs.iter_mut().enumerate() {
        if let Some(item) = from.recv().await {
            heads.push(head(item, input, from)?);
        }
    }
    while let Some(Reverse(Head { key, input, rest })) = heads.pop() {
        out.send(join(key, rest)).await;
        let from = &mut inputs[input];
        if let Some(item) = from.recv().await {
            heads.push(head(item, input, from)?);
        }
    }
    Ok(())
}

/// Merges sorted streams into one; the code of [`Network::merge_sorted`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = ([Receiver<u32>; 2], Sender<u32>);
///
/// let sorted: Vec<u32> = run_process([vec![1, 4], vec![2, 3, 5]], |(inputs, out): Ports| {
///     process::merge_sorted((inputs.into(), out))
/// });
/// assert_eq!(sorted, [1, 2, 3, 4, 5]);
/// ```
pub async fn merge_sorted<T: Send + Ord>(ports: (Vec<Receiver<T>>, Sender<T>)) {
    let Ok(()) = merge(ports, |item, _| Ok::<_, Infallible>((item, ())), |item, ()| item).await;
}

/// Merges streams that are sorted by a key into one; the code of
/// [`Network::merge_sorted_by_key`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = ([Receiver<&'static str>; 2], Sender<&'static str>);
///
/// let sorted: Vec<&str> = run_process([vec!["a", "ccc"], vec!["bb"]], |(inputs, out): Ports| {
///     process::merge_sorted_by_key((inputs.into(), out), |text| text.len())
/// });
/// assert_eq!(sorted, ["a", "bb", "ccc"]);
/// ```
pub async fn merge_sorted_by_key<T: Send, K: Ord>(
    ports: (Vec<Receiver<T>>, Sender<T>),
    mut key: impl FnMut(&T) -> K,
) {
    let split = |item, _: &_| Ok::<_, Infallible>((key(&item), item));
    let Ok(()) = merge(ports, split, |_, item| item).await;
}

impl<'env, M: Making> Network<'env, M> {
    /// Merges sorted streams into one that is sorted. Of equal messages, those of the input that
    /// comes first in `inputs` come first.
    ///
    /// If an input is not sorted, the result is not either, but still the same in every run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let twos = network.source("twos", (0..10_u32).step_by(2));
    /// let threes = network.source("threes", (0..10_u32).step_by(3));
    /// let both = network.merge_sorted("both", vec![twos, threes]);
    /// let all = network.collect("all", both);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![0, 0, 2, 3, 4, 6, 6, 8, 9]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the inputs belongs to another network.
    pub fn merge_sorted<T: Send + Ord + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        inputs: Vec<Receiver<T>>,
    ) -> Receiver<T> {
        self.stage(name, inputs, merge_sorted)
    }

    /// Merges streams that are sorted by a key into one that is. Of messages with equal keys, those
    /// of the input that comes first in `inputs` come first.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let first = network.source("first", [(9, "a"), (5, "b")]);
    /// let second = network.source("second", [(9, "c"), (7, "d")]);
    /// let inputs = vec![first, second];
    /// // The largest first.
    /// let both = network.merge_sorted_by_key("both", inputs, |entry| std::cmp::Reverse(entry.0));
    /// let all = network.collect("all", both);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![(9, "a"), (9, "c"), (7, "d"), (5, "b")]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the inputs belongs to another network.
    pub fn merge_sorted_by_key<T: Send + 'env, K: Ord + Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        inputs: Vec<Receiver<T>>,
        key: impl FnMut(&T) -> K + Send + 'env,
    ) -> Receiver<T> {
        self.stage(name, inputs, |ports| merge_sorted_by_key(ports, key))
    }

    /// Merges streams that are sorted by a key, and fails when `key` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let first = network.source("first", ["1 a", "4 b"]);
    /// let second = network.source("second", ["2 c", "x d"]);
    /// let inputs = vec![first, second];
    /// let both = network.try_merge_sorted_by_key("both", inputs, |line| Ok(line[..1].parse::<u32>()?));
    /// network.for_each("ignore", both, |_| {});
    /// let error = network.run().expect_err("`x` is no number");
    /// assert!(error.to_string().contains("process `both` failed at message 2 of `second`: invalid"));
    /// ```
    ///
    /// # Panics
    /// Panics if one of the inputs belongs to another network.
    pub fn try_merge_sorted_by_key<T: Send + 'env, K: Ord + Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        inputs: Vec<Receiver<T>>,
        mut key: impl FnMut(&T) -> Result<K, BoxError> + Send + 'env,
    ) -> Receiver<T> {
        self.stage(name, inputs, |ports| {
            let split = move |item, from: &Counted<T>| match key(&item) {
                Ok(key) => Ok((key, item)),
                Err(error) => Err(from.blame(error)),
            };
            merge(ports, split, |_, item| item)
        })
    }
}
