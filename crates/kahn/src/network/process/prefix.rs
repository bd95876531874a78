//! A part of a stream: from its beginning, or after it.

use super::Counted;
use crate::network::making::Making;
use crate::{BoxError, Channel, Network, Receiver};

impl<'env, M: Making> Network<'env, M> {
    /// Sends the first `count` messages, and ends.
    ///
    /// It leaves its input then, so that an endless source ends.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1_u64..);
    /// let three = network.take("three", numbers, 3);
    /// let all = network.collect("all", three);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 2, 3]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "limit")]
    #[doc(alias = "head")]
    pub fn take<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
    ) -> Receiver<T> {
        self.stage(name, items, move |(mut items, mut out)| async move {
            for _ in 0..count {
                let Some(item) = items.recv().await else { break };
                out.send(item).await;
            }
        })
    }

    /// Leaves the first `count` messages out.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["name,age", "ann,3", "bob,4"]);
    /// let rows = network.skip("rows", lines, 1);
    /// let all = network.collect("all", rows);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["ann,3", "bob,4"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "drop")]
    pub fn skip<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        count: usize,
    ) -> Receiver<T> {
        let mut left = count;
        self.filter(name, items, move |_| {
            let is_first = left > 0;
            left -= usize::from(is_first);
            !is_first
        })
    }

    /// Sends the messages before the first for which `is_wanted` says no, and ends there.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let squares = network.source("squares", (1_u64..).map(|n| n * n));
    /// let small = network.take_while("small", squares, |n| *n < 20);
    /// let all = network.collect("all", small);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 4, 9, 16]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn take_while<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        mut is_wanted: impl FnMut(&T) -> bool + Send + 'env,
    ) -> Receiver<T> {
        self.try_take_while(name, items, move |item| Ok(is_wanted(item)))
    }

    /// Does as [`take_while`](Self::take_while), with a function that may fail.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "x"]);
    /// let small = network.try_take_while("small", texts, |text| Ok(text.parse::<u32>()? < 9));
    /// network.for_each("ignore", small, |_| {});
    /// let error = network.run().expect_err("`x` is no number");
    /// assert!(error.to_string().starts_with("process `small` failed at message 3 of `texts`: "));
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_take_while<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        mut is_wanted: impl FnMut(&T) -> Result<bool, BoxError> + Send + 'env,
    ) -> Receiver<T> {
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            while let Some(item) = items.recv().await {
                if !is_wanted(&item).map_err(|error| items.blame(error))? {
                    break;
                }
                out.send(item).await;
            }
            Ok::<(), BoxError>(())
        })
    }
}
