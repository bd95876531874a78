//! A stream that begins with other messages.

use super::map;
use crate::{Channel, Name, Network, Receiver};
use std::convert::identity;

impl<'env> Network<'env> {
    /// Sends the messages of `first`, then those of the stream.
    ///
    /// The first ones are initial messages of the channel: they are there before anything runs. The
    /// process that follows is [`map`] with nothing to do.
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
        self.process(name, (items, out), |ports| map(ports, identity));
        delayed
    }
}
