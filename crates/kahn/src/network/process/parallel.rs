//! The same work in several processes, in order.

use crate::network::making::Making;
use crate::{BoxError, Name, Network, Receiver};

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
        self.in_parts(&name.into(), items, count, |network, name, part| {
            network.map(name, part, f.clone())
        })
    }

    /// Maps in `count` processes at once as [`parallel_map`](Self::parallel_map) does, each with memory that is
    /// used again: **it must not influence results**.
    ///
    /// Which messages one memory meets depends on `count`. So a buffer that is cleared will do; a compressor that
    /// is reset will not, if its output depends on what it has seen before: for 2, 3 and 8 processes the results
    /// differ. [`Schedules::verify_parts`](crate::testing::Schedules::verify_parts) finds such a state.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["to be", "or not", "to be"]);
    /// let lengths = network.parallel_map_with("lengths", lines, 2, String::new, |buffer, line| {
    ///     buffer.clear();
    ///     buffer.extend(line.chars().filter(|c| c.is_alphabetic()));
    ///     buffer.len()
    /// });
    /// let all = network.collect("all", lengths);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![4, 5, 4]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`parallel_map`](Self::parallel_map).
    pub fn parallel_map_with<T: Send + 'env, U: Send + 'env, S: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        count: usize,
        make: impl Fn() -> S + Clone + Send + 'env,
        f: impl Fn(&mut S, T) -> U + Clone + Send + 'env,
    ) -> Receiver<U> {
        self.in_parts(&name.into(), items, count, |network, name, part| {
            let (make, f) = (make.clone(), f.clone());
            let mut memory = None;
            network.map(name, part, move |item| f(memory.get_or_insert_with(&make), item))
        })
    }

    /// Maps in `count` processes at once as [`parallel_map`](Self::parallel_map) does; a process fails when `f`
    /// does.
    ///
    /// The failure tells the message of the process's own channel: of those of `count` processes, message *k* of
    /// process *i* is message (*k* - 1) `count` + *i* + 1 of all. What other processes have made of messages
    /// before it is sent.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "three"]);
    /// let numbers = network.try_parallel_map("parse", texts, 2, |text| Ok(text.parse::<u32>()?));
    /// network.for_each("ignore", numbers, |_| {});
    /// let error = network.run().expect_err("`three` is no number");
    /// assert!(error.to_string().contains("`parse 0` failed at message 2 of `parse scatter 0`"), "{error}");
    /// ```
    ///
    /// # Panics
    /// As for [`parallel_map`](Self::parallel_map).
    pub fn try_parallel_map<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        count: usize,
        f: impl Fn(T) -> Result<U, BoxError> + Clone + Send + 'env,
    ) -> Receiver<U> {
        self.try_parallel_map_with(name, items, count, || (), move |(), item| f(item))
    }

    /// Maps in `count` processes at once as [`parallel_map_with`](Self::parallel_map_with) does, with memory that
    /// **must not influence results**; a process fails when `f` does, as in
    /// [`try_parallel_map`](Self::try_parallel_map).
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", [&b"to be"[..], b"or \xff"]);
    /// let lengths = network.try_parallel_map_with("lengths", texts, 2, String::new, |buffer, text| {
    ///     buffer.clear();
    ///     buffer.push_str(std::str::from_utf8(text)?);
    ///     Ok(buffer.chars().count())
    /// });
    /// network.for_each("ignore", lengths, |_| {});
    /// let error = network.run().expect_err("the second text is no UTF-8");
    /// assert!(error.downcast_ref::<std::str::Utf8Error>().is_some());
    /// ```
    ///
    /// # Panics
    /// As for [`parallel_map`](Self::parallel_map).
    pub fn try_parallel_map_with<T: Send + 'env, U: Send + 'env, S: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        count: usize,
        make: impl Fn() -> S + Clone + Send + 'env,
        f: impl Fn(&mut S, T) -> Result<U, BoxError> + Clone + Send + 'env,
    ) -> Receiver<U> {
        self.in_parts(&name.into(), items, count, |network, name, part| {
            let (make, f) = (make.clone(), f.clone());
            let mut memory = None;
            network.try_map(name, part, move |item| f(memory.get_or_insert_with(&make), item))
        })
    }

    /// Deals messages out in turn to `count` processes, which `one` makes with the name it is given, and puts
    /// their results in order again.
    fn in_parts<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: &Name,
        items: Receiver<T>,
        count: usize,
        mut one: impl FnMut(&mut Self, String, Receiver<T>) -> Receiver<U>,
    ) -> Receiver<U> {
        let parts = self.scatter(format!("{name} scatter"), items, count);
        let numbered = parts.into_iter().enumerate();
        let mapped =
            numbered.map(|(index, part)| one(self, format!("{name} {index}"), part)).collect();
        self.gather(format!("{name} gather"), mapped)
    }
}
