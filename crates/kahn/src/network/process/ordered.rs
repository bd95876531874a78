//! One process that applies its function to several messages at once, in order.

use crate::network::FarmPlan;
use crate::network::making::Making;
use crate::{BoxError, Name, Network, Receiver};

impl<'env, M: Making> Network<'env, M> {
    /// Maps up to `n` messages at once, by whichever worker is free, and keeps the order. `f` must be
    /// free of effects: it may run for messages behind one that fails.
    ///
    /// One process. At most `window` messages are *in flight*: taken in, and their results not yet
    /// taken out of this process. Both are numbers of the program, never of the cores: take `n` as large as
    /// the machine may be, and a `window` of several times `n` if some messages take much longer than others,
    /// for a slow one holds up at most `window - 1` behind it. In a [`parallel_map`](Self::parallel_map), which
    /// deals messages out in turn, it holds up each `n`-th message behind it, and others once channels are full.
    ///
    /// If `f` panics, the process fails with that after the results before it. If the readers leave or the
    /// run is stopped, no worker begins another message.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=100_u64);
    /// // How long one takes is uneven: that of a slow one holds no other up.
    /// let sums = network.ordered_map("sums", numbers, 8, 64, |n| (1..=n * n).sum::<u64>());
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take().map(|all| all[..3].to_vec()), Some(vec![1, 10, 45]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `n` or `window` is 0, or if `items` belongs to another network.
    pub fn ordered_map<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        n: usize,
        window: usize,
        f: impl Fn(T) -> U + Send + Sync + 'env,
    ) -> Receiver<U> {
        self.ordered_map_with(name, items, n, window, || (), move |(), item| f(item))
    }

    /// Maps up to `n` messages at once as [`ordered_map`](Self::ordered_map) does; the first error is the
    /// failure of the process. `f` must be free of effects: it may run for messages behind one that fails.
    ///
    /// The results of the messages before the one that failed are sent, and none behind it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "three", "4"]);
    /// let numbers = network.try_ordered_map("parse", texts, 4, 16, |text| Ok(text.parse::<u32>()?));
    /// let (out, sums) = network.channel("sums");
    /// network.process("sums", (numbers, out), async |(mut numbers, mut out)| {
    ///     let mut sum = 0;
    ///     while let Some(number) = numbers.recv().await {
    ///         sum += number;
    ///         out.send(sum).await;
    ///     }
    /// });
    /// let all = network.collect("all", sums);
    /// let error = network.run().expect_err("`three` is no number");
    /// assert!(error.to_string().contains("message 3 of `texts`: invalid digit"), "{error}");
    /// # drop(all);
    /// ```
    ///
    /// # Panics
    /// As for [`ordered_map`](Self::ordered_map).
    pub fn try_ordered_map<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        n: usize,
        window: usize,
        f: impl Fn(T) -> Result<U, BoxError> + Send + Sync + 'env,
    ) -> Receiver<U> {
        self.try_ordered_map_with(name, items, n, window, || (), move |(), item| f(item))
    }

    /// Maps up to `n` messages at once as [`ordered_map`](Self::ordered_map) does, with memory that is used
    /// again. `f` must be free of effects, and **the memory must not influence results**.
    ///
    /// `make` is called at most `n` times, unless `f` panics. Which of the `n` memories a message meets, and
    /// what it has been used for before, is a matter of the schedule. So a buffer that is cleared will do, and so
    /// will tables that never change; a compressor that is reset will not, if its output depends on what
    /// it has seen before. [`testing::verify`](crate::testing::verify) finds such a state if it shows under one
    /// of the schedules that it tries.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["to be", "or not", "to be"]);
    /// let reversed = network.ordered_map_with("reverse", lines, 4, 16, String::new, |buffer, line| {
    ///     buffer.clear();
    ///     buffer.extend(line.chars().rev());
    ///     buffer.len()
    /// });
    /// let all = network.collect("all", reversed);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![5, 6, 5]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`ordered_map`](Self::ordered_map).
    pub fn ordered_map_with<T: Send + 'env, U: Send + 'env, S: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        n: usize,
        window: usize,
        make: impl Fn() -> S + Send + Sync + 'env,
        f: impl Fn(&mut S, T) -> U + Send + Sync + 'env,
    ) -> Receiver<U> {
        self.try_ordered_map_with(name, items, n, window, make, move |memory: &mut S, item| {
            Ok(f(memory, item))
        })
    }

    /// Maps up to `n` messages at once as [`ordered_map_with`](Self::ordered_map_with) does; the first error is
    /// the failure of the process. `f` must be free of effects: it may run for messages behind one that fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["1 2", "3", "4 x"]);
    /// let make = Vec::new;
    /// let sums = network.try_ordered_map_with("sums", lines, 4, 16, make, |numbers, line| {
    ///     numbers.clear();
    ///     for word in line.split(' ') {
    ///         numbers.push(word.parse::<u32>()?);
    ///     }
    ///     Ok(numbers.iter().sum::<u32>())
    /// });
    /// network.for_each("ignore", sums, |_| {});
    /// let error = network.run().expect_err("`x` is no number");
    /// assert!(error.to_string().contains("message 3 of `lines`: invalid digit"), "{error}");
    /// ```
    ///
    /// # Panics
    /// As for [`ordered_map`](Self::ordered_map).
    pub fn try_ordered_map_with<T: Send + 'env, U: Send + 'env, S: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        n: usize,
        window: usize,
        make: impl Fn() -> S + Send + Sync + 'env,
        f: impl Fn(&mut S, T) -> Result<U, BoxError> + Send + Sync + 'env,
    ) -> Receiver<U> {
        self.farm(items, FarmPlan { name: name.into(), n, window, make, f })
    }
}
