//! Two streams into one of pairs, and one into several.

use crate::network::making::Making;
use crate::{Channel, Network, Receiver, Sender};

/// Sends pairs of the messages of two streams; the code of [`Network::zip`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = ((Receiver<char>, Receiver<u32>), Sender<(char, u32)>);
///
/// let pairs: Vec<(char, u32)> = run_process((vec!['a', 'b'], vec![1, 2, 3]), |(inputs, out): Ports| {
///     process::zip((inputs.0, inputs.1, out))
/// });
/// assert_eq!(pairs, [('a', 1), ('b', 2)]);
/// ```
pub async fn zip<A: Send, B: Send>(
    (mut left, mut right, mut out): (Receiver<A>, Receiver<B>, Sender<(A, B)>),
) {
    while let Some(a) = left.recv().await {
        let Some(b) = right.recv().await else { break };
        out.send((a, b)).await;
    }
}

/// Sends every message to all; the code of [`Network::tee`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// type Ports = (Receiver<u32>, [Sender<u32>; 2]);
///
/// let [a, b]: [Vec<u32>; 2] =
///     run_process(vec![1, 2], |(items, outs): Ports| process::tee((items, outs.into())));
/// assert_eq!((a, b), (vec![1, 2], vec![1, 2]));
/// ```
pub async fn tee<T: Send + Clone>((mut items, mut outs): (Receiver<T>, Vec<Sender<T>>)) {
    while let Some(item) = items.recv().await {
        let Some((last, others)) = outs.split_last_mut() else { continue };
        for out in others {
            out.send(item.clone()).await;
        }
        last.send(item).await;
    }
}

impl<'env, M: Making> Network<'env, M> {
    /// Pairs the messages of two streams, and ends with the shorter.
    ///
    /// It reads `left` first, so one message of `left` is lost if `right` is the shorter.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let letters = network.source("letters", "abc".chars());
    /// let numbers = network.source("numbers", 1_u64..);
    /// let pairs = network.zip("pairs", letters, numbers);
    /// let all = network.collect("all", pairs);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![('a', 1), ('b', 2), ('c', 3)]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if one of the two belongs to another network.
    pub fn zip<A: Send + 'env, B: Send + 'env>(
        &mut self,
        name: impl Into<Channel<(A, B)>>,
        left: Receiver<A>,
        right: Receiver<B>,
    ) -> Receiver<(A, B)> {
        self.stage(name, (left, right), |((left, right), out)| zip((left, right, out)))
    }

    /// Sends every message to all of `count` channels, called `name 0`, `name 1` and so on.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=4_u32);
    /// let mut copies = network.tee("copy", numbers, 2);
    /// let largest = network.fold("largest", copies.remove(1), 0, u32::max);
    /// let sum = network.fold("sum", copies.remove(0), 0, |sum, n| sum + n);
    /// network.run()?;
    /// assert_eq!((sum.take(), largest.take()), (Some(10), Some(4)));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0, or if `items` belongs to another network.
    #[doc(alias = "broadcast")]
    #[doc(alias = "fan out")]
    pub fn tee<T: Send + Clone + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
    ) -> Vec<Receiver<T>> {
        self.fan(name, items, count, tee)
    }
}
