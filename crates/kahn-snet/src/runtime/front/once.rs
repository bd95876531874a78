//! A cell for something that is made when first asked for, by the thread that asks first.
//!
//! ```text
//!   null ──swapped in, once──► a block that is not written to any more, until the cell is dropped
//! ```
//!
//! Several may make at the same time; one of them is first, and the others throw theirs away. So
//! what is made must not matter until it is there. It is the pointer that publishes the block: the
//! exchange releases, and a thread that loads the pointer acquires. The block is not freed before `take`
//! or the drop, which have the cell for themselves.
//!
//! Why not the standard library's? It is compiled without our flags, and the thread sanitizer
//! reports races that are none.

use std::marker::PhantomData;
use std::ptr;

use kahn_engine::sync::AtomicPtr;
use kahn_engine::sync::Ordering::*;

/// A cell for a value, empty or filled for good.
#[derive(Debug)]
pub(super) struct Once<T> {
    block: AtomicPtr<T>,
    owns: PhantomData<T>,
}

// SAFETY: a cell hands out references to its value and takes one from any thread, as a box and a
// shared reference would; the pointer adds nothing.
unsafe impl<T: Send + Sync> Sync for Once<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Once<T> {}

impl<T> Once<T> {
    pub(super) fn new() -> Self {
        Self { block: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// What is there.
    pub(super) fn get(&self) -> Option<&T> {
        let block = self.block.load(Acquire); // pairs with the exchange in `set`
        // SAFETY: null, or a block that was made before the exchange which we have seen, and that
        // lives as long as the cell.
        unsafe { block.as_ref() }
    }

    /// What is there, made now if need be.
    pub(super) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        match self.get() {
            Some(there) => there,
            None => self.set(make()).0,
        }
    }

    /// Fills the cell if it is empty; returns what is there now, and whether that is new.
    pub(super) fn set(&self, value: T) -> (&T, bool) {
        let ours = Box::into_raw(Box::new(value));
        // Releases our block to those that will get it; acquires that of the thread that was first.
        match self.block.compare_exchange(ptr::null_mut(), ours, AcqRel, Acquire) {
            // SAFETY: it is in the cell now, which keeps it until it is dropped.
            Ok(_) => (unsafe { &*ours }, true),
            Err(theirs) => {
                // SAFETY: ours comes from `into_raw` above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(ours) });
                // SAFETY: as in `get`.
                (unsafe { &*theirs }, false)
            }
        }
    }

    /// Takes out what is there.
    pub(super) fn take(&mut self) -> Option<T> {
        // No other thread: the cell is ours alone.
        let block = self.block.swap(ptr::null_mut(), AcqRel);
        // SAFETY: what is not null comes from `into_raw`, and was in this cell alone.
        (!block.is_null()).then(|| *unsafe { Box::from_raw(block) })
    }
}

impl<T> Drop for Once<T> {
    fn drop(&mut self) {
        self.take();
    }
}
