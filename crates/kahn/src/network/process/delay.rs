//! A stream that goes on as it is, or begins with other messages.

use crate::{Channel, Name, Network, Receiver, Sender};

/// Sends each message on; the code of [`Network::delay`].
///
/// What `stream.forward(sink)` does with the ends as a `Stream` and a `Sink`.
///
/// # Examples
///
/// ```
/// use kahn::{Network, process};
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..3_u32);
/// let (out, again) = network.channel("again");
/// network.process("forward", (numbers, out), process::forward);
/// let all = network.collect("all", again);
/// network.run()?;
/// assert_eq!(all.take(), Some(vec![0, 1, 2]));
/// # Ok::<(), kahn::RunError>(())
/// ```
pub async fn forward<T: Send>((mut items, mut out): (Receiver<T>, Sender<T>)) {
    while let Some(item) = items.recv().await {
        out.send(item).await;
    }
}

impl<'env> Network<'env> {
    /// Sends the messages of `first`, then those of the stream.
    ///
    /// The first ones are initial messages of the channel: they are there before anything runs. The
    /// process that follows is [`forward`].
    ///
    /// # Examples
    ///
    /// Each number with the one before it:
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [1, 4, 9_u32]);
    /// let mut copies = network.tee("copy", numbers, 2);
    /// let before = network.delay("before", copies.remove(1), [0]);
    /// let pairs = network.zip("pairs", before, copies.remove(0));
    /// let all = network.collect("all", pairs);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![(0, 1), (1, 4), (4, 9)]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn delay<T: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        first: impl IntoIterator<Item = T>,
    ) -> Receiver<T> {
        let name = name.into();
        let (out, delayed) = self.channel_with(Channel::named(name.clone()).initial(first));
        self.process(name, (items, out), forward);
        delayed
    }
}
