//! A bounded work-stealing deque: one owner at the hot end, thieves at the cold end.
//!
//! Chase and Lev (2005), with the orderings of Lê, Pop, Cohen and Zappa Nardelli (2013), a fixed
//! number of slots, and slots that are atomic pointers: a thief that loses reads a stale pointer
//! and throws it away, which is no race.
//!
//! ```text
//!        top ≤ bottom ≤ top + SLOTS
//!   slots  …  taken │ ready ready ready │ free  …
//!                   ^ top: thieves      ^ bottom: the owner
//! ```
//!
//! | step  | by     | moves    | how |
//! |-------|--------|----------|-----|
//! | push  | owner  | `bottom` up   | slot, or many, then Release store |
//! | pop   | owner  | `bottom` down | store, fence, look at `top`; the last one by CAS on `top` |
//! | steal | thief  | `top` up      | look at `top`, fence, look at `bottom`; CAS on `top` |
//!
//! The race to fear: owner and thief take the same last item. The owner lowers `bottom` and then
//! reads `top`; the thief reads `top` and then `bottom`; between each pair stands a SeqCst fence. So
//! either the owner sees that the thief has moved `top` (or competes for it by CAS), or the thief
//! sees the lowered `bottom` and finds nothing.

use crate::queue::slots::{Item, Slots, taken};
use crate::sync::{Access, AtomicUsize, Ordering::*, Padded, fence};
use crate::task::TaskRef;
use std::mem;

/// Under loom few, so that wrap-around lies within a model.
const SLOTS: usize = if cfg!(loom) { 2 } else { 2048 };

/// The answer of an attempt to steal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steal<T> {
    Taken(T),
    /// Another thread was faster: try again.
    Retry,
    Nothing,
}

/// The deque. `push` and `pop` are the owner's alone.
#[derive(Debug)]
pub(crate) struct Deque<T: Item = TaskRef> {
    top: Padded<AtomicUsize>,
    bottom: Padded<AtomicUsize>,
    slots: Slots<SLOTS, T>,
}

impl<T: Item> Deque<T> {
    pub(crate) fn new() -> Self {
        Self {
            top: Padded(AtomicUsize::new(0)),
            bottom: Padded(AtomicUsize::new(0)),
            slots: Slots::new(),
        }
    }

    /// Owner: puts an item at the hot end; gives it back if the deque is full.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        // Relaxed: ours alone.
        let bottom = self.bottom.load(Relaxed);
        // Acquire: the slot is free only if the thief that moved `top` has read it.
        let top = self.top.load(Acquire);
        if bottom.wrapping_sub(top) >= SLOTS {
            return Err(item);
        }
        self.slots.at(bottom).store(item.into_pointer().as_ptr(), Relaxed);
        // Release pairs with the thief's Acquire load of `bottom`: slot and item are visible.
        self.bottom.store(bottom.wrapping_add(1), Release);
        Ok(())
    }

    /// Owner: puts items at the hot end, in turn, and makes them visible together; returns for how many there was
    /// room.
    pub(crate) fn push_many(&self, items: &[T]) -> usize
    where
        T: Copy,
    {
        // As in `push`.
        let bottom = self.bottom.load(Relaxed);
        let top = self.top.load(Acquire);
        let count = items.len().min(SLOTS - bottom.wrapping_sub(top));
        for (number, item) in items[..count].iter().enumerate() {
            let slot = self.slots.at(bottom.wrapping_add(number));
            slot.store(item.into_pointer().as_ptr(), Relaxed);
        }
        self.bottom.store(bottom.wrapping_add(count), Release);
        count
    }

    /// Owner: takes an item from the hot end. `access`: whether there may be thieves now.
    pub(crate) fn pop(&self, access: Access) -> Option<T> {
        let bottom = self.bottom.load(Relaxed);
        // Cheap way out; `top` never passes `bottom`, so an empty deque is seen as empty.
        if self.top.load(Relaxed) == bottom {
            return None;
        }
        let last = bottom.wrapping_sub(1);
        if access.is_alone() {
            self.bottom.store(last, Relaxed);
            return taken(self.slots.at(last).load(Relaxed));
        }
        // Release: a thief that reads it also sees the slots below; they were stored before.
        self.bottom.store(last, Release);
        fence(SeqCst);
        let top = self.top.load(Relaxed);
        let left = last.wrapping_sub(top).cast_signed();
        if left < 0 {
            // A thief took the last one before our fence.
            self.bottom.store(bottom, Release);
            return None;
        }
        let item = self.slots.at(last).load(Relaxed);
        if left == 0 {
            // The last one: thieves may want it too.
            let won = self.top.compare_exchange(top, top.wrapping_add(1), SeqCst, Relaxed).is_ok();
            self.bottom.store(bottom, Release);
            if !won {
                return None;
            }
        }
        taken(item)
    }

    /// Owner: takes an item from the cold end. `access`: whether there may be thieves now.
    pub(crate) fn take_oldest(&self, access: Access) -> Option<T> {
        if !access.is_alone() {
            return match self.steal() {
                Steal::Taken(item) => Some(item),
                Steal::Retry | Steal::Nothing => None,
            };
        }
        let top = self.top.load(Relaxed);
        if top == self.bottom.load(Relaxed) {
            return None;
        }
        let item = self.slots.at(top).load(Relaxed);
        self.top.store(top.wrapping_add(1), Relaxed);
        taken(item)
    }

    /// Thief: takes an item from the cold end.
    pub(crate) fn steal(&self) -> Steal<T> {
        let top = self.top.load(Acquire);
        fence(SeqCst);
        // Acquire pairs with the owner's Release in `push`.
        let bottom = self.bottom.load(Acquire);
        if bottom.wrapping_sub(top).cast_signed() <= 0 {
            return Steal::Nothing;
        }
        // May be stale: then the exchange below fails.
        let item = self.slots.at(top).load(Relaxed);
        if self.top.compare_exchange(top, top.wrapping_add(1), SeqCst, Relaxed).is_err() {
            return Steal::Retry;
        }
        taken(item).map_or(Steal::Nothing, Steal::Taken)
    }

    /// The number of the oldest item, if there is one: another one has another number.
    pub(crate) fn oldest(&self) -> Option<usize> {
        let top = self.top.load(Relaxed);
        (self.len() > 0).then_some(top)
    }

    /// The numbers of the oldest item, and of the next at the hot end.
    pub(crate) fn ends(&self) -> (usize, usize) {
        (self.top.load(Relaxed), self.bottom.load(Relaxed))
    }

    /// The number of the next item at the hot end.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.bottom.load(Relaxed)
    }

    /// Roughly how many items are in it.
    pub(crate) fn len(&self) -> usize {
        let top = self.top.load(Relaxed);
        let length = self.bottom.load(Relaxed).wrapping_sub(top).cast_signed();
        usize::try_from(length).unwrap_or(0)
    }
}

impl<T: Item> Drop for Deque<T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            while self.pop(Access::ALONE).is_some() {}
        }
    }
}
