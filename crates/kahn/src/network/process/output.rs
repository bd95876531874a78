//! From a process to a value.

use crate::network::making::Making;
use crate::{BoxError, Name, Network, Ports, Process};
use kahn_engine::sync::{Arc, Mutex};
use std::fmt;

/// A result that stands here once the process that makes it has returned it.
///
/// Made by [`Network::compute`], [`Network::try_process`], [`Network::fold`] and
/// [`Network::collect`].
///
/// # Examples
///
/// ```
/// use kahn::Network;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..4_u32);
/// let sum = network.fold("sum", numbers, 0, |sum, n| sum + n);
/// assert_eq!(sum.take(), None, "nothing has run");
/// network.run()?;
/// assert_eq!(sum.take(), Some(6));
/// assert_eq!(sum.take(), None, "taken");
/// # Ok::<(), kahn::RunError>(())
/// ```
pub struct Output<A>(Arc<Mutex<Option<A>>>);

impl<A> Output<A> {
    /// Takes the result. `None` if the process did not come to its end, or if the result was taken
    /// before.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", 1..=3_u32);
    /// let all = network.collect("all", numbers);
    /// network.run()?;
    /// assert_eq!(all.take(), Some(vec![1, 2, 3]));
    /// assert_eq!(all.take(), None);
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    pub fn take(&self) -> Option<A> {
        self.0.lock().take()
    }
}

impl<A> fmt::Debug for Output<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("is_there", &self.0.lock().is_some()).finish()
    }
}

/// Where a process puts its result.
struct Place<A>(Arc<Mutex<Option<A>>>);

impl<A> Place<A> {
    fn put(self, result: A) {
        *self.0.lock() = Some(result);
    }
}

fn place<A>() -> (Place<A>, Output<A>) {
    let shared = Arc::new(Mutex::new(None));
    (Place(Arc::clone(&shared)), Output(shared))
}

impl<'env, M: Making> Network<'env, M> {
    /// Makes a process whose value can be taken after the run.
    ///
    /// It counts as one with [effects](crate::Process::effects), so it is never pruned: otherwise the
    /// schedule would decide whether there is a value. If its code panics there is none.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let numbers = network.source("numbers", [3, 1, 4_u32]);
    /// let (out, even) = network.channel("even");
    /// let odd = network.compute("count odd", (numbers, out), async |(mut numbers, mut out)| {
    ///     let mut odd = 0;
    ///     while let Some(n) = numbers.recv().await {
    ///         if n % 2 == 0 { out.send(n).await } else { odd += 1 }
    ///     }
    ///     odd
    /// });
    /// let even = network.collect("all", even);
    /// network.run()?;
    /// assert_eq!((odd.take(), even.take()), (Some(2), Some(vec![4])));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    #[doc(alias = "spawn")]
    #[doc(alias = "join")]
    pub fn compute<P, F, R, T>(&mut self, name: impl Into<Name>, ports: P, code: F) -> Output<T>
    where
        P: Ports + 'env,
        F: FnOnce(P) -> R + Send + 'env,
        R: Future<Output = T> + Send + 'env,
        T: Send + 'env,
    {
        let (place, output) = place();
        let process = Process::named(name).keeps_result();
        self.process_with(process, ports, async move |ports| place.put(code(ports).await));
        output
    }

    /// Makes a process that may fail, and whose value can be taken after the run if it did not.
    ///
    /// The code returns `Result<T, BoxError>` and no other, so that `?` takes every error and `Ok(())`
    /// needs no types. Like [`compute`](Self::compute), it is never pruned.
    ///
    /// # Examples
    ///
    /// ```
    /// use kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let texts = network.source("texts", ["3", "4"]);
    /// let sum = network.try_process("add up", texts, async |mut texts| {
    ///     let mut sum = 0;
    ///     while let Some(text) = texts.recv().await {
    ///         sum += text.parse::<u32>()?;
    ///     }
    ///     if sum == 0 {
    ///         return Err("nothing to add up".into());
    ///     }
    ///     Ok(sum)
    /// });
    /// network.run()?;
    /// assert_eq!(sum.take(), Some(7));
    /// # Ok::<(), kahn::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Panics if a port belongs to another network.
    pub fn try_process<P, F, R, T>(&mut self, name: impl Into<Name>, ports: P, code: F) -> Output<T>
    where
        P: Ports + 'env,
        F: FnOnce(P) -> R + Send + 'env,
        R: Future<Output = Result<T, BoxError>> + Send + 'env,
        T: Send + 'env,
    {
        let (place, output) = place();
        let process = Process::named(name).keeps_result();
        self.process_with(process, ports, async move |ports| {
            place.put(code(ports).await?);
            Ok::<(), BoxError>(())
        });
        output
    }
}
