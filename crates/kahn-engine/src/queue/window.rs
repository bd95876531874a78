//! The migration window: the part of a worker's run queue from which others may steal (Ritson,
//! Sampson and Barnes, *Multicore scheduling for lightweight communicating processes*, section 2.2).
//!
//! The youngest batches of a run queue stand in a few slots, in turn; a *state* word says which
//! slots are in use, and which was used last.
//!
//! ```text
//!   slots   null   b7   b8   b9   null  …         owner: enqueues behind `last`, dequeues at `first`
//!                  ^ first   ^ last               thieves: any slot whose bit is set, the oldest first
//! ```
//!
//! | step | by | how | may find |
//! |---|---|---|---|
//! | enqueue | owner | swap the batch into a null slot, then a blind write of the state | the window full: the oldest batch is knocked out, and stays the owner's |
//! | dequeue | owner | swap null into the oldest slot, then a blind write of the state | null: the batch was stolen |
//! | steal | thief | clear the slot's bit, then swap null into it | null: another was faster, try the next bit |
//!
//! Each step ends after a bounded number of operations, whatever the others do: it is wait-free.
//!
//! **Each batch is taken once**, for it is in one slot and leaves it by a swap. Only the owner puts
//! anything but null into a slot, and only where it knows null to be: outside of its own range, in
//! slots that it has emptied itself, or that a thief has. Each swap is a Release and an Acquire: a
//! thread that takes a batch sees what is in it. Blind writes are swaps as well, whose result is not
//! looked at: a batch lasts for many dispatches, so what they cost is not to be seen, and the order of
//! all steps on a word is plain.
//!
//! **The bits may claim too much, never too little.** A blind write of the owner may set bits again
//! that thieves have cleared; a thread that looks there finds null. The race to fear is the other one: a
//! thief clears the bit of a batch that was enqueued after it looked, and no thread sees that batch any
//! more. So a thief clears *first* and swaps then: if its clearing meets the bit of a younger batch,
//! that batch is in the slot already (the owner's Release of the state pairs with the thief's
//! Acquire), and the thief takes it. The paper has it the other way round; its authors' program has
//! it as here.
//!
//! The paper's owner keeps batches that were stolen in its list and launders them; here a batch is
//! in the list or in the window, so a stolen one is simply gone.

use crate::sync::{AtomicPtr, AtomicU32, Ordering::*};
use std::ptr;

/// One line of the cache holds the slots and the state. Few in models, so that the window fills.
pub const SLOTS: usize = if cfg!(loom) { 2 } else { 15 };

/// Bits of the state that say which slots are in use; above them stands the slot used last.
const BITS: u32 = 16;

/// The part of a run queue that others see.
///
/// # Examples
///
/// ```
/// use kahn_engine::queue::window::{Range, Window};
///
/// let (window, mut range) = (Window::new(), Range::default());
/// window.enqueue(&mut range, Box::new("older"));
/// window.enqueue(&mut range, Box::new("younger"));
/// assert_eq!(window.steal(), Some(Box::new("older")));
/// assert_eq!(window.dequeue(&mut range), Some(Box::new("younger")));
/// assert!(!window.has_some());
/// ```
#[derive(Debug)]
pub struct Window<T> {
    slots: [AtomicPtr<T>; SLOTS],
    state: AtomicU32,
}

/// What only the owner knows of its window: where its batches should be.
#[derive(Debug, Default)]
pub struct Range {
    first: usize,
    len: usize,
}

impl Range {
    /// How many batches were enqueued and not dequeued; some may have been stolen.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Gives up the oldest slot.
    fn advance(&mut self) -> usize {
        let oldest = self.first;
        self.first = (oldest + 1) % SLOTS;
        self.len -= 1;
        oldest
    }

    /// The state as the owner knows it.
    fn state(&self) -> u32 {
        let in_use = (0..self.len).map(|offset| 1 << ((self.first + offset) % SLOTS));
        let last = (self.first + self.len + SLOTS - 1) % SLOTS;
        in_use.sum::<u32>() | u32::try_from(last).unwrap_or(0) << BITS
    }
}

impl<T: Send> Default for Window<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Window<T> {
    /// Makes an empty one.
    pub fn new() -> Self {
        let slots = std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
        Self { slots, state: AtomicU32::new(0) }
    }

