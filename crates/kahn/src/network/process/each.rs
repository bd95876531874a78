//! One message after the other: map, filter, flat map.

use crate::network::making::Making;
use crate::{Channel, Network, Receiver, Sender};

/// Sends what `f` makes of each message; the code of [`Network::map`].
///
/// # Examples
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let squares: Vec<u32> = run_process(vec![1, 2, 3], |ports| process::map(ports, |n: u32| n * n));
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub async fn map<T: Send, U: Send>(
    (mut items, mut out): (Receiver<T>, Sender<U>),
    mut f: impl FnMut(T) -> U,
) {
    while let Some(item) = items.recv().await {
        out.send(f(item)).await;
    }
}

/// Sends the messages for which `keep` says yes; the code of [`Network::filter`].
///
/// # Examples
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let even: Vec<u32> = run_process(vec![1, 2, 3, 4], |ports| process::filter(ports, |n| n % 2 == 0));
/// assert_eq!(even, [2, 4]);
/// ```
pub async fn filter<T: Send>(
    (mut items, mut out): (Receiver<T>, Sender<T>),
    mut keep: impl FnMut(&T) -> bool,
) {
    while let Some(item) = items.recv().await {
        if keep(&item) {
            out.send(item).await;
        }
    }
}

/// Sends all that `f` makes of each message; the code of [`Network::flat_map`].
///
/// # Examples
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let words: Vec<&str> =
///     run_process(vec!["to be", "or not"], |ports| process::flat_map(ports, str::split_whitespace));
/// assert_eq!(words, ["to", "be", "or", "not"]);
/// ```
pub async fn flat_map<T: Send, I>(
    (mut items, mut out): (Receiver<T>, Sender<I::Item>),
    mut f: impl FnMut(T) -> I,
) where
    I: IntoIterator<Item: Send>,
{
    while let Some(item) = items.recv().await {
        out.send_all(f(item)).await;
    }
}

impl<'env, M: Making> Network<'env, M> {
    /// Sends what `f` makes of each message.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=3_u32);
    /// let mut sum = 0;
    /// let sums = network.map("sums so far", numbers, move |n| {
    ///     sum += n;
    ///     sum
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 3, 6]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "stage")]
    pub fn map<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Channel<U>>,
        items: Receiver<T>,
        f: impl FnMut(T) -> U + Send + 'env,
    ) -> Receiver<U> {
        self.stage(name, items, |ports| map(ports, f))
    }

    /// Sends the messages for which `keep` says yes.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=6_u32);
    /// let even = network.filter("even", numbers, |n| n % 2 == 0);
    /// let all = network.collect("all", even);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![2, 4, 6]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn filter<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        keep: impl FnMut(&T) -> bool + Send + 'env,
    ) -> Receiver<T> {
        self.stage(name, items, |ports| filter(ports, keep))
    }

    /// Sends all that `f` makes of each message, in order.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["to be", "or not"]);
    /// let words = network.flat_map("words", lines, str::split_whitespace);
    /// let all = network.collect("all", words);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["to", "be", "or", "not"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn flat_map<T: Send + 'env, I>(
        &mut self,
        name: impl Into<Channel<I::Item>>,
        items: Receiver<T>,
        f: impl FnMut(T) -> I + Send + 'env,
    ) -> Receiver<I::Item>
    where
        I: IntoIterator<IntoIter: Send, Item: Send + 'env> + 'env,
    {
        self.stage(name, items, |ports| flat_map(ports, f))
    }
}
