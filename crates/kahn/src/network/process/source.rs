//! From an iterator to a stream.

use crate::network::making::Making;
use crate::{Channel, Network, Receiver, Sender};

/// Sends what an iterator gives; the code of [`Network::source`].
///
/// # Examples
///
/// ```
/// use kahn::{process, testing::run_process};
///
/// let numbers: Vec<u32> = run_process((), |((), out)| process::source(out, 1..=3));
/// assert_eq!(numbers, [1, 2, 3]);
/// ```
pub async fn source<I>(mut out: Sender<I::Item>, items: I)
where
    I: IntoIterator<Item: Send>,
{
    out.send_all(items).await;
}

impl<'env, M: Making> Network<'env, M> {
    /// Sends what an iterator gives, and ends with it.
    ///
    /// The iterator is made and run by the process, and asked for the next item as
    /// [`Sender::send_all`] does. An endless one ends when no process reads any more.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let squares = network.source("squares", (1_u64..).map(|n| n * n));
    /// let (out, first) = network.channel("first");
    /// network.process("look for 49", (squares, out), async |(mut squares, mut out)| {
    ///     for place in 1_u64.. {
    ///         if squares.recv().await == Some(49) {
    ///             return out.send(place).await;
    ///         }
    ///     }
    /// });
    /// let all = network.collect("all", first);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![7]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn source<I>(&mut self, name: impl Into<Channel<I::Item>>, items: I) -> Receiver<I::Item>
    where
        I: IntoIterator<IntoIter: Send, Item: Send + 'env> + Send + 'env,
    {
        self.stage(name, (), |((), out)| source(out, items))
    }
}