    /// Owner: makes a batch visible. Returns the oldest one if there was no slot left.
    pub fn enqueue(&self, range: &mut Range, batch: Box<T>) -> Option<Box<T>> {
        let knocked_out = if range.len == SLOTS { self.take(range.advance()) } else { None };
        let slot = (range.first + range.len) % SLOTS;
        // Release: what is in the batch is visible to the thread that takes it.
        let before = self.slots[slot].swap(Box::into_raw(batch), AcqRel);
        debug_assert!(before.is_null(), "a window has one owner, which has its range");
        range.len += 1;
        // Release: a thread that sees the bit finds the batch, or nothing if another took it.
        self.state.swap(range.state(), AcqRel);
        knocked_out
    }

    /// Owner: takes its oldest batch, if thieves have left one.
    pub fn dequeue(&self, range: &mut Range) -> Option<Box<T>> {
        let mut found = None;
        while found.is_none() && range.len > 0 {
            found = self.take(range.advance());
        }
        self.state.swap(range.state(), AcqRel);
        found
    }

    /// Thief: takes the oldest batch it can get.
    pub fn steal(&self) -> Option<Box<T>> {
        let state = self.state.load(Relaxed);
        let last = (state >> BITS) as usize;
        (1..=SLOTS).map(|offset| (last + offset) % SLOTS).find_map(|slot| {
            let bit = 1 << slot;
            if state & bit == 0 {
                return None;
            }
            // First the bit, then the batch: see above. Acquire pairs with the owner's Release.
            self.state.fetch_and(!bit, AcqRel);
            self.take(slot)
        })
    }

    /// Whether there seems to be something to steal.
    pub fn has_some(&self) -> bool {
        // Relaxed: a hint.
        self.state.load(Relaxed) & ((1 << BITS) - 1) != 0
    }

    /// Empties a slot.
    fn take(&self, slot: usize) -> Option<Box<T>> {
        // Acquire pairs with the Release in `enqueue`.
        let batch = self.slots[slot].swap(ptr::null_mut(), AcqRel);
        // SAFETY: what is in a slot came from `Box::into_raw`; the swap made it ours alone.
        (!batch.is_null()).then(|| unsafe { Box::from_raw(batch) })
    }

    /// Whether a slot holds a batch without saying so; for models, when no thread uses the window.
    #[cfg(all(test, loom))]
    pub(crate) fn hides_one(&self) -> bool {
        let state = self.state.load(Relaxed);
        let mut slots = self.slots.iter().enumerate();
        slots.any(|(slot, batch)| state & (1 << slot) == 0 && !batch.load(Relaxed).is_null())
    }
}

impl<T> Drop for Window<T> {
    fn drop(&mut self) {
        for slot in &self.slots {
            let batch = slot.swap(ptr::null_mut(), Acquire);
            if !batch.is_null() {
                // SAFETY: as in `take`.
                drop(unsafe { Box::from_raw(batch) });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out_and_the_oldest_is_knocked_out() {
        let (window, mut range) = (Window::new(), Range::default());
        for number in 0..SLOTS {
            assert_eq!(window.enqueue(&mut range, Box::new(number)), None);
        }
        assert_eq!(window.enqueue(&mut range, Box::new(SLOTS)), Some(Box::new(0)));
        assert_eq!(window.dequeue(&mut range), Some(Box::new(1)));
        assert_eq!(window.steal(), Some(Box::new(2)), "thieves take the oldest too");
        assert_eq!(window.dequeue(&mut range), Some(Box::new(3)));
        assert_eq!(range.len(), SLOTS - 3);
    }

    #[test]
    fn an_owner_finds_nothing_where_all_was_stolen() {
        let (window, mut range) = (Window::new(), Range::default());
        for number in 0..3 {
            window.enqueue(&mut range, Box::new(number));
        }
        assert_eq!([(); 3].map(|()| window.steal().map(|batch| *batch)), [0, 1, 2].map(Some));
        assert!(!window.has_some());
        assert_eq!((range.len(), window.dequeue(&mut range), range.len()), (3, None, 0));
        assert_eq!(window.steal(), None);
    }

    #[test]
    fn what_is_left_is_dropped() {
        let (counted, window) = (std::sync::Arc::new(()), Window::new());
        let mut range = Range::default();
        window.enqueue(&mut range, Box::new(std::sync::Arc::clone(&counted)));
        drop(window);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    }
}
