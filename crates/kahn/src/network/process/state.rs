//! One message after the other, with something that is kept between them.

use super::Counted;
use crate::network::making::Making;
use crate::{BoxError, Channel, Network, Receiver};

impl<'env, M: Making> Network<'env, M> {
    /// Sends what `f` makes of each message and of a state that it may change, until it returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1_u32..);
    /// let factorials = network.scan("factorials", numbers, 1_u32, |product, n| {
    ///     *product = product.checked_mul(n)?;
    ///     Some(*product)
    /// });
    /// let largest = network.fold("largest", factorials, 0, u32::max);
    /// network.run()?;
    /// assert_eq!(largest.take(), Some(479_001_600));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "actor")]
    pub fn scan<T: Send + 'env, S: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Channel<U>>,
        items: Receiver<T>,
        first: S,
        mut f: impl FnMut(&mut S, T) -> Option<U> + Send + 'env,
    ) -> Receiver<U> {
        self.try_scan(name, items, first, move |state, item| Ok(f(state, item)))
    }

    /// Does as [`scan`](Self::scan), with a function that may fail.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2"]);
    /// let sums = network.try_scan("sums", texts, 0, |sum, text| {
    ///     *sum += text.parse::<u32>()?;
    ///     Ok(Some(*sum))
    /// });
    /// let all = network.collect("all", sums);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 3]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_scan<T: Send + 'env, S: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Channel<U>>,
        items: Receiver<T>,
        first: S,
        mut f: impl FnMut(&mut S, T) -> Result<Option<U>, BoxError> + Send + 'env,
    ) -> Receiver<U> {
        self.stage(name, items, move |(items, mut out)| async move {
            let (mut items, mut state) = (Counted::new(items), first);
            while let Some(item) = items.recv().await {
                let made = f(&mut state, item).map_err(|error| items.blame(error))?;
                let Some(made) = made else { break };
                out.send(made).await;
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Calls `f` with each message, and sends it on.
    ///
    /// It is pruned as others are: if what reads it leaves before the end, how much more `f` is shown is a
    /// matter of the schedule.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut seen = 0;
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=3_u32);
    /// let same = network.inspect("look", numbers, |n| seen += n);
    /// let all = network.collect("all", same);
    /// network.run()?;
    /// assert_eq!((all.take(), seen), (Some(vec![1, 2, 3]), 6));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn inspect<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        mut f: impl FnMut(&T) + Send + 'env,
    ) -> Receiver<T> {
        self.map(name, items, move |item| {
            f(&item);
            item
        })
    }

    /// Calls `f` with each message, sends it on, and fails when `f` does: a check.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [1, 2, 0_u32]);
    /// let checked = network.try_inspect("check", numbers, |n| match n {
    ///     0 => Err("zero".into()),
    ///     _ => Ok(()),
    /// });
    /// network.for_each("ignore", checked, |_| {});
    /// let error = network.run().expect_err("the third is zero");
    /// assert!(error.to_string().starts_with("process `check` failed at message 3 of `numbers`: zero"));
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_inspect<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        mut f: impl FnMut(&T) -> Result<(), BoxError> + Send + 'env,
    ) -> Receiver<T> {
        self.try_map(name, items, move |item| f(&item).map(|()| item))
    }

    /// Sends the first of equal messages that follow each other, and leaves the others out.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let letters = network.source("letters", "aabbba".chars());
    /// let changes = network.dedup("changes", letters);
    /// let all = network.collect("all", changes);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!['a', 'b', 'a']));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "distinct_until_changed")]
    pub fn dedup<T: PartialEq + Clone + Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
    ) -> Receiver<T> {
        let mut last = None;
        self.filter(name, items, move |item| {
            let is_new = last.as_ref() != Some(item);
            if is_new {
                last = Some(item.clone());
            }
            is_new
        })
    }
}
