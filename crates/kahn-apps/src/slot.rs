//! Where a process of a network leaves a result.

use std::sync::mpsc::{Receiver, Sender, channel};

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
pub struct Slot<T>(Receiver<T>);

/// The half of a [`Slot`] that belongs to the process.
#[derive(Debug)]
pub struct Giver<T>(Sender<T>);

impl<T> Slot<T> {
    /// Makes the two halves.
    pub fn new() -> (Giver<T>, Self) {
        let (giver, slot) = channel();
        (Giver(giver), Self(slot))
    }

    /// Takes the result. `None` if the process has not given one.
    pub fn take(self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Giver<T> {
    /// Leaves the result.
    pub fn give(self, result: T) {
        // If it fails, the slot is gone: nobody wants the result.
        let _wanted = self.0.send(result);
    }
}
