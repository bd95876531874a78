//! Where a process of a network leaves a result.

use std::sync::{Arc, OnceLock};

/// The result of one process, there once the process has come so far.
///
/// The processes of the library leave theirs in a [`kahn::process::Output`]; this is the same for a
/// process written by hand, which gets the other half, [`Giver`], among its variables.
///
/// ```
/// use kahn::Network;
/// use kahn_apps::Slot;
///
/// let mut network = Network::new();
/// let numbers = network.source("numbers", 0..4_u32);
/// let (giver, last) = Slot::new();
/// network.process("last", numbers, async |mut numbers| {
///     let mut last = None;
///     while let Some(number) = numbers.recv().await {
///         last = Some(number);
///     }
///     giver.give(last);
/// });
/// network.run()?;
/// assert_eq!(last.take(), Some(Some(3)));
/// # Ok::<(), kahn::RunError>(())
/// ```
#[derive(Debug)]
pub struct Slot<T>(Arc<OnceLock<T>>);

/// The half of a [`Slot`] that belongs to the process.
#[derive(Debug)]
pub struct Giver<T>(Arc<OnceLock<T>>);

impl<T> Slot<T> {
    /// Makes the two halves.
    pub fn new() -> (Giver<T>, Self) {
        let cell = Arc::new(OnceLock::new());
        (Giver(Arc::clone(&cell)), Self(cell))
    }

    /// Takes the result. `None` if the process did not give one, or lives still.
    pub fn take(self) -> Option<T> {
        Arc::into_inner(self.0)?.into_inner()
    }
}

impl<T> Giver<T> {
    /// Leaves the result.
    pub fn give(self, result: T) {
        // It is taken by value, so nothing has been given before.
        let _first = self.0.set(result);
    }
}
