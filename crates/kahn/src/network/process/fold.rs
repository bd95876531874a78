//! From a stream to a result, or to an effect.

use super::Output;
use crate::network::making::Making;
use crate::{AtMessage, BoxError, Name, Network, ProcessResult, Receiver};

/// Returns what `f` makes of `first` and all messages, one after the other.
///
/// The code of [`Network::fold`], which puts the result where it can be had after the run. A process
/// of your own can await it as well, for a part of its work.
///
/// # Examples
///
/// The mean of a stream, by a process that folds and then divides:
///
/// ```
/// use kahn::{Receiver, Sender, process, testing::run_process};
///
/// async fn mean((numbers, mut out): (Receiver<f64>, Sender<f64>)) {
///     let add = |(sum, count), n| (sum + n, count + 1.0);
///     let (sum, count) = process::fold(numbers, (0.0, 0.0), add).await;
///     out.send(sum / count).await;
/// }
///
/// let mean: Vec<f64> = run_process(vec![1.0, 2.0, 6.0], mean);
/// assert_eq!(mean, [3.0]);
/// ```
pub async fn fold<T: Send, A>(mut items: Receiver<T>, first: A, mut f: impl FnMut(A, T) -> A) -> A {
    let mut result = first;
    while let Some(item) = items.recv().await {
        result = f(result, item);
    }
    result
}

/// Calls `f` with each message, until it returns an error; the code of [`Network::for_each`].
///
/// # Examples
///
/// ```
/// use kahn::{Receiver, process, testing::try_run_process};
///
/// let mut sum = 0;
/// let run = try_run_process(vec![1_u32, 2, 3], |(numbers, ()): (Receiver<u32>, ())| {
///     process::for_each(numbers, |n| {
///         sum += n;
///         if n < 3 { Ok(()) } else { Err("three is too many") }
///     })
/// });
/// let error = run.map(|()| ()).expect_err("there is a three");
/// assert!(error.to_string().contains("three is too many"));
/// assert_eq!(sum, 6);
/// ```
///
/// # Errors
/// Returns the error of `f`, and the message that led to it.
pub async fn for_each<T: Send, O: ProcessResult>(
    mut items: Receiver<T>,
    mut f: impl FnMut(T) -> O,
) -> Result<(), BoxError> {
    let mut number = 0;
    while let Some(item) = items.recv().await {
        number += 1;
        if let Some(error) = f(item).into_error() {
            return Err(AtMessage { channel: items.name().clone(), number }.blame(error));
        }
    }
    Ok(())
}

impl<'env, M: Making> Network<'env, M> {
    /// Returns, after the run, what `f` makes of `first` and all messages, one after the other.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [3, 1, 4, 1, 5_u32]);
    /// let largest = network.fold("largest", numbers, 0, u32::max);
    /// network.run()?;
    /// assert_eq!(largest.take(), Some(5));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn fold<T: Send + 'env, A: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        first: A,
        f: impl FnMut(A, T) -> A + Send + 'env,
    ) -> Output<A> {
        self.compute(name, items, |items| fold(items, first, f))
    }

    /// Returns, after the run, all messages in a vector.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let letters = network.source("letters", "abc".chars());
    /// let all = network.collect("all", letters);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec!['a', 'b', 'c']));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn collect<T: Send + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
    ) -> Output<Vec<T>> {
        self.fold(name, items, Vec::new(), |mut all, item| {
            all.push(item);
            all
        })
    }

    /// Calls `f` with each message, for its effect.
    ///
    /// `f` may return nothing, or a result whose error is the failure of the process. The effects
    /// of one such process come in order; those of two come as the schedule has it.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    /// use std::io::Write;
    ///
    /// let mut text = Vec::new();
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=3_u32);
    /// network.for_each("print", numbers, |n| writeln!(text, "{n}"));
    /// network.run()?;
    /// assert_eq!(text, b"1\n2\n3\n");
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if `items` belongs to another network.
    pub fn for_each<T: Send + 'env, O: ProcessResult + 'env>(
        &mut self,
        name: impl Into<Name>,
        items: Receiver<T>,
        f: impl FnMut(T) -> O + Send + 'env,
    ) {
        self.process(name, items, |items| for_each(items, f));
    }
}
