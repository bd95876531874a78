//! What only the holder of a process touches, and seldom: two words of every header.
//!
//! All processes of a network are of one sort, so there is room for one of two things: what a Kahn
//! process has of ends, or how a communicating process came to be.

use crate::sync::Cell;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::Location;
use std::ptr;

/// See the module. It is what a Kahn process has of ends unless told otherwise.
pub(crate) struct Local(UnsafeCell<Words>);

union Words {
    ends: ManuallyDrop<Owned>,
    birth: ManuallyDrop<Birth>,
}

/// What a Kahn process has of ends.
#[repr(C)]
pub(crate) struct Owned {
    /// The first of the dropped senders whose channels end at the next operation.
    pub(crate) closes: Cell<*const ()>,
    /// Owned it has and has not dropped.
    pub(crate) ends: Cell<u32>,
    /// Senders among them.
    pub(crate) senders: Cell<u32>,
}

/// What a communicating process got when it was created.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Birth {
    /// The line that created the process.
    pub(crate) site: &'static Location<'static>,
    /// Where the process's choices are drawn from.
    pub(crate) draw: Cell<u64>,
}

impl Words {
    fn new() -> Self {
        let ends =
            Owned { closes: Cell::new(ptr::null()), ends: Cell::new(0), senders: Cell::new(0) };
        Self { ends: ManuallyDrop::new(ends) }
    }
}

impl Local {
    pub(super) fn new() -> Self {
        Self(UnsafeCell::new(Words::new()))
    }

    /// For another process in the same block.
    ///
    /// # Safety
    /// Nobody holds the process yet.
    pub(super) unsafe fn restart(&self) {
        // SAFETY: said by the caller; nothing in it is to be dropped.
        unsafe { self.0.get().write(Words::new()) };
    }

    /// For a communicating process.
    ///
    /// # Safety
    /// Nobody holds the process yet.
    pub(crate) unsafe fn bear(&self, birth: Birth) {
        // SAFETY: said by the caller; nothing in it is to be dropped.
        unsafe { self.0.get().write(Words { birth: ManuallyDrop::new(birth) }) };
    }

    /// How a communicating process came to be.
    ///
    /// # Safety
    /// It was given by [`bear`](Self::bear).
    pub(crate) unsafe fn birth(&self) -> &Birth {
        // SAFETY: the words change only while nobody holds the process.
        let words = unsafe { &*self.0.get() };
        // SAFETY: said by the caller.
        unsafe { &words.birth }
    }
}

impl Deref for Local {
    type Target = Owned;

    /// What a Kahn process has of ends; whatever its bits, of another it is no more than wrong.
    fn deref(&self) -> &Owned {
        // SAFETY: the words change only while nobody holds the process.
        let words = unsafe { &*self.0.get() };
        // SAFETY: any bits are a pointer that nobody follows and two numbers.
        unsafe { &words.ends }
    }
}
