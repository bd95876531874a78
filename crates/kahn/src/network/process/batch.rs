//! Vectors of messages: fewer and larger ones cost less to move.

use super::flat_map;
use crate::network::making::Making;
use crate::{Channel, Network, Receiver, Sender};
use std::convert::identity;
use std::mem;

/// Sends vectors of `size` messages, the last of which may be shorter; the code of
/// [`Network::batch`].
///
/// # Examples
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let pairs: Vec<Vec<u32>> = run_process(vec![1, 2, 3], |ports| process::batch(ports, 2));
/// assert_eq!(pairs, [vec![1, 2], vec![3]]);
/// ```
pub async fn batch<T: Send>((mut items, mut out): (Receiver<T>, Sender<Vec<T>>), size: usize) {
    let mut batch = Vec::new();
    while items.recv_batch(&mut batch, size).await > 0 {
        out.send(mem::take(&mut batch)).await;
    }
}

/// Sends the items of each message; the code of [`Network::unbatch`].
///
/// # Examples
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let numbers: Vec<u32> = run_process(vec![vec![1, 2], vec![3]], process::unbatch);
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
pub async fn unbatch<I>(ports: (Receiver<I>, Sender<I::Item>))
where
    I: IntoIterator<Item: Send> + Send,
{
    flat_map(ports, identity).await;
}

impl<'env, M: Making> Network<'env, M> {
    /// Sends vectors of `size` messages; the last may be shorter.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=5_u32);
    /// let pairs = network.batch("pairs", numbers, 2);
    /// let all = network.collect("all", pairs);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![vec![1, 2], vec![3, 4], vec![5]]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `size` is 0, or if `items` belongs to another network.
    pub fn batch<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<Vec<T>>>,
        items: Receiver<T>,
        size: usize,
    ) -> Receiver<Vec<T>> {
        let mut channel = name.into();
        let process = channel.writer();
        assert!(size > 0, "process `{}`: a batch has a message at least", process.name);
        self.stage(channel.written_by(process), items, move |ports| batch(ports, size))
    }

    /// Sends the items of each message, in order: the reverse of [`batch`](Self::batch).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let batches = network.source("batches", [vec![1, 2], vec![], vec![3_u32]]);
    /// let numbers = network.unbatch("numbers", batches);
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 2, 3]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `batches` belongs to another network.
    pub fn unbatch<I>(
        &mut self,
        name: impl Into<Channel<I::Item>>,
        batches: Receiver<I>,
    ) -> Receiver<I::Item>
    where
        I: IntoIterator<IntoIter: Send, Item: Send + 'env> + Send + 'env,
    {
        self.flat_map(name, batches, identity)
    }
}
