//! The slot of a waiting operation, where its message stands or is to stand.

use crate::channel::gone::Outcome;
use crate::wait::Stage;
use kahn_engine::sync::Cell;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A waiting operation: what its partner writes, and where its owner stands, for which the word of
/// the outcome has room.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Slot<T> {
    /// The owner's. First, so that it stands where the operation does.
    pub(crate) stage: Stage,
    /// In the same place in every slot: the one that closes the other end knows no more.
    pub(crate) outcome: Cell<Outcome>,
    /// Written, for where there is padding the compiler moves it together with the message: in pieces of which a
    /// load that follows spans two, and the processor has that wait until both are in the cache.
    gap: u16,
    gap_too: u32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot holds at most a message, which is `Send`, and is touched by one at a time: its
// partners behind the gate of the channel, and the process whose operation it is part of when it runs.
// A shared reference to an operation gives access to nothing.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    pub(super) fn empty() -> Self {
        Self::new(MaybeUninit::uninit())
    }

    pub(crate) fn with(message: T) -> Self {
        Self::new(MaybeUninit::new(message))
    }

    fn new(value: MaybeUninit<T>) -> Self {
        let (outcome, value) = (Cell::new(Outcome::Open), UnsafeCell::new(value));
        Self { stage: Stage::Fresh, outcome, gap: 0, gap_too: 0, value }
    }

    /// Moves the message out.
    ///
    /// # Safety
    /// There is one, it is the caller's, and nothing else moves it out.
    #[inline]
    pub(crate) unsafe fn read(&self) -> T {
        // SAFETY: said by the caller.
        unsafe { self.value.get().cast::<T>().read() }
    }

    /// Gets a message: its receiver is done.
    ///
    /// # Safety
    /// There is none, and the slot is the caller's.
    #[inline]
    pub(super) unsafe fn fill(&self, message: T) {
        // SAFETY: said by the caller.
        unsafe { self.value.get().cast::<T>().write(message) };
        self.outcome.set(Outcome::Done);
    }

    /// Gets back a message that was sent and has failed; the outcome is told by the caller.
    ///
    /// # Safety
    /// There is none, and nothing else looks at it meanwhile.
    pub(super) unsafe fn put_back(&self, message: T) {
        // SAFETY: said by the caller.
        unsafe { self.value.get().cast::<T>().write(message) };
    }

    /// Gets the message of a sender, for which there is more to be said.
    ///
    /// # Safety
    /// The sender's slot holds one and this one none, and both are the caller's.
    #[inline]
    pub(super) unsafe fn fill_from(&self, sender: &Self) {
        // SAFETY: said by the caller.
        let message = unsafe { sender.read() };
        // SAFETY: as above.
        unsafe { self.fill(message) };
    }
}
