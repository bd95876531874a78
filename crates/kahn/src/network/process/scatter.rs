//! One stream to several processes, and back: in turn, or by key.

use super::Counted;
use crate::network::making::Making;
use crate::{BoxError, Channel, Digest, Digester, Network, Receiver, Sender};
use std::collections::VecDeque;

/// Sends the messages to each in turn; the code of [`Network::scatter`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = (Receiver<u32>, [Sender<u32>; 2]);
///
/// let [a, b]: [Vec<u32>; 2] =
///     run_process(vec![1, 2, 3, 4, 5], |(items, outs): Ports| process::scatter((items, outs.into())));
/// assert_eq!((a, b), (vec![1, 3, 5], vec![2, 4]));
/// ```
///
/// # Panics
/// Panics, so that the process fails, if a message comes and there is nowhere to send it.
pub async fn scatter<T: Send>((mut items, mut outs): (Receiver<T>, Vec<Sender<T>>)) {
    let mut turn = 0;
    while let Some(item) = items.recv().await {
        outs[turn].send(item).await;
        turn = (turn + 1) % outs.len();
    }
}

/// Sends messages of equal keys to the same output; the code of [`Network::scatter_by_key`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = (Receiver<&'static str>, [Sender<&'static str>; 2]);
///
/// let [a, b]: [Vec<&str>; 2] = run_process(vec!["x 1", "y 1", "x 2"], |(items, outs): Ports| {
///     process::scatter_by_key((items, outs.into()), |item| item.as_bytes()[0])
/// });
/// let with_x = if a.contains(&"x 1") { a } else { b };
/// assert!(with_x.ends_with(&["x 2"]));
/// ```
///
/// # Panics
/// Panics, so that the process fails, if a message comes and there is nowhere to send it.
pub async fn scatter_by_key<T: Send, K: Digest>(
    (mut items, mut outs): (Receiver<T>, Vec<Sender<T>>),
    mut key: impl FnMut(&T) -> K,
) {
    while let Some(item) = items.recv().await {
        let place = place(&key(&item), outs.len());
        outs[place].send(item).await;
    }
}

/// Where messages of a key go.
fn place(key: &impl Digest, places: usize) -> usize {
    let digest = Digester::of(key);
    // The low bits of FNV-1a depend on few bits of the key; the high ones on all.
    let mixed = digest ^ (digest >> 32);
    usize::try_from(mixed % places as u64).unwrap_or(0)
}

/// Takes a message of each in turn, leaving out those that have ended; the code of
/// [`Network::gather`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = ([Receiver<u32>; 2], Sender<u32>);
///
/// let numbers: Vec<u32> = run_process([vec![1, 3, 5], vec![2, 4]], |(inputs, out): Ports| {
///     process::gather((inputs.into(), out))
/// });
/// assert_eq!(numbers, [1, 2, 3, 4, 5]);
/// ```
pub async fn gather<T: Send>((inputs, mut out): (Vec<Receiver<T>>, Sender<T>)) {
    let mut inputs = VecDeque::from(inputs);
    while let Some(mut input) = inputs.pop_front() {
        if let Some(item) = input.recv().await {
            out.send(item).await;
            inputs.push_back(input);
        }
    }
}

