//! The same work in several processes, in order.

use crate::network::making::Making;
use crate::{Name, Network, Receiver};

impl<'env, M: Making> Network<'env, M> {
    /// Maps in `count` processes at once, and keeps the order.
    ///
    /// A [scatter](Self::scatter) called `name scatter`, `count` maps called `name 0` and so on,
    /// each with a clone of `f`, and a [gather](Self::gather) called `name gather`. `f` has no state
    /// that changes, so the result does not depend on `count`.
    ///
    /// Messages are dealt out in turn: if one takes very long, the others wait behind it once their
    /// channels are full. Larger capacities even that out.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 0..100_u64);
    /// let squares = network.parallel_map("square", numbers, 4, |n| n * n);
    /// let all = network.collect("all", squares);
    /// network.run()?;
    /// assert_eq!(all.take(), Some((0..100).map(|n| n * n).collect()));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `count` is 0, or if `items` belongs to another network.
    pub fn parallel_map<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        count: usize,
        f: impl Fn(T) -> U + Clone + Send + 'env,
    ) -> Receiver<U> {
        let name = name.into();
        let parts = self.scatter(format!("{name} scatter"), items, count);
        let mapped = parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| self.map(format!("{name} {index}"), part, f.clone()))
            .collect();
        self.gather(format!("{name} gather"), mapped)
    }
}
