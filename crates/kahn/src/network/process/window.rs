//! Several messages that stand side by side.

use super::Counted;
use crate::network::making::Making;
use crate::{BoxError, Channel, Network, Receiver};
use std::mem;

/// Messages of a window that have been used are dropped when there are so many, or as many as the window has.
const USED: usize = 64;

impl<'env, M: Making> Network<'env, M> {
    /// Sends what `f` makes of windows of `peek` messages: `push` messages of each, with `pop` messages
    /// between the beginnings of two windows.
    ///
    /// The filter of StreamIt and GNU Radio. Messages at the end that fill no window are left out.
    ///
    /// # Examples
    ///
    /// A moving average that keeps every second value:
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let samples = network.source("samples", [1.0, 2.0, 6.0, 4.0, 2.0_f64]);
    /// let smooth = network.rates("smooth", samples, 2, 3, 1, |window, out| {
    ///     out.push(window.iter().sum::<f64>() / 3.0);
    /// });
    /// let all = network.collect("all", smooth);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![3.0, 4.0]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `pop` is 0 or more than `peek`, or if `items` belongs to another network. If `f` does not
    /// push `push` messages, the process fails.
    #[doc(alias = "window")]
    #[doc(alias = "fir")]
    #[doc(alias = "decimate")]
    pub fn rates<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Channel<U>>,
        items: Receiver<T>,
        pop: usize,
        peek: usize,
        push: usize,
        mut f: impl FnMut(&[T], &mut Vec<U>) + Send + 'env,
    ) -> Receiver<U> {
        self.try_rates(name, items, pop, peek, push, move |window, out| {
            f(window, out);
            Ok(())
        })
    }

    /// Does as [`rates`](Self::rates), with a function that may fail.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["1", "2", "3", "four"]);
    /// let sums = network.try_rates("sums of two", texts, 1, 2, 1, |window, out| {
    ///     out.push(window[0].parse::<u32>()? + window[1].parse::<u32>()?);
    ///     Ok(())
    /// });
    /// network.for_each("ignore", sums, |_| {});
    /// let error = network.run().expect_err("`four` is no number");
    /// assert!(error.to_string().contains("failed at message 4 of `texts`: invalid digit"));
    /// ```
    ///
    /// # Panics
    /// As for [`rates`](Self::rates).
    pub fn try_rates<T: Send + 'env, U: Send + 'env>(
        &mut self,
        name: impl Into<Channel<U>>,
        items: Receiver<T>,
        pop: usize,
        peek: usize,
        push: usize,
        mut f: impl FnMut(&[T], &mut Vec<U>) -> Result<(), BoxError> + Send + 'env,
    ) -> Receiver<U> {
        assert!(0 < pop && pop <= peek, "rates: {pop} of a window of {peek} cannot be popped");
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            let (mut ahead, mut made) = (Vec::new(), Vec::with_capacity(push));
            let mut used = 0;
            while items.recv_up_to(&mut ahead, used + peek).await {
                f(&ahead[used..], &mut made).map_err(|error| items.blame(error))?;
                if made.len() != push {
                    let count = made.len();
                    let wrong = format!("{count} messages of a window, with a push rate of {push}");
                    return Err(items.blame(wrong.into()));
                }
                out.send_batch(&mut made).await;
                used += pop;
                if used >= peek.max(USED) {
                    ahead.drain(..used);
                    used = 0;
                }
            }
            Ok::<(), BoxError>(())
        })
    }

    /// Sends all windows of `size` messages that follow each other, each a vector.
    ///
    /// Windows overlap; vectors that do not are [batches](Self::batch). A stream of fewer messages has no
    /// window.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=4_u32);
    /// let windows = network.window("windows", numbers, 3);
    /// let all = network.collect("all", windows);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![vec![1, 2, 3], vec![2, 3, 4]]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `size` is 0, or if `items` belongs to another network.
    #[doc(alias = "sliding")]
    pub fn window<T: Clone + Send + 'env>(
        &mut self,
        name: impl Into<Channel<Vec<T>>>,
        items: Receiver<T>,
        size: usize,
    ) -> Receiver<Vec<T>> {
        self.rates(name, items, 1, size, 1, |window, out| out.push(window.to_vec()))
    }

    /// Sends vectors of messages that belong together: as long as `same` says so of one and the next.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [1, 2, 2, 1, 3_u32]);
    /// let rising = network.chunk_by("rising", numbers, |a, b| a <= b);
    /// let all = network.collect("all", rising);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![vec![1, 2, 2], vec![1, 3]]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn chunk_by<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<Vec<T>>>,
        items: Receiver<T>,
        mut same: impl FnMut(&T, &T) -> bool + Send + 'env,
    ) -> Receiver<Vec<T>> {
        self.try_chunk_by(name, items, move |a, b| Ok(same(a, b)))
    }

    /// Does as [`chunk_by`](Self::chunk_by), with a function that may fail.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let lines = network.source("lines", ["3 a", "3 b", "4 c"]);
    /// let hours = network.try_chunk_by("hours", lines, |a, b| {
    ///     let hour = |line: &str| line.split(' ').next().ok_or("no hour").map(str::len);
    ///     Ok(hour(a)? == hour(b)? && a[..1] == b[..1])
    /// });
    /// let all = network.collect("all", hours);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![vec!["3 a", "3 b"], vec!["4 c"]]));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn try_chunk_by<T: Send + 'env>(
        &mut self,
        name: impl Into<Channel<Vec<T>>>,
        items: Receiver<T>,
        mut same: impl FnMut(&T, &T) -> Result<bool, BoxError> + Send + 'env,
    ) -> Receiver<Vec<T>> {
        self.stage(name, items, move |(items, mut out)| async move {
            let mut items = Counted::new(items);
            let mut chunk = Vec::new();
            while let Some(item) = items.recv().await {
                let goes_on = match chunk.last() {
                    Some(last) => same(last, &item).map_err(|error| items.blame(error))?,
                    None => true,
                };
                if !goes_on {
                    out.send(mem::take(&mut chunk)).await;
                }
                chunk.push(item);
            }
            if !chunk.is_empty() {
                out.send(chunk).await;
            }
            Ok::<(), BoxError>(())
        })
    }
}