impl<'env, M: Making> Network<'env, M> {
    /// Deals the messages out to `count` channels in turn, called `name 0`, `name 1` and so on.
    ///
    /// Message *k*, counted from 0, goes to channel *k* mod `count`: the same one in every run.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..7_u32);
    /// let parts = network.scatter("part", numbers, 3);
    /// let lists: Vec<_> = (0..)
    ///     .zip(parts)
    ///     .map(|(i, part)| network.collect(format!("list {i}"), part))
    ///     .collect();
    /// network.run()?;
    /// assert_eq!(lists[0].take(), Some(vec![0, 3, 6]));
    /// assert_eq!(lists[2].take(), Some(vec![2, 5]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0, or if `items` belongs to another network.
    #[doc(alias = "round robin")]
    #[doc(alias = "fan out")]
    pub fn scatter<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
    ) -> Vec<Receiver<T>> {
        self.fan(name, items, count, scatter)
    }

    /// Deals the messages out to `count` channels so that those of equal keys go to the same one,
    /// in order. The channels are called `name 0`, `name 1` and so on.
    ///
    /// The channel is chosen by the key's [`Digest`] *d*, a 64-bit FNV-1a hash: it is (*d* xor
    /// *d* ≫ 32) mod `count`, the same in every run. For keys that are borrowed
    /// from the message, return [`Digester::of`] them.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::{Digester, Network};
    ///
    /// let mut network = Network::new();
    /// let words = network.source("words", ["to", "be", "or", "not", "to", "be"]);
    /// let parts = network.scatter_by_key("by word", words, 2, |word| Digester::of(*word));
    /// let lists: Vec<_> = (0..)
    ///     .zip(parts)
    ///     .map(|(i, part)| network.collect(format!("list {i}"), part))
    ///     .collect();
    /// network.run()?;
    /// for list in lists.iter().filter_map(|list| list.take()) {
    ///     assert!([0, 2].contains(&list.iter().filter(|word| **word == "to").count()));
    /// }
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0, or if `items` belongs to another network.
    #[doc(alias = "partition")]
    #[doc(alias = "shuffle")]
    pub fn scatter_by_key<T: Send + 'env, K: Digest + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
        key: impl FnMut(&T) -> K + Send + 'env,
    ) -> Vec<Receiver<T>> {
        self.fan(name, items, count, |ports| scatter_by_key(ports, key))
    }

    /// Deals the messages out so that equal keys stay together, and fails when `key` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["7 a", "8 b", "c"]);
    /// let parts = network.try_scatter_by_key("part", lines, 2, |line| {
    ///     let (key, _) = line.split_once(' ').ok_or("a line without a key")?;
    ///     Ok(key.parse::<u32>()?)
    /// });
    /// let all = network.gather("all", parts);
    /// network.for_each("ignore", all, |_| {});
    /// let error = network.run().expect_err("the third has no key");
    /// assert!(error.to_string().contains("failed at message 3 of `lines`: a line without a key"));
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0, or if `items` belongs to another network.
    pub fn try_scatter_by_key<T: Send + 'env, K: Digest + Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
        mut key: impl FnMut(&T) -> Result<K, BoxError> + Send + 'env,
    ) -> Vec<Receiver<T>> {
        self.fan(name, items, count, |(items, mut outs)| async move {
            let mut items = Counted::new(items);
            while let Some(item) = items.recv().await {
                let key = key(&item).map_err(|error| items.blame(error))?;
                let place = place(&key, outs.len());
                outs[place].send(item).await;
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Takes a message of each input in turn, until all have ended. An input that has ended is left
    /// out.
    ///
    /// After a [`scatter`](Self::scatter), and processes that send one message for each they
    /// receive, it restores the order.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let letters = network.source("letters", "abc".chars());
    /// let digits = network.source("digits", "1".chars());
    /// let both = network.gather("both", vec![letters, digits]);
    /// let text = network.fold("text", both, String::new(), |text, letter| text + &letter.to_string());
    /// network.run()?;
    /// assert_eq!(text.take().as_deref(), Some("a1bc"));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the inputs belongs to another network.
    #[doc(alias = "fan in")]
    #[doc(alias = "round robin")]
    pub fn gather<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        inputs: Vec<Receiver<T>>,
    ) -> Receiver<T> {
        self.stage(name, inputs, gather)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn the_place_of_a_key_never_changes() {
        let places: Vec<usize> =
            ["the", "quick", "brown", "fox"].iter().map(|word| place(word, 1000)).collect();
        // Computed apart from this code, for a length of eight bytes and then the text.
        assert_eq!(places, [895, 816, 308, 349]);
        assert_eq!(place(&0_u64, 1), 0);
    }

    #[test]
    fn keys_spread_evenly() {
        for places in [2, 3, 8, 64] {
            let mut counts = vec![0_u32; places];
            (0..6400_u64).for_each(|key| counts[place(&key, places)] += 1);
            let fair = 6400 / u32::try_from(places).unwrap();
            assert!(
                counts.iter().all(|&count| count > fair / 2 && count < fair * 2),
                "{places} places: {counts:?}"
            );
        }
    }
}
