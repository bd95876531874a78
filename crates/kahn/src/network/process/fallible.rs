//! The processes whose functions may fail: each tells at which message it did.

use super::{Counted, Output};
use crate::network::making::Making;
use crate::{AtMessage, BoxError, Channel, Name, Network, Receiver};

impl<'env, M: Making> Network<'env, M> {
    /// Sends what an iterator of results gives, and fails at its first error.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::io::{self, BufRead, Cursor};
    ///
    /// let mut network = Network::new();
    /// let lines = network.try_source("lines", Cursor::new(b"one\n\xff\n").lines());
    /// network.for_each("ignore", lines, |_| {});
    /// let error = network.run().expect_err("the second line is no UTF-8");
    /// assert!(error.to_string().starts_with("process `lines` failed at message 2 of `lines`: "));
    /// assert!(error.downcast_ref::<io::Error>().is_some());
    /// ```
    pub fn try_source<T, E, I>(&mut self, name: impl Into<Channel<T>>, items: I) -> Receiver<T>
    where
        T: Send + 'env,
        E: Into<BoxError>,
        I: IntoIterator<Item = Result<T, E>, IntoIter: Send> + Send + 'env,
    {
        self.stage(name, (), move |((), mut out)| async move {
            let items = items.into_iter().map(|item| item.map_err(Into::<BoxError>::into));
            for (number, item) in (1..).zip(items) {
                let at = || AtMessage { channel: out.name().clone(), number };
                out.send(item.map_err(|error| at().blame(error))?).await;
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Sends what `f` makes of each message, and fails when it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["1", "2", "three"]);
    /// let numbers = network.try_map("parse", lines, |line| Ok(line.parse::<u32>()?));
    /// network.for_each("ignore", numbers, |_| {});
    /// let error = network.run().expect_err("`three` is no number");
    /// assert!(error.to_string().starts_with("process `parse` failed at message 3 of `lines`: "));
    /// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    #[doc(alias = "and_then")]
    pub fn try_map<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Channel<U>>,
        items: Receiver<T>,
        mut f: impl FnMut(T) -> Result<U, BoxError> + Send + 'env,
    ) -> Receiver<U> {
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            while let Some(item) = items.recv().await {
                let made = f(item).map_err(|error| items.blame(error))?;
                out.send(made).await;
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Sends the messages for which `keep` says yes, and fails when it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "4"]);
    /// let even = network.try_filter("even", texts, |text| Ok(text.parse::<u32>()? % 2 == 0));
    /// let all = network.collect("all", even);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["2", "4"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_filter<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<T>>,
        items: Receiver<T>,
        mut keep: impl FnMut(&T) -> Result<bool, BoxError> + Send + 'env,
    ) -> Receiver<T> {
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            while let Some(item) = items.recv().await {
                if keep(&item).map_err(|error| items.blame(error))? {
                    out.send(item).await;
                }
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Sends all that `f` makes of each message, in order, and fails when it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let pages = network.source("pages", [&b"to be"[..], b"or not"]);
    /// let words = network.try_flat_map("words", pages, |page| {
    ///     Ok(std::str::from_utf8(page)?.split_whitespace())
    /// });
    /// let all = network.collect("all", words);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!["to", "be", "or", "not"]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_flat_map<T: Send + 'env, I>(
        &mut self,
        name: impl Into<Channel<I::Item>>,
        items: Receiver<T>,
        mut f: impl FnMut(T) -> Result<I, BoxError> + Send + 'env,
    ) -> Receiver<I::Item>
    where
        I: IntoIterator<IntoIter: Send, Item: Send + 'env> + 'env,
    {
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            while let Some(item) = items.recv().await {
                let made = f(item).map_err(|error| items.blame(error))?.into_iter();
                out.send_all(made).await;
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Returns, after the run, what `f` makes of `first` and all messages, one after the other; fails
    /// when it does.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2"]);
    /// let sum = network.try_fold("sum", texts, 0, |sum, text| Ok(sum + text.parse::<u32>()?));
    /// network.run()?;
    /// assert_eq!(sum.take(), Some(3));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_fold<T: Send + 'env, A: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        first: A,
        mut f: impl FnMut(A, T) -> Result<A, BoxError> + Send + 'env,
    ) -> Output<A> {
        self.try_process(name, items, move |items| async move {
            let mut items = Counted::new(items);
            let mut result = first;
            while let Some(item) = items.recv().await {
                result = f(result, item).map_err(|error| items.blame(error))?;
            }
            Ok(result)
        })
    }

    /// Calls `f` with each message, for its effect, and fails when it does.
    ///
    /// [`for_each`](Self::for_each) takes a function with any result; where `?` is to take errors of several
    /// types, this one says what they become.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::io::Write;
    ///
    /// let mut written = Vec::new();
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "x"]);
    /// network.try_for_each("double", texts, |text| {
    ///     writeln!(written, "{}", 2 * text.parse::<u32>()?)?;
    ///     Ok(())
    /// });
    /// let error = network.run().expect_err("`x` is no number");
    /// assert!(error.to_string().starts_with("process `double` failed at message 3 of `texts`: "));
    /// assert_eq!(written, b"2\n4\n");
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_for_each<T: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        f: impl FnMut(T) -> Result<(), BoxError> + Send + 'env,
    ) {
        self.for_each(name, items, f);
    }
}
